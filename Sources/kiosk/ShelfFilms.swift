import Configuration
import Controls
import Export
import Glibc
import KioskPlatform
import KioskReaders
import KioskVocabulary
import Logging
import Synchronization

/// Makes the films that are put together on the shelf, one at a time, where nothing else wants the processor; and those again that were being made when
/// the player ended.
final class ShelfFilms: Sendable {
    private struct State {
        var configuration: Configuration
        /// The thread that makes a film, or looks after what has been left.
        var thread: Thread?
        /// The folder that has been looked at.
        var folder: String?
        /// Films that are not there yet: the first is being made.
        var orders: [FilmOrder] = []
    }

    private let state: Mutex<State>
    private let isCancelled = Atomic(false), hasEnded = Atomic(false)
    /// Held while a film is made.
    private let oneAtATime = Mutex(())
    private let tell: @Sendable (ShelfExport) -> Void
    private let log = Logger(label: "kiosk")

    /// `tell` is told how far a film is.
    init(_ configuration: Configuration, tell: @escaping @Sendable (ShelfExport) -> Void) {
        state = Mutex(State(configuration: configuration))
        self.tell = tell
    }

    /// Goes by another configuration from now on. What was left in a folder that is new here is put in order, and films are made again.
    func setConfiguration(_ configuration: Configuration) {
        let folder = configuration.shelf.exportFolder
        let isNew = state.withLock { state in
            state.configuration = configuration
            defer { state.folder = folder }
            return folder != state.folder
        }
        guard isNew, let folder else { return }
        // Not here: a disk that hangs is in nobody's way then.
        run { [self] in
            if let objection = objection(toFilmsIn: folder) {
                log.warning("the shelf cannot make films: [shelf] export-folder \(folder): \(objection)")
            } else {
                resume(folder)
            }
        }
    }

    /// Makes a film of what was chosen.
    func make(_ film: ShelfFilm) {
        guard let folder = state.withLock({ $0.configuration.shelf.exportFolder }) else { return }
        run { [self] in
            oneAtATime.withLock { _ in
                isCancelled.store(false, ordering: .relaxed)
                tell(.running(0, left: nil))
                if let objection = objection(toFilmsIn: folder) { return fail("[shelf] export-folder \(folder): \(objection)") }
                let order = FilmOrder.begin(in: folder, clips: film.clips.map(\.source), music: film.music?.source)
                state.withLock { $0.orders = [order] }
                make(order)
            }
        }
    }

    /// Gives up the film that is being made, soon, however busy the processor is.
    func cancel() {
        isCancelled.store(true, ordering: .relaxed)
        Thread.endIdling()
    }

    /// Ends: the film that is being made is made anew at the next start. Blocks for some seconds at most.
    func stop() {
        hasEnded.store(true, ordering: .relaxed)
        // By this thread: the one that makes the film may get no processor before the process is gone.
        for order in state.withLock({ $0.orders }) { interrupt(order) }
        _ = state.withLock { $0.thread.take() }?.join(until: .now + .seconds(2))
    }

    /// The player ends before the film is there: it is made at the next start, unless it is the one that the viewer has just given up.
    private func interrupt(_ order: FilmOrder) {
        let isGivenUp = state.withLock { $0.orders.first === order && isCancelled.load(ordering: .relaxed) }
        if isGivenUp { order.end() } else { order.postpone() }
    }

    private func run(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread("export") {
            // What is to be made is known and said before it waits for an idle processor.
            Thread.comeSecond()
            body()
        }
        state.withLock { state in
            state.thread?.detach()
            state.thread = thread
        }
    }

    // MARK: What was left

    /// How long the clips of a film may take to be there: sticks come after the player.
    private static let patience = MediaTime.seconds(60)

    private func resume(_ folder: String) {
        oneAtATime.withLock { _ in
            let left = FilmOrder.tidy(folder)
            state.withLock { $0.orders = left.orders }
            for (path, reason) in left.givenUp { log.warning("cannot make \(path): \(reason)") }
            for order in left.orders {
                if hasEnded.load(ordering: .relaxed) {
                    order.postpone()
                    continue
                }
                log.notice("\(order.path) was not complete when the player ended: kiosk makes it again")
                isCancelled.store(false, ordering: .relaxed)
                tell(.running(0, left: nil))
                let deadline = HostTime.now + Self.patience
                while !isOver, .now < deadline, !(order.clips + [order.music].compactMap { $0 }).allSatisfy({ access($0, R_OK) == 0 }) {
                    usleep(200_000)
                }
                make(order)
            }
        }
    }

    private var isOver: Bool { isCancelled.load(ordering: .relaxed) || hasEnded.load(ordering: .relaxed) }

    // MARK: A film

    /// How often its progress is told.
    private static let interval = MediaTime.milliseconds(500)

    /// Makes the first of the films that are not there yet.
    private func make(_ order: FilmOrder) {
        defer {
            state.withLock { state in
                state.orders.removeAll { $0 === order }
                // That one was given up, and not the next.
                isCancelled.store(false, ordering: .relaxed)
            }
        }
        let configuration = state.withLock { $0.configuration }
        let arrangement = Arrangement(showing: order.clips, music: order.music, in: configuration)
        var options = ExportSession.Options(output: order.path)
        options.readers = .shared.whenIdle
        options.device = configuration.playback.decoderDevice
        var told = HostTime(nanoseconds: 0)
        Thread.runWhenIdle()
        // It was given up just before.
        if isOver { Thread.endIdling() }
        do throws(ExportError) {
            let report = try ExportSession.run(arrangement, options, isCancelled: { isOver }) { progress in
                guard .now - told > Self.interval else { return }
                told = .now
                tell(.running(progress.fraction, left: progress.left))
            }
            order.end()
            for note in report.notes { log.notice("\(order.path): \(note)") }
            log.notice("\(order.path) was made: \(report.length)")
            tell(.done(order.path))
        } catch {
            if hasEnded.load(ordering: .relaxed) { interrupt(order) } else { order.end() }
            if error == .cancelled { tell(.failed("it was cancelled")) } else { fail(error.description) }
        }
    }

    private func fail(_ reason: String) {
        log.warning("no film was made: \(reason)")
        tell(.failed(reason))
    }
}
