import CALSA
import Configuration
import Glibc
import Logging
import Media
import Platform
import Playback
import Synchronization

/// Plays to an ALSA card; while there is none, to nobody, in time by the monotonic clock.
///
/// The format is settled when the output is made, by what the card offers then (48 kHz stereo when there is none), and never changes:
/// a card that comes later and does not offer that rate is played to through ALSA's `plug` layer, which resamples; a card that keeps its
/// rate is never resampled. Sample format and channel count are converted to here, whatever the card has.
///
/// One thread does everything. It keeps the card's buffer full, period by period, and after each write says what
/// `snd_pcm_status` says of the position. What has been rendered and not heard is known at all times (``FrameLedger``), so that a pause,
/// a seek or an unplugging can give it back.
///
/// After an underrun everything that was written has been heard, so nothing is taken back: playing goes on with the next frame,
/// later than it should have been, and the reports say so. Three underruns in ten seconds, and the card is opened again with twice the
/// buffer, up to ``PCM/longBuffer``. A card that does not start, or stops at once each time it is started, whatever its buffer, is a lost one.
public final class ALSAOutput: AudioOutput {
    /// What is rendered: the card's rate at the time of ``init(device:)``, two channels. Constant.
    public let format: AudioFormat
    /// The card and its configuration, or why there is no sound.
    public var name: String { shared.name.withLock { $0 } }

    /// How its card is opened, the first time and again.
    typealias Opening = @Sendable (PCM.Rate, _ buffer: MediaTime) throws(AudioError) -> OpenDevice
    /// The kernel's list of PCMs, where the choice is automatic.
    typealias ListPCMs = @Sendable () -> String

    private let open: Opening
    private let listPCMs: ListPCMs?
    private let shared: Shared

    /// What films and most cards have.
    static let preferredRate = 48_000

    /// What the audio thread shares with the others: the card it begins with, and its name.
    fileprivate final class Shared: Sendable {
        let control = AudioThreadControl()
        let name: Mutex<String>
        let card: Mutex<PCM?>
        let problem: AudioError?

        init(name: String, card: consuming sending PCM?, problem: AudioError?) {
            self.name = Mutex(name)
            self.card = Mutex(card)
            self.problem = problem
        }
    }

    /// Opens `device` and settles the format. Takes as long as the card takes to open.
    public convenience init(device: AudioDevice) {
        let listPCMs: ListPCMs = { ProcFile.read("/proc/asound/pcm") ?? "" }
        self.init(listPCMs: device == .automatic ? listPCMs : nil) { rate, buffer throws(AudioError) in
            try device.open(rate: rate, buffer: buffer)
        }
    }

    /// An output to what `open` opens, again when `listPCMs` has a new card to tell of.
    init(listPCMs: ListPCMs? = nil, _ open: @escaping Opening) {
        self.open = open
        self.listPCMs = listPCMs
        do throws(AudioError) {
            let opened = try open(.near(Self.preferredRate), PCM.shortBuffer)
            format = AudioFormat(sampleRate: opened.pcm.sampleRate, channelCount: 2)
            let summary = opened.pcm.summary
            log.info("\(summary): \(opened.reason)")
            shared = Shared(name: summary, card: opened.pcm, problem: nil)
        } catch {
            format = AudioFormat(sampleRate: Self.preferredRate, channelCount: 2)
            log.warning("no sound: \(error)")
            shared = Shared(name: "silent: \(error)", card: nil, problem: error)
        }
    }

    /// Begins to render, on a thread of its own. Called once.
    public func start(_ renderer: any AudioRenderer) {
        let (open, listPCMs, format, shared) = (open, listPCMs, format, shared)
        shared.control.start("audio") {
            var player = CardPlayer(open: open, listPCMs: listPCMs, format: format, shared: shared, renderer: renderer)
            player.run()
        }
    }

    /// Has the audio thread drop what is in the card's buffer, give it back and render anew. From any thread.
    public func interrupt() { shared.control.interrupt() }

    /// Ends the rendering and closes the card.
    public func stop() {
        shared.control.stop()
        shared.card.withLock { $0 = nil }
    }
}

/// All that the audio thread knows.
private struct CardPlayer: ~Copyable {
    private let open: ALSAOutput.Opening
    private let listPCMs: ALSAOutput.ListPCMs?
    private var watch: CardWatch?
    private let format: AudioFormat
    private let shared: ALSAOutput.Shared
    private let renderer: any AudioRenderer
    private var state: CardState
    private var card: Card?
    private var bufferDuration = PCM.shortBuffer
    private var underruns = UnderrunHistory()
    /// When silence took over, or will have.
    private var silentSince = HostTime.now

    init(
        open: @escaping ALSAOutput.Opening, listPCMs: ALSAOutput.ListPCMs?, format: AudioFormat, shared: ALSAOutput.Shared,
        renderer: any AudioRenderer
    ) {
        self.open = open
        self.listPCMs = listPCMs
        watch = listPCMs.map { CardWatch(list: $0(), at: .now) }
        self.format = format
        self.shared = shared
        self.renderer = renderer
        state = .initial(error: shared.problem ?? .noCard, at: .now)
        if let pcm = shared.card.withLock({ $0.take() }) {
            card = Card(pcm, wakeUp: shared.control.wakeUp)
            _ = state.handle(.opened, at: .now)
        }
    }

    mutating func run() {
        while let request = shared.control.nextRequest() {
            if card == nil {
                guard beSilent() else { return }
            } else {
                do throws(AudioError) { try play(interrupting: request.interrupt) } catch { fail(error) }
                chooseAnew()
            }
        }
    }

    private mutating func play(interrupting: Bool) throws(AudioError) {
        if interrupting { try card!.interrupt(renderer) }
        try card!.play(renderer)
        card!.wait(shared.control.wakeUp)
    }

    private mutating func fail(_ error: AudioError) {
        if case .lost(_, _, let errno) = error, CardFault(errno: errno) == .underrun { underrun() } else { lose(error) }
    }

    /// Counts an underrun and gets the card going again.
    private mutating func underrun() {
        let isEarly = card!.stopsEarly(at: .now)
        let outcome = underruns.record(at: .now, isEarly: isEarly)
        if let count = outcome.log { log.warning("underruns: \(count), \(underruns.total) in all (\(shared.name.withLock { $0 }))") }
        if outcome.lengthen, bufferDuration < PCM.longBuffer {
            bufferDuration = min(bufferDuration * 2, PCM.longBuffer)
            renderer.takeBack(frames: isEarly ? card!.unheard(at: .now) : card!.discardUnwritten())
            silentSince = .now
            card = nil
            openCard()
            return
        }
        if outcome.isHopeless { return lose(card!.refusal(errno: EPIPE)) }
        do throws(AudioError) {
            // Or time would pass on the timeline in which nothing was played.
            if isEarly { return try card!.interrupt(renderer) }
            try card!.recover()
            renderer.takeBack(frames: 0)
        } catch { lose(error) }
    }

    /// Falls silent without a jump: what was not heard by now is given back, and silence goes on from there.
    private mutating func lose(_ error: AudioError) {
        guard case .fallSilent(let error) = state.handle(.lost(error), at: .now) else { return }
        // To close a card that has gone can take its time; time goes on.
        silentSince = .now
        let frames = card!.unheard(at: silentSince)
        if frames > 0 { renderer.takeBack(frames: frames) }
        card = nil
        log.warning("sound lost: \(error)")
        shared.name.withLock { $0 = "silent: \(error)" }
    }

    /// Lets go of the card where another has come that the choice may fall on, and is silent until that has been opened, or this one again.
    private mutating func chooseAnew() {
        guard let listPCMs, case .open = state, watch?.hasNewCard(at: .now, list: listPCMs) == true else { return }
        log.info("a sound card has come: choosing again")
        _ = state.handle(.cardCame, at: .now)
        silentSince = .now
        renderer.takeBack(frames: card!.unheard(at: silentSince))
        card = nil
    }

    /// Renders for nobody until there is a card; false when the thread is to end.
    private mutating func beSilent() -> Bool {
        var silence = Silence(format: format, start: silentSince)
        var folder = DeviceFolder()
        while card == nil {
            guard let request = shared.control.nextRequest() else { return false }
            if request.interrupt { silence.interrupt(renderer) }
            let next = silence.render(renderer)
            if folder.hasChanged(at: .now) { _ = state.handle(.devicesChanged, at: .now) }
            if state.handle(.tick, at: .now) == .open {
                openCard()
            } else {
                shared.control.wakeUp.wait(until: next)
            }
        }
        // To open a card takes up to some tenths of a second, which have passed in silence.
        _ = silence.render(renderer)
        silence.interrupt(renderer)
        return true
    }

    private mutating func openCard() {
        do throws(AudioError) {
            // One that comes during the opening is one that has come since.
            let watch = listPCMs.map { CardWatch(list: $0(), at: .now) }
            let opened = try open(.exactly(format.sampleRate), bufferDuration)
            self.watch = watch
            log.info("\(opened.pcm.summary): \(opened.reason)")
            shared.name.withLock { $0 = opened.pcm.summary }
            card = Card(opened.pcm, wakeUp: shared.control.wakeUp)
            _ = state.handle(.opened, at: .now)
        } catch {
            // While open this is the reopening with a longer buffer, and the card is lost by it.
            let event: CardState.Event = if case .open = state { .lost(error) } else { .openFailed(error) }
            switch state.handle(event, at: .now) {
            case .log(let error), .fallSilent(let error):
                log.warning("no sound: \(error)")
                shared.name.withLock { $0 = "silent: \(error)" }
            case .none, .open, .play: break
            }
        }
    }
}

/// An open card, with the frames on their way to it.
private struct Card: ~Copyable {
    private let pcm: PCM
    private var ledger: FrameLedger
    private let samples: UnsafeMutableBufferPointer<Float>
    private let bytes: UnsafeMutableRawBufferPointer
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
        descriptors = [wakeUp.pollDescriptor] + pcm.pollDescriptors()
        pace = CardPace(sampleRate: pcm.sampleRate, bufferSize: pcm.bufferSize, start: startTime)
        self.pcm = pcm
    }

    deinit {
        samples.deallocate()
        bytes.deallocate()
    }

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
    mutating func wait(_ wakeUp: WakeUp) {
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

/// Notices that sound devices came or went, by the time of the last change of /dev/snd.
private struct DeviceFolder {
    private var lastLook = HostTime.now
    private var change = Self.lastChange()

    static let interval = MediaTime.milliseconds(500)

    mutating func hasChanged(at now: HostTime) -> Bool {
        guard now - lastLook >= Self.interval else { return false }
        lastLook = now
        let latest = Self.lastChange()
        defer { change = latest }
        return latest != change
    }

    private static func lastChange() -> Int64? {
        var status = stat()
        guard stat("/dev/snd", &status) == 0 else { return nil }
        return Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }
}
