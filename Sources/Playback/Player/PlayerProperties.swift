import Platform

/// What can be read and set at any time.
extension Player {
    /// Loudness, clamped to 0…1 of full scale; changes are ramped.
    public var volume: Double {
        get { pipeline.withLock { $0.loudness.volume } }
        set { setLoudness { $0.volume = newValue } }
    }

    /// Whether the sound is off; changes are ramped.
    public var isMuted: Bool {
        get { pipeline.withLock { $0.loudness.isMuted } }
        set { setLoudness { $0.isMuted = newValue } }
    }

    /// Changes loudness as one step, so that what several threads ask for adds up.
    func setLoudness(_ change: (inout Loudness) -> Void) {
        pipeline.withLock { pipeline in
            pipeline.setLoudness(change)
            audio.setGain(pipeline.loudness.gain)
        }
    }

    /// Item seconds a second, clamped to 0.5…2, the pitch kept. Takes effect with the frames decoded from now on: within half a second, or
    /// with the seventh frame from now where seven last longer; within a second of an item that is only sound.
    public var rate: Double {
        get { pipeline.withLock { $0.rate } }
        set { pipeline.signal { $0.setRate(newValue) } }
    }

    /// What the player is doing about time.
    public var timeControlStatus: TimeControlStatus { pipeline.withLock { $0.playback.status } }

    /// The item time on the screen.
    public var currentTime: MediaTime { pipeline.withLock { itemTime($0) } }

    /// Everything at one moment, for a status line.
    public var snapshot: PlayerSnapshot {
        pipeline.withLock { pipeline in
            let present = pipeline.screen.place?.playthrough
            var statistics = pipeline.statistics
            (statistics.stalls, statistics.stalledTime) = audio.stalls
            return PlayerSnapshot(
                status: pipeline.playback.status, item: present?.position.item, time: itemTime(pipeline), duration: present?.itemEnd,
                statistics: statistics,
                buffered: BufferLevel(frames: pipeline.framesAhead, sound: audio.ahead(of: audio.timelineTime(at: now()) ?? .zero)))
        }
    }

    /// The item time on the screen; where a seek goes while nothing has been shown yet.
    func itemTime(_ pipeline: borrowing Pipeline) -> MediaTime {
        let underWay = pipeline.seek.underWay
        guard let place = pipeline.screen.place else { return underWay?.time ?? .zero }
        let runs = underWay == nil && pipeline.playback.hasStarted
        return place.itemTime(at: runs ? audio.timelineTime(at: now()) ?? place.start : place.start)
    }

    // MARK: Observers

    /// Calls `observer` for every event from now on, until it is removed.
    @discardableResult
    public func addObserver(_ observer: @escaping @Sendable (PlayerEvent) -> Void) -> PlayerObserver { events.add(observer) }

    /// Calls `observer` with the item time every `interval` (at least 10 ms), and at once when something happens, until it is
    /// removed.
    @discardableResult
    public func addPeriodicTimeObserver(
        forInterval interval: MediaTime, using observer: @escaping @Sendable (MediaTime) -> Void
    ) -> PlayerObserver {
        events.add(interval: max(interval, .milliseconds(10)), observer)
    }

    /// Calls an observer no more. A call that is under way on the event thread goes on; one that removes itself is not called again.
    public func removeObserver(_ observer: PlayerObserver) { events.remove(observer) }
}
