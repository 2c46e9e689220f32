import KioskMedia
import KioskPlatform
import KioskPlayback

/// A sound card: a line of samples that it was given and plays at a rate of its own, served by a thread of its own.
///
/// Of each sample it keeps which one it is (``NumberedSound``), and that is what is heard. Once a period the thread fills the line from the
/// engine's queue and reports where the card is, in steps. What is interrupted is given back; when the line has been played to its end the
/// card stands still until it is served (an underrun).
struct SimulatedCard {
    /// Nominal frames a second.
    static let sampleRate = 2000

    private let rate: Double  // frames a second, as it is
    /// Frames.
    private let period: Int, capacity: Int, reportStep: Int
    private var renderer: (any AudioRenderer)?

    /// What it was given, the places of samples from number `forgotten` on; nil for silence.
    private var line: [Double?] = []
    private var forgotten = 0
    /// Samples that it was given.
    private var count: Int { forgotten + line.count }
    /// It is at frame `frames` at `since`, and goes on from there unless it stands.
    private var since = HostTime(nanoseconds: 0)
    private var frames = 0.0
    private var stands = true

    /// When its thread runs next; nil before it was started.
    private(set) var due: HostTime?
    private var blockedUntil = HostTime(nanoseconds: 0)
    private var isInterrupted = false

    init(_ scenario: Scenario) {
        rate = Double(scenario.sampleRate) * (1 + scenario.cardError * 1e-6)
        (period, capacity, reportStep) = (scenario.cardPeriod, scenario.cardPeriod * scenario.cardPeriods, scenario.cardStep)
    }

    mutating func start(_ renderer: any AudioRenderer, at time: HostTime) {
        self.renderer = renderer
        due = time
    }

    mutating func interrupt(at time: HostTime) {
        isInterrupted = true
        due = min(due ?? time, time + .milliseconds(1))
    }

    /// Its thread does not get to run before `time`.
    mutating func block(until time: HostTime) { blockedUntil = time }

    // MARK: Its thread

    /// Does what is due at `time`.
    mutating func step(at time: HostTime, using random: inout SeededRandom) {
        guard let due, due <= time, let renderer else { return }
        guard time >= blockedUntil else {
            self.due = blockedUntil
            return
        }
        if !stands, position(at: time) >= Double(count) {
            stop(at: time)
            frames = Double(count)
            renderer.takeBack(frames: 0)
        }
        if isInterrupted {
            isInterrupted = false
            stop(at: time)
            frames = frames.rounded(.up)
            let unheard = count - Int(frames)
            line.removeLast(unheard)
            if unheard > 0 { renderer.takeBack(frames: unheard) }
        }
        let isWaiting = fill(at: time, from: renderer)
        if stands { (since, stands) = (time, false) }
        let told = heard(at: time) / reportStep * reportStep
        renderer.report(unheard: count - told, at: time)
        self.due = time + (isWaiting ? .milliseconds(5) : .seconds(Double(period) / rate)) + random.latency()
    }

    /// Whether it waits for samples that are still to come.
    private mutating func fill(at time: HostTime, from renderer: any AudioRenderer) -> Bool {
        while count - heard(at: time) + period <= capacity {
            if count - heard(at: time) >= period + 20 && !renderer.isReady(frames: period) { return true }
            var samples = [Float](repeating: 9, count: period * 2)
            samples.withUnsafeMutableBufferPointer { renderer.render(into: $0) }
            for frame in 0..<period {
                line.append(NumberedSound.place(of: SIMD2(Double(samples[2 * frame]), Double(samples[2 * frame + 1]))))
            }
        }
        return false
    }

    private mutating func stop(at time: HostTime) { (frames, since, stands) = (position(at: time), time, true) }

    // MARK: What is heard

    private func position(at time: HostTime) -> Double {
        stands ? frames : min(Double(count), frames + max(0, (time - since).seconds) * rate)
    }

    private func heard(at time: HostTime) -> Int { Int(position(at: time)) }

    /// The number of the sample that is at the speaker, to a fraction of one; nil in silence. The tone leaves open which turn it is of:
    /// that nearest to `believed`.
    func number(at time: HostTime, believed: Double) -> Double? {
        let position = position(at: time)
        guard !stands, Int(position) < count, let place = line[Int(position) - forgotten] else { return nil }
        return NumberedSound.number(at: place + position - position.rounded(.down), nearest: believed)
    }

    /// How many of the samples that have been heard since the last call were silent. They are forgotten.
    mutating func forget(until time: HostTime) -> Int {
        let heard = max(0, heard(at: time) - forgotten)
        defer {
            line.removeFirst(heard)
            forgotten += heard
        }
        return line.prefix(heard).count { $0 == nil }
    }

    /// The number of each sample that was heard until `time`; nil in silence.
    func played(until time: HostTime) -> [Double?] { NumberedSound.numbers(of: line.prefix(heard(at: time) - forgotten)) }
}
