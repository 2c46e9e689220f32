import KioskMedia
import KioskPlatform

/// Enqueues pictures for the compositor, only those of the current generation. Used by the feeder's thread alone.
struct PictureFeed: ~Copyable {
    private let pipeline: Monitor<Pipeline>
    private(set) var generation: UInt64 = 0
    /// Whether anything has been enqueued since the start.
    private(set) var hasEnqueued = false
    /// Whether the bare background was enqueued last.
    private(set) var endsInBackground = false

    init(_ pipeline: Monitor<Pipeline>) { self.pipeline = pipeline }

    /// Begins `generation`: pictures that are enqueued from now on belong to it.
    mutating func begin(_ generation: UInt64) { (self.generation, endsInBackground) = (generation, false) }

    /// Enqueues a picture; drops it if its generation is over. `loading` says how much is loaded of the source of its playthrough, if that
    /// is a stream.
    mutating func enqueue(_ frame: consuming EnqueuedFrame, loading: Loading? = nil) {
        (hasEnqueued, endsInBackground) = (true, frame.place.playthrough == nil)
        let generation = generation
        let (serial, isSeam) = (frame.place.playthrough?.serial, frame.place.playthrough?.isSeam ?? false)
        var frame: EnqueuedFrame? = frame
        pipeline.signal({ $0.compositorHasWork ? .compositor : [] }) { pipeline in
            guard pipeline.generation == generation else { return }
            if let serial { pipeline.loading = (serial, isSeam, loading) }
            pipeline.frames.append(frame.take()!)
        }
    }

    /// Enqueues the bare background from one timeline instant to another.
    mutating func enqueueBackground(from start: MediaTime, to end: MediaTime) {
        enqueue(
            EnqueuedFrame(
                nil, at: FramePlace(start: start, end: end, itemTime: .zero, rate: 1, cadence: nil, playthrough: nil, isFirst: false)))
    }

    /// Ends this generation: nothing more will be enqueued. If it is still the current one, `whileLocked` is called before another thread
    /// sees that.
    func end(whileLocked: () -> Void) {
        let generation = generation
        pipeline.signal { pipeline in
            guard pipeline.generation == generation else { return }
            pipeline.playback.completed()
            whileLocked()
        }
    }
}
