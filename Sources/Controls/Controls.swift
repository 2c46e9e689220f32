import KioskInputCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaders
import KioskVocabulary
import Synchronization

/// The controls of a player: takes input events, sends the resulting commands to the player, and draws over the picture.
///
/// The input thread decodes an event and commands the player at once. A lock guards ``ControlsState`` and is held for some microseconds. A
/// thread of its own, `controls`, draws. It sleeps until an event or ``ControlsState/deadline(after:)``; while nothing is shown, the clock
/// never wakes it. It starts half a second after the first picture, or at the first input. At its start it looks up the fonts. That takes
/// the processor for longer than the pictures decoded in advance last. And it starts only if there is an input device: fonts take some
/// megabytes.
///
/// The lock is held for commands to the player and for readings of its state. So the state is never older than the last command. The player
/// holds its own lock only when it calls the followers of its gain (``PlaybackEngine/followGain(_:)``); these call nothing here.
package final class Controls: Sendable {
    private struct Shared {
        var state: ControlsState
        var shelf: ShelfState
        /// Whether the shelf has paused the player, which plays again when the shelf closes.
        var goesOn = false
        /// Cancels the reading of a clip for its thumbnail.
        var reading: Interruption?
        var hasShelfThreads = false
        /// Counts the changes.
        var changes = 0
        /// The kernel's time of the first input not yet drawn.
        var input: HostTime?
        /// A requested rotation, until the overlay is drawn for it; and the number of such rotations so far.
        var rotating: Rotation??
        var rotations = 0
        /// Whether a picture has been on the screen, and whether the drawing thread runs.
        var hasPicture = false
        var draws = false
        var isStopped = false
        /// Whether the controls were shown at the last report.
        var wasShown = false
    }

    private let shared: Monitor<Shared>
    private let player: PlaybackEngine
    /// The program's functions that the shelf calls.
    private let surroundings: ShelfSurroundings
    private let screen: any ControlsScreen
    private let program: @Sendable (ProgramCommand) -> Void
    private let report: @Sendable (ControlsReport) -> Void
    private let overlay: @Sendable (Overlay, HostTime?) -> Void
    private let readers: Readers
    private let previews: Mutex<Previews?> = Mutex(nil)
    private let thread = Mutex<Thread?>(nil)
    private let observer = Mutex<PlayerObserver?>(nil)

    /// Creates controls of `player` on `screen`; `keys` maps keys to commands. `program` carries out the program's commands; it is called
    /// with the lock held, from any thread, and returns at once. So is `report`, which gets the news (``ControlsSettings/reports``).
    /// `overlay` shows drawings, and gets the time of the input that they answer; by default the player shows them. `readers` read files for
    /// previews.
    package init(
        _ settings: ControlsSettings, keys: KeyMap, player: PlaybackEngine, screen: any ControlsScreen,
        shelf surroundings: ShelfSurroundings = ShelfSurroundings(), program: @escaping @Sendable (ProgramCommand) -> Void = { _ in },
        report: @escaping @Sendable (ControlsReport) -> Void = { _ in }, overlay: (@Sendable (Overlay, HostTime?) -> Void)? = nil,
        readers: Readers = .shared
    ) {
        (self.program, self.report, self.readers) = (program, report, readers)
        self.overlay = overlay ?? { player.setOverlay($0, at: $1) }
        shared = Monitor(
            Shared(state: ControlsState(settings, keys: keys), shelf: ShelfState(settings.shelf)), groups: ShelfWorker.allCases.count + 1)
        self.surroundings = surroundings
        self.player = player
        self.screen = screen
    }

    /// The handler for the input thread's events.
    package var handler: InputHandler {
        InputHandler(
            handle: { [self] event in handle(event) },
            nextDeadline: { [self] in shared.withLock { $0.state.inputDeadline } },
            expire: { [self] time in change(at: time) { $0.shelf.isOpen ? [] : $0.state.expire(at: time) } })
    }

    /// Takes other settings, and other keys unless they are nil. Any thread.
    package func set(_ settings: ControlsSettings, keys: KeyMap? = nil, at time: HostTime = .now) {
        change(at: time) { shared in
            if let keys { shared.state.keys = KeyRecognizer(keys) }
            return shared.state.set(settings, at: time)
        }
    }

    /// Whether the controls are shown. Any thread.
    package var isShown: Bool { shared.withLock { $0.state.isShown } }

    /// The positions of the controls; nil if there are none, or no display. Any thread.
    package var layout: ControlsLayout? {
        shared.withLock { shared in
            refresh(&shared, at: .now)
            return shared.state.layout
        }
    }

    /// Carries out a command from elsewhere, such as an accelerometer. Any thread.
    package func perform(_ command: Command, at time: HostTime = .now) { change(at: time) { $0.state.ask(command, at: time) } }

    /// Carries out the command for the end of the idle time. Any thread.
    package func beIdle(_ command: Command, at time: HostTime = .now) {
        changeShelf(at: time) { $0.close() }
        change(at: time) { $0.state.beIdle(command, at: time) }
    }

    /// Shows the progress of a long operation, 0…100; nil ends that. Any thread.
    package func show(progress percent: Int?) {
        show { $0.show(progress: percent, at: .now) }
    }

    /// Shows a line of news for some seconds, over the shelf too. Any thread.
    package func show(notice text: String) {
        show { $0.show(notice: text, at: .now) }
    }

    private func show(_ body: (inout ControlsState) -> Void) {
        change(at: .now) {
            body(&$0.state)
            return []
        }
    }

    /// Notes that the display has changed or rotated. Any thread.
    package func noteScreen() { shared.signal { $0.changes += 1 } }

    /// Starts to draw with the first picture on the screen, if `hasDevices` says that there is an input device. It is called at each item;
    /// without devices, the first input starts the drawing.
    package func start(hasDevices: @escaping @Sendable () -> Bool) {
        // If these controls replace others, there is already a picture.
        if player.snapshot.item != nil { shared.withLock { $0.hasPicture = true } }
        let observer = player.addObserver { [weak self] event in
            guard let self else { return }
            if case .itemStarted = event {
                // A program may have shown them before.
                let areShown = shared.withLock { shared in
                    shared.hasPicture = true
                    return shared.state.isShown
                }
                if areShown || hasDevices() { begin() }
            }
            noteEvent()
        }
        self.observer.withLock { $0 = observer }
    }

    private func begin() {
        if shared.withLock({ $0.state.settings.mode == .none }) { return }
        thread.withLock { thread in
            if thread != nil || shared.withLock({ $0.isStopped }) { return }
            previews.withLock { $0 = Previews(by: readers) { [weak self] in self?.show($0) } }
            thread = Thread("controls") { [weak self] in self?.run() }
        }
    }

    /// Ends the drawing, and waits for its end, two seconds at most. The overlay stays until another is set.
    package func stop() {
        if let observer = observer.withLock({ $0.take() }) { player.removeObserver(observer) }
        shared.signal { shared in
            shared.isStopped = true
            shared.reading?.cancel()
        }
        previews.withLock { $0.take() }?.end()
        _ = thread.withLock { $0.take() }?.join(until: .now + .seconds(2))
    }

    // MARK: Events

    /// Passes an input event to the shelf if it is open, otherwise to the controls.
    private func handle(_ event: InputEvent) {
        if shared.withLock({ $0.shelf.isOpen }) {
            if case .key(let key) = event {
                let isTaken = ShelfKey(key) != nil
                change(at: event.time) { $0.state.overhear(key, isTaken: isTaken) }
                // The key may have closed it.
                if !shared.withLock({ $0.shelf.isOpen }) { return }
            }
            changeShelf(at: event.time, isInput: true) { $0.handle(event) }
        } else {
            change(at: event.time) { $0.state.handle(event) }
        }
    }

    /// Changes the state, and carries out the resulting commands.
    private func change(at input: HostTime, _ body: (inout Shared) -> [TimedCommand]) {
        let begins = shared.signal { shared in
            refresh(&shared, at: input)
            ask(body(&shared), &shared)
            tell(&shared)
            shared.input = shared.input ?? input
            shared.changes += 1
            if shared.draws, shared.state.isSeen(at: input) { player.expectOverlay() }
            return (shared.hasPicture || shared.shelf.isOpen) && !shared.draws
        }
        if begins { begin() }
    }

    /// Handles an event of the player. Wakes the drawing thread only if the change is visible.
    private func noteEvent() {
        let isSeen = shared.withLock { shared in
            let now = HostTime.now
            refresh(&shared, at: now)
            shared.changes += 1
            return shared.state.isSeen(at: now) || shared.state.deadline(after: now) != nil
        }
        if isSeen { shared.signal { _ in } }
    }

    private func show(_ preview: Previews.Picture) {
        shared.signal { shared in
            shared.state.show(PreviewPicture(preview.surface), of: preview.source)
            shared.changes += 1
        }
    }

    /// Updates the state from the player and the display.
    private func refresh(_ shared: inout Shared, at time: HostTime) {
        let snapshot = player.snapshot
        let rotation = shared.rotating.map { screen.rotation(after: $0) } ?? screen.nextRotation
        let mode = screen.mode
        let period = mode.map { min(max($0.refreshPeriod, .milliseconds(4)), .milliseconds(50)) }
        let entry = snapshot.item.flatMap { player.item($0) }?.entry
        var now = NowPlaying(snapshot, snapshot.item.flatMap { player.facts(of: $0) }, of: entry, rate: player.rate)
        if let title = shared.state.settings.title { now.title = title }
        let scale = shared.state.settings.scale
        let geometry = mode.map { ScreenGeometry(mode: $0, rotation: rotation, scale: scale) }
        ask(shared.state.update(now, on: geometry, refreshPeriod: period ?? shared.state.refreshPeriod, at: time), &shared)
        shared.shelf.setGeometry(geometry, at: time)
    }

    private func ask(_ commands: [TimedCommand], _ shared: inout Shared) {
        for asked in commands {
            switch asked.command {
            case .player(let command):
                player.perform(command, at: asked.time)
                if shared.state.settings.reports { report(.command(command)) }
            case .rotate(let rotation): rotate(rotation, &shared)
            case .toggleShelf: perform(shared.shelf.isOpen ? shared.shelf.close() : shared.shelf.open(at: asked.time), &shared)
            case .showControls, .hideControls, .toggleControls: break  // done by ControlsState
            case .program(let command): program(command)
            }
        }
    }

    /// Passes the news on.
    private func tell(_ shared: inout Shared) {
        guard shared.state.settings.reports else { return }
        for news in shared.state.reports { report(news) }
        shared.state.reports = []
        if shared.state.isShown != shared.wasShown {
            shared.wasShown.toggle()
            report(.isShown(shared.wasShown))
        }
    }

    private func rotate(_ rotation: Rotation?, _ shared: inout Shared) {
        if let earlier = shared.rotating { screen.rotate(earlier) }
        // A visible overlay rotates with the picture: draws it first.
        if shared.draws, shared.shelf.isOpen || shared.state.isSeen(at: .now) {
            shared.rotating = .some(rotation)
            shared.rotations += 1
        } else {
            shared.rotating = nil
            screen.rotate(rotation)
        }
    }

    // MARK: The thread

    /// The content of one frame to draw.
    private struct Frame {
        var parts: [PlacedPart]
        var theme: Theme
        var geometry: ScreenGeometry?
        var input: HostTime?
        var preview: (source: String, time: MediaTime, width: Int, height: Int)?
        var deadline: HostTime?
        var rotations: Int?
        /// The height of the parts at the bottom: subtitles stay above them.
        var inset = 0
        /// Whether this is the shelf, and the earliest time for its next frame: one for each vblank.
        var isShelf = false
        var next: HostTime?
    }

    /// The next step of the drawing thread.
    private enum Step {
        case draw(Frame)
        case wait(until: HostTime)
        case stop
    }

    /// The time after the first picture during which the decoder has the processor for itself.
    private static let calmStart = MediaTime.milliseconds(500)

    private func run() {
        let isStopped = shared.wait(until: .now + Self.calmStart) { $0.isStopped ? true : $0.input != nil ? false : nil }
        if isStopped == true { return }
        var drawing = ControlsDrawing(shared.withLock { $0.state.settings.theme })
        drawing.prepare(
            shared.withLock { shared in
                refresh(&shared, at: .now)
                shared.draws = true
                return shared.state.partsWhenShown(at: .now)
            })
        var shown = Overlay()
        var changes = -1
        var deadline: HostTime?
        var preview: (source: String, time: MediaTime)?
        var nextShelfFrame: HostTime?
        while true {
            let step = shared.wait(until: deadline) { shared -> Step? in
                if shared.isStopped { return .stop }
                let now = HostTime.now
                if shared.changes == changes, deadline.map({ $0 > now }) ?? true { return nil }
                // One frame of the shelf for each vblank: later changes go into the next frame.
                if let next = nextShelfFrame, shared.shelf.isOpen, now < next {
                    return deadline == next ? nil : .wait(until: next)
                }
                changes = shared.changes
                return .draw(self.frame(&shared, at: now))
            }
            let frame: Frame
            switch step {
            case nil: continue
            case .stop: return
            case .wait(let time):
                deadline = time
                continue
            case .draw(let next): frame = next
            }
            deadline = frame.deadline
            nextShelfFrame = frame.next
            request(frame, &preview)
            if !drawing.has(frame.theme) { drawing = ControlsDrawing(frame.theme) }
            var overlay = Overlay()
            if let geometry = frame.geometry, !frame.parts.isEmpty { overlay = drawing.overlay(frame.parts, on: geometry) }
            if frame.isShelf {
                overlay.fillsScreen = true
                wakeShelfThreads()
            }
            if let rotations = frame.rotations { carryOutRotation(rotations) }
            if overlay == shown { continue }
            shown = overlay
            player.setSubtitleInset(frame.inset)
            self.overlay(overlay, frame.input)
        }
    }

    private func frame(_ shared: inout Shared, at now: HostTime) -> Frame {
        refresh(&shared, at: now)
        ask(shared.state.advance(to: now), &shared)
        perform(shared.shelf.advance(to: now), &shared)
        tell(&shared)
        defer { shared.input = nil }
        if shared.shelf.isOpen { return shelfFrame(&shared, at: now) }
        // This frame reaches the screen a vblank later: a fade that begins now appears to have begun then.
        return Frame(
            parts: shared.state.parts(at: now + shared.state.refreshPeriod), theme: shared.state.settings.theme,
            geometry: shared.state.geometry, input: shared.input, preview: shared.state.wantedPreview,
            deadline: shared.state.deadline(after: now),
            rotations: shared.rotating == nil ? nil : shared.rotations,
            inset: shared.state.fades.bars.value(at: now + shared.state.refreshPeriod) > 0 ? shared.state.layout?.bottomBar ?? 0 : 0)
    }

    /// The delay from a vblank to the start of the next frame of the shelf. By then the flip is reported, and its buffers are free.
    private static let afterVblank = MediaTime.milliseconds(1)

    /// Returns the shelf as it will look at the next vblank that can show it.
    private func shelfFrame(_ shared: inout Shared, at now: HostTime) -> Frame {
        let period = shared.state.refreshPeriod
        let vblank = player.vblank(after: now + period.scaled(by: 0.25)) ?? now + period
        shared.shelf.prepare(at: vblank)
        let moves = shared.shelf.isMoving(at: vblank - period) || shared.state.fades.notice.isUnderWay(at: now)
        let next = (player.vblank(after: now) ?? vblank) + Self.afterVblank
        return Frame(
            parts: shared.shelf.parts(at: vblank) + shared.state.noticeParts(at: vblank), theme: shared.state.settings.theme,
            geometry: shared.state.geometry, input: shared.input, preview: nil,
            deadline: [moves ? next : nil, shared.shelf.deadline(after: now), now + .seconds(1)].compactMap { $0 }.min(),
            rotations: shared.rotating == nil ? nil : shared.rotations, isShelf: true, next: next)
    }

    /// Rotates the display once the overlay is drawn for it, unless a newer rotation is pending.
    private func carryOutRotation(_ number: Int) {
        shared.withLock { shared in
            guard let rotation = shared.rotating, shared.rotations == number else { return }
            shared.rotating = nil
            screen.rotate(rotation)
        }
    }

    /// Requests the preview at the finger's position, once.
    private func request(_ frame: Frame, _ last: inout (source: String, time: MediaTime)?) {
        previews.withLock { previews in
            guard let wanted = frame.preview else {
                if last != nil { previews?.cancel() }
                last = nil
                return
            }
            if let last, last == (wanted.source, wanted.time) { return }
            last = (wanted.source, wanted.time)
            previews?.request(source: wanted.source, at: wanted.time, size: (wanted.width, wanted.height))
        }
    }

    // MARK: The shelf

    /// Changes the shelf, and carries out the resulting actions; `isInput` if a viewer did it. Any thread; returns at once.
    package func changeShelf(at time: HostTime = .now, isInput: Bool = false, _ body: (inout ShelfState) -> [ShelfAction]) {
        let begins = shared.signal { shared in
            refresh(&shared, at: time)
            let wasOpen = shared.shelf.isOpen
            perform(body(&shared.shelf), &shared)
            shared.changes += 1
            if isInput, wasOpen || shared.shelf.isOpen { shared.input = shared.input ?? time }
            return shared.shelf.isOpen && !shared.draws
        }
        if begins { begin() }
    }

    /// The current shelf. Any thread.
    package var shelf: ShelfState { shared.withLock { $0.shelf } }

    /// Takes over the shelf of another configuration's controls.
    package func adoptShelf(of other: Controls) {
        let old = other.shelf
        shared.withLock { $0.shelf.adopt(old) }
    }

    /// Carries out the shelf's actions. The current item pauses while the shelf covers it. It goes on when the shelf closes, unless a
    /// chosen clip plays then.
    private func perform(_ actions: [ShelfAction], _ shared: inout Shared) {
        for action in actions {
            switch action {
            case .opened:
                ask(shared.state.letGo(at: .now), &shared)
                shared.goesOn = shared.state.now.status != .paused
                if shared.goesOn { player.perform(.pause) }
                startShelfThreads(&shared)
            case .closed:
                shared.reading?.cancel()
                goOn(&shared)
                surroundings.finish(nil)
            case .picked(let entries):
                shared.reading?.cancel()
                goOn(&shared)
                surroundings.finish(entries)
            case .play(let entry):
                // The item to which the player returns plays, too.
                goOn(&shared)
                player.perform(.playSource(entry.source, resumes: true))
                player.perform(.play)
            case .playFrom(let entries):
                shared.goesOn = false
                surroundings.playFrom(entries)
                player.perform(.play)
            case .export(let film): surroundings.export(film)
            case .cancelExport: surroundings.cancelExport()
            }
        }
    }

    private func goOn(_ shared: inout Shared) {
        if shared.goesOn { player.perform(.play) }
        shared.goesOn = false
    }

    // MARK: Threads

    private func wakeShelfThreads() { shared.signal({ _ in [ShelfWorker.tiles.group, ShelfWorker.thumbnails.group] }) { _ in } }

    private func startShelfThreads(_ shared: inout Shared) {
        if shared.hasShelfThreads { return }
        shared.hasShelfThreads = true
        // Here, since a thread that starts the readers passes its priority on to them.
        surroundings.readers.prepare()
        Thread("shelf") { [weak self] in self?.drawRows() }.detach()
        Thread("thumbnails") { [weak self] in self?.makeThumbnails() }.detach()
    }

    private enum Work<Job> {
        case job(Job)
        case stop
    }

    private func drawRows() {
        let theme = shared.withLock { $0.state.settings.theme }
        let typesetter = Typesetter(font: theme.font)
        let drawing = ShelfDrawing(theme: theme)
        while true {
            let work = shared.wait(as: ShelfWorker.tiles.group) { shared -> Work<(row: Int, cards: [ShelfCard], layout: ShelfLayout)>? in
                shared.isStopped ? .stop : shared.shelf.wantedRow.map { .job($0) }
            }
            guard case .job(let job)? = work else { return }
            let surface = drawing.row(job.cards, job.layout, typesetter)
            shared.signal { shared in
                guard shared.shelf.layout == job.layout else { return }
                shared.shelf.set(ShelfState.Tile(cards: job.cards, picture: PreviewPicture(surface)), ofRow: job.row)
                shared.changes += 1
            }
        }
    }

    private func makeThumbnails() {
        while true {
            let interruption = Interruption()
            let work = shared.wait(as: ShelfWorker.thumbnails.group) { shared -> Work<(entry: ShelfEntry, width: Int, height: Int)>? in
                if shared.isStopped { return .stop }
                guard let job = shared.shelf.wantedThumbnail else { return nil }
                shared.reading = interruption
                return .job(job)
            }
            guard case .job(let job)? = work else { return }
            // Each time: cancelling a film ends the idle priority of all threads.
            Thread.runWhenIdle()
            let store = surroundings.store
            let kept = job.entry.version.flatMap { store?.find(job.entry.source, $0, job.width, job.height) }
            let made =
                kept
                ?? Thumbnail.read(
                    of: job.entry.source, fitting: job.width, job.height, by: surroundings.readers, interruption: interruption)
            let picture = made?.picture.map { PreviewPicture(Surface(width: $0.width, height: $0.height, pixels: $0.pixels)) }
            shared.signal { shared in
                shared.reading = nil
                guard let made else { return }
                shared.shelf.set(made.facts, picture, of: job.entry)
                shared.changes += 1
            }
            if kept == nil, let made, let version = job.entry.version {
                store?.keep(made, of: job.entry.source, version, job.width, job.height)
            }
        }
    }
}

/// The threads that serve the shelf.
private enum ShelfWorker: Int, CaseIterable {
    /// Draws rows of cards: `shelf`.
    case tiles = 1
    /// Reads clips: `thumbnails`. Runs only while nothing else uses the processor or the disk.
    case thumbnails

    var group: Waiters { Waiters(group: rawValue) }
}

/// The controls' view of the display. Any thread; every call returns at once.
package protocol ControlsScreen: Sendable {
    /// The current mode; nil while there is no display.
    var mode: DisplayMode? { get }
    /// The rotation of pictures and overlays prepared from now on.
    var nextRotation: Rotation { get }
    /// Rotates the display to `rotation`; nil means a quarter further clockwise.
    func rotate(_ rotation: Rotation?)
    /// Returns the ``nextRotation`` that `rotate(rotation)` would lead to.
    func rotation(after rotation: Rotation?) -> Rotation
}
