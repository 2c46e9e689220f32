import Cache
import KioskCommands
import KioskConfiguration
import KioskContent
import KioskDisplayCore
import KioskPlatform
import KioskPlayback
import KioskReaders
import KioskVocabulary
import Logging
import Remote
import Synchronization

/// The zones: parts of the display that each have their own playlist.
///
/// A zone is a player like the main one, set up by ``Configuration/configuration(of:)``, with its own folders and schedule. Its pictures go
/// into a window above the main player's (``DisplayOutput/makeWindow(background:show:measured:)``), in the layer ``Overlay/Order/zones``.
/// So a zone can delay only itself, and its seams are those of a player. An audible zone shares the sound card with the main player
/// (``SharedSound``), which also limits its loudness. A silent zone runs by the monotonic clock, and decodes no sound.
///
/// Zones deliver their pictures in the first quarter of a period after a vblank. A little later, thread `zones` collects them and sets one
/// overlay for each vblank: of several overlays for one vblank, some would miss it. A picture that comes too late appears a vblank later.
/// The thread starts with the first zone.
///
/// Lock order: the main player's, ``state``, a zone's player's.
final class ZoneWiring: Sendable {
    /// The parts that zones share with the main player.
    struct Surroundings: Sendable {
        var player: PlaybackEngine
        var display: DisplayOutput
        var sound: SharedSound
        var files: AssetCache?
    }

    private struct State {
        /// In the order of the file, the rearmost first.
        var zones: [Zone] = []
        var lastNumber = 0
        var isDark = false
        /// Whether another program makes all audible playback pause.
        var isInterrupted = false
        var gain = 1.0
        var hasStarted = false, hasEnded = false
        var perform: (@Sendable (Command) -> Void)?

        func isHeld(_ zone: Zone) -> Bool { isDark || isInterrupted && zone.isHeard }
        func hold() { for zone in zones { zone.player.setHeld(isHeld(zone)) } }
    }

    /// The zones' visible pictures, by number.
    private struct Seen {
        var order: [Int] = []
        var pictures: [Int: Overlay.Picture] = [:]
        /// When each zone delivers its next picture, if known.
        var next: [Int: Range<HostTime>] = [:]
        var hasChanged = false
        var isRunning = false, isStopped = false

        /// Drops the pictures of removed zones.
        mutating func tidy() {
            pictures = pictures.filter { order.contains($0.key) }
            next = next.filter { order.contains($0.key) }
        }
    }

    /// How long before a vblank its overlay is set, in periods. Players commit up to a quarter of a period after the previous vblank
    /// (``FrameScheduler``).
    private static let lead = 0.65

    private let around: Surroundings
    private let state = Monitor(State())
    private let seen = Monitor(Seen())

    init(_ configuration: Configuration, _ around: Surroundings) {
        self.around = around
        set(configuration.zones.map { make($0, configuration) })
    }

    /// The items of all zones.
    var items: [PlaylistItem] { state.withLock { $0.zones }.flatMap { $0.player.items.map(\.entry) } }

    /// Starts all zones. `perform` carries out the commands of taps.
    func start(perform: @escaping @Sendable (Command) -> Void) {
        let zones = state.withLock { state in
            (state.hasStarted, state.perform) = (true, perform)
            return state.zones
        }
        for zone in zones { zone.start() }
        around.player.followGain { [weak self] gain, time in
            self?.state.withLock { state in
                state.gain = gain
                for zone in state.zones { zone.player.setMasterGain(gain, over: time) }
            }
        }
        around.player.addObserver { [weak self] event in
            switch event {
            case .interruptionBegan, .interruptionEnded, .statusChanged: self?.lookAtInterruption()
            default: break
            }
        }
    }

    private func make(_ settings: Configuration.Zone, _ configuration: Configuration) -> Zone {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return Zone(number, settings, configuration, around) { [weak self] picture, next in
            self?.change { ($0.pictures[number], $0.next[number]) = (picture, next) }
        }
    }

    /// Replaces the zones.
    private func set(_ zones: [Zone]) {
        state.withLock { state in
            state.zones = zones
            for zone in zones { zone.player.setMasterGain(state.gain, over: nil) }
            state.hold()
        }
        // Nothing to draw if there are no zones, and never were.
        if !zones.isEmpty || seen.withLock({ $0.isRunning }) { change { $0.order = zones.map(\.number) } }
    }

    /// Changes the visible pictures. Pictures of a removed zone are dropped, even if it still delivers some.
    private func change(_ body: (inout Seen) -> Void) {
        let begins = seen.signal { seen in
            body(&seen)
            seen.tidy()
            seen.hasChanged = true
            defer { seen.isRunning = true }
            return !seen.isRunning && !seen.isStopped
        }
        if begins { Thread("zones", realtimePriority: 5) { [self] in run() }.detach() }
    }

    private func run() {
        let player = around.player
        var last: HostTime?
        while true {
            let hasEnded = seen.wait { seen in seen.isStopped ? true : seen.hasChanged ? false : nil }
            if hasEnded != false { return }
            // Without a display nothing is visible.
            let period = around.display.mode.map { max($0.refreshPeriod, .milliseconds(2)) } ?? .milliseconds(100)
            // Vblank times are exact to some microseconds: a vblank that near counts as past.
            var vblank = player.vblank(after: .now + period.scaled(by: 1 - Self.lead))
            // The second of two overlays for one vblank would appear with the next vblank, and displace the overlay for that one.
            if let due = vblank, let last, due - last < period.scaled(by: 0.5) { vblank = due + period }
            last = vblank
            if let vblank {
                _ = seen.wait(until: vblank - period.scaled(by: Self.lead)) { $0.isStopped ? true : nil }
            }
            let (pictures, movesNext) = seen.withLock { seen in
                seen.hasChanged = false
                let moves = vblank.map { vblank in seen.next.values.contains { $0.overlaps(vblank..<vblank + period) } } ?? false
                return (seen.order.compactMap { seen.pictures[$0] }, moves)
            }
            var overlay = Overlay(pictures: pictures)
            overlay.isOfPlayers = true
            player.setOverlay(overlay, by: .init(.zones))
            if movesNext, let vblank { player.expectOverlay(after: vblank, by: .init(.zones)) }
        }
    }

    /// Applies another configuration; unchanged zones play on. Do not call from two threads at once.
    func setConfiguration(_ configuration: Configuration) {
        let former = state.withLock { $0.zones }
        var (zones, new): ([Zone], [Zone]) = ([], [])
        for settings in configuration.zones {
            if let zone = former.first(where: { $0.settings.name == settings.name }), zone.takeOver(settings, configuration) {
                zones.append(zone)
            } else {
                let zone = make(settings, configuration)
                zones.append(zone)
                new.append(zone)
            }
        }
        set(zones)
        for zone in former where !zones.contains(where: { $0 === zone }) { _ = zone.stop(by: .now + .seconds(1)) }
        if state.withLock({ $0.hasStarted && !$0.hasEnded }) { for zone in new { zone.start() } }
    }

    /// Holds playback while the display is off.
    func setDark(_ isDark: Bool) {
        state.withLock { state in
            state.isDark = isDark
            state.hold()
        }
    }

    /// Pauses audible zones while another program makes the main player pause.
    private func lookAtInterruption() {
        let player = around.player
        let isInterrupted = player.isInterrupted && player.pausesForInterruptions && player.snapshot.status == .paused
        state.withLock { state in
            guard state.isInterrupted != isInterrupted else { return }
            state.isInterrupted = isInterrupted
            state.hold()
        }
    }

    /// Sends an order to the zone of this name; false if there is none.
    @discardableResult func order(_ order: ZoneOrder, of name: String) -> Bool {
        let (zone, perform) = state.withLock { state in (state.zones.first { $0.settings.name == name }, state.perform) }
        guard let zone else { return false }
        switch order {
        case .next: zone.player.perform(.nextItem)
        case .previous: zone.player.perform(.previousItem)
        case .play: zone.player.perform(.play)
        case .pause: zone.player.perform(.pause)
        case .toggle: zone.player.perform(.togglePlayback)
        case .tap:
            let present = zone.player.snapshot
            switch present.onTap ?? (present.waitsForTap ? .player(.waitEnded) : zone.settings.onTap) {
            case .player(.waitEnded)?: zone.player.perform(.waitEnded)
            // A tap cannot lead to a tap: kiosk.conf does not allow it.
            case .program(.zone(_, .tap))?, nil: break
            case .program(.zone(let other, let order))?: self.order(order, of: other)
            // On a thread of its own: the caller may hold a lock that the command needs.
            case let command?: Thread("zone-tap") { perform?(command) }.detach()
            }
        }
        return true
    }

    /// Carries out a program's request; returns the zones' state after it.
    func handle(_ name: String?, _ order: ZoneOrder?) throws(ControlRefusal) -> [String: JSONValue] {
        if let name {
            guard let order else { throw ControlRefusal(code: "bad-request", message: "give a command for the zone “\(name)”") }
            guard self.order(order, of: name) else {
                throw ControlRefusal(code: "no-such-zone", message: "there is no zone “\(name)” in kiosk.conf")
            }
        }
        return ["zones": .array(state.withLock { $0.zones }.map(\.status))]
    }

    /// Ends all output, and waits until `deadline`; false if a zone may still use the display.
    func stopShowing(by deadline: HostTime) -> Bool {
        let zones = end()
        for zone in zones { zone.player.beginStopping() }
        return zones.map { $0.player.stopShowing(by: deadline) }.allSatisfy { $0 }
    }

    /// Ends all zones, and waits until `deadline`; false if one has not ended by then.
    func stop(by deadline: HostTime) -> Bool { end().map { $0.stop(by: deadline) }.allSatisfy { $0 } }

    private func end() -> [Zone] {
        seen.signal { $0.isStopped = true }
        return state.withLock { state in
            state.hasEnded = true
            return state.zones
        }
    }

    /// One line for each zone.
    var summaries: [String] { state.withLock { $0.zones }.map(\.summary) }
}

/// One zone.
private final class Zone: Sendable {
    /// A number that is unique to this zone.
    let number: Int
    let player: PlaybackEngine
    /// Whether it uses the sound card.
    let isHeard: Bool
    private let present: Monitor<(settings: Configuration.Zone, configuration: Configuration)>
    private let window: any WindowSceneOutput
    private let reporter: Reporter
    private let expansion: PlaylistExpansion
    private let schedule: ScheduleWiring
    private let log: Logger
    private let life = Mutex((hasStarted: false, hasEnded: false))

    var settings: Configuration.Zone { present.withLock { $0.settings } }

    init(
        _ number: Int, _ settings: Configuration.Zone, _ configuration: Configuration, _ around: ZoneWiring.Surroundings,
        show: @escaping @Sendable (Overlay.Picture?, _ next: Range<HostTime>?) -> Void
    ) {
        let own = configuration.configuration(of: settings)
        let log = Logger(label: "zone \(settings.name.printable)")
        let loudness = settings.volume > 0 ? "loudness \(settings.volume)" : "silent"
        let isTold = Atomic(false)
        window = around.display.makeWindow(
            background: own.display.background,
            show: { picture, next in
                show(picture, next)
                guard let picture, !isTold.exchange(true, ordering: .relaxed) else { return }
                log.info("\(picture.surface.width)×\(picture.surface.height) pixels at \(picture.x),\(picture.y), \(loudness)")
            },
            measured: { time in
                // Not on the painting thread: the next picture is due.
                Thread("zone-log") {
                    log.info(
                        "composing a picture takes \(decimal(time.seconds * 1000)) ms; kiosk then puts it on a plane, or blends it")
                }.detach()
            })
        isHeard = settings.volume > 0
        let audio: any PCMOutput =
            isHeard ? around.sound.connect() : SilentOutput(format: around.sound.output.format, reason: "silent: volume = 0")
        player = PlaybackEngine(
            items: [], options: PlaybackEngine.Options(own), video: window, audio: audio, files: around.files, readers: own.readers)
        reporter = Reporter(player: player, display: around.display, snapshotFolder: nil, name: log.label)
        schedule = ScheduleWiring(own)
        expansion = PlaylistExpansion(own, on: schedule.on) { [readers = own.readers] in FileTrial.flaw(of: $0, by: readers) }
        (self.number, self.log) = (number, log)
        present = Monitor((settings, own))
    }

    /// Starts the zone, once, and not after its end.
    func start() {
        life.withLock { life in
            if life.hasStarted || life.hasEnded { return }
            life.hasStarted = true
            begin()
        }
    }

    private func begin() {
        expansion.start { [player, reporter, log] news in
            switch news {
            case .problem(let problem): log.warning("\(problem)")
            case .note(let note): log.info("\(note)")
            case .inBetween: break
            case .items(let items, let atOnce):
                reporter.listChanges(to: items)
                player.setItems(items, at: atOnce ? .now : .atNextBoundary)
            }
        }
        player.addObserver { [expansion] event in if case .nothingPlayable = event { expansion.nothingCanBePlayed() } }
        schedule.start(.init(setOn: { [expansion] in expansion.setOn($0, atOnce: $1) }, setDark: { _ in }, perform: { _ in }))
        player.start()
    }

    /// Applies another configuration; false if the zone has to be made anew.
    func takeOver(_ settings: Configuration.Zone, _ configuration: Configuration) -> Bool {
        guard isHeard == (settings.volume > 0) else { return false }
        let own = configuration.configuration(of: settings)
        let former = present.withLock { present in
            defer { present = (settings, own) }
            return present
        }
        window.setBackground(own.display.background)
        player.setOptions(PlaybackEngine.Options(own), instead: PlaybackEngine.Options(former.configuration))
        expansion.setConfiguration(own, on: schedule.setConfiguration(own))
        return true
    }

    func stop(by deadline: HostTime) -> Bool {
        let hasStarted = life.withLock { life in
            life.hasEnded = true
            return life.hasStarted
        }
        schedule.stop()
        expansion.stop()
        return hasStarted ? player.stop(by: deadline) : true
    }

    var summary: String { "\(log.label): \(reporter.summary)" }

    /// The state for programs.
    var status: JSONValue {
        let snapshot = player.snapshot
        return .object([
            "name": settings.name.json, "item": snapshot.item.flatMap { player.item($0)?.entry.name }.json,
            "place": snapshot.itemNumber.json, "count": snapshot.itemCount.json, "state": snapshot.status.word.json,
            "seams": snapshot.statistics.seams.json, "late": snapshot.statistics.framesLate.json,
            "dropped": snapshot.statistics.framesDropped.json,
        ])
    }
}
