import KioskMedia
import KioskPlatform
import KioskPlayback

/// A simulated sound card. It plays a line of samples at its own rate, and its own thread serves it.
///
/// The card keeps the identity of each sample (``NumberedSound``); that is the sound heard. Once a period the thread fills the line from
/// the engine's queue, and reports the card's position in steps. An interruption gives the unheard samples back. At the end of the line the
/// card stands until the thread serves it (an underrun).
struct SimulatedCard {
    /// Nominal frames a second.
    static let sampleRate = 2000

    private let rate: Double  // true frames a second
    /// In frames.
    private let period: Int, capacity: Int, reportStep: Int
    private var renderer: (any AudioRenderer)?

    /// The place of each sample that the card was given, from number `forgotten` on; nil for silence.
    private var line: [Double?] = []
    private var forgotten = 0
    /// The number of samples that the card was given.
    private var count: Int { forgotten + line.count }
    /// The card is at frame `frames` at `since`, and goes on from there unless it stands.
    private var since = HostTime(nanoseconds: 0)
    private var frames = 0.0
    private var stands = true

    /// The time of the thread's next run; nil before the start.
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

    /// Keeps the thread from running before `time`.
    mutating func block(until time: HostTime) { blockedUntil = time }

    // MARK: Its thread

    /// Runs the thread if it is due at `time`.
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

    /// Fills the line, and returns whether it waits for samples that are still to come.
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

    /// Returns the number of the sample at the speaker, with its fraction; nil in silence. The tone repeats: the turn nearest to `believed`
    /// counts.
    func number(at time: HostTime, believed: Double) -> Double? {
        let position = position(at: time)
        guard !stands, Int(position) < count, let place = line[Int(position) - forgotten] else { return nil }
        return NumberedSound.number(at: place + position - position.rounded(.down), nearest: believed)
    }

    /// Forgets the samples heard since the last call, and returns how many of them were silent.
    mutating func forget(until time: HostTime) -> Int {
        let heard = max(0, heard(at: time) - forgotten)
        defer {
            line.removeFirst(heard)
            forgotten += heard
        }
        return line.prefix(heard).count { $0 == nil }
    }

    /// Returns the number of each sample heard until `time`; nil in silence.
    func played(until time: HostTime) -> [Double?] { NumberedSound.numbers(of: line.prefix(heard(at: time) - forgotten)) }
}
