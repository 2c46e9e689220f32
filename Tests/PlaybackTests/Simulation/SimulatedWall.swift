import DequeModule
import Media
import Platform

@testable import Playback

/// The engine on a made-up wall, in made-up time, on one thread: the real player, presenter, compositor, scheduler, queue and clock between a feeder, a
/// display and a sound card that are simulated. The presenter's `wait` is the simulation: it goes from event to event until something has happened
/// that the presenter waits for. Nothing depends on the machine; a run is the same every time.
///
/// What was seen and heard is kept apart from what the engine believes: every picture carries its number, and the sound is a slow tone in two channels
/// (cosine and sine) whose phase says which sample it is.
final class SimulatedWall: VideoOutput, AudioOutput, @unchecked Sendable {
    // Sendable because all of it is touched by the one thread that runs it.

    private let scenario: Scenario
    private var random: SystemRandomNumberGeneratorSeeded
    private var player: Player!
    private var compositor: Compositor!
    private var time = HostTime(nanoseconds: 1_000_000_000)
    private let begin = HostTime(nanoseconds: 1_000_000_000)
    private let end: HostTime
    private var outcome = Outcome()
    private var events: ArraySlice<(time: Double, event: Scenario.Event)>

    private var feeder: Feeder
    private var feederDue: HostTime?
    private var compositorDue: HostTime?
    private var display: SimulatedDisplay
    private var nextStop: MediaTime?
    private var card: SimulatedCard

    init(_ scenario: Scenario) {
        self.scenario = scenario
        random = SystemRandomNumberGeneratorSeeded(seed: scenario.seed &+ 99)
        end = begin + .seconds(scenario.seconds)
        events = scenario.events[...]
        feeder = Feeder(clips: scenario.clips)
        display = SimulatedDisplay(scenario, begin: begin)
        card = SimulatedCard(scenario)
    }

    /// Runs it to its end, on this thread.
    static func run(_ scenario: Scenario) -> Outcome {
        let wall = SimulatedWall(scenario)
        wall.run()
        wall.player = nil
        wall.compositor = nil
        return wall.outcome
    }

    private func run() {
        let now: @Sendable () -> HostTime = { [unowned self] in time }
        let items = scenario.clips.indices.map { PlaylistItem(source: "\($0)") }
        player = Player(items: items, options: Player.Options(), video: self, audio: self, now: now)
        let (pipeline, audio) = (player.pipeline, player.audio)
        let clock: @Sendable (HostTime) -> MediaTime? = { audio.isRunning ? audio.timelineTime(at: $0, now: now()) : nil }
        compositor = Compositor(pipeline: pipeline, output: self, clock: clock, now: now)
        feeder.cursor = PlaylistCursor(items, loop: .playlist)
        feeder.items = items
        start(audio)
        feederDue = time
        var presenter = Presenter(
            pipeline: pipeline, output: self, audioOutput: self, audio: audio, emit: { [unowned self] in outcome.events.append($0) },
            now: now)
        presenter.run()
        display.checkBuffers(known: buffersKnown, at: time)
        outcome.violations = display.violations
        outcome.snapshot = player.snapshot
        outcome.played = card.played(until: time)
    }

    private func seconds(_ time: HostTime) -> Double { (time - begin).seconds }

    // MARK: Time

    func wait(until deadline: HostTime?) -> VideoOutputEvent {
        while true {
            if let stop = nextStop, display.due != nil {
                nextStop = nil
                time = time + stop
                return .woken
            }
            if let (event, shown) = display.event(at: time) {
                if var shown {
                    shown.heard = heard(at: begin + .seconds(shown.time))
                    outcome.shown.append(shown)
                }
                time = time + random.latency()
                return event
            }
            if let deadline, deadline <= time { return .deadline }
            if time >= end {
                player.pipeline.withLock { $0.isStopping = true }
                return .deadline
            }
            // Both wait on the pipeline, which anything may have changed.
            feederDue = feederDue ?? (feederHasWork ? time + random.latency() : nil)
            compositorDue = compositorDue ?? (compositorHasWork ? time + composeTime : nil)
            let next = [
                deadline, display.due, feederDue, compositorDue, card.due, events.first.map { begin + .seconds($0.time) }, end,
            ].compactMap { $0 }.min()!
            time = max(time, next)
            pass()
        }
    }

    /// Does what is due.
    private func pass() {
        while let first = events.first, begin + .seconds(first.time) <= time {
            events.removeFirst()
            happen(first.event)
        }
        card.step(at: time, using: &random)
        if let due = feederDue, due <= time {
            feederDue = nil
            feed()
        }
        if let due = compositorDue, due <= time {
            compositorDue = nil
            if compositor.step() { compositorDue = time + composeTime }
        }
    }

    private var composeTime: MediaTime { .seconds(scenario.composeTime * (0.2 + 0.8 * abs(random.unit()))) }

    private func happen(_ event: Scenario.Event) {
        switch event {
        case .decoderStalls(let seconds):
            feeder.stalledUntil = time + .seconds(seconds)
            if let due = feederDue { feederDue = max(due, feeder.stalledUntil) }
        case .vblanksLost(let count): display.lost = count
        case .vblankDoubled: display.doubleVblank()
        case .vblanksUncounted: display.reportsVblank = false
        case .cardRunsDry(let seconds): card.block(until: time + .seconds(seconds))
        case .everythingStops(let seconds): nextStop = .seconds(seconds)
        case .frozen(let seconds):
            // The presenter is the first to run again.
            time = time + .seconds(seconds)
            card.block(until: time + .milliseconds(3))
            feederDue = feederDue.map { max($0, time + .milliseconds(2)) }
            compositorDue = compositorDue.map { max($0, time + .milliseconds(1)) }
        case .display(let isLit): display.set(isLit: isLit)
        case .command(let command):
            let generation = player.pipeline.withLock { $0.generation }
            player.perform(command)
            player.pipeline.withLock { pipeline in
                if pipeline.generation != generation, let jump = pipeline.jump {
                    outcome.jumps.append((seconds(time), pipeline.generation, jump))
                }
            }
        }
    }

    // MARK: The feeder

    private struct Feeder {
        var clips: [Scenario.Clip]
        var items: [PlaylistItem] = []
        var cursor: PlaylistCursor!
        var generation: UInt64 = 0
        var turn: Turn?
        /// The next picture of the turn's clip, the item time the turn began at, and where that lies on the timeline.
        var next = 0
        var itemTime = MediaTime.zero
        var anchor = MediaTime.zero
        var pictureEnd = MediaTime.zero
        var isFirst = true
        var lastSerial: UInt64 = 0
        var lastNumber = 0
        var stalledUntil = HostTime(nanoseconds: 0)
        /// The picture that is being decoded.
        var isDecoding = false
        /// The clip that is being opened: where, and whether it follows without a jump.
        var opening: (position: PlaylistCursor.Position, time: MediaTime, isSeam: Bool)?

        init(clips: [Scenario.Clip]) {
            self.clips = clips
            opening = (.init(index: 0), .zero, false)
        }
    }

    private var feederHasWork: Bool {
        if feeder.isDecoding || feeder.opening != nil { return true }
        let wanted = player.audio.sample(at: feeder.pictureEnd) > player.audio.writtenSamples && player.audio.room(wanting: 50) >= 50
        return wanted || player.pipeline.withLock { $0.jump != nil || $0.hasRoomForFrame }
    }

    private func feed() {
        while let frame = player.pipeline.withLock({ $0.takeSpent() }) { _ = consume frame }
        let audio = player.audio
        if time < feeder.stalledUntil {
            feederDue = feeder.stalledUntil
            return
        }
        if let (jump, generation) = player.pipeline.withLock({ pipeline in pipeline.jump.take().map { ($0, pipeline.generation) } }) {
            audio.reset()
            interrupt()
            let clip = feeder.clips[jump.position.index]
            var frame = clip.frame(at: (jump.time ?? .zero).seconds)
            if case .keyFrame = jump.precision { frame -= frame % 12 }
            feeder.generation = generation
            feeder.turn = nil
            feeder.isDecoding = false
            feeder.pictureEnd = .zero
            feeder.opening = (jump.position, jump.precision == .exact ? jump.time ?? .zero : .seconds(clip.edges[frame]), false)
            feederDue = time + .milliseconds(10)
            return
        }
        if let opening = feeder.opening {
            feeder.opening = nil
            open(opening.position, at: opening.time, isSeam: opening.isSeam)
        }
        let wanted = Int(audio.sample(at: feeder.pictureEnd) - audio.writtenSamples)
        if wanted > 0, audio.room(wanting: min(wanted, 50)) >= min(wanted, 50) {
            let first = audio.writtenSamples
            let samples = NumberedSound.samples(from: first, count: min(wanted, 50))
            audio.write(samples.span)
            return
        }
        guard player.pipeline.withLock({ $0.hasRoomForFrame }) else { return }
        let clip = feeder.clips[feeder.turn!.position.index]
        if !feeder.isDecoding {
            feeder.isDecoding = true
            let duration = clip.edges[feeder.next + 1] - clip.edges[feeder.next]
            feederDue = time + .seconds(min(0.1, scenario.decodeShare * duration) * abs(random.unit()))
            return
        }
        feeder.isDecoding = false
        lay(clip)
        if feeder.next == clip.count {
            let next = feeder.cursor.following(feeder.turn!.position)!
            feeder.opening = (next, .zero, true)
        }
    }

    private func open(_ position: PlaylistCursor.Position, at time: MediaTime, isSeam: Bool) {
        let clip = feeder.clips[position.index]
        feeder.lastSerial += 1
        feeder.turn = Turn(
            serial: feeder.lastSerial, position: position, item: feeder.items[position.index], itemEnd: .seconds(clip.edges[clip.count]),
            isStill: false, isSeekable: true, isSeam: isSeam)
        feeder.next = clip.frame(at: time.seconds)
        (feeder.itemTime, feeder.anchor, feeder.isFirst) = (time, feeder.pictureEnd, true)
    }

    private func lay(_ clip: Scenario.Clip) {
        let (first, last) = (clip.edges[feeder.next], clip.edges[feeder.next + 1])
        let itemTime = max(.seconds(first), feeder.itemTime)
        let place = FramePlace(
            start: feeder.anchor + itemTime - feeder.itemTime, end: feeder.anchor + .seconds(last) - feeder.itemTime, itemTime: itemTime,
            rate: 1, cadence: clip.rate.map { .seconds(1 / $0) }, turn: feeder.turn, isFirst: feeder.isFirst)
        feeder.next += 1
        feeder.isFirst = false
        feeder.pictureEnd = place.end
        feeder.lastNumber += 1
        let (number, generation) = (feeder.lastNumber, feeder.generation)
        outcome.laid[number] = (place, generation)
        var frame: LaidFrame? = LaidFrame(NumberedPicture.frame(number), at: place)
        let (count, queued) = player.pipeline.signal { pipeline -> (Int, MediaTime) in
            if pipeline.generation == generation { pipeline.append(frame.take()!) }
            let count = pipeline.frames.count
            return (count, count == 0 ? .zero : pipeline.frames[count - 1].place.end - pipeline.frames[0].place.start)
        }
        outcome.mostFrames = max(outcome.mostFrames, count)
        if count > Pipeline.fewestFrames { outcome.longestQueue = max(outcome.longestQueue, queued) }
    }

    // MARK: The display

    var mode: DisplayMode? { display.mode }
    var generation: UInt64 { display.generation }
    var reportsVblank: Bool { display.reportsVblank }

    func compose(_ frame: borrowing VideoFrame?, gravity: VideoGravity, over underlay: borrowing Underlay?) -> Composition {
        display.compose(frame)
    }

    func present(_ frame: ComposedFrame, id: UInt64) -> Presentation { display.present(frame, id: id, at: time, using: &random) }
    func discard(_ frame: ComposedFrame) { display.discard(frame, at: time) }
    func wake() { display.wake() }
    func close() {}

    private var compositorHasWork: Bool { player.pipeline.withLock { $0.mayRepaint || $0.mayCompose } }

    /// Buffers that the engine has.
    private var buffersKnown: Int {
        player.pipeline.withLock { pipeline in
            var known = pipeline.repainted == nil ? 0 : 1
            for index in 0..<pipeline.ready.count where pipeline.ready[index].composed?.generation == display.generation { known += 1 }
            return known
        }
    }

    // MARK: The card

    var format: AudioFormat { AudioFormat(sampleRate: SimulatedCard.sampleRate, channelCount: 2) }
    var name: String { "simulated" }

    func start(_ renderer: any AudioRenderer) { card.start(renderer, at: time) }
    func interrupt() { card.interrupt(at: time) }
    func stop() {}

    /// The timeline's instant at the speaker, in seconds; nil in silence.
    private func heard(at time: HostTime) -> Double? {
        let believed = player.audio.timelineTime(at: time)?.seconds ?? 0
        let rate = Double(SimulatedCard.sampleRate)
        return card.number(at: time, believed: believed * rate).map { $0 / rate }
    }
}

extension SystemRandomNumberGeneratorSeeded {
    /// What a thread that has been woken takes to run.
    mutating func latency() -> MediaTime { .seconds(0.0003 * abs(unit())) }
}
