import KioskPlatform

/// Finds the timestamp jumps of a stream, and the offset that makes the times after a jump follow those before it. A pure value.
///
/// Timestamps of a transport stream, and of every format that FFmpeg marks AVFMT_TS_DISCONT, may jump: after an encoder restart, or between
/// concatenated files. In any other file a jump is damage: to one timestamp, or to a Matroska cluster's base timestamp. But a gap there may
/// also be intended: a slide shown for a minute, a screen recording without motion. So a step forward in such a file is a jump only
/// - beyond the end that the container states (``Extent``), or
/// - if the times come back soon after (``Sequel``), or
/// - if the container states no end, and the step is long and the end of the source follows soon, or it exceeds ten minutes.
///
/// In either kind a step is no jump if the other stream has packets within the gap. libavformat also reads packets between two edits of an
/// edit list, and marks them as hidden. Their times count towards the next edit, and run forward and back over the visible times: this type
/// judges them separately.
///
/// Picture and sound jump one after the other, and by the same time: they stay together. The pictures lead. If files with overlapping times
/// were joined, the pictures' times go back by less than a second, and that is a jump, too. Sound times that go back so little may be
/// jitter. So the sound takes the pictures' jump if that fits its times better than its own offset. It also does if its own times went back
/// before the pictures' did.
struct StreamClock: Hashable, Sendable {
    /// A container's description of its timestamps.
    struct Extent: Hashable, Sendable {
        /// Whether timestamps of its format may jump.
        var mayJump: Bool
        /// The end of the source; nil if the container does not state it.
        var end: MediaTime?
    }

    /// The course of a stream's times after a step forward that may be intended.
    enum Sequel: Hashable, Sendable {
        /// The times come back.
        case returns
        case goesOn
        /// The source ends soon.
        case ends
        /// Unknown: a live stream cannot be read ahead.
        case unknown
    }

    /// The judgement of a step in the times.
    enum Step: Hashable, Sendable {
        case on, jump
        /// It depends on its sequel.
        case doubtful
    }

    private(set) var offset = MediaTime.zero
    /// Decoding time and end of the last packet, offset included. Before the first packet: its latest expected time.
    private var last: MediaTime?, end: MediaTime?
    /// The end of the last packet, if that was hidden.
    private var leftOutEnd: MediaTime?
    private var hasBegun = false
    /// Whether the other stream jumps when this one does.
    private let leads: Bool
    /// The number of jumps in this stream.
    private var jumps = 0
    /// The other stream's number of jumps when this one went back or jumped alone, and the time of that; nil if it did neither.
    private var ahead: Ahead?
    private struct Ahead: Hashable { let jumps: Int, at: MediaTime }
    /// The longest step back of decoding times. Real ones never go back, but FFmpeg estimates some if frames are reordered.
    private let longestStepBack: MediaTime
    /// The same for a leading stream in a format whose times may jump: no frame waits for more than five others.
    private let shortestOverlap: MediaTime

    private static let shortestStepBack = MediaTime.seconds(1)
    /// A longer step forward is judged.
    private static let longestGap = MediaTime.seconds(10)
    /// A longer step forward is a jump if it passes the container's end. The tolerance covers a rounded end, or the end of the sound.
    private static let longestGapAtEnd = MediaTime.seconds(1), tolerance = MediaTime.milliseconds(500)
    /// The longest intended gap if the container states no end and the times continue after it.
    private static let longestGapWithoutEnd = MediaTime.seconds(600)

    /// The longest delay until the other stream jumps, too.
    private static let longestLead = MediaTime.seconds(10)

    /// Creates a clock. The first packet is expected at `begin` (nil: anywhere), and frames last `frameDuration`.
    ///
    /// - Parameter leads: false for sound beside pictures.
    init(expecting begin: MediaTime? = nil, frameDuration: MediaTime? = nil, leads: Bool = true) {
        (last, end) = (begin, begin)
        self.leads = leads
        shortestOverlap = max(.milliseconds(100), min(frameDuration ?? .zero, .seconds(60)) * 5)
        longestStepBack = max(Self.shortestStepBack, min(frameDuration ?? .zero, .seconds(60)) * 20)
    }

    /// Whether the next packet, with decoding time `time`, is a step forward that may be intended. Its sequel decides then. `other` is the
    /// clock of the other stream.
    func isDoubtful(at time: MediaTime, beside other: StreamClock, within extent: Extent) -> Bool {
        step(to: time + offset, beside: other, within: extent) == .doubtful
    }

    /// Whether the next packet, marked as hidden, fits an edit list: it follows the packet before, or goes back. Damage steps forward, and
    /// demuxers take the packets after it for packets beyond the last edit.
    mutating func leavesOut(at time: MediaTime, lasting duration: MediaTime, within extent: Extent) -> Bool {
        guard !extent.mayJump, offset == .zero, let before = leftOutEnd ?? end, time <= before + Self.longestGapAtEnd else { return false }
        leftOutEnd = time + duration
        return true
    }

    /// Whether the times jump between the last packet and the next one, with decoding time `time`.
    func jumps(to time: MediaTime, beside other: StreamClock, within extent: Extent) -> Bool {
        step(to: time + offset, beside: other, within: extent) == .jump
    }

    /// Returns the offset for the timestamps of the next packet, with decoding time `time`, and whether they jump there.
    mutating func offset(
        at time: MediaTime, lasting duration: MediaTime, beside other: StreamClock, within extent: Extent, sequel: Sequel = .unknown
    ) -> (offset: MediaTime, isJump: Bool) {
        var isJump = false
        leftOutEnd = nil
        if !leads, extent.mayJump { follow(other, at: time) }
        switch step(to: time + offset, beside: other, within: extent) {
        case .on: break
        case .jump: isJump = true
        case .doubtful:
            switch sequel {
            case .returns: isJump = true
            case .goesOn: isJump = extent.end == nil && time + offset > end! + Self.longestGapWithoutEnd
            case .ends, .unknown: isJump = extent.end == nil
            }
        }
        if isJump, let end {
            let candidates = [other.offset, .zero].filter { step(to: time + $0, beside: other, within: extent) == .on }
            offset = candidates.first ?? end - time
            jumps += 1
            ahead = candidates.isEmpty ? Ahead(jumps: other.jumps, at: time + offset) : nil
        }
        let begin = time + offset
        if extent.mayJump, !isJump, hasBegun, let last, let end {
            if begin < last - shortestOverlap { ahead = ahead ?? Ahead(jumps: other.jumps, at: begin) }
            (self.last, self.end) = (max(last, begin), max(end, begin + duration))
        } else {
            (last, end, hasBegun) = (begin, begin + duration, true)
        }
        return (offset, isJump)
    }

    /// Takes over the other stream's jump once this stream reaches the same place in the file.
    private mutating func follow(_ other: StreamClock, at time: MediaTime) {
        guard other.offset != offset, let end else { return }
        func distance(_ offset: MediaTime) -> UInt64 { (time + offset - end).nanoseconds.magnitude }
        let hasGoneAhead = ahead.map { other.jumps > $0.jumps && time + offset - $0.at < Self.longestLead } ?? false
        guard hasGoneAhead || distance(other.offset) < distance(offset) else { return }
        (offset, last, self.end, ahead) = (other.offset, nil, nil, nil)
    }

    /// Returns the meaning of a later time `next` of the stream for its step to `time`; nil if it has none.
    func sequel(of time: MediaTime, next: MediaTime) -> Sequel? {
        if next < time - longestStepBack { return .returns }
        return next >= time + Self.longestGap ? .goesOn : nil
    }

    /// Returns the duration of a packet: its own, unless that ends far beyond the container's end.
    static func duration(_ duration: MediaTime, at time: MediaTime, within extent: Extent) -> MediaTime {
        guard !extent.mayJump, let end = extent.end, duration > longestGapAtEnd, time + duration > end + tolerance else { return duration }
        return max(.zero, end - time)
    }

    /// Judges the distance between a frame's presentation time `time` and its decoding time `decoding`. A frame waits for a few others at
    /// most. But decoding times that FFmpeg estimates reach a gap that many frames later.
    func presentation(at time: MediaTime, decodedAt decoding: MediaTime, within extent: Extent) -> Step {
        if extent.mayJump { return .on }
        let delay = time - decoding, longest = max(Self.longestGap, longestStepBack)
        if let end = extent.end, time > end + Self.tolerance, delay > longestStepBack { return .jump }
        return delay < -longest ? .jump : delay > longest ? .doubtful : .on
    }

    private func step(to time: MediaTime, beside other: StreamClock, within extent: Extent) -> Step {
        guard let last, let end else { return .on }
        if time < last - (leads && extent.mayJump ? shortestOverlap : longestStepBack) { return hasBegun ? .jump : .on }
        if extent.mayJump, !hasBegun { return .on }
        let gap = time - end
        guard gap > Self.longestGapAtEnd else { return .on }
        // The other stream continued within the gap: packets of this one are rare, and their times do not jump.
        if other.hasBegun, let otherEnd = other.end, otherEnd > end + gap.scaled(by: 0.5) { return .on }
        if !extent.mayJump, let end = extent.end, time > end + Self.tolerance { return .jump }
        if gap <= Self.longestGap { return .on }
        return extent.mayJump ? .jump : .doubtful
    }
}
