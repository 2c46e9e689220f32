import DequeModule
import KioskMedia
import KioskPlatform

/// The vital signs of a player, by which a watchdog tells an idle player from a hung one. It takes them now and then, and compares them
/// with the ones before.
package struct PlayerLiveness: Hashable, Sendable {
    /// A part that is watched.
    package enum Part: String, Hashable, Sendable, CaseIterable {
        /// Threads of the player. The feeder is not at work while it waits for a source whose time limit has not passed.
        case feeder, compositor, presenter
        /// The caller that renders samples: an output does so all the time.
        case audio
        /// The code that finds and keeps the display: a modeset, a probe of a connector.
        case display
        /// The screen. It is at work while a picture whose time has come is ready, or in preparation.
        case picture
    }

    /// The last beat of each part; a part that does not exist is missing.
    package var beats: [Part: Heartbeat.Beat] = [:]

    /// Creates vital signs without parts.
    package init() {}
}

extension PlaybackEngine {
    /// The beats of all parts that must go on for pictures and sound.
    package var liveness: PlayerLiveness {
        var liveness = PlayerLiveness()
        liveness.beats[.compositor] = beats.compositor.last
        liveness.beats[.presenter] = beats.presenter.last
        liveness.beats[.display] = video.heartbeat?.last
        liveness.beats[.audio] = Heartbeat.Beat(count: UInt64(bitPattern: audio.renderedFrames), isAtWork: isRunning)
        let time = now()
        // Without the pipeline's lock: the queue has its own.
        let heard = audio.timelineTime(at: time)
        var feeder = beats.feeder.last
        liveness.beats[.picture] = pipeline.withLock { pipeline in
            // Every wait for a source has a time limit, which is enforced elsewhere.
            if pipeline.readings.contains(where: { $0.interruption.deadline >= time }) { feeder.isAtWork = false }
            return Heartbeat.Beat(count: pipeline.screen.serial, isAtWork: pipeline.isPictureDue(at: heard))
        }
        liveness.beats[.feeder] = feeder
        return liveness
    }
}

extension Pipeline {
    /// Whether a picture should be on the screen when the timeline is at `time`, and is not.
    func isPictureDue(at time: MediaTime?) -> Bool {
        if isStopping || framesAhead == 0 { return false }
        // The first of a generation does not wait for the clock.
        if seek.underWay != nil { return true }
        guard playback.isPlaying, let time else { return false }
        if !ready.isEmpty { return ready[0].enqueued.place.start <= time }
        return isComposing || frames.withFrame(at: 0) { $0.place.start <= time }
    }
}
