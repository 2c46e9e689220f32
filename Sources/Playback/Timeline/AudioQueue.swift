import DequeModule
import KioskMedia
import KioskPlatform
import Synchronization

/// The queue of samples between the feeder and the audio output, and the clock derived from it.
///
/// Three positions move through the queue: *written* (by the feeder), *rendered* (taken by the output), *heard* (at the speaker, by the
/// output's reports). Sample numbers start at the beginning of the generation; sample n belongs to timeline instant n / rate. Samples stay
/// in the ring until they have been heard. So after a pause or an interruption the queue can take back the unheard samples in the card and
/// render them again.
///
/// The output renders without end; it gets silence if there is nothing to play (paused, not started, ran dry). The queue keeps a list of
/// *runs*: the stretches of samples or silence that it rendered. The run that the card is in gives the timeline instant; inside silence the
/// timeline stands still. This one rule keeps the clock right across pauses, seeks, stalls and cards that come and go.
///
/// A television that delays its pictures needs sound that is heard later than kiosk shows the picture. For this the queue decides that many
/// frames ahead: it knows runs before their samples are taken, and the clock tells the instant heard after the *delay*. Pauses, seeks and
/// seams are then heard later by the same time. If the sound has to be earlier, the clock tells the instant heard that much earlier. The
/// ring grows by the delay.
///
/// ``ratio`` is the number of samples played in the time of one: the sound follows a display that is a little fast or slow beside the card
/// (``FrameScheduler``). At 1 samples pass through unchanged; otherwise the ``Interpolator`` reads between them. A run remembers its ratio,
/// so the clock stays exact.
final class AudioQueue: AudioRenderer {
    /// A place in the samples, to a fraction of one. It takes two numbers, because one would be too coarse after some months.
    private struct Position: Hashable {
        var sample: Int64
        var fraction = 0.0

        var value: Double { Double(sample) + fraction }

        func advanced(by samples: Double) -> Position {
            let whole = (fraction + samples).rounded(.down)
            return Position(sample: sample + Int64(whole), fraction: fraction + samples - whole)
        }
    }

    private struct Run: Hashable {
        /// The device frame at which the run begins; it ends where the next one begins.
        var begin: Int64
        /// The sample played at the run's beginning; for silence the sample that comes next.
        var position: Position
        /// Samples per device frame; 0 in silence.
        var ratio: Double

        var isSilence: Bool { ratio == 0 }
        func position(at frame: Int64) -> Position { position.advanced(by: Double(frame - begin) * ratio) }
    }

    private struct State: ~Copyable {
        var ring: [Float]
        var written: Int64 = 0
        var read = Position(sample: 0)
        var ratio = 1.0
        var interpolator = Interpolator()
        /// The number of device frames rendered since the output started.
        var rendered: Int64 = 0
        var runs = Deque<Run>()
        var clock: DeviceClock
        var isRunning = false
        var ranDry = false
        /// Whether the feeder writes nothing more in this generation.
        var isFinished = false
        var stalls = 0
        var stalledFrames: Int64 = 0
        var gain: Float = 1
        var targetGain: Float = 1
        /// The change of the gain per frame on its way to ``targetGain``.
        var gainStep: Float = 1
        /// The number of frames that the output took at the last call.
        var taken = 0
        /// Whether the feeder waits for room.
        var wantsRoom = false
        var watch = RenderingWatch()
    }

    let format: AudioFormat
    /// The number of frames by which the sound is heard later than the picture is seen; negative: earlier.
    private let delay: Int64
    /// The number of frames by which the queue decides ahead of the samples that the output takes.
    private var lead: Int64 { max(0, delay) }
    private let capacity: Int64  // frames
    private let ringFrames: Int64  // includes the samples behind and ahead that the interpolator reads
    // Not a Mutex: it spins before it waits, which on one core only delays the holder.
    private let state: Monitor<State>
    private let onRoom: @Sendable () -> Void
    private let verdict = Atomic(RenderingWatch.Verdict.onTime.rawValue)

    /// The lateness in rendering up to which the clock does not stand still: an output without a card is late by its thread's wake-up time.
    /// It is less than the error that makes a locked position jump.
    static let longestLateness = MediaTime.milliseconds(30)

    /// The duration of a gain change from silence to full, short enough to feel immediate and long enough not to click.
    private static let rampTime = 0.01

    /// Creates a queue for an output of this format. The sound is heard later than the clock says by `delay`. The queue calls `onRoom` on
    /// the audio thread when there is room after ``room(wanting:)`` found too little.
    init(format: AudioFormat, delay: MediaTime = .zero, onRoom: @escaping @Sendable () -> Void) {
        self.format = format
        self.onRoom = onRoom
        self.delay = Int64(saturating: (delay.seconds * Double(format.sampleRate)).rounded())
        capacity = Int64(format.sampleRate) + abs(self.delay)  // a second
        ringFrames = capacity + 2 * Int64(Interpolator.reach)
        state = Monitor(
            State(
                ring: [Float](repeating: 0, count: Int(ringFrames) * format.channelCount),
                clock: DeviceClock(sampleRate: format.sampleRate)))
    }

    // MARK: The feeder's side

    /// Returns the number of the sample at a timeline instant.
    func sample(at time: MediaTime) -> Int64 { Int64(saturating: Double(time.nanoseconds) * Double(format.sampleRate) / 1e9) }

    /// Returns the timeline instant of a sample.
    func time(ofSample sample: Double) -> MediaTime { .seconds(sample / Double(format.sampleRate)) }

    /// The sample at which the next write begins.
    var writtenSamples: Int64 { state.withLock { $0.written } }

    /// Returns the number of frames that the feeder can write now. If it is less than `wanted`, the queue calls `onRoom` once a quarter of
    /// it is free.
    func room(wanting wanted: Int) -> Int {
        state.withLock { state in
            let room = Int(capacity - (state.written - heard(state)))
            state.wantsRoom = room < wanted
            return room
        }
    }

    /// Appends whole frames. There must be room for them.
    func write(_ samples: Span<Float>) {
        state.withLock { state in
            let channels = format.channelCount
            precondition(Int64(samples.count / channels) <= capacity - (state.written - heard(state)), "AudioQueue: written without room")
            var offset = Int(state.written % ringFrames) * channels
            for index in samples.indices {
                state.ring[offset] = samples[index]
                offset += 1
                if offset == state.ring.count { offset = 0 }
            }
            state.written += Int64(samples.count / channels)
        }
    }

    /// Drops all samples and stops at timeline instant zero. The caller must interrupt the output afterwards.
    func reset() {
        state.withLock { state in
            (state.written, state.read, state.isRunning, state.ranDry, state.isFinished) = (0, Position(sample: 0), false, false, false)
            state.runs.removeAll(keepingCapacity: true)
            state.runs.append(Run(begin: state.rendered, position: state.read, ratio: 0))
        }
    }

    /// Declares that the feeder writes nothing more before the next ``reset()``. An empty queue is then no stall.
    func finish() { state.withLock { $0.isFinished = true } }

    // MARK: The player's side

    /// Returns the amount of sound written after a timeline instant.
    func ahead(of time: MediaTime) -> MediaTime { max(.zero, self.time(ofSample: Double(writtenSamples)) - time) }

    /// Whether the queue renders samples rather than silence.
    var isRunning: Bool {
        get { state.withLock { $0.isRunning } }
        set { state.withLock { $0.isRunning = newValue } }
    }

    /// Whether the last call found too few samples to render.
    var ranDry: Bool { state.withLock { $0.ranDry } }

    /// The number of stalls and their total time. In a stall the queue has no samples although it should, and the timeline stands still.
    var stalls: (count: Int, time: MediaTime) { state.withLock { ($0.stalls, time(ofSample: Double($0.stalledFrames))) } }

    /// The number of frames that the output has taken since it started.
    var renderedFrames: Int64 { state.withLock { $0.rendered } }

    /// Whether the output renders in time, as of the last ``timelineTime(at:now:)`` call with `now`.
    var rendering: RenderingWatch.Verdict { RenderingWatch.Verdict(rawValue: verdict.load(ordering: .relaxed)) ?? .onTime }

    /// The number of frames ready to render.
    var available: Int64 { state.withLock { $0.written - $0.read.sample } }

    /// Whether less than a quarter of the queue is free, so that the feeder waits.
    var isFull: Bool { state.withLock { capacity - ($0.written - heard($0)) < capacity / 4 } }

    /// The amount of sound that the output takes at a start before it waits for more instead of playing silence: two pieces of the last
    /// size taken, and a margin. A piece is a period of the card.
    var cardDemand: MediaTime { time(ofSample: Double(2 * state.withLock { $0.taken })) + Self.cardMargin }
    private static let cardMargin = MediaTime.milliseconds(10)

    /// The number of samples played in the time of one, from the next rendering on.
    var ratio: Double {
        get { state.withLock { $0.ratio } }
        set { state.withLock { $0.ratio = newValue } }
    }

    /// Returns the amplitude factor of a volume 0…1, of the player or of an item. The cube follows the ear: half the volume sounds about
    /// half as loud.
    static func gain(ofVolume volume: Double) -> Double { volume * volume * volume }

    /// Sets the loudness as a factor of amplitude. The gain approaches it without a click, or over `time`.
    func setGain(_ gain: Double, over time: MediaTime? = nil) {
        state.withLock { state in
            state.targetGain = Float(gain)
            let way = time == nil ? 1 : abs(state.targetGain - state.gain)
            state.gainStep = way / Float(max(1, (time?.seconds ?? Self.rampTime) * Double(format.sampleRate)))
        }
    }

    /// Returns the timeline instant that is heard at `host`. nil before the output's first report, and until the output renders the samples
    /// that are heard next. For a `host` in the near future, pass the present as `now`. If the output is late at `now`, the missing samples
    /// are not being heard: the process stood still, and the output with it. Samples that are due after `now` may still be rendered.
    func timelineTime(at host: HostTime, now: HostTime? = nil) -> MediaTime? {
        state.withLock { state in
            guard var position = state.clock.frames(at: host), let present = state.clock.frames(at: min(host, now ?? host)) else {
                // In a pause the first reading is not urgent.
                if let now { look(&state, isLate: state.isRunning ? nil : false, at: now) }
                return nil
            }
            let late = present - Double(state.rendered) - Self.longestLateness.seconds * Double(format.sampleRate)
            if let now { look(&state, isLate: late > 0, at: now) }
            position += Double(delay) - max(0, late)
            return sample(heardAt: position, state).map { time(ofSample: $0) }
        }
    }

    /// Updates the verdict on whether the output renders in time.
    private func look(_ state: inout State, isLate: Bool?, at now: HostTime) {
        let piece = time(ofSample: Double(state.taken))
        verdict.store(state.watch.look(isLate: isLate, rendered: state.rendered, piece: piece, at: now).rawValue, ordering: .relaxed)
    }

    private func sample(heardAt position: Double, _ state: borrowing State) -> Double? {
        guard let index = state.runs.lastIndex(where: { Double($0.begin) <= position }) else {
            // Before the oldest run kept, or before the first run if the sound comes before the picture.
            guard let first = state.runs.first else { return 0 }
            let sound = first.isSilence && state.runs.count > 1 ? state.runs[1] : first
            if delay < 0, first.position.value == 0, !sound.isSilence { return position - Double(sound.begin) }
            return first.position.value
        }
        let run = state.runs[index]
        // Silence from before the clock started: its end is still unknown.
        if run.isSilence, index == state.runs.count - 1, state.isRunning, !state.ranDry { return nil }
        // The silence before a generation's first sample counts down to it, so the first frames can be timed.
        if run.isSilence, run.position.value == 0, index + 1 < state.runs.count { return position - Double(state.runs[index + 1].begin) }
        return run.position.value + (position - Double(run.begin)) * run.ratio
    }

    private func heard(_ state: borrowing State) -> Int64 {
        // The feeder must not overwrite samples of runs that the card may still be in. So this is `read` less everything rendered but not
        // certainly heard.
        guard let run = state.runs.first else { return state.read.sample }
        return min(run.position.sample, state.read.sample)
    }

    // MARK: The output's side

    func isReady(frames: Int) -> Bool { state.withLock { !$0.isRunning || Self.renderable($0) >= frames } }

    func render(into samples: UnsafeMutableBufferPointer<Float>) {
        let channels = format.channelCount
        let frames = Int64(samples.count / channels)
        let hasRoom = state.withLock { state in
            let count = state.isRunning ? min(frames, Self.renderable(state)) : 0
            state.taken = Int(frames)
            let wasDry = state.ranDry
            state.ranDry = state.isRunning && count < frames
            if state.ranDry, !state.isFinished {
                if !wasDry { state.stalls += 1 }
                state.stalledFrames += frames - count
            }
            let begin = state.rendered + lead
            if count > 0 {
                append(Run(begin: begin, position: state.read, ratio: state.ratio), to: &state)
                if lead == 0 { unsafe read(Int(count), at: state.read, ratio: state.ratio, into: samples, &state) }
                state.read = state.runs[state.runs.count - 1].position(at: begin + count)
            }
            if count < frames {
                append(Run(begin: begin + count, position: state.read, ratio: 0), to: &state)
                if lead == 0 { for index in Int(count) * channels..<samples.count { unsafe samples[index] = 0 } }
                // While nothing plays the change is inaudible. If the queue ran dry, the ramp goes on at the next sample: a step would be
                // audible.
                if !state.isRunning, lead == 0 { state.gain = state.targetGain }
            }
            if lead > 0 { unsafe take(Int(frames), into: samples, &state) }
            state.rendered += frames
            return roomBecame(&state)
        }
        if hasRoom { onRoom() }
    }

    /// Reads the samples of runs that were decided earlier.
    private func take(_ frames: Int, into samples: UnsafeMutableBufferPointer<Float>, _ state: inout State) {
        let channels = format.channelCount
        var done = 0
        while done < frames {
            let frame = state.rendered + Int64(done)
            let index = state.runs.lastIndex { $0.begin <= frame }
            let next = (index ?? -1) + 1
            let end = next < state.runs.count ? min(state.runs[next].begin - state.rendered, Int64(frames)) : Int64(frames)
            let part = unsafe UnsafeMutableBufferPointer(rebasing: samples[done * channels..<Int(end) * channels])
            if let index, !state.runs[index].isSilence {
                let run = state.runs[index]
                unsafe read(Int(end) - done, at: run.position(at: frame), ratio: run.ratio, into: part, &state)
            } else {
                unsafe part.update(repeating: 0)
                if !state.isRunning { state.gain = state.targetGain }
            }
            done = Int(end)
        }
    }

    /// Returns the number of device frames that the written, unread samples make. The interpolator needs the samples that follow, as long
    /// as more will be written.
    private static func renderable(_ state: borrowing State) -> Int64 {
        let isBetween = (state.ratio != 1 || state.read.fraction != 0) && !state.isFinished
        let left = Double(state.written - state.read.sample) - state.read.fraction - (isBetween ? Double(Interpolator.reach) : 0)
        return left <= 0 ? 0 : max(0, Int64(((left - 1) / state.ratio).rounded(.down)) + 1)
    }

    private func append(_ run: Run, to state: inout State) {
        // The last run continues; its ratio gives the present position.
        if let last = state.runs.last, last.ratio == run.ratio, !last.isSilence || last.position == run.position { return }
        state.runs.append(run)
    }

    private func read(
        _ count: Int, at position: Position, ratio: Double, into samples: UnsafeMutableBufferPointer<Float>, _ state: inout State
    ) {
        let channels = format.channelCount
        if ratio == 1, position.fraction == 0 {
            var offset = Int(position.sample % ringFrames) * channels
            for index in 0..<count * channels {
                unsafe samples[index] = state.ring[offset]
                offset += 1
                if offset == state.ring.count { offset = 0 }
            }
        } else {
            let first = position.sample - Int64(Interpolator.reach - 1)
            let (written, ring) = (state.written, state.ring)
            unsafe state.interpolator.read(count, fraction: position.fraction, ratio: ratio, channels: channels, into: samples) {
                frame, channel in
                let sample = first + Int64(frame)
                return sample < 0 || sample >= written ? 0 : ring[Int(sample % ringFrames) * channels + channel]
            }
        }
        guard state.gain != 1 || state.targetGain != 1 else { return }
        let ramp = state.gainStep
        for frame in 0..<count {
            if state.gain < state.targetGain {
                state.gain = min(state.targetGain, state.gain + ramp)
            } else if state.gain > state.targetGain {
                state.gain = max(state.targetGain, state.gain - ramp)
            }
            for channel in 0..<channels { unsafe samples[frame * channels + channel] *= state.gain }
        }
    }

    func takeBack(frames: Int) {
        state.withLock { state in
            state.rendered -= Int64(frames)
            // The queue decides the taken-back frames anew; the change is heard after the delay.
            let end = state.rendered + lead
            while let last = state.runs.last, last.begin >= end {
                state.runs.removeLast()
                state.read = last.position
            }
            if let last = state.runs.last { state.read = last.position(at: end) }
            state.clock.restart()
        }
    }

    func report(unheard: Int, at time: HostTime) {
        let hasRoom = state.withLock { state in
            let position = state.rendered - Int64(unheard)
            state.clock.report(frames: Double(position), at: time)
            // Discards runs that ended before the sample now heard, but keeps a quarter of a second for readings of the recent past.
            let horizon = position - Int64(format.sampleRate / 4) + min(0, delay)
            while state.runs.count > 1, state.runs[1].begin <= horizon { state.runs.removeFirst() }
            if let first = state.runs.first, !first.isSilence, horizon > first.begin {
                state.runs[0] = Run(begin: horizon, position: first.position(at: horizon), ratio: first.ratio)
            }
            return roomBecame(&state)
        }
        if hasRoom { onRoom() }
    }

    private func roomBecame(_ state: inout State) -> Bool {
        guard state.wantsRoom, capacity - (state.written - heard(state)) >= capacity / 4 else { return false }
        state.wantsRoom = false
        return true
    }
}

/// Detects a renderer that is late by more than its thread's wake-up time, because it hangs in a call of the sound card. A pure value: it
/// takes the card's expected position and the number of rendered frames, and returns a verdict.
///
/// Only two sightings ``limit`` apart count: a process that stood still, machine and all, is late at its first look afterwards.
struct RenderingWatch: Sendable {
    enum Verdict: UInt8, Hashable, Sendable {
        case onTime
        /// The renderer is late: look again soon.
        case late
        /// A stand-in must take over (``PCMOutput/standIn()``).
        case overdue
    }

    /// The longest time without rendering after the card has come to the end of the rendered frames.
    static let limit = MediaTime.milliseconds(40)
    /// The same while the card is starting and has not reported a position yet; two pieces as the card takes them are added.
    static let longestStart = MediaTime.milliseconds(100)

    /// The number of frames rendered when the renderer was first late, and the time of that.
    private var late: (rendered: Int64, since: HostTime)?

    /// Returns the verdict for a look at `now`. `isLate` says whether the card has come to the end of the `rendered` frames; it is nil
    /// before the card's first report. The card takes `piece` at a time.
    mutating func look(isLate: Bool?, rendered: Int64, piece: MediaTime, at now: HostTime) -> Verdict {
        if isLate == false {
            late = nil
            return .onTime
        }
        guard let late, late.rendered == rendered else {
            late = (rendered, now)
            return isLate == nil ? .onTime : .late
        }
        let limit = isLate == nil ? Self.longestStart + piece * 2 : Self.limit
        return now - late.since >= limit ? .overdue : isLate == nil ? .onTime : .late
    }
}
