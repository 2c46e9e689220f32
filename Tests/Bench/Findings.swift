import Foundation

/// Where and when something was measured, and what.
struct Circumstances: Codable, Equatable {
    /// ISO 8601, when it began.
    var date: String
    /// What was typed.
    var command: String
    /// The machine under the bed: processors, their name, and its load average over a minute at the beginning and at the end.
    var processors: Int
    var processor: String
    var loadBefore: Double
    var loadAfter: Double
    /// The kernel in the bed, and its processors.
    var kernel: String
    /// Whether the bed ran with real-time priority.
    var isRealTime: Bool
    /// The commit of kiosk, and what mpv and ffmpeg call themselves.
    var kiosk: String
    var mpv: String
    var ffmpeg: String
}

/// What the runs of one player in one case have said.
struct Series: Equatable {
    var scenario: String
    var player: String
    /// Runs that count; those left out because the host starved the bed; and what went wrong in others.
    var runs = 0
    var starved = 0
    var failures: [String] = []
    var samples: [Measure: [Double]] = [:]

    /// Whether there was a run in real time, or anything has failed.
    var wasTried: Bool { runs + starved + failures.count > 0 }

    /// Adds a run that counts.
    mutating func add(_ measurement: Measurement) {
        runs += 1
        for (measure, values) in measurement.samples { samples[measure, default: []] += values }
    }
}

/// All of it, and the form of the JSON file.
struct Findings {
    var circumstances: Circumstances
    var series: [Series]

    /// The samples of a measure; empty where there are none.
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
