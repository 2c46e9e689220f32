import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaders
import Logging

/// Pictures of what lies under a finger on the slider, decoded on a thread of their own (`previews`).
///
/// The thread is started by the first request and does nothing unless a finger scrubs. It gives way to everything else: it has the lowest
/// nice value, for the processor and the disk, and one decoder thread. (Not SCHED_IDLE: such a thread can be kept from running for as long
/// as others compute, and the player would wait for it where it holds a lock of the allocator.) ``PreviewSchedule`` decides what it does.
package final class Previews: Sendable {
    /// A picture for the slider.
    package struct Picture: Sendable {
        /// What was asked for: the path of the file, and item time.
        package let source: Path, time: MediaTime
        /// The picture in its own shape, as large as fits into the size that was asked for; opaque.
        package let surface: Surface
    }

    private struct State {
        var schedule = PreviewSchedule()
        var hasThread = false
        var hasEnded = false
        /// The file that is being opened or is open.
        var open: (source: Path, interruption: Interruption)?
    }

    private let state = Monitor(State())
    private let onPicture: @Sendable (Picture) -> Void

    /// - Parameter onPicture: called on the thread `previews` with each picture; soon after a request, or later, or never. Not after
    ///   ``cancel()``, but for a picture that is on its way already.
    package init(onPicture: @escaping @Sendable (Picture) -> Void) { self.onPicture = onPicture }

    deinit { end() }

    /// Asks for the key frame of a file that is nearest to an item time. What was asked for before and has not been begun is forgotten. From
    /// any thread; returns at once. There are no pictures of streams, stills and sound, and none are ever sent.
    ///
    /// - Parameters:
    ///   - source: the item's path or URL.
    ///   - size: the most pixels across and down that it may have.
    package func request(source: String, at time: MediaTime, size: (width: Int, height: Int)) {
        let request = PreviewSchedule.Request(source: Path(source), time: max(time, .zero), width: size.width, height: size.height)
        let startsThread = state.signal { state in
            guard !state.hasEnded else { return false }
            state.schedule.request(request, at: .now)
            if let open = state.open, open.source != Path(source) { open.interruption.cancel() }
            defer { state.hasThread = true }
            return !state.hasThread
        }
        if startsThread {
            // Here, since whoever starts it gives it its priority.
            Readers.shared.prepare()
            Thread("previews") { [state, onPicture] in
                Thread.giveWay()
                Self.run(state, onPicture)
            }.detach()
        }
    }

    /// The finger has left the slider: no picture is wanted any more. From any thread; returns at once.
    package func cancel() { state.signal { $0.schedule.cancel() } }

    /// Ends the thread as soon as what it does can be interrupted. From any thread; returns at once.
    package func end() {
        state.signal { state in
            state.hasEnded = true
            state.schedule.cancel()
            state.open?.interruption.cancel()
        }
    }

    // MARK: The thread

    private static func run(_ state: Monitor<State>, _ onPicture: @Sendable (Picture) -> Void) {
        var reader: PreviewSession?
        while let step = nextStep(state) {
            switch step {
            case .close: reader = nil
            case .deliver(let request, let surface):
                onPicture(Picture(source: request.source, time: request.time, surface: surface))
            case .decode(let request):
                let result = decode(request, &reader, state)
                let isWanted = state.withLock { $0.schedule.finished(request, result) }
                if case .picture(let surface, _) = result, isWanted {
                    onPicture(Picture(source: request.source, time: request.time, surface: surface))
                }
            case .wait: break
            }
        }
    }

    /// The next thing to do, waited for; nil at the end.
    private static func nextStep(_ state: Monitor<State>) -> PreviewSchedule.Step? {
        var deadline: HostTime?
        while true {
            let step = state.wait(until: deadline) { state -> PreviewSchedule.Step?? in
                if state.hasEnded { return .some(nil) }
                let step = state.schedule.next(at: .now)
                if case .close = step { state.open = nil }
                // Whether it has come too soon is found out by waiting as long as the schedule says now.
                if case .wait(let until) = step, until == deadline { return nil }
                return step
            }
            guard let step else { continue }
            guard case .wait(let until) = step else { return step }
            deadline = until
        }
    }

    private static func decode(
        _ request: PreviewSchedule.Request, _ reader: inout PreviewSession?, _ state: Monitor<State>
    ) -> PreviewSchedule.Result {
        do throws(MediaError) {
            if reader == nil {
                let interruption = Interruption()
                state.withLock { state in
                    state.open = (request.source, interruption)
                    if state.hasEnded { interruption.cancel() }
                }
                reader = try PreviewSession.open(request.source.string, fitting: request.width, request.height, interruption: interruption)
            }
            guard reader != nil else { return .unusable }
            guard let preview = try reader!.preview(at: request.time) else { return .nothing }
            let picture = preview.picture
            return .picture(Surface(width: picture.width, height: picture.height, pixels: picture.pixels), span: preview.span)
        } catch {
            reader = nil
            if error.reason == .cancelled { return .cancelled }
            log.info("no previews of \(error)")
            return .unusable
        }
    }

    private static let log = Logger(label: "controls")
}
