import KioskPlatform

/// Counts since the player was made, from flip events.
package struct PlayerStatistics: Hashable, Sendable {
    /// Frames that reached the screen.
    package var framesShown = 0
    /// Of those, how many came a vblank or more after their time.
    package var framesLate = 0
    /// Frames whose time had passed before they could be shown.
    package var framesDropped = 0
    /// Joints of one playthrough and the next that reached the screen.
    package var seams = 0
    /// The most vblanks a seam's first frame was late.
    package var worstSeamLateness = 0
    /// Vblanks at which a pending flip was given up as lost.
    package var flipsLost = 0
    /// How often picture and sound stood still because nothing was ready, and how long in all: opening, decoding or reading did not keep
    /// up. The silence of a pause or a seek is none.
    package var stalls = 0, stalledTime = MediaTime.zero
    /// How far the picture was from its sound at each flip, stills left out.
    package var synchrony = TimeHistogram(upTo: .milliseconds(250))
    /// From the kernel's time of an input event to the first flip that shows its effect: of seeks, skips, restarts, of what lies over the
    /// picture (``PlaybackEngine/setOverlay(_:by:at:)``), and of a play that ends a pause of moving pictures. A pause, loudness and rate show no new
    /// picture and are not counted, nor what nobody saw because there was no display.
    package var inputLatency = TimeHistogram(upTo: .seconds(2))
    /// How many samples are played in the time of one, so that the sound stays with pictures locked to the display; 1 where it need not.
    package var soundRatio = 1.0
    /// What lies between what has been received of a live stream and what is heard of it; nil of anything else.
    package var streamLatency: MediaTime?
    /// The least that was ready at a flip, each by itself; stills and the first second after a start or a seek left out. Nil before the
    /// first such flip.
    package var leastBuffered: BufferLevel?
    /// The same counts for each item that has been on the screen, by its identity; not of those that left the list long ago.
    package var items: [QueueItem.ID: ItemStatistics] = [:]

    /// Counts a frame of an item that has reached the screen; of none where it is the background or the same frame once more.
    mutating func countShown(_ item: QueueItem.ID?, late: Int) {
        framesShown += 1
        if late > 0 { framesLate += 1 }
        guard let item else { return }
        items[item, default: .init()].framesShown += 1
        items[item]!.framesInPlaythrough += 1
        if late > 0 { items[item, default: .init()].framesLate += 1 }
    }

    /// A playthrough of an item begins; its first frame has not been counted.
    mutating func beginPlaythrough(_ item: QueueItem.ID) {
        var counts = items[item] ?? .init()
        counts.playthroughs += 1
        (counts.framesInLastPlaythrough, counts.framesInPlaythrough) = (counts.framesInPlaythrough, 0)
        items[item] = counts
    }

    /// Counts a frame that was left out.
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

/// Frames that have been left out ahead of time. They count as dropped only with a later frame on the screen: what is still ahead at a seek, or at the
/// end, nobody has missed. A pure value.
struct LeftOutFrames: Sendable {
    private var frames: [(generation: UInt64, start: MediaTime, item: QueueItem.ID?)] = []

    init() { frames.reserveCapacity(16) }

    /// One is left out.
    mutating func append(_ place: FramePlace, _ generation: UInt64) {
        frames.append((generation, place.start, place.playthrough?.position.item))
    }

    /// A frame of `generation` is shown: those before it count. What is left of an earlier generation is forgotten.
    mutating func shown(_ place: FramePlace, _ generation: UInt64, in statistics: inout PlayerStatistics) {
        if frames.isEmpty { return }
        frames.removeAll { frame in
            let isBefore = frame.generation == generation && frame.start < place.start
            if isBefore { statistics.countDropped(frame.item) }
            return isBefore || frame.generation < generation
        }
    }
}

/// What lies ready to be shown and heard.
package struct BufferLevel: Hashable, Sendable {
    /// Decoded frames.
    package var frames: Int
    /// Sound that the speaker has still to come to.
    package var sound: MediaTime

    /// The lesser of each.
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
    /// How often it has begun.
    package var playthroughs = 0
    /// Frames that reached the screen since it began last, and in the playthrough before that.
    package var framesInPlaythrough = 0, framesInLastPlaythrough = 0
}

/// Spans of time, counted by the millisecond up to a limit, so that years fit.
package struct TimeHistogram: Hashable, Sendable {
    /// The longest span told apart, in milliseconds; longer ones count as this.
    private let reach: Int
    private var counts: [Int] = []
    /// How many spans have been counted.
    package private(set) var total = 0

    /// None yet; spans up to `longest` are told apart.
    package init(upTo longest: MediaTime) { reach = max(1, Int(saturating: longest.seconds * 1000)) }

    /// Counts a span, whatever its sign, as so many milliseconds, rounded up.
    package mutating func count(_ span: MediaTime) {
        if counts.isEmpty { counts = [Int](repeating: 0, count: reach + 1) }
        let milliseconds = (abs(span.seconds) * 1000).rounded(.up)
        counts[Int(min(milliseconds, Double(reach)))] += 1
        total += 1
    }

    /// The span that `share` (0…1) of those counted do not exceed, to the millisecond above; nil when there are none.
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
