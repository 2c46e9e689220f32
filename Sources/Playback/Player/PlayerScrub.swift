import KioskMedia
import KioskPlatform

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
        let returned: [PreparedScene]? = pipeline.signal { pipeline -> [PreparedScene]? in
            pipeline.scrub.end()
            guard let request = request({ _ in time }, .exact, pipeline) else { return nil }
            let returned = pipeline.skip(to: request)
            pipeline.noteInput(at: event, shownBy: pipeline.generation)
            return returned
        }
        if let returned { follow(returned) }
    }
}
