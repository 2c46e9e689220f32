import KioskPlatform

// How much of a source is there without waiting for it.

/// What is there of a source at one moment.
package struct LoadedMedia: Hashable, Sendable {
    /// The item time up to which it is there.
    package var until: MediaTime
    /// Whether nothing more is to come.
    package var isWhole: Bool
    /// Media seconds that are received in a second; nil of a source that is not received ahead.
    package var speed: Double?
    /// What a live stream has in hand while all is well; nil of anything else.
    package var goal: MediaTime?

    package init(until: MediaTime, isWhole: Bool = false, speed: Double? = nil, goal: MediaTime? = nil) {
        (self.until, self.isWhole, self.speed, self.goal) = (until, isWhole, speed, goal)
    }
}

/// How far a source had been read and received when its reader was asked. What has been received since then is added when
/// ``loaded(at:)`` is called: from any thread, while the reader waits, and when it is gone.
package struct Loading: Sendable {
    /// What was there when the reader was asked.
    private let base: LoadedMedia
    /// Where a receiver counts, which it outlives, and what it had counted by then.
    private var meter: Monitor<ReceptionProgress>?
    private var received = MediaTime.zero, seeks = 0
    /// Who knows better by now, where somebody else reads it.
    private var known: (@Sendable () -> LoadedMedia?)?

    /// That of a source that is not received ahead: it has been read up to an item time.
    package init(until: MediaTime, isWhole: Bool = false) { base = LoadedMedia(until: until, isWhole: isWhole) }

    /// That of a source that somebody else reads, of which `known` says how much is there, and at least so much is. From any thread.
    package init(until: MediaTime, known: @escaping @Sendable () -> LoadedMedia?) {
        base = LoadedMedia(until: until)
        self.known = known
    }

    /// That of a source of which so much has been received.
    init(until: MediaTime, goal: MediaTime?, _ meter: Monitor<ReceptionProgress>, received: MediaTime, seeks: Int) {
        base = LoadedMedia(until: until, goal: goal)
        (self.meter, self.received, self.seeks) = (meter, received, seeks)
    }

    /// What is there at `now`.
    package func loaded(at now: HostTime) -> LoadedMedia {
        if var loaded = known?() {
            loaded.until = max(loaded.until, base.until)
            return loaded
        }
        guard let meter else { return base }
        return meter.withLock { progress in
            var loaded = base
            loaded.speed = progress.speed(at: now)
            // After a seek its receiver counts what comes from another place on.
            guard progress.seeks == seeks else { return loaded }
            loaded.until = loaded.until + (progress.received - received)
            loaded.isWhole = progress.end == .whole
            return loaded
        }
    }
}

/// How much of a source has been received, and how fast it comes. A pure value.
///
/// The speed counts while something is to be received. A receiver that has as much as it may have rests, and that says nothing of the line.
/// What was received long ago says nothing either: the speed is that of the last ``window``. To open the source counts, as a probe
/// receives packets, too, which are handed out in no time afterwards.
struct ReceptionProgress: Hashable, Sendable {
    enum End: Hashable, Sendable {
        /// All has been received.
        case whole
        /// Reading failed before that.
        case failed
    }

    private struct Mark: Hashable, Sendable {
        var busy: MediaTime
        var received: MediaTime
    }

    /// What has been received in all, from wherever in the source: of that of its two streams of which it is more.
    var received: MediaTime { max(pictures, sound) }
    /// How often the place in the source has changed.
    private(set) var seeks = 0
    /// Why nothing more comes; nil while it does.
    private(set) var end: End?
    private var pictures = MediaTime.zero, sound = MediaTime.zero
    private let since: HostTime
    /// For how long it has rested before now, and since when it does.
    private var rested = MediaTime.zero
    private var restsSince: HostTime?
    /// What had been received at times of the past, one for each ``interval`` at most.
    private var marks = [Mark(busy: .zero, received: .zero)]

    private static let window = MediaTime.seconds(4), interval = MediaTime.milliseconds(500)

    /// That of a source that has been opened at `since`.
    init(since: HostTime) {
        self.since = since
        marks.reserveCapacity(16)
    }

    /// For how long it has been receiving.
    private func busy(at now: HostTime) -> MediaTime { (restsSince ?? now) - since - rested }

    /// A packet has come that is `step` behind the one before it.
    mutating func receive(_ step: MediaTime, isPicture: Bool, at now: HostTime) {
        if isPicture { pictures = pictures + step } else { sound = sound + step }
        let busy = busy(at: now)
        guard busy - marks[marks.count - 1].busy >= Self.interval else { return }
        marks.append(Mark(busy: busy, received: received))
        while marks.count > 1, busy - marks[1].busy >= Self.window { marks.removeFirst() }
    }

    /// Nothing is to be received from now on.
    mutating func rest(at now: HostTime) { restsSince = restsSince ?? now }

    mutating func goOn(at now: HostTime) {
        guard let restsSince else { return }
        rested = rested + (now - restsSince)
        self.restsSince = nil
    }

    /// Nothing more comes.
    mutating func finish(_ end: End) { self.end = end }

    /// It goes on in another place.
    mutating func seek() {
        seeks += 1
        end = nil
    }

    /// Media seconds that come in a second; 0 where nothing does any more.
    func speed(at now: HostTime) -> Double {
        if end == .failed { return 0 }
        let busy = busy(at: now)
        let base = marks.last { busy - $0.busy >= Self.window } ?? marks[0]
        let time = busy - base.busy
        return time > .zero ? (received - base.received).seconds / time.seconds : 0
    }
}

extension MediaReader {
    /// How much of it is there; `time` is the item time up to which its pictures have been handed out.
    package func loading(from time: MediaTime) -> Loading {
        guard let receiver = demuxer.source.receiver else {
            let readTo = (demuxer.pictureReadTo ?? demuxer.soundReadTo).map { $0 - origin } ?? time
            return Loading(until: max(readTo, time), isWhole: demuxer.hasReadAll)
        }
        let level = receiver.level
        let until = received(with: level) ?? time + max(level.pictures ?? .zero, level.sound ?? .zero)
        return Loading(
            until: max(until, time), goal: receiver.isLive ? level.goal : nil, receiver.meter, received: level.received,
            seeks: level.seeks)
    }
}
