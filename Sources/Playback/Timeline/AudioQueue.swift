import DequeModule
import KioskMedia
import KioskPlatform
import Synchronization

/// The samples between the feeder and the audio output, and the clock that follows from them.
///
/// Three positions move through it: *written* (by the feeder), *rendered* (taken by the output), *heard* (at the speaker, by the output's
/// reports). Samples are numbered from the beginning of the generation; sample n belongs to timeline instant n / rate. They stay in the
/// ring until they have been heard, so that a pause or an interruption can take back what lies unheard in the card and render it again.
///
/// The output renders without end; where there is nothing to play (paused, not started, ran dry) it gets silence. What was rendered when is
/// kept as a list of *runs*, and the timeline's instant is read off the run the card is in: inside silence the timeline stands still. This
/// one rule makes the clock right across pauses, seeks, stalls and cards that come and go.
///
/// Where the sound is to be heard later than the picture is shown, because a television takes its time for pictures, what is played when is decided so many
/// frames ahead: runs are known before their samples are taken, and the clock tells what will be heard after the *delay*. A pause, a seek and a seam are then
/// heard as much later as everything else. Where it is to be heard earlier, the clock tells what was heard then. The ring holds as much more.
///
/// ``ratio`` is how many samples are played in the time of one: a display that is a little fast or slow beside the card is followed by the
/// sound (``FrameScheduler``). At 1 samples pass through as they are; else they are read between (``Interpolator``), and a run remembers
/// its ratio, so that the clock stays exact.
final class AudioQueue: AudioRenderer {
    /// A place in the samples, to a fraction of one: two numbers, because one would be too coarse after some months.
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
        /// Device frame the run begins at; it ends where the next begins.
        var begin: Int64
        /// What is played at its beginning; for silence what comes next.
        var position: Position
        /// Samples a device frame; 0 in silence.
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
        /// Device frames rendered since the output started.
        var rendered: Int64 = 0
        var runs = Deque<Run>()
        var clock: DeviceClock
        var isRunning = false
        var ranDry = false
        /// Nothing more will be written in this generation.
        var isFinished = false
        var stalls = 0
        var stalledFrames: Int64 = 0
        var gain: Float = 1
        var targetGain: Float = 1
        /// How far the gain goes towards that with each frame.
        var gainStep: Float = 1
        /// What the output took at the last call.
        var taken = 0
        /// The feeder wants to know when there is room again.
        var wantsRoom = false
        var watch = RenderingWatch()
    }

    let format: AudioFormat
    /// By how many frames the sound is heard later than the picture is seen; negative: earlier.
    private let delay: Int64
    /// How far ahead of the samples that the output takes is decided what is played.
    private var lead: Int64 { max(0, delay) }
    private let capacity: Int64  // frames
    private let ringFrames: Int64  // with what the interpolator reads behind and ahead
    // Not a Mutex, which spins for a while before it waits: on one core that only keeps who holds it from going on.
    private let state: Monitor<State>
    private let onRoom: @Sendable () -> Void
    private let verdict = Atomic(RenderingWatch.Verdict.onTime.rawValue)

    /// How much later than its time sound may be rendered without the clock standing still for it: an output without a card is late by what
    /// its thread takes to wake up. Less than what makes a position that is locked jump.
    static let longestLateness = MediaTime.milliseconds(30)

    /// Gain changes take this long from silence to full, short enough to feel immediate and long enough not to click.
    private static let rampTime = 0.01

    /// A queue for an output of this format; `onRoom` is called on the audio thread when there is room after
    /// ``room(wanting:)`` found too little. What is heard is heard so much later than the clock says.
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

    /// The number of the sample at a timeline instant.
    func sample(at time: MediaTime) -> Int64 { Int64(saturating: Double(time.nanoseconds) * Double(format.sampleRate) / 1e9) }

    /// The timeline instant of a sample.
    func time(ofSample sample: Double) -> MediaTime { .seconds(sample / Double(format.sampleRate)) }

    /// The sample the next write begins at.
    var writtenSamples: Int64 { state.withLock { $0.written } }

    /// Frames that can be written now. With fewer than `wanted`, `onRoom` is called once a quarter of the queue is free.
    func room(wanting wanted: Int) -> Int {
        state.withLock { state in
            let room = Int(capacity - (state.written - heard(state)))
            state.wantsRoom = room < wanted
            return room
        }
    }

    /// Appends whole frames; there must be room for them.
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

    /// Drops everything and stands still at timeline instant zero; the output must be interrupted afterwards.
    func reset() {
        state.withLock { state in
            (state.written, state.read, state.isRunning, state.ranDry, state.isFinished) = (0, Position(sample: 0), false, false, false)
            state.runs.removeAll(keepingCapacity: true)
            state.runs.append(Run(begin: state.rendered, position: state.read, ratio: 0))
        }
    }

    /// Says that nothing more will be written before the next ``reset()``: to have nothing left then is no stall.
    func finish() { state.withLock { $0.isFinished = true } }

    // MARK: The player's side

    /// How much has been written from a timeline instant on.
    func ahead(of time: MediaTime) -> MediaTime { max(.zero, self.time(ofSample: Double(writtenSamples)) - time) }

    /// Whether samples are being rendered rather than silence.
    var isRunning: Bool {
        get { state.withLock { $0.isRunning } }
        set { state.withLock { $0.isRunning = newValue } }
    }

    /// Whether there was nothing left to render at the last call.
    var ranDry: Bool { state.withLock { $0.ranDry } }

    /// How often there was nothing left while there should have been, and how long in all: the timeline stood still.
    var stalls: (count: Int, time: MediaTime) { state.withLock { ($0.stalls, time(ofSample: Double($0.stalledFrames))) } }

    /// Frames that the output has taken, since it started.
    var renderedFrames: Int64 { state.withLock { $0.rendered } }

    /// Whether the output renders in time, by the last ``timelineTime(at:now:)`` that was asked for with the present.
    var rendering: RenderingWatch.Verdict { RenderingWatch.Verdict(rawValue: verdict.load(ordering: .relaxed)) ?? .onTime }

    /// Frames ready to be rendered.
    var available: Int64 { state.withLock { $0.written - $0.read.sample } }

    /// Whether there is so little room that the feeder waits until more is free.
    var isFull: Bool { state.withLock { capacity - ($0.written - heard($0)) < capacity / 4 } }

    /// How much the output takes at a start before it waits for more instead of playing silence: two of the pieces that it takes at a time,
    /// by the last of them, and what it waits for. Such a piece is a period of the card.
    var cardDemand: MediaTime { time(ofSample: Double(2 * state.withLock { $0.taken })) + Self.cardMargin }
    private static let cardMargin = MediaTime.milliseconds(10)

    /// How many samples are played in the time of one, for what is rendered from now on.
    var ratio: Double {
        get { state.withLock { $0.ratio } }
        set { state.withLock { $0.ratio = newValue } }
    }

    /// A volume, 0…1, as a factor of amplitude; the player's and an item's alike. The cube follows the ear: half-way sounds about half as
    /// loud.
    static func gain(ofVolume volume: Double) -> Double { volume * volume * volume }

    /// Loudness as a factor of amplitude, approached without a click; or in so long a time.
    func setGain(_ gain: Double, over time: MediaTime? = nil) {
        state.withLock { state in
            state.targetGain = Float(gain)
            let way = time == nil ? 1 : abs(state.targetGain - state.gain)
            state.gainStep = way / Float(max(1, (time?.seconds ?? Self.rampTime) * Double(format.sampleRate)))
        }
    }

    /// The timeline instant that is heard at `host`; nil before the output's first report, and while the output has yet to render the
    /// samples that are to be heard from now on. A `host` in the near future is asked for with the present, `now`: what has not been
    /// rendered by now is not being heard (the process stood still, and the output with it), while what is to be heard later may still be
    /// rendered.
    func timelineTime(at host: HostTime, now: HostTime? = nil) -> MediaTime? {
        state.withLock { state in
            guard var position = state.clock.frames(at: host), let present = state.clock.frames(at: min(host, now ?? host)) else {
                // In a pause nobody waits for the first reading.
                if let now { look(&state, isLate: state.isRunning ? nil : false, at: now) }
                return nil
            }
            let late = present - Double(state.rendered) - Self.longestLateness.seconds * Double(format.sampleRate)
            if let now { look(&state, isLate: late > 0, at: now) }
            position += Double(delay) - max(0, late)
            return sample(heardAt: position, state).map { time(ofSample: $0) }
        }
    }

    /// Looks whether whoever renders is in time.
    private func look(_ state: inout State, isLate: Bool?, at now: HostTime) {
        let piece = time(ofSample: Double(state.taken))
        verdict.store(state.watch.look(isLate: isLate, rendered: state.rendered, piece: piece, at: now).rawValue, ordering: .relaxed)
    }

    private func sample(heardAt position: Double, _ state: borrowing State) -> Double? {
        guard let index = state.runs.lastIndex(where: { Double($0.begin) <= position }) else {
            // Before the oldest run that is kept; or before there was one, where the sound comes before the picture.
            guard let first = state.runs.first else { return 0 }
            let sound = first.isSilence && state.runs.count > 1 ? state.runs[1] : first
            if delay < 0, first.position.value == 0, !sound.isSilence { return position - Double(sound.begin) }
            return first.position.value
        }
        let run = state.runs[index]
        // Silence from before the clock was set going: nobody knows yet when it ends.
        if run.isSilence, index == state.runs.count - 1, state.isRunning, !state.ranDry { return nil }
        // The silence before a generation's first sample counts down to it, so that the first frames can be timed.
        if run.isSilence, run.position.value == 0, index + 1 < state.runs.count { return position - Double(state.runs[index + 1].begin) }
        return run.position.value + (position - Double(run.begin)) * run.ratio
    }

    private func heard(_ state: borrowing State) -> Int64 {
        // Samples of runs the card may still be in cannot be overwritten: `read` less everything rendered but not certainly heard.
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
                // Nobody hears it change while nothing plays. Where the queue ran dry a ramp goes on at the next sample: a step would be heard.
                if !state.isRunning, lead == 0 { state.gain = state.targetGain }
            }
            if lead > 0 { unsafe take(Int(frames), into: samples, &state) }
            state.rendered += frames
            return roomBecame(&state)
        }
        if hasRoom { onRoom() }
    }

    /// Takes the samples of runs that were decided before.
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

    /// How many device frames the samples that are written and not read make. What is read between samples needs those that follow, while
    /// there are any.
    private static func renderable(_ state: borrowing State) -> Int64 {
        let isBetween = (state.ratio != 1 || state.read.fraction != 0) && !state.isFinished
        let left = Double(state.written - state.read.sample) - state.read.fraction - (isBetween ? Double(Interpolator.reach) : 0)
        return left <= 0 ? 0 : max(0, Int64(((left - 1) / state.ratio).rounded(.down)) + 1)
    }

    private func append(_ run: Run, to state: inout State) {
        // A run that goes on is the last one still; where it stands now follows from it.
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
            // What is decided is decided anew, and what follows from it is heard after the delay.
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
            // Runs that ended before what is being heard are done with; keep some tenths of a second for readings of the recent past.
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

/// Looks whether whoever renders is late for more than its thread's wake-up: whether it hangs in a call of the sound card. A pure value: how far
/// the card must be, and how far has been rendered, in; a verdict out.
///
/// Only what has been seen twice counts, with ``limit`` between: a process that stood still, machine and all, is late at the first look after it.
struct RenderingWatch: Sendable {
    enum Verdict: UInt8, Hashable, Sendable {
        case onTime
        /// To be looked at again soon.
        case late
        /// Somebody has to stand in (``PCMOutput/standIn()``).
        case overdue
    }

    /// How long nothing may be rendered after the card has come to the end of all there was.
    static let limit = MediaTime.milliseconds(40)
    /// The same, and two pieces as the card takes them, where it has not told yet where it is: it is being started.
    static let longestStart = MediaTime.milliseconds(100)

    /// How much had been rendered when it was late for the first time, and when that was.
    private var late: (rendered: Int64, since: HostTime)?

    /// A look at `now`. `isLate`: the card has come to the end of the `rendered` frames; nil where it has not told yet where it is. It takes
    /// `piece` at a time.
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
