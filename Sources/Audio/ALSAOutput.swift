import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Synchronization

/// Plays to an ALSA card. While there is none, it discards samples in real time by the monotonic clock (``SilentSink``).
///
/// A thread of its own (`sound-opening`) opens the card: a slow or hanging card does not delay the first picture. The first caller of
/// ``format`` fixes the format, by the card's offer. It is 48 kHz stereo if there is no card, or if the card takes longer than
/// ``openingLimit`` to open. If a later card does not offer that rate, ALSA's `plug` layer resamples; otherwise ALSA does not resample.
/// This module converts samples to the sample format and channels of the card (``FrameLayout``, ``ChannelMix``). Until the card is open, it
/// discards samples in real time.
///
/// The number of channels is constant too, whichever card comes later. If the display decides it, the opening thread asks for it before it
/// opens the card. A caller of ``format`` waits for the answer, ``openingLimit`` at most.
///
/// From then on one thread does everything. The PCM runs all the time, and kiosk does not drain it between items. The thread fills the
/// card's buffer as far as there is sound, period by period. It writes silence only if the card would underrun, and reports the position
/// (`snd_pcm_status`) after each write. The number of frames rendered and not heard is known at all times (``UnheardFrames``). At a pause
/// or a seek, the thread stops the card and gives these frames back to the engine. It then starts the card again, with silence during a
/// pause. It also gives back the frames of an unplugged card.
///
/// After an underrun, the card has played everything written, so the thread gives nothing back. Playback goes on with the next frame, later
/// than it was due, and the reports show the delay. After three underruns in ten seconds, the thread opens the card again with twice the
/// buffer, up to ``PCM/longBuffer``. A card counts as lost if it does not start, or always stops right after its start, whatever its
/// buffer.
///
/// A call into ALSA may hang: in a driver, or in a plugin that waits for a server. So may the opening or closing of a card. The audio
/// thread renders nothing meanwhile, and the engine's clock would stand still. The engine notices, and another thread then renders in real
/// time (``standIn()``, ``RendererLoan``). When the call returns, the card starts again. A call that never returns costs the sound and a
/// thread.
package final class ALSAOutput: PCMOutput {
    /// The format to render: the rate of the card that opened first, and the chosen number of channels. Constant. The first access waits
    /// for the card, ``openingLimit`` at most.
    package var format: AudioFormat { shared.settle() }
    /// The card and its configuration, or why there is no sound. From any thread; waits like ``format``.
    package var name: String {
        _ = shared.settle()
        return shared.name.withLock { $0 }
    }

    /// Opens a card, the first time and again.
    typealias Opening = @Sendable (PCM.Rate, _ buffer: MediaTime, _ renderedCount: Int) throws(AudioError) -> OpenDevice
    /// Lists the PCMs present, for an automatic choice (``AudioCard/listing(_:followsPlugs:)``).
    typealias ListPCMs = @Sendable () -> String

    /// The number of underruns of all cards so far.
    package var underruns: Int { shared.underruns.load(ordering: .relaxed) }

    /// How a card is chosen and opened.
    fileprivate struct Choice: Sendable {
        let open: Opening
        let listPCMs: ListPCMs?
        /// Whether the plug of the card has to stay in; once it is pulled, the thread chooses another card.
        let followsPlugs: Bool

        /// Opens a card, logs it, and sets `watch` to the changes to notice from then on. It reads the list before it opens the card: a
        /// card that comes meanwhile counts as new.
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
                // On a configured card, muted controls are only logged.
                if listPCMs != nil { mixer.makeAudible() } else { for silencer in mixer.silencers() { log.warning("\(silencer)") } }
            }
            return opened.pcm
        }
    }

    private let choice: Choice
    private let shared: Shared

    /// The rate of films and of most cards.
    static let preferredRate = 48_000

    /// The longest that a call into ALSA may take, with no rendered frames left, before another thread stands in.
    private static let longestCall = MediaTime.milliseconds(15)

    /// The longest that ``format`` waits for the card to open. Most cards open within some milliseconds.
    static let openingLimit = MediaTime.milliseconds(50)

    /// The state that the audio thread shares with the others.
    fileprivate final class Shared: Sendable {
        let control = AudioThreadControl()
        let name = Mutex("silent: the sound card has not opened yet")
        let underruns = Atomic(0)
        let opening: Monitor<Opening>
        /// Set once the output has started.
        let loan = Mutex<RendererLoan?>(nil)
        /// The heartbeat of the audio thread: at work except while it waits for time to pass.
        let beats = Heartbeat()
        /// The beat at which the thread seemed to hang, and since when.
        let suspect = Mutex<(beat: Heartbeat.Beat, since: HostTime)?>(nil)

        /// Whether the audio thread is still at the same piece of work. With a card that is slow to start, the thread waits and looks
        /// again.
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
            /// Whether the opening waits for the display; nobody waits for the opening then.
            var awaitsDisplay: Bool
            /// The number of channels to render; nil while the cards are being asked.
            var channelCount: Int?
            /// Fixed by the first caller that asks for it.
            var format: AudioFormat?
        }

        /// The outcome of the first opening: a card, or why there is none.
        struct Outcome: Sendable {
            var card: FirstCard?
            var problem: AudioError?
            /// Watches for changes since the list before the opening; a card that came during it counts as new.
            var watch: CardWatch?
        }

        /// Fixes the format, and returns it.
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

        /// Records the outcome of the first opening.
        func opened(_ outcome: Outcome) {
            opening.signal { $0.outcome = outcome }
            control.wakeUp.wake()
            StartTrace.reached(.soundOpen)
        }
    }

    /// The card that opened first, until the audio thread takes it.
    fileprivate final class FirstCard: Sendable {
        let sampleRate: Int
        let pcm: Mutex<PCM?>

        init(_ pcm: consuming sending PCM) {
            sampleRate = pcm.sampleRate
            self.pcm = Mutex(pcm)
        }
    }

    /// Creates an output of `channelCount` channels. Calls `open` to open its card once `awaitDisplay` has returned, and again when
    /// `listPCMs` shows a new card.
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
                // A caller that could not wait has fixed the count.
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

    /// Starts rendering on the audio thread. Call once.
    package func start(_ renderer: any AudioRenderer) {
        let (choice, format, shared) = (choice, format, shared)
        let loan = RendererLoan(renderer, format)
        shared.loan.withLock { $0 = loan }
        shared.control.start("audio") {
            var player = CardPlayer(choice, format, shared, loan)
            player.run()
            // Closes a card that came too late; here the call may take its time.
            shared.opening.withLock { $0.outcome?.card }?.pcm.withLock { $0 = nil }
        }
    }

    /// Starts a stand-in thread if the audio thread hangs in a call. The stand-in renders in real time by the monotonic clock until that
    /// call returns. The first call only notes the audio thread's beat. From any thread.
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

    /// Makes the audio thread drop the frames in the card's buffer, give them back and render anew. From any thread.
    package func interrupt() { shared.control.interrupt() }

    /// Ends the rendering and its thread, and closes the card. Returns false if a call into ALSA has not returned by `deadline`.
    package func stop(by deadline: HostTime) -> Bool { shared.control.stop(by: deadline) }

    /// Starts to open `device`, and returns. `display` names the active connector; it is called on any thread. With an automatic choice it
    /// may take as long as a display needs, and the card opens after it.
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
        // An empty list never shows a new card.
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
    /// The time when rendering without a card began, or will begin.
    private var silentSince = HostTime.now
    /// Whether the first opening is still running. The thread opens no other card meanwhile: it would be in use.
    private var awaitsFirst = true

    init(_ choice: ALSAOutput.Choice, _ format: AudioFormat, _ shared: ALSAOutput.Shared, _ renderer: RendererLoan) {
        self.choice = choice
        self.format = format
        self.shared = shared
        self.renderer = renderer
        state = .initial(error: .noCard, at: .now)
        takeFirst()
    }

    /// Takes the outcome of the first opening, once it has ended.
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
            // The format was fixed before the card was open: opens the card again at that rate.
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

    /// Takes over from the stand-in thread, once a call that hung has returned. Returns whether another thread had stood in.
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
            // Otherwise the timeline would count time in which the card played nothing.
            if isEarly { return try card!.interrupt(renderer) }
            try card!.recover()
            renderer.takeBack(frames: 0)
        } catch { lose(error) }
    }

    /// Closes a lost card. Gives back the frames not heard by now. A ``SilentSink`` takes them from this instant on, so the timeline does
    /// not jump.
    private mutating func lose(_ error: AudioError) {
        guard case .fallSilent(let error) = state.handle(.lost(error), at: .now) else { return }
        // Closing a lost card can take long; that time must not count.
        silentSince = .now
        let frames = card!.unheard(at: silentSince)
        if frames > 0 { renderer.takeBack(frames: frames) }
        card = nil
        log.warning("sound lost: \(error)")
        shared.name.withLock { $0 = "silent: \(error)" }
    }

    /// Closes the card if another has come that may be the better choice. A ``SilentSink`` takes the samples until one of them is open.
    private mutating func chooseAgain() {
        guard let listPCMs = choice.listPCMs, case .open = state else { return }
        // If the display of this card is switched off and on again, that is no new choice. When plugs are followed, the list has to show
        // its disappearance.
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

    /// Renders to a ``SilentSink`` until a card is open. Returns false if the thread has to end.
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
        // Opening a card takes up to some tenths of a second; that time has passed without sound.
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
            // A card that is opened again with a longer buffer is the same card: controls muted meanwhile stay muted.
            let isSame = if case .open = state { true } else { false }
            var watch: CardWatch?
            let pcm = try choice.make(.exactly(format.sampleRate), bufferDuration, format.channelCount, &watch, makesAudible: !isSame)
            self.watch = watch
            let summary = pcm.summary
            shared.name.withLock { $0 = summary }
            card = OpenCard(pcm, renderedCount: format.channelCount, wakeUp: shared.control.wakeUp)
            _ = state.handle(.opened, at: .now)
        } catch {
            // In the state `open`, this was the second opening, with a longer buffer, and the card is lost.
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

/// Notices that sound devices have come or gone, by the modification time of /dev/snd.
struct DeviceFolder {
    private var lastReading = HostTime.now
    private var change = Self.lastChange()

    static let interval = MediaTime.milliseconds(500)

    /// Whether devices have come or gone since the last reading; reads every ``interval``.
    mutating func hasChanged(at now: HostTime) -> Bool {
        guard now - lastReading >= Self.interval else { return false }
        lastReading = now
        let latest = Self.lastChange()
        defer { change = latest }
        return latest != change
    }

    private static func lastChange() -> Int64? { stat(at: "/dev/snd")?.modified }
}
