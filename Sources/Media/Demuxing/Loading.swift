import KioskPlatform

// The part of a source that is available without waiting.

/// The loaded part of a source at one moment.
package struct LoadedMedia: Hashable, Sendable {
    /// The item time up to which the source is loaded.
    package var until: MediaTime
    /// Whether the source is loaded to its end.
    package var isWhole: Bool
    /// Media seconds received per second; nil for a source that is not received ahead.
    package var speed: Double?
    /// The normal reserve of a live stream; nil for anything else.
    package var goal: MediaTime?

    package init(until: MediaTime, isWhole: Bool = false, speed: Double? = nil, goal: MediaTime? = nil) {
        (self.until, self.isWhole, self.speed, self.goal) = (until, isWhole, speed, goal)
    }
}

/// A snapshot of how far a reader had read and received its source. ``loaded(at:)`` adds the packets received since: from any thread, while
/// the reader waits, and after the reader is gone.
package struct Loading: Sendable {
    /// The part loaded when the snapshot was taken.
    private let base: LoadedMedia
    /// The receiver's meter, which outlives the receiver, and its counts in the snapshot.
    private var meter: Monitor<ReceptionProgress>?
    private var received = MediaTime.zero, seeks = 0
    /// The newer state from another process that reads the source.
    private var known: (@Sendable () -> LoadedMedia?)?

    /// Creates the loading of a source that is not received ahead, read up to an item time.
    package init(until: MediaTime, isWhole: Bool = false) { base = LoadedMedia(until: until, isWhole: isWhole) }

    /// Creates the loading of a source that another process reads. `known` returns the loaded part, at least `until`, and may run on any
    /// thread.
    package init(until: MediaTime, known: @escaping @Sendable () -> LoadedMedia?) {
        base = LoadedMedia(until: until)
        self.known = known
    }

    /// Creates the loading of a source with a receiver.
    init(until: MediaTime, goal: MediaTime?, _ meter: Monitor<ReceptionProgress>, received: MediaTime, seeks: Int) {
        base = LoadedMedia(until: until, goal: goal)
        (self.meter, self.received, self.seeks) = (meter, received, seeks)
    }

    /// Returns the loaded part at `now`.
    package func loaded(at now: HostTime) -> LoadedMedia {
        if var loaded = known?() {
            loaded.until = max(loaded.until, base.until)
            return loaded
        }
        guard let meter else { return base }
        return meter.withLock { progress in
            var loaded = base
            loaded.speed = progress.speed(at: now)
            // After a seek the receiver counts packets from another place.
            guard progress.seeks == seeks else { return loaded }
            loaded.until = loaded.until + (progress.received - received)
            loaded.isWhole = progress.end == .whole
            return loaded
        }
    }
}

/// The amount received of a source, and the speed. A pure value.
///
/// Only the time in which the receiver works counts for the speed. A full receiver rests, and that says nothing of the line. Old packets
/// say nothing either: the speed covers the last ``window``. Opening the source counts: its probe also receives packets, which are then
/// handed out at once.
struct ReceptionProgress: Hashable, Sendable {
    enum End: Hashable, Sendable {
        /// The source was received to its end.
        case whole
        /// Reading failed before the end.
        case failed
    }

    private struct Mark: Hashable, Sendable {
        var busy: MediaTime
        var received: MediaTime
    }

    /// The total time received, from anywhere in the source: the larger one of its two streams.
    var received: MediaTime { max(pictures, sound) }
    /// The number of seeks.
    private(set) var seeks = 0
    /// The reason why nothing more comes; nil while it does.
    private(set) var end: End?
    private var pictures = MediaTime.zero, sound = MediaTime.zero
    private let since: HostTime
    /// The total rest before now, and the start of the present rest.
    private var rested = MediaTime.zero
    private var restsSince: HostTime?
    /// Past totals, at most one per ``interval``.
    private var marks = [Mark(busy: .zero, received: .zero)]

    private static let window = MediaTime.seconds(4), interval = MediaTime.milliseconds(500)

    /// Creates the progress of a source opened at `since`.
    init(since: HostTime) {
        self.since = since
        marks.reserveCapacity(16)
    }

    /// Returns the working time of the receiver.
    private func busy(at now: HostTime) -> MediaTime { (restsSince ?? now) - since - rested }

    /// Adds a packet that is `step` behind the one before it.
    mutating func receive(_ step: MediaTime, isPicture: Bool, at now: HostTime) {
        if isPicture { pictures = pictures + step } else { sound = sound + step }
        let busy = busy(at: now)
        guard busy - marks[marks.count - 1].busy >= Self.interval else { return }
        marks.append(Mark(busy: busy, received: received))
        while marks.count > 1, busy - marks[1].busy >= Self.window { marks.removeFirst() }
    }

    /// Marks the receiver as resting.
    mutating func rest(at now: HostTime) { restsSince = restsSince ?? now }

    mutating func goOn(at now: HostTime) {
        guard let restsSince else { return }
        rested = rested + (now - restsSince)
        self.restsSince = nil
    }

    /// Marks the end.
    mutating func finish(_ end: End) { self.end = end }

    /// Marks a seek.
    mutating func seek() {
        seeks += 1
        end = nil
    }

    /// Returns the media seconds received per second; 0 after a failure.
    func speed(at now: HostTime) -> Double {
        if end == .failed { return 0 }
        let busy = busy(at: now)
        let base = marks.last { busy - $0.busy >= Self.window } ?? marks[0]
        let time = busy - base.busy
        return time > .zero ? (received - base.received).seconds / time.seconds : 0
    }
}

extension MediaReader {
    /// Returns the loaded part; `time` is the item time up to which pictures were handed out.
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
