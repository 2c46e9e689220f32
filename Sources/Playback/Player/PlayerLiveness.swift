import DequeModule
import KioskMedia
import KioskPlatform

/// What a watcher sees of a player, to tell one that has nothing to do from one that hangs. Taken now and then and compared with the one before.
package struct PlayerLiveness: Hashable, Sendable {
    /// What is looked at.
    package enum Part: String, Hashable, Sendable, CaseIterable {
        /// Threads of the player. The feeder is not at work while it waits for a source whose time is not over.
        case feeder, compositor, presenter
        /// Whoever has samples rendered: an output does so all the time.
        case audio
        /// Whoever looks for the display, and keeps it: a modeset, a probe of a connector.
        case display
        /// What is seen. It is at work while a picture is ready, or being made so, whose time has come.
        case picture
    }

    /// The last beat of each; what there is not is missing.
    package var beats: [Part: Heartbeat.Beat] = [:]

    /// One of nothing.
    package init() {}
}

extension PlaybackEngine {
    /// The beats of all that must go on for pictures to be seen and sound to be heard.
    package var liveness: PlayerLiveness {
        var liveness = PlayerLiveness()
        liveness.beats[.compositor] = beats.compositor.last
        liveness.beats[.presenter] = beats.presenter.last
        liveness.beats[.display] = video.heartbeat?.last
        liveness.beats[.audio] = Heartbeat.Beat(count: UInt64(bitPattern: audio.renderedFrames), isAtWork: isRunning)
        let time = now()
        // Without the lock: it is the queue's own.
        let heard = audio.timelineTime(at: time)
        var feeder = beats.feeder.last
        liveness.beats[.picture] = pipeline.withLock { pipeline in
            // Every wait for a source has a limit, which is kept by others.
            if pipeline.readings.contains(where: { $0.interruption.deadline >= time }) { feeder.isAtWork = false }
            return Heartbeat.Beat(count: pipeline.screen.serial, isAtWork: pipeline.isPictureDue(at: heard))
        }
        liveness.beats[.feeder] = feeder
        return liveness
    }
}

extension Pipeline {
    /// Whether there is a picture that should be on the screen when the timeline is at `time`, and is not.
    func isPictureDue(at time: MediaTime?) -> Bool {
        if isStopping || framesAhead == 0 { return false }
        // The first of a generation does not wait for the clock.
        if seek.underWay != nil { return true }
        guard playback.isPlaying, let time else { return false }
        if !ready.isEmpty { return ready[0].enqueued.place.start <= time }
        return isComposing || frames.withFrame(at: 0) { $0.place.start <= time }
    }
}
