import Bed

/// A promise of the design, with its measurement.
struct Promise: Codable, Equatable {
    var subject: String
    var target: String
    var measured: String
    var isKept: Bool
}

extension Findings {
    /// The promises with a measurement.
    var promises: [Promise] {
        [
            seams, hole, cadence, firstPicture, isolation, comparison, conversion, calls, instructions, conversionInstructions,
            copyInstructions,
            directInstructions,
            memory, offset, answer(.touch), answer(.key),
        ].compactMap { $0 }
    }

    private static let main = "720p30@60"
    private static let playlist = "720p30@60-two-items"

    private func all(_ measure: Measure) -> [Double] {
        series.filter { $0.player == BenchCase.Player.kiosk.rawValue }.flatMap { $0.samples[measure] ?? [] }
    }

    private var seams: Promise? {
        let clean = all(.cleanSeams)
        guard !clean.isEmpty else { return nil }
        return Promise(
            subject: "seams of all cases", target: "0 vblanks late, nothing lost or dark",
            measured: Measure.cleanSeams.cell(clean) + " clean",
            isKept: clean.allSatisfy { $0 == 1 })
    }

    private var hole: Promise? {
        let holes = all(.soundHole)
        guard let longest = holes.max() else { return nil }
        return Promise(
            subject: "hole in the sound at seams of all cases", target: "none",
            measured: longest == 0 ? "none at \(holes.count)" : "\(longest.text(0)) ms at the worst of \(holes.count)", isKept: longest == 0
        )
    }

    /// For the cases whose refresh is a multiple of the frame rate.
    private var cadence: Promise? {
        let fitting = BenchCase.all.filter { $0.kind == .playback && $0.mode.refresh % $0.clips[0].frameRate == 0 }.map(\.name)
        let wrong = fitting.flatMap { name in
            series.first { $0.scenario == name && $0.player == BenchCase.Player.kiosk.rawValue }?.samples[.wrongHolds] ?? []
        }
        guard let worst = wrong.max() else { return nil }
        return Promise(
            subject: "wrong holds where the refresh is a multiple", target: "0",
            measured: "0 % in \(wrong.count { $0 == 0 }) of \(wrong.count) runs, "
                + "\(worst.text(1)) % in the worst", isKept: worst == 0)
    }

    private var firstPicture: Promise? {
        // The design promises it for a local 1080p file.
        for name in ["1080p30@60", Self.main] {
            guard let kiosk = samples(.firstPicture, .kiosk, in: name).median, let mpv = samples(.firstPicture, .mpv, in: name).median
            else { continue }
            return Promise(
                subject: "first picture, \(name)", target: "≤ 250 ms, ≤ 0.5 × mpv",
                measured: "\(kiosk.text(0)) ms, \((kiosk / mpv).text(2)) × mpv", isKept: kiosk <= 250 && kiosk <= 0.5 * mpv)
        }
        return nil
    }

    private var isolation: Promise? { ratio("CPU", .cpu, to: .inside, atMost: 1.03, in: Self.main) }
    private var comparison: Promise? { ratio("CPU", .cpu, to: .mpv, atMost: 0.4, in: Self.main) }
    private var conversion: Promise? { ratio("CPU", .cpu, to: .ffmpeg, atMost: 1.25, in: Self.main) }
    private var memory: Promise? { ratio("peak memory of all processes", .peakShare, to: .mpv, atMost: 0.8, in: Self.playlist) }

    private var calls: Promise? {
        guard let calls = samples(.systemCalls, .kiosk, in: Self.main).median else { return nil }
        return Promise(subject: "system calls a frame, \(Self.main)", target: "≤ 10", measured: calls.text(1), isKept: calls <= 10)
    }

    private var instructions: Promise? { ratio("instructions", .instructions, to: .mpv, atMost: 0.4, in: Self.main) }
    private var conversionInstructions: Promise? { ratio("instructions", .instructions, to: .ffmpeg, atMost: 1.25, in: Self.main) }
    /// With pictures on planes.
    private var copyInstructions: Promise? { ratio("instructions", .instructions, to: .decoding, atMost: 1.1, in: "1080p30@60-copy") }
    private var directInstructions: Promise? { ratio("instructions", .instructions, to: .decoding, atMost: 1.1, in: "1080p30@60-direct") }

    private func ratio(_ subject: String, _ measure: Measure, to other: BenchCase.Player, atMost limit: Double, in name: String) -> Promise?
    {
        guard let ours = samples(measure, .kiosk, in: name).median, let theirs = samples(measure, other, in: name).median, theirs > 0
        else { return nil }
        return Promise(
            subject: "\(subject), \(name)", target: "≤ \(limit) × \(other.rawValue)",
            measured: "\((ours / theirs).text(2)) × \(other.rawValue)",
            isKept: ours <= limit * theirs)
    }

    private var offset: Promise? {
        guard let p99 = samples(.soundOffset, .kiosk, in: "flash").magnitudes.percentile(99) else { return nil }
        return Promise(subject: "sound to picture, p99", target: "≤ 20 ms", measured: "\(p99.text(1)) ms", isKept: p99 <= 20)
    }

    private func answer(_ measure: Measure) -> Promise? {
        let samples = samples(measure, .kiosk, in: "controls")
        // Two periods of 60 Hz.
        guard let median = samples.median, let worst = samples.maximum else { return nil }
        return Promise(
            subject: measure == .touch ? "touch to vblank" : "key to vblank", target: "≤ 2 periods (33 ms)",
            measured: "\(median.text(0)) ms, the worst of \(samples.count) \(worst.text(0)) ms", isKept: worst <= 2 * 1000 / 60.0)
    }
}
