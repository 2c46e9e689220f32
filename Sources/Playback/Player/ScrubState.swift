import KioskMedia
import KioskPlatform

/// Whether the slider is held, and where. A pure value: events in, what is known out.
///
/// While it is held the time that is told is the finger's and not that of the picture, which follows by key frames (``SeekState``). The clock
/// of the timeline stands meanwhile, or goes on from each key frame, as configured. When it is let go, the exact seek to that place takes over.
///
/// A finger that is never lifted, or whose touch screen is gone, holds nothing for longer than ``limit`` after it last moved.
struct ScrubState: Hashable, Sendable {
    private struct Hold: Hashable {
        var item: QueueItem.ID
        var time: MediaTime
        var until: HostTime
    }

    private var hold: Hold?

    static let limit = MediaTime.seconds(20)

    // MARK: Events

    mutating func move(to time: MediaTime, of item: QueueItem.ID, at now: HostTime) {
        hold = Hold(item: item, time: time, until: now + Self.limit)
    }

    /// The slider is let go, or something else is asked for.
    mutating func end() { hold = nil }

    /// A picture of an item is shown; nil is the bare background.
    mutating func shown(_ item: QueueItem.ID?) {
        if hold != nil, hold?.item != item { hold = nil }
    }

    /// Looks whether it has been held for too long.
    mutating func passed(_ now: HostTime) {
        if let hold, hold.until <= now { self.hold = nil }
    }

    // MARK: What is known

    var isHeld: Bool { hold != nil }

    /// When it is held no longer unless it is moved again.
    var until: HostTime? { hold?.until }

    func time(of item: QueueItem.ID) -> MediaTime? { hold?.item == item ? hold?.time : nil }
}

/// The slider under a finger.
///
/// ``scrub(to:at:)`` shows the key frame before the place of the finger. Of its requests one is under way, and the newest waits for the frame
/// of that one (``SeekState``), so that a slow decoder has no queue. The time that is told is the finger's meanwhile (``ScrubState``).
/// ``endScrub(at:event:)`` waits for nothing: the exact frame of that place is the next one seen.
extension PlaybackEngine {
    /// The slider is moved to an item time, clamped to the item's first and last frame; `event` as in ``perform(_:at:)``. Whether it plays on
    /// from the key frame is ``Options/playsWhileScrubbing``.
    package func scrub(to time: MediaTime, at event: HostTime? = nil) {
        seek(.keyFrame(), at: event, { _ in time }) { pipeline, request in
            if let target = request.time { pipeline.scrub.move(to: target, of: request.position.item, at: now()) }
        }
    }

    /// The slider is let go at an item time, clamped likewise: that frame is shown next, and it plays on or stands as it did before.
    package func endScrub(at time: MediaTime, event: HostTime? = nil) {
        go { pipeline in
            pipeline.scrub.end()
            guard let request = request({ _ in time }, .exact, pipeline) else { return nil }
            let returned = pipeline.skip(to: request)
            pipeline.noteInput(at: event, shownBy: pipeline.generation)
            return returned
        }
    }
}
