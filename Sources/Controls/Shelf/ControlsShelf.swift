import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// What the shelf needs of the program around it. Each is called with the lock of the controls held and returns at once; any thread.
package struct ShelfSurroundings: Sendable {
    /// Plays these from now on instead of the playlist.
    package var playFrom: @Sendable ([ShelfEntry]) -> Void = { _ in }
    /// Begins to make a film; how far it is comes by ``Controls/changeShelf(at:_:)``.
    package var export: @Sendable (ShelfFilm) -> Void = { _ in }
    package var cancelExport: @Sendable () -> Void = {}
    /// Thumbnails on the disk; nil where none are kept.
    package var store: ThumbnailStore?

    /// Nothing.
    package init() {}
}

/// The threads that work for the shelf while it is open.
enum ShelfWorker: Int, CaseIterable {
    /// Draws rows of cards: `shelf`.
    case tiles = 1
    /// Reads clips: `thumbnails`. Runs when nothing else wants the processor or the disk.
    case thumbnails

    var group: Waiters { Waiters(group: rawValue) }
}

// The shelf over the picture: what it asks of the player, and the threads that draw its cards ahead.
extension Controls {
    /// Lets something happen to the shelf; `isInput` where it is what a viewer did. Any thread; returns at once.
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

    /// The shelf as it is. Any thread.
    package var shelf: ShelfState { shared.withLock { $0.shelf } }

    /// Takes over what another configuration's controls have on their shelf.
    package func adoptShelf(of other: Controls) {
        let old = other.shelf
        shared.withLock { $0.shelf.adopt(old) }
    }

    /// Asks the player and the program for what the shelf asks for. What plays stands still while the shelf covers it, and goes on when that
    /// closes; unless something that was chosen plays then.
    func perform(_ actions: [ShelfAction], _ shared: inout Shared) {
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
            case .play(let entry):
                // What it returns to plays, too.
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

    func wakeShelfThreads() { shared.signal({ _ in [ShelfWorker.tiles.group, ShelfWorker.thumbnails.group] }) { _ in } }

    private func startShelfThreads(_ shared: inout Shared) {
        if shared.hasShelfThreads { return }
        shared.hasShelfThreads = true
        Thread("shelf") { [weak self] in self?.drawRows() }.detach()
        Thread("thumbnails") { [weak self] in self?.makeThumbnails() }.detach()
    }

    private enum Work<Job> {
        case job(Job)
        case stop
    }

    private func drawRows() {
        let typesetter = Typesetter(font: settings.theme.font)
        let drawing = ShelfDrawing(theme: settings.theme)
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
            // Each time: a film that is cancelled ends the idling of all.
            Thread.runWhenIdle()
            let store = surroundings.store
            let kept = job.entry.version.flatMap { store?.find(job.entry.source, $0, job.width, job.height) }
            let made = kept ?? Thumbnail.make(of: job.entry.source, fitting: job.width, job.height, interruption: interruption)
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
