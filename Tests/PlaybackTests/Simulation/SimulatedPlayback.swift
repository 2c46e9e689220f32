import DequeModule
import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary

@testable import KioskPlayback

/// The engine in simulated time, on one thread. The player, opener, feeder, presenter, compositor, scheduler, queue and clock are real; the
/// media, the display and the sound card are simulated. The presenter's `wait` runs the simulation: it steps from event to event until one
/// concerns the presenter. Nothing depends on the machine; every run is the same.
///
/// Each simulated thread has a time at which it is `due`, and a step to take then. One generator draws all random values in order of use:
/// the delay of a wake, the times to decode and to convert, and the jitter of a vblank's timestamp.
///
/// The record of pictures and sounds does not rely on the engine: every picture (``NumberedPicture``) and every sample (``NumberedSound``)
/// carries its number.
final class SimulatedPlayback: SceneOutput, PCMOutput, @unchecked Sendable {
    // Sendable because only the thread that runs it touches it.

    private let scenario: Scenario
    private var random: SeededRandom
    private let begin = HostTime(nanoseconds: 1_000_000_000)
    private var time: HostTime
    private let end: HostTime
    /// The events still to come, and the standstill that begins with the next commit.
    private var events: ArraySlice<(time: Double, event: Scenario.Event)>
    private var overlays: ArraySlice<(time: Double, value: Int)>
    private var nextStop: MediaTime?

    private var display: SimulatedDisplay
    private var card: SimulatedCard
    private var media: SimulatedMedia!
    private var feeder: FeederThread!
    private var player: PlaybackEngine!
    private var compositor: Compositor!
    /// The compositor's work in hand, and the time when it is done.
    private var composing: Compositor.Done?
    private var compositorDue: HostTime?

    private var outcome = Outcome()

    /// A callback for each picture that comes on the screen, with the number of silent samples since the one before. A run with a callback
    /// keeps no record, so it can last.
    typealias Watch = (Outcome.Shown, SimulatedMedia.Picture, SimulatedMedia.Reading, FramePlace, Int) -> Void
    private let watch: Watch?
    private var watched = 0

    /// Plays a scenario to its end on this thread, and returns the outcome.
    static func run(_ scenario: Scenario, watch: Watch? = nil) -> Outcome {
        let playback = SimulatedPlayback(scenario, watch)
        playback.run()
        // These hold the playback as their output.
        playback.player = nil
        playback.compositor = nil
        playback.feeder = nil
        return playback.outcome
    }

    private init(_ scenario: Scenario, _ watch: Watch?) {
        (self.scenario, self.watch) = (scenario, watch)
        random = SeededRandom(seed: scenario.seed &+ 99)
        time = begin
        end = begin + .seconds(scenario.seconds)
        events = scenario.events[...]
        overlays = scenario.overlays[...]
        display = SimulatedDisplay(scenario, begin: begin)
        card = SimulatedCard(scenario)
    }

    private func run() {
        let now: @Sendable () -> HostTime = { [unowned self] in time }
        let items = scenario.clips.indices.prefix(scenario.listed ?? .max).map { PlaylistItem(source: "\($0)") }
        player = PlaybackEngine(items: items, options: PlaybackEngine.Options(), video: self, audio: self, readers: .inProcess, now: now)
        let (pipeline, audio) = (player.pipeline, player.audio)
        let clock: @Sendable (HostTime) -> MediaTime? = { audio.isRunning ? audio.timelineTime(at: $0, now: now()) : nil }
        compositor = Compositor(pipeline: pipeline, output: self, clock: clock, now: now)
        let emit: @Sendable (PlaybackEvent) -> Void = { [unowned self] in outcome.events.append($0) }
        media = SimulatedMedia(scenario, queue: audio) { [unowned self] in (time - begin).seconds }
        func makeOpener() -> ItemOpener {
            ItemOpener(
                open: { [media] (request, interruption) throws(MediaError) in try media!.open(request, interruption) }, now: now,
                onOutcome: { pipeline.signal { _ in } })
        }
        let (opener, lostOpener) = (makeOpener(), makeOpener())
        feeder = FeederThread(
            scenario,
            feeder: Feeder(
                pipeline: pipeline, audio: audio, opener: opener, lostOpener: lostOpener, imageDuration: .seconds(10),
                transition: scenario.transition, emit: emit,
                wakePresenter: { [unowned self] in wake() }, interruptAudio: { [unowned self] in interrupt() }, now: now),
            openers: [opener, lostOpener], pipeline: pipeline, begin: begin)
        start(audio)
        var presenter = Presenter(pipeline: pipeline, output: self, audioOutput: self, audio: audio, emit: emit, now: now)
        presenter.run()
        display.checkBuffers(known: buffersKnown, at: time)
        outcome.violations = display.violations
        outcome.enqueued = feeder.enqueued
        (outcome.pictures, outcome.readings) = (media.pictures, media.readings)
        (outcome.opened, outcome.deaths) = (media.opened, media.deathCount)
        (outcome.longestQueue, outcome.mostFrames) = (feeder.longestQueue, feeder.mostFrames)
        outcome.played = card.played(until: time)
        outcome.snapshot = player.snapshot
    }

    // MARK: Time

    func wait(until deadline: HostTime?) -> SceneOutputEvent {
        // The presenter may have begun a seek that had waited.
        recordJump()
        while true {
            if let stop = nextStop, display.due != nil {
                nextStop = nil
                time = time + stop
                return .woken
            }
            if let told = display.event(at: time) {
                if let shown = told.shown { record(shown) }
                if let overlay = told.overlay { outcome.overlays.append(overlay) }
                time = time + random.latency()
                return told.event
            }
            if let deadline, deadline <= time { return .deadline }
            if time >= end {
                player.pipeline.withLock { $0.stop() }
                return .deadline
            }
            // Both wait on the pipeline, and any step may have changed it.
            feeder.wakeIfNeeded(at: time, using: &random)
            if compositorDue == nil, let done = compositor.begin() {
                // Setting an overlay takes less time than preparing a picture; finding no free buffer takes none.
                compositorDue = time + composeTime().scaled(by: done.prepared != nil ? 1 : done.isOverlay ? 0.3 : 0)
                composing = .some(done)
            }
            let next = [
                deadline, display.due, feeder.due, compositorDue, card.due, events.first.map { begin + .seconds($0.time) },
                overlays.first.map { begin + .seconds($0.time) }, end,
            ].compactMap { $0 }.min()!
            time = max(time, next)
            step()
        }
    }

    /// Runs every step that is due.
    private func step() {
        while let first = events.first, begin + .seconds(first.time) <= time {
            events.removeFirst()
            happen(first.event)
        }
        while let first = overlays.first, begin + .seconds(first.time) <= time {
            overlays.removeFirst()
            player.setOverlay(SimulatedDisplay.overlay(first.value), at: time)
        }
        card.step(at: time, using: &random)
        feeder.step(at: time, using: &random)
        if let due = compositorDue, due <= time {
            compositorDue = nil
            if let done = composing.take() { compositor.finish(done) }
        }
    }

    private func happen(_ event: Scenario.Event) {
        switch event {
        case .decoderStalls(let seconds): feeder.stall(until: time + .seconds(seconds))
        case .vblanksLost(let count): display.lost = count
        case .flipUnreported: (display.lost, display.isUnreported) = (6, true)
        case .vblankDoubled: display.doubleVblank()
        case .vblanksUncounted: display.reportsVblank = false
        case .cardRunsDry(let seconds): card.block(until: time + .seconds(seconds))
        case .everythingStops(let seconds): nextStop = .seconds(seconds)
        case .frozen(let seconds):
            // The presenter is the first to run again.
            time = time + .seconds(seconds)
            card.block(until: time + .milliseconds(3))
            feeder.postpone(until: time + .milliseconds(2))
            compositorDue = compositorDue.map { max($0, time + .milliseconds(1)) }
        case .display(let isConnected): display.set(isConnected: isConnected)
        case .command(let command):
            player.perform(command)
            recordJump()
        }
    }

    private func composeTime() -> MediaTime { .seconds(scenario.composeTime * (0.2 + 0.8 * abs(random.unit()))) }

    // MARK: Pictures and sounds

    /// Records the target of a seek if its generation has begun.
    private func recordJump() {
        player.pipeline.withLock { pipeline in
            if pipeline.generation != outcome.jumps.last?.generation ?? 0, let jump = pipeline.seek.pending {
                outcome.jumps.append(((time - begin).seconds, pipeline.generation, jump))
            }
        }
    }

    private func record(_ shown: Outcome.Shown) {
        var shown = shown
        shown.heard = heard(at: begin + .seconds(shown.time))
        guard let watch else { return outcome.shown.append(shown) }
        guard let picture = media.pictures[shown.number], let place = feeder.enqueued[shown.number]?.place else { return }
        watch(shown, picture, media.readings[picture.reading], place, card.forget(until: time))
        watched += 1
        if watched % 1000 == 0 {
            media.forget(before: shown.number)
            feeder.forget(before: shown.number)
            outcome.overlays = []
        }
    }

    /// Returns the timeline's instant at the speaker, in seconds; nil in silence. The tone repeats every 1000 samples, half a second at 2
    /// kHz; the engine's own time selects the turn.
    private func heard(at time: HostTime) -> Double? {
        let believed = player.audio.timelineTime(at: time)?.seconds ?? 0
        let rate = Double(scenario.sampleRate)
        return card.number(at: time, believed: believed * rate).map { $0 / rate }
    }

    /// The number of composed buffers that the engine holds.
    private var buffersKnown: Int {
        player.pipeline.withLock { pipeline in
            var known = pipeline.screen.waiting == nil ? 0 : 1
            if let prepared = composing?.prepared, prepared.generation == display.generation { known += 1 }
            for index in 0..<pipeline.ready.count where pipeline.ready[index].composed?.generation == display.generation { known += 1 }
            return known
        }
    }

    // MARK: SceneOutput

    var mode: DisplayMode? { display.mode }
    var generation: UInt64 { display.generation }
    var reportsVblank: Bool { display.reportsVblank }
    let rotation = Rotation.none
    func setRotation(_ rotation: Rotation) {}

    func prepare(_ scene: borrowing Scene) -> Preparation { display.prepare(scene) }
    func commit(_ prepared: PreparedScene, id: UInt64) -> CommitResult { display.commit(prepared, id: id, at: time, using: &random) }
    func setOverlay(_ overlay: Overlay) -> OverlayPlacement { display.setOverlay(overlay) }
    func commitOverlay(id: UInt64) -> CommitResult { display.commitOverlay(id: id, at: time, using: &random) }
    func discard(_ prepared: PreparedScene) { display.discard(prepared, at: time) }
    func wake() { display.wake() }
    func playerEnded() {}
    func close() {}

    // MARK: PCMOutput

    var format: AudioFormat { AudioFormat(sampleRate: scenario.sampleRate, channelCount: 2) }
    var name: String { "simulated" }

    func start(_ renderer: any AudioRenderer) { card.start(renderer, at: time) }
    func interrupt() { card.interrupt(at: time) }
    func stop(by deadline: HostTime) -> Bool { true }
}
