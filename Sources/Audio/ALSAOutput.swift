import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Synchronization

/// Plays to an ALSA card. While there is none, samples are discarded in time by the monotonic clock (``SilentSink``).
///
/// The card is opened on a thread of its own (`sound-opening`), so that one that is slow or hangs does not hold up the first picture. The format is fixed when
/// it is first asked for, by what the card offers (48 kHz stereo when there is none, or it takes longer than ``openingLimit`` to open): a card that comes later
/// and does not offer that rate is played to through ALSA's `plug` layer, which resamples; otherwise ALSA does not resample. Samples are converted to the
/// sample format and the channels of the card here (``FrameLayout``, ``ChannelMix``). Until the card is open, samples are discarded in time.
///
/// The number of channels is constant, too, whichever card comes later. Where the display decides it, it is asked for on the thread that opens the card,
/// before that; whoever asks for the format waits for it, no longer than ``openingLimit``.
///
/// Then one thread does everything. The PCM runs all the time and is not drained between items. The thread fills the card's buffer as far as there is sound,
/// period by period, writes silence only where the card would run dry, and reports the position (`snd_pcm_status`) after each write. The number of frames
/// rendered and not heard is known at all times (``UnheardFrames``): at a pause or a seek the card is stopped, they are given back to the engine, and the card
/// begins again, with silence in a pause. Those of an unplugged card are given back, too.
///
/// After an underrun all that was written has been heard, so nothing is given back: playing goes on with the next frame, later than it was due, and the reports
/// show the delay. After three underruns in ten seconds the card is opened again with twice the buffer, up to ``PCM/longBuffer``. A card that does not start,
/// or stops at once each time it is started whatever its buffer, counts as lost.
///
/// A call into ALSA may hang: in a driver, in a plugin that waits for a server, while a card is opened or closed. Nothing is rendered then, and the
/// engine's clock would stand still. The engine notices, and has another thread render in time meanwhile (``standIn()``, ``RendererLoan``). When the
/// call returns the card begins again; one that never returns costs the sound and a thread.
package final class ALSAOutput: PCMOutput {
    /// What is rendered: the rate of the card that was opened first, and as many channels as were chosen. Constant; waits up to ``openingLimit`` for the card when
    /// asked for the first time.
    package var format: AudioFormat { shared.settle() }
    /// The card and its configuration, or why there is no sound. From any thread; waits as ``format`` does.
    package var name: String {
        _ = shared.settle()
        return shared.name.withLock { $0 }
    }

    /// How its card is opened, the first time and again.
    typealias Opening = @Sendable (PCM.Rate, _ buffer: MediaTime, _ renderedCount: Int) throws(AudioError) -> OpenDevice
    /// The PCMs there are, where the choice is automatic (``AudioCard/listing(_:)``).
    typealias ListPCMs = @Sendable () -> String

    /// How often a card ran dry, whichever it was.
    package var underruns: Int { shared.underruns.load(ordering: .relaxed) }

    /// How a card is chosen and opened.
    fileprivate struct Choice: Sendable {
        let open: Opening
        let listPCMs: ListPCMs?
        /// Whether what the card is plugged into must stay: where it does not another is chosen.
        let followsPlugs: Bool

        /// Opens a card; what is said of it in the log, and what there is to be noticed from then on. The list is taken before the opening: a card
        /// that comes during it counts as new.
        func make(
            _ rate: PCM.Rate, _ buffer: MediaTime, _ renderedCount: Int, _ watch: inout CardWatch?, makesAudible: Bool = true
        ) throws(AudioError) -> PCM {
            let list = listPCMs?()
            let time = HostTime.now
            watch = list.map { CardWatch(list: $0, at: time) }
            let opened = try open(rate, buffer, renderedCount)
            if followsPlugs, let list { watch = CardWatch(list: list, holding: AudioCard.plugs(of: opened.pcm.hardware), at: time) }
            log.info("\(opened.pcm.summary): \(opened.reason)")
            if makesAudible, let mixer = opened.mixer {
                // What is muted on a card that is configured is only told.
                if listPCMs != nil { mixer.makeAudible() } else { for silencer in mixer.silencers() { log.warning("\(silencer)") } }
            }
            return opened.pcm
        }
    }

    private let choice: Choice
    private let shared: Shared

    /// The rate of films and of most cards.
    static let preferredRate = 48_000

    /// How long a call into ALSA may take where nothing is left that has been rendered, before somebody stands in.
    private static let longestCall = MediaTime.milliseconds(15)

    /// For how long the format waits for the card that is being opened. Most open within some milliseconds.
    static let openingLimit = MediaTime.milliseconds(50)

    /// What the audio thread shares with the others.
    fileprivate final class Shared: Sendable {
        let control = AudioThreadControl()
        let name = Mutex("silent: the sound card has not opened yet")
        let underruns = Atomic(0)
        let opening: Monitor<Opening>
        /// Once the output has started.
        let loan = Mutex<RendererLoan?>(nil)
        /// Of the audio thread, which is at work but for where it waits for time to pass.
        let beats = Heartbeat()
        /// The beat at which it seemed to hang, and since when.
        let suspect = Mutex<(beat: Heartbeat.Beat, since: HostTime)?>(nil)

        /// Whether the audio thread is at the same piece of work as it was some time ago. A card that is slow to start has it wait, and look again.
        func seemsToHang(at now: HostTime) -> Bool {
            let beat = beats.last
            return suspect.withLock { suspect in
                if let suspect, suspect.beat == beat, beat.isAtWork { return now - suspect.since >= ALSAOutput.longestCall }
                suspect = (beat, now)
                return false
            }
        }

        init(awaitsDisplay: Bool) { opening = Monitor(Opening(awaitsDisplay: awaitsDisplay)) }

        struct Opening {
            var outcome: Outcome?
            /// Whether it cannot begin before it is known which display there is: nobody waits for it then.
            var awaitsDisplay: Bool
            /// How many channels are rendered; nil while the cards are asked.
            var channelCount: Int?
            /// Fixed once anybody has asked for it.
            var format: AudioFormat?
        }

        /// What the first opening has come to: a card, or why there is none.
        struct Outcome: Sendable {
            var card: FirstCard?
            var problem: AudioError?
            /// The cards there were before it; one that has come during it counts as new.
            var watch: CardWatch?
        }

        /// The format, which is fixed now.
        func settle() -> AudioFormat {
            if let format = opening.withLock({ $0.format }) { return format }
            _ = opening.wait(until: .now + ALSAOutput.openingLimit) {
                $0.channelCount == nil || ($0.outcome == nil && !$0.awaitsDisplay) ? nil : true
            }
            let (format, isLate) = opening.withLock { opening in
                let isLate = opening.outcome == nil && opening.format == nil && !opening.awaitsDisplay
                let rate = opening.outcome?.card?.sampleRate ?? ALSAOutput.preferredRate
                let format = opening.format ?? AudioFormat(sampleRate: rate, channelCount: opening.channelCount ?? 2)
                opening.format = format
                return (format, isLate)
            }
            if isLate { log.notice("the sound card takes long to open: the picture does not wait for it") }
            return format
        }

        /// The first opening has ended.
        func opened(_ outcome: Outcome) {
            opening.signal { $0.outcome = outcome }
            control.wakeUp.wake()
            StartTrace.reached(.soundOpen)
        }
    }

    /// The card that was opened first, until the audio thread takes it.
    fileprivate final class FirstCard: Sendable {
        let sampleRate: Int
        let pcm: Mutex<PCM?>

        init(_ pcm: consuming sending PCM) {
            sampleRate = pcm.sampleRate
            self.pcm = Mutex(pcm)
        }
    }

    /// An output of `channelCount` channels to the card that `open` opens, once `awaitDisplay` has returned; it is called again when `listPCMs`
    /// shows a new card.
    init(
        listPCMs: ListPCMs? = nil, followsPlugs: Bool = false, channelCount: @escaping @Sendable () -> Int = { 2 },
        awaitDisplay: (@Sendable () -> Void)? = nil, _ open: @escaping Opening
    ) {
        let (choice, shared) = (
            Choice(open: open, listPCMs: listPCMs, followsPlugs: followsPlugs), Shared(awaitsDisplay: awaitDisplay != nil)
        )
        (self.choice, self.shared) = (choice, shared)
        Thread("sound-opening") {
            let begin = HostTime.now
            let counted = channelCount()
            log.debug("\(counted) channels; that took \((HostTime.now - begin).nanoseconds / 1000) µs")
            let renderedCount = shared.opening.signal { opening in
                // Whoever could not wait for it has fixed it.
                let count = opening.format?.channelCount ?? counted
                opening.channelCount = count
                return count
            }
            if let awaitDisplay {
                awaitDisplay()
                shared.opening.signal { $0.awaitsDisplay = false }
            }
            var watch: CardWatch?
            do throws(AudioError) {
                let pcm = try choice.make(.near(Self.preferredRate), PCM.shortBuffer, renderedCount, &watch)
                let summary = pcm.summary
                shared.name.withLock { $0 = summary }
                shared.opened(Shared.Outcome(card: FirstCard(pcm), watch: watch))
            } catch {
                log.warning("no sound: \(error)")
                shared.name.withLock { $0 = "silent: \(error)" }
                shared.opened(Shared.Outcome(problem: error, watch: watch))
            }
        }.detach()
    }

    /// Begins to render, on the audio thread. Called once.
    package func start(_ renderer: any AudioRenderer) {
        let (choice, format, shared) = (choice, format, shared)
        let loan = RendererLoan(renderer, format)
        shared.loan.withLock { $0 = loan }
        shared.control.start("audio") {
            var player = CardPlayer(choice, format, shared, loan)
            player.run()
            // A card that came too late is closed here, where that may take its time.
            shared.opening.withLock { $0.outcome?.card }?.pcm.withLock { $0 = nil }
        }
    }

    /// Has a thread render in time by the monotonic clock until the audio thread, which hangs in a call, has returned from it. Asked for once, it only
    /// looks where that is. From any thread.
    package func standIn() {
        guard shared.seemsToHang(at: .now), let loan = shared.loan.withLock({ $0 }), loan.take() else { return }
        let shared = shared
        let name = shared.name.withLock { name in
            defer { name = "silent: the driver of the sound card does not answer" }
            return name
        }
        log.warning("the driver of the sound card does not answer: the picture goes on without sound until it does (\(name))")
        Thread("audio-stand-in", realtimePriority: AudioThreadControl.realtimePriority) {
            loan.standIn {
                shared.control.nextRequest()
            } wait: {
                shared.control.wakeUp.wait(until: $0)
            }
        }.detach()
    }

    /// Has the audio thread drop what is in the card's buffer, give it back and render anew. From any thread.
    package func interrupt() { shared.control.interrupt() }

    /// Ends the rendering and its thread, and closes the card; false where a call into ALSA has not returned by `deadline`.
    package func stop(by deadline: HostTime) -> Bool { shared.control.stop(by: deadline) }

    /// Begins to open `device`, and returns. `display` is called on any thread and names the active connector; where the choice is automatic
    /// it may take as long as a display needs, and the card is opened then.
    package convenience init(
        device: AudioDevice, session: AudioSession = AudioSession(), channels: AudioChannels = .stereo,
        delays: AudioDelays = AudioDelays(), display: @escaping @Sendable () -> String? = { nil }
    ) {
        let channelCount: @Sendable () -> Int = { device.renderedCount(channels) }
        guard device == .automatic else {
            self.init(channelCount: channelCount) { rate, buffer, count throws(AudioError) in
                try device.open(
                    rate: rate, buffer: buffer, channels: channels, renderedCount: count, delays: delays, display: nil, session: session)
            }
            return
        }
        let followsPlugs = session.route == .port
        let isFixed = session.route == .fixed
        // An empty list is one in which nothing ever comes.
        let list: ListPCMs = { isFixed ? "" : AudioCard.listing(display(), followsPlugs: followsPlugs) }
        self.init(
            listPCMs: list, followsPlugs: followsPlugs, channelCount: channelCount, awaitDisplay: { _ = display() }
        ) { rate, buffer, count throws(AudioError) in
            try device.open(
                rate: rate, buffer: buffer, channels: channels, renderedCount: count, delays: delays, display: display(), session: session)
        }
    }
}

/// The state of the audio thread.
private struct CardPlayer: ~Copyable {
    private let choice: ALSAOutput.Choice
    private var watch: CardWatch?
    private let format: AudioFormat
    private let shared: ALSAOutput.Shared
    private let renderer: RendererLoan
    private var state: CardState
    private var card: OpenCard?
    private var bufferDuration = PCM.shortBuffer
    private var underruns = UnderrunHistory()
    /// When rendering for no card began, or will begin.
    private var silentSince = HostTime.now
    /// Whether the first opening goes on. No other is tried meanwhile: the card would be in use.
    private var awaitsFirst = true

    init(_ choice: ALSAOutput.Choice, _ format: AudioFormat, _ shared: ALSAOutput.Shared, _ renderer: RendererLoan) {
        self.choice = choice
        self.format = format
        self.shared = shared
        self.renderer = renderer
        state = .initial(error: .noCard, at: .now)
        takeFirst()
    }

    /// Takes what the first opening has come to, if it has ended.
    private mutating func takeFirst() {
        guard awaitsFirst, let outcome = shared.opening.withLock({ $0.outcome }) else { return }
        awaitsFirst = false
        watch = outcome.watch
        state = .initial(error: outcome.problem ?? .noCard, at: .now)
        guard let pcm = outcome.card?.pcm.withLock({ $0.take() }) else { return }
        if pcm.sampleRate == format.sampleRate {
            card = OpenCard(pcm, renderedCount: format.channelCount, wakeUp: shared.control.wakeUp)
            _ = state.handle(.opened, at: .now)
        } else {
            // The format had to be fixed before the card was open: it is opened again, at that rate.
            _ = consume pcm
            openCard()
        }
    }

    mutating func run() {
        while let interrupts = shared.control.nextRequest() {
            shared.beats.work()
            comeBack()
            if card == nil {
                guard renderSilence() else { return }
            } else {
                do throws(AudioError) { try play(interrupting: interrupts) } catch { fail(error) }
                chooseAgain()
            }
        }
    }

    /// Goes on where somebody has stood in: a call has returned that hung. True where that was so.
    @discardableResult private mutating func comeBack() -> Bool {
        let shared = shared
        guard renderer.comeBack({ shared.control.wakeUp.wake() }) else { return false }
        log.notice("the driver of the sound card answers again")
        silentSince = .now
        if card == nil { return true }
        let summary = card!.summary()
        shared.name.withLock { $0 = summary }
        do throws(AudioError) { try card!.restart() } catch { lose(error) }
        return true
    }

    private mutating func play(interrupting: Bool) throws(AudioError) {
        if interrupting { try card!.interrupt(renderer) }
        try card!.play(renderer)
        card!.wait(shared.beats)
    }

    private mutating func fail(_ error: AudioError) {
        if case .lost(_, _, let errno) = error, CardFault(errno: errno) == .underrun { underrun() } else { lose(error) }
    }

    /// Counts an underrun and starts the card again.
    private mutating func underrun() {
        let isEarly = card!.stopsEarly(at: .now)
        let outcome = underruns.record(at: .now, isEarly: isEarly)
        shared.underruns.store(underruns.total, ordering: .relaxed)
        if let count = outcome.log { log.warning("underruns: \(count), \(underruns.total) in all (\(shared.name.withLock { $0 }))") }
        if outcome.lengthen, bufferDuration < PCM.longBuffer {
            bufferDuration = min(bufferDuration * 2, PCM.longBuffer)
            renderer.takeBack(frames: isEarly ? card!.unheard(at: .now) : card!.discardUnwritten())
            silentSince = .now
            card = nil
            openCard()
            return
        }
        if outcome.hasFailed { return lose(card!.refusal(errno: EPIPE)) }
        do throws(AudioError) {
            // Otherwise the timeline would count time in which nothing was played.
            if isEarly { return try card!.interrupt(renderer) }
            try card!.recover()
            renderer.takeBack(frames: 0)
        } catch { lose(error) }
    }

    /// Closes a lost card. What was not heard by now is given back, and goes to a ``SilentSink`` from this instant on, so the timeline does
    /// not jump.
    private mutating func lose(_ error: AudioError) {
        guard case .fallSilent(let error) = state.handle(.lost(error), at: .now) else { return }
        // Closing a card that is gone can take long, which must not count.
        silentSince = .now
        let frames = card!.unheard(at: silentSince)
        if frames > 0 { renderer.takeBack(frames: frames) }
        card = nil
        log.warning("sound lost: \(error)")
        shared.name.withLock { $0 = "silent: \(error)" }
    }

    /// Closes the card where another has come that may be the better choice. Samples go to a ``SilentSink`` until one of them has been
    /// opened.
    private mutating func chooseAgain() {
        guard let listPCMs = choice.listPCMs, case .open = state else { return }
        // The display whose sound this card is, switched off and on again, is no new choice.
        // Where plugs are followed it has to be seen going.
        let ours = choice.followsPlugs ? nil : card!.hardware().map(AudioCard.displayLine)
        let list = { listPCMs().split(separator: "\n").filter { $0 != ours ?? "" }.joined(separator: "\n") }
        guard watch?.hasNewCard(at: .now, list: list) == true else { return }
        log.info(
            choice.followsPlugs
                ? "a sound card, a display with sound or a plug has come, or the one in use has gone: choosing again"
                : "a sound card, or a display with sound, has come: choosing again"
        )
        _ = state.handle(.cardCame, at: .now)
        silentSince = .now
        renderer.takeBack(frames: card!.unheard(at: silentSince))
        card = nil
    }

    /// Renders to a ``SilentSink`` until a card has been opened; false when the thread is to end.
    private mutating func renderSilence() -> Bool {
        var sink = SilentSink(format: format, start: silentSince)
        var folder = DeviceFolder()
        while card == nil {
            guard let interrupts = shared.control.nextRequest() else { return false }
            shared.beats.work()
            if comeBack() { sink = SilentSink(format: format, start: silentSince) }
            if interrupts { sink.interrupt(renderer) }
            let next = sink.render(renderer)
            if awaitsFirst {
                takeFirst()
                if awaitsFirst { wait(until: next) }
                continue
            }
            if folder.hasChanged(at: .now) { _ = state.handle(.devicesChanged, at: .now) }
            if state.handle(.tick, at: .now) == .open {
                openCard()
            } else {
                wait(until: next)
            }
        }
        // Opening a card takes up to some tenths of a second: that time has passed without sound.
        _ = sink.render(renderer)
        sink.interrupt(renderer)
        return true
    }

    private func wait(until time: HostTime) {
        shared.beats.rest()
        shared.control.wakeUp.wait(until: time)
    }

    private mutating func openCard() {
        do throws(AudioError) {
            // Opened again with a longer buffer it is the same card: what was muted meanwhile stays muted.
            let isSame = if case .open = state { true } else { false }
            var watch: CardWatch?
            let pcm = try choice.make(.exactly(format.sampleRate), bufferDuration, format.channelCount, &watch, makesAudible: !isSame)
            self.watch = watch
            let summary = pcm.summary
            shared.name.withLock { $0 = summary }
            card = OpenCard(pcm, renderedCount: format.channelCount, wakeUp: shared.control.wakeUp)
            _ = state.handle(.opened, at: .now)
        } catch {
            // In the state `open` this was the second opening, with a longer buffer, and has lost the card.
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

/// Notices that sound devices came or went, by the modification time of /dev/snd.
struct DeviceFolder {
    private var lastReading = HostTime.now
    private var change = Self.lastChange()

    static let interval = MediaTime.milliseconds(500)

    /// Whether any has since the last reading; reads every ``interval``.
    mutating func hasChanged(at now: HostTime) -> Bool {
        guard now - lastReading >= Self.interval else { return false }
        lastReading = now
        let latest = Self.lastChange()
        defer { change = latest }
        return latest != change
    }

    private static func lastChange() -> Int64? { stat(at: "/dev/snd")?.modified }
}
