import DequeModule
import Media
import Platform

/// The samples between the feeder and the audio output, and the clock that follows from them.
///
/// Three positions move through it: *written* (by the feeder), *rendered* (taken by the output), *heard* (at the speaker, by the output's reports). Samples
/// are numbered from the beginning of the generation; sample n belongs to timeline instant n / rate. They stay in the ring until they have
/// been heard, so that a pause or an interruption can take back what lies unheard in the card and render it again.
///
/// The output renders without end; where there is nothing to play (paused, not started, ran dry) it gets silence. What was rendered
/// when is kept as a list of *runs*, and the timeline's instant is read off the run the card is in: inside silence the timeline stands still.
/// This one rule makes the clock right across pauses, seeks, stalls and cards that come and go.
final class AudioQueue: AudioRenderer {
    private struct Run: Hashable {
        /// Device frame the run begins at; it ends where the next begins.
        var begin: Int64
        /// Sample number at its beginning; for silence the sample that comes next.
        var sample: Int64
        var isSilence: Bool
    }

    private struct State: ~Copyable {
        var ring: [Float]
        var written: Int64 = 0
        var read: Int64 = 0
        /// Device frames rendered since the output started.
        var rendered: Int64 = 0
        var runs = Deque<Run>()
        var clock: DeviceClock
        var isRunning = false
        var ranDry = false
        var gain: Float = 1
        var targetGain: Float = 1
        /// The feeder wants to know when there is room again.
        var wantsRoom = false
    }

    let format: AudioFormat
    private let capacity: Int64  // frames
    // Not a Mutex: its lock is not seen by ThreadSanitizer, and this is what most threads share.
    private let state: Monitor<State>
    private let onRoom: @Sendable () -> Void

    /// Gain changes take this long from silence to full, short enough to feel immediate and long enough not to click.
    private static let rampTime = 0.01

    /// A queue for an output of this format; `onRoom` is called on the audio thread when there is room after ``write(_:)`` found too little.
    init(format: AudioFormat, onRoom: @escaping @Sendable () -> Void) {
        self.format = format
        self.onRoom = onRoom
        capacity = Int64(format.sampleRate)  // a second
        state = Monitor(
            State(
                ring: [Float](repeating: 0, count: format.sampleRate * format.channelCount),
                clock: DeviceClock(sampleRate: format.sampleRate)))
    }

    // MARK: The feeder's side

    /// The number of the sample at a timeline instant.
    func sample(at time: MediaTime) -> Int64 { Int64((Double(time.nanoseconds) * Double(format.sampleRate) / 1e9).rounded()) }

    /// The timeline instant of a sample.
    func time(ofSample sample: Double) -> MediaTime { MediaTime(nanoseconds: Int64((sample * 1e9 / Double(format.sampleRate)).rounded())) }

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
            var offset = Int(state.written % capacity) * channels
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
            (state.written, state.read, state.isRunning, state.ranDry) = (0, 0, false, false)
            state.runs.removeAll(keepingCapacity: true)
            state.runs.append(Run(begin: state.rendered, sample: 0, isSilence: true))
        }
    }

    // MARK: The player's side

    /// Whether samples are being rendered rather than silence.
    var isRunning: Bool {
        get { state.withLock { $0.isRunning } }
        set { state.withLock { $0.isRunning = newValue } }
    }

    /// Whether there was nothing left to render at the last call.
    var ranDry: Bool { state.withLock { $0.ranDry } }

    /// Frames ready to be rendered.
    var available: Int64 { state.withLock { $0.written - $0.read } }

    /// A volume, 0…1, as a factor of amplitude; the player's and an item's alike. The cube follows the ear: half-way sounds about half as loud.
    static func gain(ofVolume volume: Double) -> Double { volume * volume * volume }

    /// Loudness as a factor of amplitude, approached without a click.
    func setGain(_ gain: Double) { state.withLock { $0.targetGain = Float(gain) } }

    /// The timeline instant that is heard at `host`, which may lie in the near future; nil before the output's first report.
    func timelineTime(at host: HostTime) -> MediaTime? {
        state.withLock { state in
            guard let position = state.clock.frames(at: host) else { return nil }
            return time(ofSample: sample(heardAt: position, state))
        }
    }

    private func sample(heardAt position: Double, _ state: borrowing State) -> Double {
        guard let index = state.runs.lastIndex(where: { Double($0.begin) <= position }) else {
            // Before the oldest run that is kept.
            return state.runs.first.map { Double($0.sample) } ?? 0
        }
        let run = state.runs[index]
        if !run.isSilence { return Double(run.sample) + position - Double(run.begin) }
        // The silence before a generation's first sample counts down to it, so that the first frames can be timed.
        if run.sample == 0, index + 1 < state.runs.count { return Double(run.sample) - (Double(state.runs[index + 1].begin) - position) }
        return Double(run.sample)
    }

    private func heard(_ state: borrowing State) -> Int64 {
        // Samples of runs the card may still be in cannot be overwritten: `read` less everything rendered but not certainly heard.
        guard let run = state.runs.first else { return state.read }
        return min(run.sample, state.read)
    }

    // MARK: The output's side

    func render(into samples: UnsafeMutableBufferPointer<Float>) {
        let channels = format.channelCount
        let frames = Int64(samples.count / channels)
        let hasRoom = state.withLock { state in
            let count = state.isRunning ? min(frames, state.written - state.read) : 0
            state.ranDry = state.isRunning && count < frames
            if count > 0 {
                append(Run(begin: state.rendered, sample: state.read, isSilence: false), to: &state)
                unsafe copy(count, to: samples, &state)
            }
            if count < frames {
                append(Run(begin: state.rendered + count, sample: state.read, isSilence: true), to: &state)
                for index in Int(count) * channels..<samples.count { unsafe samples[index] = 0 }
                if count == 0 { state.gain = state.targetGain }
            }
            state.rendered += frames
            return roomBecame(&state)
        }
        if hasRoom { onRoom() }
    }

    private func append(_ run: Run, to state: inout State) {
        if let last = state.runs.last, last.isSilence == run.isSilence,
            run.isSilence ? last.sample == run.sample : last.sample + run.begin - last.begin == run.sample
        {
            return  // the last run goes on
        }
        state.runs.append(run)
    }

    private func copy(_ count: Int64, to samples: UnsafeMutableBufferPointer<Float>, _ state: inout State) {
        let channels = format.channelCount
        let ramp = Float(1 / (Self.rampTime * Double(format.sampleRate)))
        var offset = Int(state.read % capacity) * channels
        for frame in 0..<Int(count) {
            if state.gain != state.targetGain {
                state.gain =
                    state.gain < state.targetGain ? min(state.targetGain, state.gain + ramp) : max(state.targetGain, state.gain - ramp)
            }
            for channel in 0..<channels { unsafe samples[frame * channels + channel] = state.ring[offset + channel] * state.gain }
            offset += channels
            if offset == state.ring.count { offset = 0 }
        }
        state.read += count
    }

    func takeBack(frames: Int) {
        state.withLock { state in
            state.rendered -= Int64(frames)
            while let last = state.runs.last, last.begin >= state.rendered {
                state.runs.removeLast()
                state.read = last.sample
            }
            if let last = state.runs.last {
                state.read = last.isSilence ? last.sample : last.sample + state.rendered - last.begin
            }
            state.clock.restart()
        }
    }

    func report(unheard: Int, at time: HostTime) {
        let hasRoom = state.withLock { state in
            let position = state.rendered - Int64(unheard)
            state.clock.report(frames: Double(position), at: time)
            // Runs that ended before what is being heard are done with; keep some tenths of a second for readings of the recent past.
            let horizon = position - Int64(format.sampleRate / 4)
            while state.runs.count > 1, state.runs[1].begin <= horizon { state.runs.removeFirst() }
            if let first = state.runs.first, !first.isSilence, horizon > first.begin {
                state.runs[0] = Run(begin: horizon, sample: first.sample + horizon - first.begin, isSilence: false)
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
