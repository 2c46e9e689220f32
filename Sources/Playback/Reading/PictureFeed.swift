import KioskMedia
import KioskPlatform

/// Enqueues pictures for the compositor, those of the present generation only. Used by the feeder's thread alone.
struct PictureFeed: ~Copyable {
    private let pipeline: Monitor<Pipeline>
    private(set) var generation: UInt64 = 0
    /// Whether anything has been enqueued since the start.
    private(set) var hasEnqueued = false
    /// Whether what was enqueued last is the bare background.
    private(set) var endsInBackground = false

    init(_ pipeline: Monitor<Pipeline>) { self.pipeline = pipeline }

    /// What is enqueued from now on belongs to `generation`.
    mutating func begin(_ generation: UInt64) { (self.generation, endsInBackground) = (generation, false) }

    /// Enqueues a picture; of an older generation it is dropped, here or by who takes it. `loading` says how much is there of the
    /// source of its playthrough, where that is a stream.
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

    /// Nothing will be enqueued any more in this generation; `whileLocked` is called where it is still the present one, before anybody else
    /// sees it.
    func end(whileLocked: () -> Void) {
        let generation = generation
        pipeline.signal { pipeline in
            guard pipeline.generation == generation else { return }
            pipeline.playback.completed()
            whileLocked()
        }
    }
}
