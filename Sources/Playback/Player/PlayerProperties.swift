import KioskMedia
import KioskPlatform
import KioskVocabulary

/// The properties of a player; they can be read and set at any time.
extension PlaybackEngine {
    /// Loudness, clamped to 0…1 of full scale; changes are ramped.
    package var volume: Double {
        get { pipeline.withLock { $0.loudness.volume } }
        set { setLoudness { $0.volume = newValue } }
    }

    /// Whether the sound is off; changes are ramped.
    package var isMuted: Bool {
        get { pipeline.withLock { $0.loudness.isMuted } }
        set { setLoudness { $0.isMuted = newValue } }
    }

    /// Changes the loudness as one step, so that the changes of several threads add up.
    func setLoudness(over time: MediaTime? = nil, _ change: (inout Loudness) -> Void) {
        pipeline.withLock { pipeline in
            change(&pipeline.loudness)
            let gain = pipeline.loudness.gain
            audio.setGain(gain, over: time)
            pipeline.gainFollower?(gain, time)
        }
    }

    /// Calls `follower` with the gain of all sound, a factor of the amplitude, now and whenever it changes. `time` is how long the change
    /// takes. It is called with a lock held, and must not call this player.
    package func followGain(_ follower: @escaping @Sendable (_ gain: Double, _ time: MediaTime?) -> Void) {
        pipeline.withLock { $0.gainFollower = follower }
        setLoudness { _ in }
    }

    /// Multiplies the amplitude of all sound, for a player that belongs to another one.
    package func setMasterGain(_ gain: Double, over time: MediaTime?) { setLoudness(over: time) { $0.masterGain = gain } }

    /// The rate in item seconds a second, clamped to 0.5…2; the pitch is kept. It takes effect with the frames decoded from now on: within
    /// half a second, or with the seventh frame from now if seven last longer. An item with only sound follows within a second.
    package var rate: Double {
        get { pipeline.withLock { $0.rate } }
        set { pipeline.signal { $0.setRate(newValue) } }
    }

    /// Whether the player plays, or will as soon as it can; false in a pause and after the end of the playlist.
    package var wantsPlay: Bool { pipeline.withLock { $0.playback.wantsPlay } }

    /// The item that a seek or a skip under way leads to, else the one on the screen. If that cannot be played, the next item.
    package var currentItem: QueueItem.ID? {
        pipeline.withLock { pipeline in
            guard let (position, _, present) = playhead(pipeline) else { return nil }
            return (present == nil ? pipeline.onward(from: position) : position).item
        }
    }

    /// Whether the player plays, waits to play, or is paused.
    package var timeControlStatus: TimeControlStatus { pipeline.withLock { $0.playback.status } }

    /// The item time on the screen.
    package var currentTime: MediaTime { pipeline.withLock { itemTime($0) } }

    /// A consistent view at one moment, for a status line and for controls.
    package var snapshot: PlayerSnapshot {
        pipeline.withLock { pipeline in
            var snapshot = PlayerSnapshot()
            let present = pipeline.screen.place?.playthrough
            (snapshot.status, snapshot.hasEnded) = (pipeline.playback.status, pipeline.playback.hasEnded)
            snapshot.itemCount = pipeline.cursor.list.items.count
            if let present { describe(present, in: pipeline, &snapshot) }
            snapshot.time = requestedTime(pipeline) ?? itemTime(pipeline)
            // The container may give a shorter duration than the real one.
            snapshot.duration = snapshot.duration.map { max($0, snapshot.time) }
            snapshot.isScrubbing = pipeline.scrub.isHeld
            (snapshot.volume, snapshot.isMuted) = (pipeline.loudness.volume, pipeline.loudness.isMuted)
            snapshot.statistics = pipeline.statistics
            (snapshot.statistics.stalls, snapshot.statistics.stalledTime) = audio.stalls
            snapshot.statistics.soundRatio = audio.ratio
            snapshot.buffered = BufferLevel(frames: pipeline.framesAhead, sound: audio.ahead(of: audio.timelineTime(at: now()) ?? .zero))
            return snapshot
        }
    }

    private func describe(_ present: Playthrough, in pipeline: borrowing Pipeline, _ snapshot: inout PlayerSnapshot) {
        let id = present.position.item
        let entry = pipeline.cursor.list[id] ?? present.item
        snapshot.item = id
        snapshot.itemNumber = pipeline.cursor.list.place(of: id).map { $0 + 1 }
        let metadata = pipeline.records[id]?.asset?.metadata
        if entry.title == nil, metadata?.title != nil { snapshot.artist = metadata?.artist }
        snapshot.title = entry.title ?? metadata?.title ?? entry.plainName
        (snapshot.source, snapshot.onTap, snapshot.waitsForTap) = (entry.source, entry.onTap, entry.waitsForTap)
        (snapshot.duration, snapshot.isSeekable) = (present.itemEnd, present.itemEnd != nil && present.isSeekable)
        snapshot.bufferedUntil = pipeline.loaded(of: present, at: now())?.until
    }

    /// The target of the playhead: the time of the finger on the slider, or of a seek within the item on the screen. nil if there is
    /// neither. A seek counts until its frame is on the screen.
    private func requestedTime(_ pipeline: borrowing Pipeline) -> MediaTime? {
        if let item = pipeline.screen.place?.playthrough?.position.item, let time = pipeline.scrub.time(of: item) { return time }
        guard let target = pipeline.seek.target else { return nil }
        guard let item = pipeline.screen.place?.playthrough?.position.item else { return target.time }
        guard target.position.item == item else { return nil }
        return target.time ?? pipeline.cursor.list[item]?.start
    }

    /// The item time on the screen, or the target of a seek while nothing has been shown yet.
    func itemTime(_ pipeline: borrowing Pipeline) -> MediaTime {
        let underWay = pipeline.seek.underWay
        guard let place = pipeline.screen.place else { return underWay?.time ?? .zero }
        let runs = underWay == nil && pipeline.playback.hasStarted
        return place.itemTime(at: runs ? audio.timelineTime(at: now()) ?? place.start : place.start)
    }

    // MARK: Observers

    /// Calls `observer` for every event from now on, until its removal.
    @discardableResult
    package func addObserver(_ observer: @escaping @Sendable (PlaybackEvent) -> Void) -> PlayerObserver { events.add(observer) }

    /// Calls `observer` with the item time every `interval` (at least 10 ms), and at once after each event, until its removal.
    @discardableResult
    package func addPeriodicTimeObserver(
        forInterval interval: MediaTime, using observer: @escaping @Sendable (MediaTime) -> Void
    ) -> PlayerObserver {
        events.add(interval: max(interval, .milliseconds(10)), observer)
    }

    /// Calls `observer` each time that playback passes one of these item times, within some milliseconds, until its removal. A seek passes
    /// none.
    package func addBoundaryTimeObserver(forTimes times: [MediaTime], using observer: @escaping @Sendable () -> Void) -> PlayerObserver {
        events.add(times: times, observer)
    }

    /// The time and the rate of the item on the screen, and whether it plays.
    var progress: PlayerEvents.Progress {
        pipeline.withLock { pipeline in
            PlayerEvents.Progress(
                time: itemTime(pipeline), rate: pipeline.rate, isPlaying: pipeline.playback.status == .playing)
        }
    }

    /// Removes an observer. A call that is under way on the event thread completes; an observer that removes itself is not called again.
    package func removeObserver(_ observer: PlayerObserver) { events.remove(observer) }
}

/// A consistent view of a ``PlaybackEngine`` at one moment.
package struct PlayerSnapshot: Hashable, Sendable {
    /// Whether the player plays, waits to play, or is paused.
    package var status = TimeControlStatus.waitingToPlay
    /// Whether the last item of a playlist that does not loop has ended. Then ``PlaybackEngine/play()`` starts over.
    package var hasEnded = false
    /// The item on the screen; nil before the first, and when nothing can be played.
    package var item: QueueItem.ID?
    /// Its place on the playlist, counted from 1; nil if it is not on it, like an interlude.
    package var itemNumber: Int?
    /// The number of items on the playlist.
    package var itemCount = 0
    /// The title of the item: the playlist's, else that of its file, else the name of the file without its extension.
    package var title: String?
    /// The artist, if the title is that of the file, and the file gives one.
    package var artist: String?
    /// The path or URL of the item, including a password in it.
    package var source: String?
    /// The command of a tap on the item, instead of the usual one.
    package var onTap: Command?
    /// Whether the item is repeated until ``Command/waitEnded``.
    package var waitsForTap = false
    /// The item time on the screen. During a seek or a scrub it is the target, until the frame of that is on the screen.
    package var time = MediaTime.zero
    /// The item time after its last frame; nil for a live stream.
    package var duration: MediaTime?
    /// Whether seeks within the item are possible.
    package var isSeekable = false
    /// Whether the slider is held: from ``Command/scrub(_:)`` to ``Command/endScrub(_:)``.
    package var isScrubbing = false
    /// The item time up to which the item is loaded: the end of a file, the received end of a stream; nil if it is not known.
    package var bufferedUntil: MediaTime?
    /// Loudness, 0…1 of full scale, and whether the sound is off.
    package var volume = 1.0
    package var isMuted = false
    /// Counts since the player was made.
    package var statistics = PlayerStatistics()
    /// The frames and the sound that are ready.
    package var buffered = BufferLevel(frames: 0, sound: .zero)

    /// Creates the snapshot of a player that has not begun.
    package init() {}
}
