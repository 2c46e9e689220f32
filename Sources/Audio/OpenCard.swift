import CKioskALSA
import Glibc
import KioskPlatform
import KioskPlayback

/// A card that is played to: its PCM, the frames on their way to it, and its position. Used by the audio thread alone.
///
/// Just after a start it is filled and asked for its position every period, so that there is a clock soon. Later it wakes the thread when
/// two thirds of its buffer have been played, which is filled with one call then; but not where it has run dry before.
struct OpenCard: ~Copyable {
    private let pcm: PCM
    /// How the rendered channels get to those of the card; nil for stereo as it is.
    private let mix: ChannelMix?
    private var frames: UnheardFrames
    private let samples: UnsafeMutableBufferPointer<Float>
    /// As much as the card holds.
    private let bytes: UnsafeMutableRawBufferPointer
    private let wakeUp: WakeUp
    private var descriptors: [pollfd]
    /// Frames in `bytes` that the card has not taken yet, and how many it has taken that lie before them.
    private var unwritten = 0, written = 0
    /// Frames that can be written since the last call.
    private var space = 0
    /// Whether there is room for a period, and the sound for it has not been decoded yet.
    private var isWaiting = false
    private var isStarted = false
    private var startTime = HostTime.now
    /// Whether the card has been started and not moved since. Until it has there is no clock, and with it no picture but the first.
    private var awaitsMotion = false
    /// Whether the card wakes the thread less often than every period.
    private var isRelaxed = false
    /// Whether there has been an underrun.
    private var hasRunDry = false
    private var pace: CardPace
    private var line: DelayLine

    /// With so many frames in the card's buffer it waits for more sound instead of writing silence, so that a large buffer is filled only
    /// as far as the engine is ahead. Includes a period, because some cards tell their position by the period.
    private var reserve: Int { pcm.periodSize + 2 * Int(Self.soundRetryInterval.nanoseconds) * pcm.sampleRate / 1_000_000_000 }
    /// For how long after a start its position is asked for every period: until the first readings have become a clock.
    private static let settlingTime = MediaTime.seconds(1)
    /// How soon to look again where the sound for a period has not been decoded yet, or the card has not moved yet.
    private static let soundRetryInterval = MediaTime.milliseconds(5)

    /// A card that plays so many rendered channels.
    init(_ pcm: consuming PCM, renderedCount: Int, wakeUp: WakeUp) {
        frames = UnheardFrames(sampleRate: pcm.sampleRate)
        samples = .allocate(capacity: pcm.periodSize * renderedCount)
        mix = pcm.layout.mix(from: renderedCount)
        bytes = .allocate(byteCount: max(pcm.bufferSize, pcm.periodSize) * pcm.layout.bytesPerFrame, alignment: 16)
        self.wakeUp = wakeUp
        descriptors = [wakeUp.pollDescriptor] + pcm.pollDescriptors()
        pace = CardPace(sampleRate: pcm.sampleRate, bufferSize: pcm.bufferSize, start: startTime)
        // What a card has not played is in its buffer, in the one before that, and in what the hardware has of its own.
        line = DelayLine(
            frames: Int(pcm.delay.nanoseconds * Int64(pcm.sampleRate) / 1_000_000_000), takingBack: 4 * pcm.bufferSize + pcm.periodSize,
            channelCount: renderedCount)
        self.pcm = pcm
    }

    deinit {
        samples.deallocate()
        bytes.deallocate()
    }

    /// The card and its configuration.
    func summary() -> String { pcm.summary }

    /// The kernel's PCM behind it.
    func hardware() -> Hardware? { pcm.hardware }

    /// Whether a card that has stopped by `now` has stopped sooner than it can have run empty.
    func stopsEarly(at now: HostTime) -> Bool { !isStarted || pace.stopsEarly(given: frames.rendered - unwritten, at: now) }

    /// The error for a card that cannot be started, or that stops early again and again.
    func refusal(errno: Int32) -> AudioError { .doesNotStart(device: pcm.device, errno: errno) }

    /// Frames rendered for this card and not heard by `now`.
    func unheard(at now: HostTime) -> Int { max(frames.count(at: now), unwritten) }

    /// Fills the card's buffer, starts the card where it does not run, and reports the position.
    ///
    /// - Throws: what has stopped the card; an underrun is `.lost(…, EPIPE)`.
    mutating func play(_ renderer: any AudioRenderer) throws(AudioError) {
        var position = try pcm.position()
        switch position.state {
        case SND_PCM_STATE_XRUN: throw lost("playing", EPIPE)
        case SND_PCM_STATE_SUSPENDED: return try resume(renderer)
        case SND_PCM_STATE_DISCONNECTED: throw lost("playing", ENODEV)
        default: break
        }
        space = min(position.space, pcm.bufferSize)
        // What is written below has not been heard, so this is the position to tell: a second call would say the same some microseconds later.
        var heard = isStarted ? tell(position, to: renderer) : nil
        try fill(renderer)
        if !isStarted {
            let result = pcm.start()
            // Suspended since the state was read: shows at the next call.
            if [-ESTRPIPE, -EBADFD].contains(result) { return try checkPace(heard: nil) }
            // EPIPE, too: here it is no underrun, but a driver that cannot start (USB without the bandwidth for it).
            if result < 0 { throw refusal(errno: -result) }
            (isStarted, awaitsMotion) = (true, true)
            startTime = .now
            pace = CardPace(sampleRate: pcm.sampleRate, bufferSize: pcm.bufferSize, start: startTime)
            position = try pcm.position()
            heard = tell(position, to: renderer, isFirst: true)
        }
        try checkPace(heard: heard)
    }

    /// Writes as much as there is room and sound for.
    private mutating func fill(_ renderer: any AudioRenderer) throws(AudioError) {
        isWaiting = false
        while space > 0 {
            render(renderer)
            if unwritten == 0 { return }
            let count = pcm.write(bytes.baseAddress! + written * pcm.layout.bytesPerFrame, frames: min(unwritten, space))
            if count <= 0 {
                // A suspension shows in the state, at the next call.
                if count == 0 || [.busy, .suspended].contains(CardFault(errno: Int32(-count))) { return }
                throw lost("snd_pcm_writei", Int32(-count))
            }
            unwritten -= count
            written += count
            space -= count
        }
    }

    /// Renders periods for the room there is, where all that was rendered has been written.
    private mutating func render(_ renderer: any AudioRenderer) {
        if unwritten > 0 { return }
        written = 0
        while space - unwritten >= pcm.periodSize {
            isWaiting = pcm.bufferSize - space + unwritten >= reserve && !renderer.isReady(frames: pcm.periodSize)
            if isWaiting { return }
            renderer.render(into: samples)
            line.exchange(samples)
            let begin = unwritten * pcm.layout.bytesPerFrame
            pcm.layout.convert(UnsafeBufferPointer(samples), by: mix, into: UnsafeMutableRawBufferPointer(rebasing: bytes[begin...]))
            frames.add(pcm.periodSize)
            unwritten += pcm.periodSize
        }
    }

    /// Tells a position of the card; returns the frames that have been heard by then, nil where it does not say.
    private mutating func tell(_ position: PCM.Position, to renderer: any AudioRenderer, isFirst: Bool = false) -> Int? {
        // Just after a start the timestamp can still be from before it.
        guard position.state == SND_PCM_STATE_RUNNING, position.time >= startTime else { return nil }
        let unheard = frames.observe(delay: position.delay, pending: unwritten, at: position.time)
        let heard = frames.rendered - unheard
        if heard > 0 { awaitsMotion = false }
        // At the start nothing has been heard; a card that still says so later tells its position by the period, and has not stood still.
        if isFirst || !awaitsMotion { renderer.report(unheard: unheard, at: position.time) }
        return heard
    }

    /// Waits for room for a period, for much of the buffer where the card has played for a while, or for a wake-up, at most the length of the
    /// buffer; ``soundRetryInterval`` where there is room and no sound yet, or the card has just been started. That is a rest.
    mutating func wait(_ beats: Heartbeat) {
        if isWaiting {
            beats.rest()
            return wakeUp.wait(until: .now + Self.soundRetryInterval)
        }
        relax()
        beats.rest()
        let buffer = MediaTime(nanoseconds: Int64(pcm.bufferSize) * 1_000_000_000 / Int64(pcm.sampleRate))
        wakeUp.wait(for: &descriptors, until: .now + (awaitsMotion ? Self.soundRetryInterval : buffer))
        beats.work()
        pcm.acknowledge(&descriptors[1...])
    }

    /// Has a card that plays well wake the thread when two thirds of its buffer have been played, in whole periods: what it says of its position
    /// is exact when it wakes somebody by itself.
    private mutating func relax() {
        let frames = pcm.bufferSize * 2 / 3 / pcm.periodSize * pcm.periodSize
        guard !isRelaxed, isStarted, !hasRunDry, !awaitsMotion, frames > pcm.periodSize, .now - startTime > Self.settlingTime else {
            return
        }
        isRelaxed = true
        pcm.wake(atSpace: frames)
    }

    /// Drops what was not heard, gives it back to the renderer, and prepares the card to begin again.
    mutating func interrupt(_ renderer: any AudioRenderer) throws(AudioError) {
        var unheard = unheard(at: .now)
        if isStarted, let position = try? pcm.position() {
            if position.state == SND_PCM_STATE_RUNNING, position.time >= startTime {
                // The card's position where it has one: frames pass in bursts, so an estimate by time is not exact to the frame.
                unheard = frames.observe(delay: position.delay, pending: unwritten, at: position.time)
            } else if position.state == SND_PCM_STATE_SUSPENDED {
                // It has stopped with what is in its buffer, and has not played since.
                unheard = frames.observe(delay: pcm.bufferSize - position.space, pending: unwritten, at: position.time)
            }
        }
        _ = pcm.drop()
        unwritten = 0
        renderer.takeBack(frames: unheard)
        line.takeBack(unheard)
        try begin()
    }

    /// Drops all it holds, none of which is to be heard any more, and prepares the card to begin again.
    mutating func restart() throws(AudioError) {
        _ = pcm.drop()
        unwritten = 0
        line.clear()
        try begin()
    }

    /// Drops what is rendered and not written, and returns how many frames that is.
    mutating func discardUnwritten() -> Int {
        defer { unwritten = 0 }
        return unwritten
    }

    /// Prepares the card after an underrun; what is rendered and not written is played next.
    mutating func recover() throws(AudioError) {
        hasRunDry = true
        try begin()
    }

    private mutating func begin() throws(AudioError) {
        frames.restart()
        frames.add(unwritten)
        isStarted = false
        if isRelaxed { pcm.wake(atSpace: pcm.periodSize) }
        isRelaxed = false
        let result = pcm.prepare()
        if result < 0 { throw lost("snd_pcm_prepare", -result) }
    }

    /// After a suspension a card goes on where it was, or has to be prepared again: then what was in its buffer was not heard.
    private mutating func resume(_ renderer: any AudioRenderer) throws(AudioError) {
        let result = pcm.resume()
        if result == 0 { return renderer.takeBack(frames: 0) }
        if result == -EAGAIN {
            usleep(20_000)  // a suspended PCM is always ready, so poll(2) would not wait
            return try checkPace(heard: nil)
        }
        if CardFault(errno: -result) == .lost, result != -ENOSYS { throw lost("snd_pcm_resume", -result) }
        try interrupt(renderer)
    }

    private mutating func checkPace(heard: Int?) throws(AudioError) {
        switch pace.check(rendered: frames.rendered, heard: heard, at: .now) {
        case .stalled: throw .stalled(device: pcm.device)
        case .keepsNoTime: throw .keepsNoTime(device: pcm.device)
        case nil: break
        }
    }

    private func lost(_ operation: String, _ errno: Int32) -> AudioError {
        .lost(device: pcm.device, operation: operation, errno: errno)
    }
}
