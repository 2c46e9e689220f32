import Glibc
import KioskConfiguration
import KioskControlsCore
import KioskExportCore
import KioskPlatform
import KioskReaders
import KioskVocabulary
import Logging
import Synchronization

/// Makes the films that viewers put together on the shelf, one at a time, while the processor is idle. Restarts films that the end of the
/// player interrupted.
final class ShelfFilms: Sendable {
    private struct State {
        var configuration: Configuration
        /// The thread that makes a film, or tidies the folder.
        var thread: Thread?
        /// The folder that has been tidied.
        var folder: String?
        /// Unfinished films: kiosk is making the first.
        var orders: [FilmOrder] = []
    }

    private let state: Mutex<State>
    private let isCancelled = Atomic(false), hasEnded = Atomic(false)
    /// Held while a film is made.
    private let oneAtATime = Mutex(())
    private let tell: @Sendable (ShelfExport) -> Void
    private let log = Logger(label: "kiosk")

    /// Calls `tell` with the progress of a film.
    init(_ configuration: Configuration, tell: @escaping @Sendable (ShelfExport) -> Void) {
        state = Mutex(State(configuration: configuration))
        self.tell = tell
    }

    /// Applies another configuration. Tidies a new folder, and restarts its unfinished films.
    func setConfiguration(_ configuration: Configuration) {
        let folder = configuration.shelf.exportFolder
        let isNew = state.withLock { state in
            state.configuration = configuration
            defer { state.folder = folder }
            return folder != state.folder
        }
        guard isNew, let folder else { return }
        // On a thread: the disk may hang.
        run { [self] in
            if let objection = objection(toFilmsIn: folder) {
                log.warning("the shelf cannot make films: [shelf] export-folder \(folder): \(objection)")
            } else {
                resume(folder)
            }
        }
    }

    /// Makes a film of the chosen clips.
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

    /// Cancels the running film, soon even on a busy processor.
    func cancel() {
        isCancelled.store(true, ordering: .relaxed)
        Thread.endIdling()
    }

    /// Ends: the running film starts again at the next start. Blocks for some seconds at most.
    func stop() {
        hasEnded.store(true, ordering: .relaxed)
        // On this thread: the thread that makes the film may get no processor time before the process ends.
        for order in state.withLock({ $0.orders }) { interrupt(order) }
        _ = state.withLock { $0.thread.take() }?.join(until: .now + .seconds(2))
    }

    /// Handles the end of the player during a film: the next start makes it again, unless the viewer has just cancelled it.
    private func interrupt(_ order: FilmOrder) {
        let isGivenUp = state.withLock { $0.orders.first === order && isCancelled.load(ordering: .relaxed) }
        if isGivenUp { order.end() } else { order.postpone() }
    }

    private func run(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread("export") {
            // Preparations and the first report must not wait for an idle processor.
            Thread.comeSecond()
            body()
        }
        state.withLock { state in
            state.thread?.detach()
            state.thread = thread
        }
    }

    // MARK: Unfinished films

    /// How long to wait for the clips of a film: sticks appear after the player.
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

    /// The interval of progress reports.
    private static let interval = MediaTime.milliseconds(500)

    /// Makes the first unfinished film.
    private func make(_ order: FilmOrder) {
        defer {
            state.withLock { state in
                state.orders.removeAll { $0 === order }
                // The cancellation does not concern the next film.
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
        // It may have been cancelled just before.
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
