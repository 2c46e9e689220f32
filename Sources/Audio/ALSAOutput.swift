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
/// One thread does everything. It fills the card's buffer as far as there is sound, period by period, and after each write says what
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
    /// The PCMs there are, where the choice is automatic (``AudioCard/listing(_:)``).
    typealias ListPCMs = @Sendable () -> String

    private let open: Opening
    private let listPCMs: ListPCMs?
    private let watch: CardWatch?
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

    /// Opens `device` and settles the format. Takes as long as the card takes to open. `display` says which connector is lit, from any thread.
    public convenience init(device: AudioDevice, display: @escaping @Sendable () -> String? = { nil }) {
        let listPCMs: ListPCMs = { AudioCard.listing(display()) }
        self.init(listPCMs: device == .automatic ? listPCMs : nil) { rate, buffer throws(AudioError) in
            try device.open(rate: rate, buffer: buffer, display: display())
        }
    }

    /// An output to what `open` opens, again when `listPCMs` has a new card to tell of.
    init(listPCMs: ListPCMs? = nil, _ open: @escaping Opening) {
        self.open = open
        self.listPCMs = listPCMs
        // One that comes during the opening is one that has come since.
        watch = listPCMs.map { CardWatch(list: $0(), at: .now) }
        do throws(AudioError) {
            let opened = try open(.near(Self.preferredRate), PCM.shortBuffer)
            format = AudioFormat(sampleRate: opened.pcm.sampleRate, channelCount: 2)
            let summary = opened.pcm.summary
            log.info("\(summary): \(opened.reason)")
            Self.tend(opened.mixer, isAutomatic: listPCMs != nil)
            shared = Shared(name: summary, card: opened.pcm, problem: nil)
        } catch {
            format = AudioFormat(sampleRate: Self.preferredRate, channelCount: 2)
            log.warning("no sound: \(error)")
            shared = Shared(name: "silent: \(error)", card: nil, problem: error)
        }
    }

    /// Has sound heard from a card that has just been chosen, or tells what keeps it from being heard.
    fileprivate static func tend(_ mixer: Mixer?, isAutomatic: Bool) {
        guard let mixer else { return }
        if isAutomatic { return mixer.makeAudible() }
        for silencer in mixer.silencers() { log.warning("\(silencer)") }
    }

    /// Begins to render, on a thread of its own. Called once.
    public func start(_ renderer: any AudioRenderer) {
        let (open, listPCMs, watch, format, shared) = (open, listPCMs, watch, format, shared)
        shared.control.start("audio") {
            var player = CardPlayer(open: open, listPCMs: listPCMs, watch: watch, format: format, shared: shared, renderer: renderer)
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
    private var card: OpenCard?
    private var bufferDuration = PCM.shortBuffer
    private var underruns = UnderrunHistory()
    /// When silence took over, or will have.
    private var silentSince = HostTime.now

    init(
        open: @escaping ALSAOutput.Opening, listPCMs: ALSAOutput.ListPCMs?, watch: CardWatch?, format: AudioFormat,
        shared: ALSAOutput.Shared, renderer: any AudioRenderer
    ) {
        self.open = open
        self.listPCMs = listPCMs
        self.watch = watch
        self.format = format
        self.shared = shared
        self.renderer = renderer
        state = .initial(error: shared.problem ?? .noCard, at: .now)
        if let pcm = shared.card.withLock({ $0.take() }) {
            card = OpenCard(pcm, wakeUp: shared.control.wakeUp)
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
        card!.wait()
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
        guard let listPCMs, case .open = state else { return }
        // The display that is played to already, switched off and on again, is no better choice.
        let ours = card!.hardware().map(AudioCard.displayLine)
        let list = { listPCMs().split(separator: "\n").filter { $0 != ours ?? "" }.joined(separator: "\n") }
        guard watch?.hasNewCard(at: .now, list: list) == true else { return }
        log.info("a sound card, or a display with sound, has come: choosing again")
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
            let watch = listPCMs.map { CardWatch(list: $0(), at: .now) }
            let opened = try open(.exactly(format.sampleRate), bufferDuration)
            self.watch = watch
            log.info("\(opened.pcm.summary): \(opened.reason)")
            // With a longer buffer it is the same card: what somebody has muted meanwhile stays so.
            if case .open = state {} else { ALSAOutput.tend(opened.mixer, isAutomatic: listPCMs != nil) }
            shared.name.withLock { $0 = opened.pcm.summary }
            card = OpenCard(opened.pcm, wakeUp: shared.control.wakeUp)
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
