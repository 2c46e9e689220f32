import KioskPlatform

/// Counts since the player was made, from flip events.
package struct PlayerStatistics: Hashable, Sendable {
    /// Frames that reached the screen.
    package var framesShown = 0
    /// Of those, how many came a vblank or more after their time.
    package var framesLate = 0
    /// Frames whose time had passed before they could be shown.
    package var framesDropped = 0
    /// Seams between two playthroughs that reached the screen.
    package var seams = 0
    /// The most vblanks a seam's first frame was late.
    package var worstSeamLateness = 0
    /// Vblanks at which a pending flip was given up as lost.
    package var flipsLost = 0
    /// How often picture and sound stood still because nothing was ready, and how long in all: opening, decoding or reading did not keep
    /// up. The silence of a pause or a seek does not count.
    package var stalls = 0, stalledTime = MediaTime.zero
    /// The distance between the picture and its sound at each flip, except with stills.
    package var synchrony = TimeHistogram(upTo: .milliseconds(250))
    /// The time from the kernel's time of an input event to the first flip that shows its effect. It counts seeks, skips, restarts,
    /// overlays (``PlaybackEngine/setOverlay(_:by:at:)``), and a play that ends a pause of moving pictures. A pause, loudness and rate show
    /// no new picture and are not counted; nor is input without a display.
    package var inputLatency = TimeHistogram(upTo: .seconds(2))
    /// How many samples are played in the time of one, so that the sound stays with pictures locked to the display; 1 if no correction is
    /// needed.
    package var soundRatio = 1.0
    /// The time between the received end of a live stream and the sound that is heard; nil for anything else.
    package var streamLatency: MediaTime?
    /// The least frames and the least sound that were ready at a flip, each by itself. It leaves out stills, and the first second after a
    /// start or a seek. Nil before the first such flip.
    package var leastBuffered: BufferLevel?
    /// Counts for each item that has been on the screen, by its identity; without items that left the list long ago.
    package var items: [QueueItem.ID: ItemStatistics] = [:]

    /// Counts a frame of an item that has reached the screen; `item` is nil for the background and for a frame shown once more.
    mutating func countShown(_ item: QueueItem.ID?, late: Int) {
        framesShown += 1
        if late > 0 { framesLate += 1 }
        guard let item else { return }
        items[item, default: .init()].framesShown += 1
        items[item]!.framesInPlaythrough += 1
        if late > 0 { items[item, default: .init()].framesLate += 1 }
    }

    /// Notes that a playthrough of an item begins, before its first frame is counted.
    mutating func beginPlaythrough(_ item: QueueItem.ID) {
        var counts = items[item] ?? .init()
        counts.playthroughs += 1
        (counts.framesInLastPlaythrough, counts.framesInPlaythrough) = (counts.framesInPlaythrough, 0)
        items[item] = counts
    }

    /// Counts a dropped frame.
    mutating func countDropped(_ item: QueueItem.ID?) {
        framesDropped += 1
        if let item { items[item, default: .init()].framesDropped += 1 }
    }

    /// Counts a playthrough that followed the one before without a seek or a skip.
    mutating func countSeam(_ item: QueueItem.ID, late: Int) {
        seams += 1
        worstSeamLateness = max(worstSeamLateness, late)
        items[item, default: .init()].seams += 1
        items[item]!.worstSeamLateness = max(items[item]!.worstSeamLateness, late)
    }
}

/// Frames that have been dropped ahead of their time. They count only once a later frame is on the screen. Frames that are still ahead at a
/// seek or at the end do not count, because nobody has missed them. A pure value.
struct LeftOutFrames: Sendable {
    private var frames: [(generation: UInt64, start: MediaTime, item: QueueItem.ID?)] = []

    init() { frames.reserveCapacity(16) }

    /// Adds a dropped frame.
    mutating func append(_ place: FramePlace, _ generation: UInt64) {
        frames.append((generation, place.start, place.playthrough?.position.item))
    }

    /// Counts the dropped frames before a frame of `generation` that is shown. Forgets those of an earlier generation.
    mutating func shown(_ place: FramePlace, _ generation: UInt64, in statistics: inout PlayerStatistics) {
        if frames.isEmpty { return }
        frames.removeAll { frame in
            let isBefore = frame.generation == generation && frame.start < place.start
            if isBefore { statistics.countDropped(frame.item) }
            return isBefore || frame.generation < generation
        }
    }
}

/// The frames and the sound that are ready.
package struct BufferLevel: Hashable, Sendable {
    /// Decoded frames.
    package var frames: Int
    /// The sound that is queued and not heard yet.
    package var sound: MediaTime

    /// Returns the lesser of each.
    func least(_ other: BufferLevel?) -> BufferLevel {
        BufferLevel(frames: min(frames, other?.frames ?? frames), sound: min(sound, other?.sound ?? sound))
    }
}

/// Counts for one item of the playlist, all its playthroughs together.
package struct ItemStatistics: Hashable, Sendable {
    /// Frames that reached the screen.
    package var framesShown = 0
    /// Of those, how many came a vblank or more after their time.
    package var framesLate = 0
    /// Frames whose time had passed before they could be shown.
    package var framesDropped = 0
    /// Playthroughs that followed the one before without a jump.
    package var seams = 0
    /// The most vblanks such a playthrough's first frame was late.
    package var worstSeamLateness = 0
    /// How often the item has begun.
    package var playthroughs = 0
    /// Frames that reached the screen since the item last began, and in the playthrough before that.
    package var framesInPlaythrough = 0, framesInLastPlaythrough = 0

    /// Creates counts of nothing.
    package init() {}
}

/// Counts spans of time by the millisecond up to a limit, so that years fit.
package struct TimeHistogram: Hashable, Sendable {
    /// The longest span told apart, in milliseconds; longer ones count as this.
    private let reach: Int
    private var counts: [Int] = []
    /// The number of spans counted.
    package private(set) var total = 0

    /// Creates an empty histogram that tells spans up to `longest` apart.
    package init(upTo longest: MediaTime) { reach = max(1, Int(saturating: longest.seconds * 1000)) }

    /// Counts a span, whatever its sign, in milliseconds rounded up.
    package mutating func count(_ span: MediaTime) {
        if counts.isEmpty { counts = [Int](repeating: 0, count: reach + 1) }
        let milliseconds = (abs(span.seconds) * 1000).rounded(.up)
        counts[Int(min(milliseconds, Double(reach)))] += 1
        total += 1
    }

    /// Returns the span that `share` (0…1) of the counted spans do not exceed, to the millisecond above; nil if there are none.
    package func span(within share: Double) -> MediaTime? {
        guard total > 0 else { return nil }
        let wanted = Int((Double(total) * min(max(share, 0), 1)).rounded(.up))
        var seen = 0
        for (milliseconds, count) in counts.enumerated() {
            seen += count
            if seen >= wanted { return .milliseconds(Int64(milliseconds)) }
        }
        return .milliseconds(Int64(reach))
    }
}
