import CALSA
import Glibc
import Platform
import Playback

/// A card that is played to: its PCM, the frames on their way to it, and where it is. Used by the audio thread alone.
struct OpenCard: ~Copyable {
    private let pcm: PCM
    private var ledger: FrameLedger
    private let samples: UnsafeMutableBufferPointer<Float>
    private let bytes: UnsafeMutableRawBufferPointer
    private let wakeUp: WakeUp
    private var descriptors: [pollfd]
    /// Frames at the end of `bytes` that the card has not taken yet.
    private var unwritten = 0
    /// Whether there is room for a period, and the sound for it is still to come.
    private var isWaiting = false
    private var isStarted = false
    private var startTime = HostTime.now
    private var pace: CardPace

    /// Frames in the card's buffer that are enough to wait for more sound a little, rather than go on with silence: so a large buffer is filled as far as
    /// the engine is ahead. Some cards tell where they are by the period.
    private var reserve: Int { pcm.periodSize + 2 * Int(Self.patience.nanoseconds) * pcm.sampleRate / 1_000_000_000 }
    private static let patience = MediaTime.milliseconds(5)

    init(_ pcm: consuming PCM, wakeUp: WakeUp) {
        ledger = FrameLedger(sampleRate: pcm.sampleRate)
        samples = .allocate(capacity: pcm.periodSize * 2)
        bytes = .allocate(byteCount: pcm.periodSize * pcm.layout.bytesPerFrame, alignment: 16)
        self.wakeUp = wakeUp
        descriptors = [wakeUp.pollDescriptor] + pcm.pollDescriptors()
        pace = CardPace(sampleRate: pcm.sampleRate, bufferSize: pcm.bufferSize, start: startTime)
        self.pcm = pcm
    }

    deinit {
        samples.deallocate()
        bytes.deallocate()
    }

    /// The kernel's PCM behind it.
    func hardware() -> Hardware? { pcm.hardware }

    /// Whether a card that has stopped by `now` has sooner than it can have run empty.
    func stopsEarly(at now: HostTime) -> Bool { !isStarted || pace.stopsEarly(given: ledger.rendered - unwritten, at: now) }

    /// What to say of a card that cannot be started, or that stops early again and again.
    func refusal(errno: Int32) -> AudioError { .doesNotStart(device: pcm.device, errno: errno) }

    /// Frames rendered for this card and not heard by `now`.
    func unheard(at now: HostTime) -> Int { max(ledger.unheard(at: now), unwritten) }

    /// Fills the card's buffer, starts the card where that is due, and reports the position. Throws what ended it: an underrun is
    /// `.lost(…, EPIPE)`.
    mutating func play(_ renderer: any AudioRenderer) throws(AudioError) {
        var position = try pcm.position()
        switch position.state {
        case SND_PCM_STATE_XRUN: throw lost("playing", EPIPE)
        case SND_PCM_STATE_SUSPENDED: return try resume(renderer)
        case SND_PCM_STATE_DISCONNECTED: throw lost("playing", ENODEV)
        default: break
        }
        var space = position.space
        isWaiting = false
        while space > 0 {
            if unwritten == 0 {
                guard space >= pcm.periodSize else { break }
                isWaiting = pcm.bufferSize - space >= reserve && !renderer.isReady(frames: pcm.periodSize)
                if isWaiting { break }
                renderer.render(into: samples)
                pcm.layout.convert(UnsafeBufferPointer(samples), into: bytes)
                ledger.render(pcm.periodSize)
                unwritten = pcm.periodSize
            }
            let offset = (pcm.periodSize - unwritten) * pcm.layout.bytesPerFrame
            let written = pcm.write(bytes.baseAddress! + offset, frames: min(unwritten, space))
            if written <= 0 {
                // A suspension shows in the state, the next time round.
                if written == 0 || [.busy, .suspended].contains(CardFault(errno: Int32(-written))) { break }
                throw lost("snd_pcm_writei", Int32(-written))
            }
            unwritten -= written
            space -= written
        }
        if !isStarted {
            let result = pcm.start()
            // Suspended since the look above: shows in the state, the next time round.
            if [-ESTRPIPE, -EBADFD].contains(result) { return try checkPace(heard: nil) }
            // EPIPE, too: a driver's answer when it could not begin (USB without the bandwidth for it), and no underrun.
            if result < 0 { throw refusal(errno: -result) }
            isStarted = true
            startTime = .now
            pace = CardPace(sampleRate: pcm.sampleRate, bufferSize: pcm.bufferSize, start: startTime)
        }
        position = try pcm.position()
        // Just after a start the timestamp can still be one from before it.
        guard position.state == SND_PCM_STATE_RUNNING, position.time >= startTime else { return try checkPace(heard: nil) }
        let unheard = ledger.observe(delay: position.delay, pending: unwritten, at: position.time)
        renderer.report(unheard: unheard, at: position.time)
        try checkPace(heard: ledger.rendered - unheard)
    }

    /// Waits for room for a period, a wake-up, or the time in which there should have been either; where there is room and no sound yet, a little.
    mutating func wait() {
        if isWaiting { return wakeUp.wait(until: .now + Self.patience) }
        let bound = MediaTime(nanoseconds: Int64(pcm.bufferSize) * 1_000_000_000 / Int64(pcm.sampleRate))
        wakeUp.wait(for: &descriptors, until: .now + bound)
        pcm.acknowledge(&descriptors[1...])
    }

    /// Drops what was not heard, gives it back, and renders anew.
    mutating func interrupt(_ renderer: any AudioRenderer) throws(AudioError) {
        var frames = unheard(at: .now)
        if isStarted, let position = try? pcm.position() {
            if position.state == SND_PCM_STATE_RUNNING, position.time >= startTime {
                // The card's word where it has one: frames pass in bursts, so that to the frame nothing else is right.
                frames = ledger.observe(delay: position.delay, pending: unwritten, at: position.time)
            } else if position.state == SND_PCM_STATE_SUSPENDED {
                // It stopped with what is in its buffer still; the time since is none in which it played.
                frames = ledger.observe(delay: pcm.bufferSize - position.space, pending: unwritten, at: position.time)
            }
        }
        _ = pcm.drop()
        unwritten = 0
        renderer.takeBack(frames: frames)
        try begin()
    }

    /// Forgets what is rendered and not written, and returns how many frames that is.
    mutating func discardUnwritten() -> Int {
        defer { unwritten = 0 }
        return unwritten
    }

    /// Gets going again after an underrun; what is rendered and not written is next.
    mutating func recover() throws(AudioError) { try begin() }

    private mutating func begin() throws(AudioError) {
        ledger.restart()
        ledger.render(unwritten)
        isStarted = false
        let result = pcm.prepare()
        if result < 0 { throw lost("snd_pcm_prepare", -result) }
    }

    /// After a suspension the card goes on where it was; or it must begin anew, and what was in its buffer was not heard.
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
        switch pace.check(rendered: ledger.rendered, heard: heard, at: .now) {
        case .stalled: throw .stalled(device: pcm.device)
        case .keepsNoTime: throw .keepsNoTime(device: pcm.device)
        case nil: break
        }
    }

    private func lost(_ operation: String, _ errno: Int32) -> AudioError {
        .lost(device: pcm.device, operation: operation, errno: errno)
    }
}
