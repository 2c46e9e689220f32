import CKioskALSA
import Glibc
import KioskPlatform
import KioskPlayback

/// A card in use: its PCM, the frames on their way to it, and its position. Used by the audio thread alone.
///
/// Just after a start, the thread fills it and reads its position every period, so there is a clock soon. Later the card wakes the thread
/// when it has played two thirds of its buffer; one call then fills it. A card that has had an underrun keeps waking it every period.
struct OpenCard: ~Copyable {
    private let pcm: PCM
    /// The conversion from the rendered channels to those of the card; nil for plain stereo.
    private let mix: ChannelMix?
    private var frames: UnheardFrames
    private let samples: UnsafeMutableBufferPointer<Float>
    /// Room for a full buffer of the card.
    private let bytes: UnsafeMutableRawBufferPointer
    private let wakeUp: WakeUp
    private var descriptors: [pollfd]
    /// The frames in `bytes` that the card has not taken yet, and the number before them that it has taken.
    private var unwritten = 0, written = 0
    /// The frames that the card has room for, as of the last reading minus the writes since.
    private var space = 0
    /// Whether there is room for a period, but its sound is not decoded yet.
    private var isWaiting = false
    private var isStarted = false
    private var startTime = HostTime.now
    /// Whether the card has started and not moved since. Until it moves there is no clock, and without a clock no picture after the first.
    private var awaitsMotion = false
    /// Whether the card wakes the thread less often than every period.
    private var isRelaxed = false
    /// Whether there has been an underrun.
    private var hasRunDry = false
    private var pace: CardPace
    private var line: DelayLine

    /// The number of buffered frames below which the thread writes silence instead of waiting for sound. So a large buffer is filled only
    /// as far as the engine is ahead. Includes a period, because some cards report their position in periods.
    private var reserve: Int { pcm.periodSize + 2 * Int(Self.soundRetryInterval.nanoseconds) * pcm.sampleRate / 1_000_000_000 }
    /// The time after a start with a reading every period: until the first readings have become a clock.
    private static let settlingTime = MediaTime.seconds(1)
    /// The time until the next look while the sound for a period is not decoded, or the card has not moved.
    private static let soundRetryInterval = MediaTime.milliseconds(5)

    /// Creates a card in use that plays `renderedCount` rendered channels.
    init(_ pcm: consuming PCM, renderedCount: Int, wakeUp: WakeUp) {
        frames = UnheardFrames(sampleRate: pcm.sampleRate)
        samples = .allocate(capacity: pcm.periodSize * renderedCount)
        mix = pcm.layout.mix(from: renderedCount)
        bytes = .allocate(byteCount: max(pcm.bufferSize, pcm.periodSize) * pcm.layout.bytesPerFrame, alignment: 16)
        self.wakeUp = wakeUp
        descriptors = [wakeUp.pollDescriptor] + pcm.pollDescriptors()
        pace = CardPace(sampleRate: pcm.sampleRate, bufferSize: pcm.bufferSize, start: startTime)
        // Unplayed frames are in the card's buffer, in the buffer before that, and in the hardware's own buffers.
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

    /// Whether a stop by `now` came before the card can have run empty.
    func stopsEarly(at now: HostTime) -> Bool { !isStarted || pace.stopsEarly(given: frames.rendered - unwritten, at: now) }

    /// The error for a card that does not start, or that stops early again and again.
    func refusal(errno: Int32) -> AudioError { .doesNotStart(device: pcm.device, errno: errno) }

    /// The frames rendered for this card and not heard by `now`.
    func unheard(at now: HostTime) -> Int { max(frames.count(at: now), unwritten) }

    /// Fills the card's buffer, starts the card if it is not running, and reports the position.
    ///
    /// - Throws: the reason why the card has stopped; an underrun is `.lost(…, EPIPE)`.
    mutating func play(_ renderer: any AudioRenderer) throws(AudioError) {
        var position = try pcm.position()
        switch position.state {
        case SND_PCM_STATE_XRUN: throw lost("playing", EPIPE)
        case SND_PCM_STATE_SUSPENDED: return try resume(renderer)
        case SND_PCM_STATE_DISCONNECTED: throw lost("playing", ENODEV)
        default: break
        }
        space = min(position.space, pcm.bufferSize)
        // The frames written below are not heard yet, so this is the position to report. A second call would say the same some microseconds
        // later.
        var heard = isStarted ? tell(position, to: renderer) : nil
        try fill(renderer)
        if !isStarted {
            let result = pcm.start()
            // The card was suspended after the state was read: the next call sees it.
            if [-ESTRPIPE, -EBADFD].contains(result) { return try checkPace(heard: nil) }
            // EPIPE too: here it is no underrun, but a driver that cannot start (USB without the bandwidth for it).
            if result < 0 { throw refusal(errno: -result) }
            (isStarted, awaitsMotion) = (true, true)
            startTime = .now
            pace = CardPace(sampleRate: pcm.sampleRate, bufferSize: pcm.bufferSize, start: startTime)
            position = try pcm.position()
            heard = tell(position, to: renderer, isFirst: true)
        }
        try checkPace(heard: heard)
    }

    /// Writes as many frames as there are room and sound for.
    private mutating func fill(_ renderer: any AudioRenderer) throws(AudioError) {
        isWaiting = false
        while space > 0 {
            render(renderer)
            if unwritten == 0 { return }
            let count = pcm.write(bytes.baseAddress! + written * pcm.layout.bytesPerFrame, frames: min(unwritten, space))
            if count <= 0 {
                // The next call sees a suspension in the state.
                if count == 0 || [.busy, .suspended].contains(CardFault(errno: Int32(-count))) { return }
                throw lost("snd_pcm_writei", Int32(-count))
            }
            unwritten -= count
            written += count
            space -= count
        }
    }

    /// Renders periods for the room in the card, once it has taken all rendered frames.
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

    /// Reports a position of the card. Returns the frames heard by then; nil if the position is not usable.
    private mutating func tell(_ position: PCM.Position, to renderer: any AudioRenderer, isFirst: Bool = false) -> Int? {
        // Just after a start, the timestamp can still be older than the start.
        guard position.state == SND_PCM_STATE_RUNNING, position.time >= startTime else { return nil }
        let unheard = frames.observe(delay: position.delay, pending: unwritten, at: position.time)
        let heard = frames.rendered - unheard
        if heard > 0 { awaitsMotion = false }
        // At the start the card has played nothing. A card that still says so later reports its position in periods, and has not stood
        // still.
        if isFirst || !awaitsMotion { renderer.report(unheard: unheard, at: position.time) }
        return heard
    }

    /// Waits for room for a period, or for a wake-up. Once the card has played for a while, it waits for room for two thirds of the buffer.
    /// It waits for the length of the buffer at most; for ``soundRetryInterval`` if sound is missing or the card has just started. The wait
    /// counts as a rest.
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

    /// Makes a card that plays well wake the thread once it has played two thirds of its buffer, in whole periods. A card's position is
    /// exact when the card itself wakes the thread.
    private mutating func relax() {
        let frames = pcm.bufferSize * 2 / 3 / pcm.periodSize * pcm.periodSize
        guard !isRelaxed, isStarted, !hasRunDry, !awaitsMotion, frames > pcm.periodSize, .now - startTime > Self.settlingTime else {
            return
        }
        isRelaxed = true
        pcm.wake(atSpace: frames)
    }

    /// Drops the frames not heard, gives them back to the renderer, and prepares the card to start again.
    mutating func interrupt(_ renderer: any AudioRenderer) throws(AudioError) {
        var unheard = unheard(at: .now)
        if isStarted, let position = try? pcm.position() {
            if position.state == SND_PCM_STATE_RUNNING, position.time >= startTime {
                // Prefers the card's position if it has one. Frames pass in bursts, so an estimate by time is not exact to the frame.
                unheard = frames.observe(delay: position.delay, pending: unwritten, at: position.time)
            } else if position.state == SND_PCM_STATE_SUSPENDED {
                // The card stopped with these frames in its buffer, and has not played since.
                unheard = frames.observe(delay: pcm.bufferSize - position.space, pending: unwritten, at: position.time)
            }
        }
        _ = pcm.drop()
        unwritten = 0
        renderer.takeBack(frames: unheard)
        line.takeBack(unheard)
        try begin()
    }

    /// Drops all frames, since they are outdated, and prepares the card to start again.
    mutating func restart() throws(AudioError) {
        _ = pcm.drop()
        unwritten = 0
        line.clear()
        try begin()
    }

    /// Drops the frames rendered and not written, and returns their number.
    mutating func discardUnwritten() -> Int {
        defer { unwritten = 0 }
        return unwritten
    }

    /// Prepares the card after an underrun. The frames rendered and not written play next.
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

    /// Resumes after a suspension. A card either goes on at its old position, or has to be prepared again. In that case the frames in its
    /// buffer were not heard.
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
