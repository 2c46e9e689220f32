import KioskMedia
import KioskPlatform

/// Whether the slider is held, and where. A pure value: events in, the state out.
///
/// While it is held, the reported time is that of the finger, and the picture follows by key frames (``SeekState``). The clock of the
/// timeline stands meanwhile, or goes on from each key frame, as configured. When the slider is let go, an exact seek to that place takes
/// over.
///
/// If a finger is never lifted, or its touch screen is gone, the hold ends ``limit`` after its last move.
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

    /// Ends the hold: the slider is let go, or another command came.
    mutating func end() { hold = nil }

    /// Notes that a picture of an item is shown; nil is the bare background. Another item ends the hold.
    mutating func shown(_ item: QueueItem.ID?) {
        if hold != nil, hold?.item != item { hold = nil }
    }

    /// Ends the hold if it has lasted too long.
    mutating func passed(_ now: HostTime) {
        if let hold, hold.until <= now { self.hold = nil }
    }

    // MARK: State

    var isHeld: Bool { hold != nil }

    /// When the hold ends unless the slider is moved again.
    var until: HostTime? { hold?.until }

    func time(of item: QueueItem.ID) -> MediaTime? { hold?.item == item ? hold?.time : nil }
}

/// The slider under a finger.
///
/// ``scrub(to:at:)`` shows the key frame before the place of the finger. One of its requests is under way; the newest waits for its frame
/// (``SeekState``). So a slow decoder has no queue. The reported time is that of the finger meanwhile (``ScrubState``).
/// ``endScrub(at:event:)`` waits for nothing: the exact frame of that place is the next one seen.
extension PlaybackEngine {
    /// Moves the slider to an item time, clamped to the item's first and last frame; `event` as in ``perform(_:at:)``.
    /// ``Options/playsWhileScrubbing`` sets whether playback goes on from the key frame.
    package func scrub(to time: MediaTime, at event: HostTime? = nil) {
        seek(.keyFrame(), at: event, { _ in time }) { pipeline, request in
            if let target = request.time { pipeline.scrub.move(to: target, of: request.position.item, at: now()) }
        }
    }

    /// Lets the slider go at an item time, clamped likewise. That frame is shown next, and playback goes on or stands as before.
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
