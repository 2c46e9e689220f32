import Glibc
import KioskContent
import KioskControlsCore
import KioskDisplayCore
import KioskInput
import KioskInputCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskPlayer
import KioskVocabulary
import Logging
import Synchronization

/// One showing of a shelf: the engine's controls with nothing but the shelf, the listing of its folders, and the viewer's input.
///
/// The controls call back with their lock held, from any thread. A thread of its own, `shelf-end`, then takes all of it down.
final class ShelfPresentation: Sendable {
    /// The shelf at its end, and the picked entries; nil if it was closed without a choice.
    typealias Outcome = (last: ShelfState, picked: [ShelfEntry]?)

    private struct State {
        var waiting: CheckedContinuation<Outcome, Never>?
        var (isOpen, hasEnded) = (false, false)
        /// The contacts and keys that went down on the shelf: their ends belong to it, even after its own.
        var held: Set<Held> = []
        var interception: Int?
    }

    private enum Held: Hashable {
        case contact(DeviceID, Int)
        case key(DeviceID, KeyCode)
    }

    static let log = Logger(label: "shelf")
    let controls: Controls
    private let engine: PlaybackEngine
    /// Presents a display that no other player presents.
    private let host: Player?
    private let input: InputDevices?
    private let configuration: ShelfConfiguration
    private let assets: [Path: Asset]
    private let listing: ShelfListing?
    private let state = Mutex(State())
    private let ending: Ending

    /// Passes the end from the controls, which exist before their presentation.
    private final class Ending: Sendable {
        let presentation = Mutex<ShelfPresentation?>(nil)
        func end(_ picked: [ShelfEntry]?) { presentation.withLock { $0 }?.end(picked) }
    }

    /// Prepares a showing; `last` is the shelf of the time before. `changed` gets the items whenever they have changed.
    init(
        _ configuration: ShelfConfiguration, on output: VideoOutput, _ input: InputDevices?, _ store: ThumbnailStore?,
        after last: ShelfState?,
        changed: @escaping @Sendable ([ShelfItem]) -> Void
    ) {
        (self.configuration, self.input) = (configuration, input)
        if let presenting = output.presenting {
            (engine, host) = (presenting, nil)
        } else {
            let player = Player(video: output)
            (engine, host) = (player.engine, player)
        }
        let ending = Ending()
        self.ending = ending
        var surroundings = ShelfSurroundings()
        (surroundings.store, surroundings.readers) = (store, Player.readers)
        surroundings.finish = { ending.end($0) }
        let settings = configuration.settings
        let controls = Controls(
            settings, keys: KeyMap(), player: engine, screen: ShelfScreen(output: output.engine), shelf: surroundings,
            overlay: { [engine] in engine.setOverlay($0, by: .init(.shelf), at: $1) })
        self.controls = controls
        var assets: [Path: Asset] = [:]
        if case .assets(let all) = configuration.content {
            for asset in all where !asset.source.utf8.contains(0) { assets[Path(asset.location)] = assets[Path(asset.location)] ?? asset }
        }
        self.assets = assets
        if let last {
            controls.changeShelf { shelf in
                shelf.adopt(last)
                shelf.clearFilm()
                return []
            }
        }
        let known = assets
        let list: @Sendable ([ShelfEntry]) -> Void = { [weak controls] entries in
            guard let controls else { return }
            controls.changeShelf { shelf in
                shelf.setEntries(entries, at: .now)
                return []
            }
            let facts = controls.shelf.facts
            changed(entries.map { ShelfItem($0, facts[$0], known[$0.path] ?? Asset($0.source)) })
        }
        switch configuration.content {
        case .folders(let folders):
            listing = ShelfListing(list)
            listing?.setFolders(folders.map { Asset($0).location })
        case .assets(let all):
            listing = nil
            // On a thread: the disk may hang.
            Thread("shelf-folder") {
                var seen: Set<Path> = []
                list(
                    all.filter { !$0.source.utf8.contains(0) && seen.insert(Path($0.location)).inserted }.map { asset in
                        ShelfEntry(source: asset.location, version: stat(at: asset.location).map { FileVersion($0) })
                    })
            }.detach()
        }
    }

    // MARK: Showing

    /// Opens the shelf. `waiting` gets the outcome at its end.
    func show(_ waiting: CheckedContinuation<Outcome, Never>) {
        ending.presentation.withLock { $0 = self }
        let isWanted = state.withLock { state in
            state.waiting = waiting
            state.isOpen = !state.hasEnded
            return state.isOpen
        }
        // The task may have ended before.
        guard isWanted else { return finish(nil) }
        if let input {
            let number = input.intercept { [weak self] in self?.takes($0) ?? false }
            state.withLock { $0.interception = number }
        }
        controls.changeShelf(isInput: true) { $0.open(at: .now) }
        if Task.isCancelled { dismiss() }
    }

    /// Closes the shelf without a choice.
    func dismiss() {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.hasEnded = true }
            return state.isOpen
        }
        if isOpen { controls.changeShelf { $0.close() } }
    }

    /// The end, told by the controls with their lock held.
    private func end(_ picked: [ShelfEntry]?) {
        let isFirst = state.withLock { state in
            defer { (state.isOpen, state.hasEnded) = (false, true) }
            return !state.hasEnded
        }
        if isFirst { Thread("shelf-end") { self.finish(picked) }.detach() }
    }

    private func finish(_ picked: [ShelfEntry]?) {
        ending.presentation.withLock { $0 = nil }
        controls.stop()
        engine.setOverlay(Overlay(), by: .init(.shelf))
        listing?.stop()
        host?.stop()
        endInterceptionIfIdle()
        let waiting = state.withLock { $0.waiting.take() }
        waiting?.resume(returning: (controls.shelf, picked))
    }

    // MARK: Items

    /// The items so far.
    var items: [ShelfItem] {
        let shelf = controls.shelf
        return items(shelf.entries, in: shelf)
    }

    func items(_ entries: [ShelfEntry], in shelf: ShelfState) -> [ShelfItem] {
        entries.map { ShelfItem($0, shelf.facts[$0], assets[$0.path] ?? Asset($0.source)) }
    }

    // MARK: Input

    /// Takes an event, and returns whether it belongs to the shelf. On the input thread, or on the application's.
    func takes(_ event: InputEvent) -> Bool {
        let (held, begins, ends): (Held, Bool, Bool) =
            switch event {
            case .contact(let touch):
                (.contact(touch.device, touch.contact.id), touch.phase == .down, touch.phase == .up || touch.phase == .cancelled)
            case .key(let key): (.key(key.device, key.key), key.phase == .press, key.phase == .release)
            }
        let (isOurs, isOpen) = state.withLock { state in
            if begins, state.isOpen { state.held.insert(held) }
            defer { if ends { state.held.remove(held) } }
            return (state.held.contains(held), state.isOpen)
        }
        if isOurs, isOpen { controls.changeShelf(at: event.time, isInput: true) { $0.handle(event) } }
        if !isOpen { endInterceptionIfIdle() }
        return isOurs
    }

    private func endInterceptionIfIdle() {
        let number = state.withLock { state in state.held.isEmpty && !state.isOpen ? state.interception.take() : nil }
        if let number { input?.endInterception(number) }
    }
}

/// The display of a shelf. The shelf does not rotate it.
private struct ShelfScreen: ControlsScreen {
    let output: any SharedSceneOutput
    var mode: DisplayMode? { output.mode }
    var nextRotation: Rotation { output.rotation }
    func rotate(_ rotation: Rotation?) {}
    func rotation(after rotation: Rotation?) -> Rotation { output.rotation }
}
