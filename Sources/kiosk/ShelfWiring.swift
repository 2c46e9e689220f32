import Cache
import KioskCommands
import KioskConfiguration
import KioskContent
import KioskControlsCore
import KioskMedia
import KioskPlatform
import KioskVocabulary
import Logging
import Remote
import Synchronization

/// The shelf and its surroundings: folders, thumbnails on the disk, the playlist that a viewer has made of it, films.
final class ShelfWiring: Sendable {
    private struct State {
        var configuration: Configuration
        var controls: Controls?
        var control: RemoteControl?
        var publish: @Sendable ([String: JSONValue]) -> Void = { _ in }
        var entries: [ShelfEntry] = []
        var listing: ShelfListing?
        /// The progress of the current or the last film.
        var export: ShelfExport?
        /// Whether a viewer's playlist has replaced the main one.
        var hasOwnPlaylist = false
    }

    private let state: Mutex<State>
    private let store: ThumbnailStore?
    private let restore: @Sendable () -> Void
    /// Set once, in the initialiser, because it calls this object.
    private let films = Mutex<ShelfFilms?>(nil)
    private let log = Logger(label: "kiosk")

    /// `restore` makes the player play the configuration's playlist again.
    init(_ configuration: Configuration, restore: @escaping @Sendable () -> Void) {
        self.restore = restore
        state = Mutex(State(configuration: configuration))
        let folder = configuration.playback.cacheFolder ?? AssetCache.defaultFolder
        if let limit = configuration.shelf.cache, let folder {
            store = ThumbnailStore(folder: folder + "/thumbnails", limit: Int(clamping: limit.bytes)) {
                Logger(label: "kiosk").notice("\($0)")
            }
        } else {
            store = nil
        }
        let films = ShelfFilms(configuration) { [weak self] in self?.tell($0) }
        self.films.withLock { $0 = films }
        setConfiguration(configuration)
    }

    /// Applies another configuration.
    func setConfiguration(_ configuration: Configuration) {
        let listing = state.withLock { state -> ShelfListing? in
            state.configuration = configuration
            if state.listing == nil, !configuration.shelf.folders.isEmpty {
                state.listing = ShelfListing { [weak self] in self?.list($0) }
            }
            return state.listing
        }
        listing?.setFolders(configuration.shelf.folders)
        if !configuration.shelf.folders.isEmpty { filmMaker?.setConfiguration(configuration) }
    }

    /// Sets the controls that show the shelf; nil if nothing is drawn.
    func attach(_ controls: Controls?) {
        let (entries, export) = state.withLock { state in
            state.controls = controls
            return (state.entries, state.export)
        }
        controls?.changeShelf { shelf in
            shelf.setEntries(entries, at: .now)
            if let export, export.isRunning { shelf.set(export) }
            return []
        }
    }

    /// Sets the programs' control of the player, and the function that publishes events about films.
    func attach(_ control: RemoteControl, publish: @escaping @Sendable ([String: JSONValue]) -> Void) {
        state.withLock { ($0.control, $0.publish) = (control, publish) }
    }

    private var filmMaker: ShelfFilms? { films.withLock { $0 } }

    /// Stops watching the folders, and ends the running film.
    func stop() {
        filmMaker?.stop()
        state.withLock { $0.listing }?.stop()
    }

    private func list(_ entries: [ShelfEntry]) {
        let controls = state.withLock { state in
            state.entries = entries
            return state.controls
        }
        log.info("on the shelf: \(entries.count) file\(entries.count == 1 ? "" : "s")")
        controls?.changeShelf { shelf in
            shelf.setEntries(entries, at: .now)
            return []
        }
    }

    // MARK: Requests of the shelf

    /// The shelf's functions, for the controls.
    var surroundings: ShelfSurroundings {
        var surroundings = ShelfSurroundings()
        surroundings.playFrom = { [weak self] in self?.play($0) }
        surroundings.export = { [weak self] in self?.filmMaker?.make($0) }
        surroundings.cancelExport = { [weak self] in self?.filmMaker?.cancel() }
        surroundings.store = store
        return surroundings
    }

    private func play(_ entries: [ShelfEntry]) {
        let control = state.withLock { state in
            state.hasOwnPlaylist = true
            return state.control
        }
        control?.play(entries.map(\.source))
    }

    /// Returns to the main playlist when the viewer has left.
    func giveBackPlaylist() {
        let control = state.withLock { state -> RemoteControl? in
            guard state.hasOwnPlaylist else { return nil }
            state.hasOwnPlaylist = false
            return state.control
        }
        guard let control else { return }
        control.giveBackPlaylist()
        restore()
    }

    // MARK: Films

    private func tell(_ export: ShelfExport) {
        let (controls, publish) = state.withLock { state in
            state.export = export
            return (state.controls, state.publish)
        }
        controls?.changeShelf { shelf in
            shelf.set(export)
            return []
        }
        // The viewer who requested it may have closed the shelf meanwhile, and see something else.
        switch export {
        case .running: break
        case .done: controls?.show(notice: "Your film is ready")
        case .failed: controls?.show(notice: "Your film could not be made")
        }
        publish(Self.members(of: export))
    }

    private static func members(of export: ShelfExport) -> [String: JSONValue] {
        switch export {
        case .running(let share, let left):
            ["done": .number((share * 1000).rounded() / 1000), "left": left.map { .number($0.seconds.rounded()) } ?? .null]
        case .done(let path): ["file": path.json]
        case .failed(let reason): ["problem": reason.json]
        }
    }

    // MARK: Requests of programs

    /// Carries out a command of the control socket.
    func handle(_ request: ShelfRequest) throws(ControlRefusal) -> [String: JSONValue] {
        let (controls, configuration) = state.withLock { ($0.controls, $0.configuration) }
        guard !configuration.shelf.folders.isEmpty else {
            throw ControlRefusal(code: "no-shelf", message: "there is no shelf: name its folders in [shelf] folders of kiosk.conf")
        }
        guard let controls else {
            throw ControlRefusal(code: "no-shelf", message: "there is no shelf if kiosk draws nothing: [input] controls is \"none\"")
        }
        func change<Result>(_ body: (inout ShelfState) -> (actions: [ShelfAction], Result)) -> Result {
            var result: Result?
            controls.changeShelf { shelf in
                let (actions, value) = body(&shelf)
                result = value
                return actions
            }
            return result!
        }
        func entry(_ name: ItemName) throws(ControlRefusal) -> ShelfEntry {
            if let entry = controls.shelf.entry(named: name.description) { return entry }
            throw ControlRefusal(code: "no-such-item", message: "there is no such clip on the shelf")
        }
        func playable(_ name: ItemName) throws(ControlRefusal) -> ShelfEntry {
            let entry = try entry(name)
            guard let problem = controls.shelf.facts[entry]?.problem else { return entry }
            throw ControlRefusal(code: "item-failed", message: "\(entry.source): \(problem)")
        }
        func film(_ body: (inout ShelfState) -> Void) -> [String: JSONValue] {
            change { shelf in
                body(&shelf)
                return ([], ["clips": shelf.film.clips.count.json])
            }
        }
        switch request {
        case .open: change { ($0.open(at: .now), ()) }
        case .close: change { ($0.close(), ()) }
        case .search(let text):
            let count = change { shelf in
                let actions = shelf.open(at: .now)
                shelf.find(text ?? "", at: .now)
                return (actions, shelf.found.count)
            }
            return ["count": count.json]
        case .list(let first, let most): return list(controls.shelf, from: first, most)
        case .film: return Self.film(controls.shelf)
        case .move(let place, let other):
            let (isMoved, film) = change { shelf in ([], (shelf.moveClip(at: place - 1, to: other - 1), shelf.film)) }
            guard isMoved else {
                throw ControlRefusal(code: "no-such-item", message: "the film has no clip \(place): it has \(film.clips.count)")
            }
            return ["clips": Self.paths(film)]
        case .clear:
            _ = film { $0.clearFilm() }
        case .cancel: filmMaker?.cancel()
        case .export:
            guard configuration.shelf.exportFolder != nil else {
                throw ControlRefusal(code: "no-folder", message: "[shelf] export-folder of kiosk.conf names no folder for films")
            }
            let shelf = controls.shelf
            if shelf.film.clips.isEmpty { throw ControlRefusal(code: "no-clips", message: "there is no clip in the film: add one") }
            if shelf.export?.isRunning == true { throw ControlRefusal(code: "busy", message: "a film is being made") }
            return ["clips": change { ($0.makeFilm(), $0.film.clips.count) }.json]
        case .play(let name):
            let entry = try playable(name)
            change { ($0.play(entry), ()) }
        case .playFrom(let name):
            let entry = try playable(name)
            change { ($0.playFrom(entry), ()) }
        case .add(let name):
            let entry = try entry(name)
            if let objection = controls.shelf.objection(toAdding: entry) {
                throw ControlRefusal(code: "item-failed", message: objection)
            }
            return film { $0.add(entry) }
        case .remove(let name):
            let entry = try entry(name)
            return film { $0.remove(entry) }
        }
        return [:]
    }

    private func list(_ shelf: ShelfState, from place: Int, _ most: Int) -> [String: JSONValue] {
        let found = shelf.found
        let first = min(place - 1, found.count)
        let items = found[first...].prefix(most).enumerated().map { offset, entry -> JSONValue in
            let facts = shelf.facts[entry]
            var members: [String: JSONValue] = [
                "place": .number(Double(first + offset + 1)), "title": .string(facts?.title ?? entry.title), "source": entry.source.json,
                "kind": .string("\(entry.kind)"),
            ]
            if let facts {
                members["duration"] = (facts.duration?.seconds).json
                (members["portrait"], members["sound"]) = (facts.isPortrait.json, facts.hasSound.json)
                members["problem"] = facts.problem.json
            }
            return .object(members)
        }
        return ["count": found.count.json, "open": shelf.isOpen.json, "items": .array(items)]
    }

    private static func paths(_ film: ShelfFilm) -> JSONValue { .array(film.clips.map { .string($0.source) }) }

    private static func film(_ shelf: ShelfState) -> [String: JSONValue] {
        var members: [String: JSONValue] = [
            "clips": paths(shelf.film), "music": shelf.film.music.map { .string($0.source) } ?? .null,
        ]
        let state =
            switch shelf.export {
            case nil: "none"
            case .running: "running"
            case .done: "done"
            case .failed: "failed"
            }
        members["state"] = state.json
        if let export = shelf.export { members.merge(Self.members(of: export)) { $1 } }
        return members
    }
}
