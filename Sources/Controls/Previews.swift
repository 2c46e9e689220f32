import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaders
import Logging

/// Decodes pictures for the slider's position under a finger, on a thread of its own (`previews`).
///
/// The first request starts the thread, which works only while a finger scrubs. It gives way to everything else: it has the lowest nice
/// value, for the processor and the disk, and one decoder thread. SCHED_IDLE would be wrong: busy threads can keep such a thread from
/// running. The player would then wait if that thread held a lock of the allocator. ``PreviewSchedule`` decides its steps.
package final class Previews: Sendable {
    /// A picture for the slider.
    package struct Picture: Sendable {
        /// The request: the path of the file, and the item time.
        package let source: Path, time: MediaTime
        /// The picture in its own aspect ratio, as large as fits the requested size; opaque.
        package let surface: Surface
    }

    private struct State {
        var schedule = PreviewSchedule()
        var hasThread = false
        var hasEnded = false
        /// The file that is open or being opened.
        var open: (source: Path, interruption: Interruption)?
    }

    private let state = Monitor(State())
    private let readers: Readers
    private let onPicture: @Sendable (Picture) -> Void

    /// - Parameters:
    ///   - readers: where files are read.
    ///   - onPicture: called on the thread `previews` with each picture: soon after a request, or later, or never. Not after ``cancel()``,
    ///     except for a picture already on its way.
    package init(by readers: Readers = .shared, onPicture: @escaping @Sendable (Picture) -> Void) {
        (self.readers, self.onPicture) = (readers, onPicture)
    }

    deinit { end() }

    /// Requests the key frame of a file nearest to an item time. Discards an earlier request that has not started. From any thread; returns
    /// at once. Streams, stills and sound have no pictures.
    ///
    /// - Parameters:
    ///   - source: the item's path or URL.
    ///   - size: the greatest width and height of the picture, in pixels.
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
            // Here, since a thread that starts the readers passes its priority on to them.
            readers.prepare()
            Thread("previews") { [state, readers, onPicture] in
                Thread.giveWay()
                Self.run(state, readers, onPicture)
            }.detach()
        }
    }

    /// Cancels the request, because the finger has left the slider. From any thread; returns at once.
    package func cancel() { state.signal { $0.schedule.cancel() } }

    /// Ends the thread as soon as its work can be interrupted. From any thread; returns at once.
    package func end() {
        state.signal { state in
            state.hasEnded = true
            state.schedule.cancel()
            state.open?.interruption.cancel()
        }
    }

    // MARK: The thread

    private static func run(_ state: Monitor<State>, _ readers: Readers, _ onPicture: @Sendable (Picture) -> Void) {
        var reader: PreviewSession?
        while let step = nextStep(state) {
            switch step {
            case .close: reader = nil
            case .deliver(let request, let surface):
                onPicture(Picture(source: request.source, time: request.time, surface: surface))
            case .decode(let request):
                let result = decode(request, &reader, state, readers)
                let isWanted = state.withLock { $0.schedule.finished(request, result) }
                if case .picture(let surface, _) = result, isWanted {
                    onPicture(Picture(source: request.source, time: request.time, surface: surface))
                }
            case .wait: break
            }
        }
    }

    /// Waits for the next step and returns it; nil at the end.
    private static func nextStep(_ state: Monitor<State>) -> PreviewSchedule.Step? {
        var deadline: HostTime?
        while true {
            let step = state.wait(until: deadline) { state -> PreviewSchedule.Step?? in
                if state.hasEnded { return .some(nil) }
                let step = state.schedule.next(at: .now)
                if case .close = step { state.open = nil }
                // Waits again if the deadline has not changed: the thread woke too early.
                if case .wait(let until) = step, until == deadline { return nil }
                return step
            }
            guard let step else { continue }
            guard case .wait(let until) = step else { return step }
            deadline = until
        }
    }

    private static func decode(
        _ request: PreviewSchedule.Request, _ reader: inout PreviewSession?, _ state: Monitor<State>, _ readers: Readers
    ) -> PreviewSchedule.Result {
        do throws(MediaError) {
            if reader == nil {
                let interruption = Interruption()
                state.withLock { state in
                    state.open = (request.source, interruption)
                    if state.hasEnded { interruption.cancel() }
                }
                reader = try PreviewSession.open(
                    request.source.string, fitting: request.width, request.height, by: readers, interruption: interruption)
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
