import Platform

/// Counts since the player was made, from flip events.
public struct PlayerStatistics: Hashable, Sendable {
    /// Frames that reached the screen.
    public var framesShown = 0
    /// Of those, how many came a vblank or more after their time.
    public var framesLate = 0
    /// Frames whose time had passed before they could be shown.
    public var framesDropped = 0
    /// Joints of one turn and the next that reached the screen.
    public var seams = 0
    /// The most vblanks a seam's first frame was late.
    public var worstSeamLateness = 0
    /// Vblanks at which a pending flip was given up as lost.
    public var flipsLost = 0
    /// How often picture and sound stood still because nothing was ready, and how long in all: opening, decoding or reading did not keep up. The silence of a pause
    /// or a seek is none.
    public var stalls = 0, stalledTime = MediaTime.zero
    /// How far the picture was from its sound at each flip, stills left out.
    public var synchrony = OffsetHistogram()
    /// How many samples are played in the time of one, so that the sound stays with pictures locked to the display; 1 where it need not.
    public var soundRatio = 1.0
    /// The least that lay ready at a flip, each by itself; stills and the first second after a start or a seek left out. Nil before the first such flip.
    public var leastBuffered: BufferLevel?
    /// The same counts for each item that has been on the screen, by its index; not of those that left the list long ago.
    public var items: [Int: ItemStatistics] = [:]
}

/// What lies ready to be shown and heard.
public struct BufferLevel: Hashable, Sendable {
    /// Decoded frames.
    public var frames: Int
    /// Sound that the speaker has still to come to.
    public var sound: MediaTime

    /// The lesser of each.
    func least(_ other: BufferLevel?) -> BufferLevel {
        BufferLevel(frames: min(frames, other?.frames ?? frames), sound: min(sound, other?.sound ?? sound))
    }
}

/// Counts for one item of the playlist, all its turns together.
public struct ItemStatistics: Hashable, Sendable {
    /// Frames that reached the screen.
    public var framesShown = 0
    /// Of those, how many came a vblank or more after their time.
    public var framesLate = 0
    /// Frames whose time had passed before they could be shown.
    public var framesDropped = 0
    /// Turns that followed the one before without a jump.
    public var seams = 0
    /// The most vblanks such a turn's first frame was late.
    public var worstSeamLateness = 0
}

/// How far pictures were from their sound: counts by the millisecond, up to a quarter of a second to either side, so that years fit.
public struct OffsetHistogram: Hashable, Sendable {
    private static let reach = 250
    private var counts: [Int] = []
    /// How many offsets have been counted.
    public private(set) var total = 0

    /// None yet.
    public init() {}

    /// Counts an offset, whatever its sign.
    public mutating func count(_ offset: MediaTime) {
        if counts.isEmpty { counts = [Int](repeating: 0, count: Self.reach + 1) }
        let milliseconds = (abs(offset.seconds) * 1000).rounded(.up)
        counts[min(Self.reach, Int(min(milliseconds, Double(Self.reach))))] += 1
        total += 1
    }

    /// The distance that `share` (0…1) of the offsets do not exceed, to the millisecond above; nil when there are none.
    public func distance(within share: Double) -> MediaTime? {
        guard total > 0 else { return nil }
        let wanted = Int((Double(total) * min(max(share, 0), 1)).rounded(.up))
        var seen = 0
        for (milliseconds, count) in counts.enumerated() {
            seen += count
            if seen >= wanted { return .milliseconds(Int64(milliseconds)) }
        }
        return .milliseconds(Int64(Self.reach))
    }
}
