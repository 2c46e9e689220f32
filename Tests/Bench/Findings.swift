import Foundation

/// The place, time and versions of a measurement.
struct Circumstances: Codable, Equatable {
    /// The time of the start, in ISO 8601.
    var date: String
    /// The command line.
    var command: String
    /// The host: the number of processors, their name, and its load average over a minute at the start and at the end.
    var processors: Int
    var processor: String
    var loadBefore: Double
    var loadAfter: Double
    /// The kernel in the bed.
    var kernel: String
    /// Whether the bed ran with real-time priority.
    var isRealTime: Bool
    /// The commit of kiosk, and the versions that mpv and ffmpeg print.
    var kiosk: String
    var mpv: String
    var ffmpeg: String
}

/// The results of one player's runs in one case.
struct Series: Equatable {
    var scenario: String
    var player: String
    /// The number of valid runs, of runs discarded because the host starved the bed, and the errors of others.
    var runs = 0
    var starved = 0
    var failures: [String] = []
    var samples: [Measure: [Double]] = [:]

    /// Whether there was a run in real time or an error.
    var wasTried: Bool { runs + starved + failures.count > 0 }

    /// Adds a valid run.
    mutating func add(_ measurement: Measurement) {
        runs += 1
        for (measure, values) in measurement.samples { samples[measure, default: []] += values }
    }
}

/// All results, in the form of the JSON file.
struct Findings {
    var circumstances: Circumstances
    var series: [Series]

    /// Returns the samples of a measure; empty if there are none.
    func samples(_ measure: Measure, _ player: BenchCase.Player, in scenario: String) -> Samples {
        Samples(series.first { $0.scenario == scenario && $0.player == player.rawValue }?.samples[measure] ?? [])
    }
}

extension Findings: Encodable {
    private enum Key: String, CodingKey { case circumstances, series, promises }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(circumstances, forKey: .circumstances)
        try container.encode(series, forKey: .series)
        try container.encode(promises, forKey: .promises)
    }
}

extension Series: Encodable {
    private enum Key: String, CodingKey { case scenario = "case", player, runs, starved, failures, measures }
    private struct Summary: Encodable { var median, minimum, maximum, p99OfMagnitude: Double?, samples: [Double] }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(scenario, forKey: .scenario)
        try container.encode(player, forKey: .player)
        try container.encode(runs, forKey: .runs)
        try container.encode(starved, forKey: .starved)
        try container.encode(failures, forKey: .failures)
        let measures = samples.map { measure, values in
            let samples = Samples(values)
            let summary = Summary(
                median: samples.median, minimum: samples.minimum, maximum: samples.maximum,
                p99OfMagnitude: samples.magnitudes.percentile(99), samples: values)
            return (measure.rawValue, summary)
        }
        try container.encode(Dictionary(uniqueKeysWithValues: measures), forKey: .measures)
    }
}
