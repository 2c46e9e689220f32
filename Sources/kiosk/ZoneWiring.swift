import Cache
import Commands
import Configuration
import Content
import KioskDisplayCore
import KioskPlatform
import KioskPlayback
import KioskReaders
import KioskVocabulary
import Logging
import Remote
import Synchronization

/// The zones: parts of the display that have a playlist of their own each.
///
/// A zone is a player like the main one, told what ``Configuration/configuration(of:)`` says, with its folders and its hours. Its pictures go into a window over the main
/// one's (``DisplayOutput/makeWindow(background:show:measured:)``), and are its layer ``Overlay/Order/zones``: so a zone cannot hold up anything but itself, and its seams
/// are those of a player. A zone that is heard has the sound card together with the main player (``SharedSound``), and is as loud as that lets it be; one
/// that is not has time by the monotonic clock, and none of its sound is decoded.
final class ZoneWiring: Sendable {
    /// What zones have in common with the main player.
    struct Surroundings: Sendable {
        var player: PlaybackEngine
        var display: DisplayOutput
        var sound: SharedSound
        var files: AssetCache?
    }

    private struct State {
        /// In the order of the file, the rearmost first.
        var zones: [Zone] = []
        var isDark = false
        /// Whether another program has the main player paused.
        var isInterrupted = false
        var gain = 1.0
        var hasStarted = false, hasEnded = false
        var perform: (@Sendable (Command) -> Void)?

        var isHeld: Bool { isDark || isInterrupted }
    }

    /// What is seen of them, by their names.
    private struct Seen {
        var order: [String] = []
        var pictures: [String: Overlay.Picture] = [:]
    }

    private let around: Surroundings
    /// Taken with the main player's lock held (``PlaybackEngine/followGain(_:)``), and ``seen`` before that.
    private let state: Monitor<State>
    private let seen: Monitor<Seen>

    init(_ configuration: Configuration, _ around: Surroundings) {
        self.around = around
        (state, seen) = (Monitor(State()), Monitor(Seen(order: configuration.zones.map(\.name))))
        let zones = configuration.zones.map { make($0, configuration) }
        state.withLock { $0.zones = zones }
    }

    /// The items of all of them.
    var items: [PlaylistItem] { state.withLock { $0.zones }.flatMap { $0.player.items.map(\.entry) } }

    /// Starts all. `perform` carries out what a tap asks for.
    func start(perform: @escaping @Sendable (Command) -> Void) {
        let zones = state.withLock { state in
            (state.hasStarted, state.perform) = (true, perform)
            return state.zones
        }
        for zone in zones { zone.start() }
        around.player.followGain { [weak self] gain, time in self?.setGain(gain, over: time) }
        around.player.addObserver { [weak self] event in
            switch event {
            case .interruptionBegan: self?.hold { $0.isInterrupted = true }
            case .interruptionEnded: self?.hold { $0.isInterrupted = false }
            default: break
            }
        }
    }

    private func make(_ zone: Configuration.Zone, _ configuration: Configuration) -> Zone {
        let name = zone.name
        return Zone(zone, configuration, around) { [weak self] picture in self?.change { $0.pictures[name] = picture } }
    }

    /// Changes what is seen of them, and tells the main player.
    private func change(_ body: (inout Seen) -> Void) {
        seen.withLock { seen in
            body(&seen)
            // With the lock held, so that of two changes the later one is the last.
            var overlay = Overlay(pictures: seen.order.compactMap { seen.pictures[$0] })
            overlay.isOfPlayers = true
            around.player.setOverlay(overlay, order: .zones)
        }
    }

    /// Goes by another configuration from now on: a zone that is as it was plays on. Not from two threads at once.
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
        for zone in former where !zones.contains(where: { $0 === zone }) { _ = zone.stop(by: .now + .seconds(1)) }
        let (starts, gain, isHeld) = state.withLock { state in
            state.zones = zones
            return (state.hasStarted && !state.hasEnded, state.gain, state.isHeld)
        }
        change { seen in
            seen.order = zones.map(\.settings.name)
            seen.pictures = seen.pictures.filter { seen.order.contains($0.key) }
        }
        if !starts { return }
        for zone in new {
            zone.player.setMasterGain(gain, over: nil)
            zone.player.setHeld(isHeld)
            zone.start()
        }
    }

    /// The display is off, or on: nothing is played meanwhile.
    func setDark(_ isDark: Bool) { hold { $0.isDark = isDark } }

    private func hold(_ change: (inout State) -> Void) {
        let (zones, isHeld) = state.withLock { state in
            change(&state)
            return (state.zones, state.isHeld)
        }
        for zone in zones { zone.player.setHeld(isHeld) }
    }

    private func setGain(_ gain: Double, over time: MediaTime?) {
        let zones = state.withLock { state in
            state.gain = gain
            return state.zones
        }
        for zone in zones { zone.player.setMasterGain(gain, over: time) }
    }

    /// Does something with the zone of this name; false where there is none.
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
            if let command = present.onTap ?? (present.waitsForTap ? nil : zone.settings.onTap) {
                perform?(command)
            } else if present.waitsForTap {
                zone.player.perform(.waitEnded)
            }
        }
        return true
    }

    /// Carries out what a program asks for; the zones as they are then.
    func handle(_ name: String?, _ order: ZoneOrder?) throws(ControlRefusal) -> [String: JSONValue] {
        if let name {
            guard let order else { throw ControlRefusal(code: "bad-request", message: "say what is to be done with the zone “\(name)”") }
            guard self.order(order, of: name) else {
                throw ControlRefusal(code: "no-such-zone", message: "there is no zone “\(name)” in kiosk.conf")
            }
        }
        return ["zones": .array(state.withLock { $0.zones }.map(\.status))]
    }

    /// Ends all, and waits for them until `deadline`; false where one has not ended by then.
    func stop(by deadline: HostTime) -> Bool {
        let zones = state.withLock { state in
            state.hasEnded = true
            return state.zones
        }
        for zone in zones { zone.beginStopping() }
        return zones.map { $0.stop(by: deadline) }.allSatisfy { $0 }
    }

    /// One line for each.
    var summaries: [String] { state.withLock { $0.zones }.map(\.summary) }
}

/// One zone.
private final class Zone: Sendable {
    private let present: Monitor<(settings: Configuration.Zone, configuration: Configuration)>
    let player: PlaybackEngine
    private let reporter: Reporter
    private let expansion: PlaylistExpansion
    private let schedule: ScheduleWiring
    private let log: Logger

    var settings: Configuration.Zone { present.withLock { $0.settings } }

    init(
        _ settings: Configuration.Zone, _ configuration: Configuration, _ around: ZoneWiring.Surroundings,
        show: @escaping @Sendable (Overlay.Picture?) -> Void
    ) {
        let own = configuration.configuration(of: settings)
        let log = Logger(label: "zone \(settings.name)")
        let loudness = settings.volume > 0 ? "loudness \(settings.volume)" : "silent"
        let isTold = Atomic(false)
        let window = around.display.makeWindow(
            background: own.display.background,
            show: { picture in
                show(picture)
                guard let picture, !isTold.exchange(true, ordering: .relaxed) else { return }
                log.info("\(picture.surface.width)×\(picture.surface.height) pixels at \(picture.x),\(picture.y), \(loudness)")
            },
            measured: { time in
                log.info("each of its pictures takes \(decimal(time.seconds * 1000)) ms to be painted, before it is laid over the main one")
            })
        let audio: any PCMOutput =
            settings.volume > 0 ? around.sound.connect() : SilentOutput(format: around.sound.output.format, reason: "silent: volume = 0")
        player = PlaybackEngine(
            items: [], options: PlaybackEngine.Options(own), video: window, audio: audio, files: around.files, readers: own.readers)
        reporter = Reporter(player: player, display: around.display, snapshotFolder: nil, name: log.label)
        schedule = ScheduleWiring(own)
        expansion = PlaylistExpansion(own, on: schedule.on) { [readers = own.readers] in FileTrial.flaw(of: $0, by: readers) }
        self.log = log
        present = Monitor((settings, own))
    }

    func start() {
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

    /// Takes over what another configuration says of it; false where it has to be made anew for that.
    func takeOver(_ settings: Configuration.Zone, _ configuration: Configuration) -> Bool {
        let own = configuration.configuration(of: settings)
        let former = present.withLock { $0 }
        guard former.configuration.display.background == own.display.background, (former.settings.volume > 0) == (settings.volume > 0) else {
            return false
        }
        present.withLock { $0 = (settings, own) }
        player.setOptions(PlaybackEngine.Options(own), instead: PlaybackEngine.Options(former.configuration))
        expansion.setConfiguration(own, on: schedule.setConfiguration(own))
        return true
    }

    func beginStopping() { player.beginStopping() }

    func stop(by deadline: HostTime) -> Bool {
        schedule.stop()
        expansion.stop()
        return player.stop(by: deadline)
    }

    var summary: String { "\(log.label): \(reporter.summary)" }

    /// For programs.
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
