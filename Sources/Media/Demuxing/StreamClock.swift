import KioskPlatform

/// Decides where the timestamps of a stream jump, and what has to be added to those after a jump so that they follow those before it. A
/// pure value.
///
/// In a transport stream (and every format that FFmpeg marks AVFMT_TS_DISCONT) timestamps may jump: where the encoder was started anew, or
/// where files were concatenated. In any other file a jump is damage: of one timestamp, or of the one to which those of a Matroska cluster
/// are relative. But a gap there may also be intended: a slide that is shown for a minute, a screen recording in which nothing moved. So a
/// step forward in such a file is a jump only
/// - behind the end that the container tells (``Extent``), or
/// - when the times come back soon after (``Sequel``), or
/// - when the container tells no end, and either the step is long and the source ends soon after, or it is longer than ten minutes.
///
/// In either kind a step is no jump where the other stream has packets within the gap. What lies between two edits of an edit list is read, too, and marked
/// as not to be shown. Its times are counted towards the edit that follows, and go forward and back over those of what is shown: they are judged apart.
///
/// Picture and sound jump one after the other, and by the same time, so that they stay together. The pictures lead: where files were joined
/// whose times overlap, theirs go back by less than a second, and that is a jump, too. Times of sound that go back so little may be jitter. So
/// the sound takes the pictures' jump, as soon as that fits its times better than its own, or they have gone back before the pictures' did.
struct StreamClock: Hashable, Sendable {
    /// What a container tells of its timestamps.
    struct Extent: Hashable, Sendable {
        /// Whether timestamps of its format may jump.
        var mayJump: Bool
        /// When it ends; nil where the container does not tell.
        var end: MediaTime?
    }

    /// What the times of a stream do after a step forward that may be intended.
    enum Sequel: Hashable, Sendable {
        /// They come back.
        case returns
        case goesOn
        /// The source ends soon.
        case ends
        /// They cannot be read ahead: a live stream.
        case unknown
    }

    /// What a step of the times is judged to be.
    enum Step: Hashable, Sendable {
        case on, jump
        /// It depends on its sequel.
        case doubtful
    }

    private(set) var offset = MediaTime.zero
    /// Decoding time and end of the last packet, offset included. Before the first: when that is expected at the latest.
    private var last: MediaTime?, end: MediaTime?
    /// End of the last packet, where that was not to be shown.
    private var leftOutEnd: MediaTime?
    private var hasBegun = false
    /// Whether the other stream jumps when this one does.
    private let leads: Bool
    /// How often its times have jumped.
    private var jumps = 0
    /// How often those of the other one had, when this one's went back or jumped alone, and where that was; nil where they have not.
    private var ahead: Ahead?
    private struct Ahead: Hashable { let jumps: Int, at: MediaTime }
    /// How far decoding times may go back: real ones never do, but FFmpeg estimates some of a stream whose frames are reordered.
    private let longestStepBack: MediaTime
    /// The same of a stream that leads, in a format whose times may jump: no frame waits for more than five others.
    private let shortestOverlap: MediaTime

    private static let shortestStepBack = MediaTime.seconds(1)
    /// A step forward beyond this is judged.
    private static let longestGap = MediaTime.seconds(10)
    /// A step forward beyond this is a jump behind the container's end. That end may be wrong by the tolerance: it is rounded, or the
    /// sound's.
    private static let longestGapAtEnd = MediaTime.seconds(1), tolerance = MediaTime.milliseconds(500)
    /// Where the container tells no end, a gap up to this is intended when the times go on behind it.
    private static let longestGapWithoutEnd = MediaTime.seconds(600)

    /// How long it may take until the other stream jumps, too.
    private static let longestLead = MediaTime.seconds(10)

    /// A clock for packets, the first of which is expected at `begin` (nil: anywhere) and whose frames last `frameDuration`.
    ///
    /// - Parameter leads: false of sound beside pictures.
    init(expecting begin: MediaTime? = nil, frameDuration: MediaTime? = nil, leads: Bool = true) {
        (last, end) = (begin, begin)
        self.leads = leads
        shortestOverlap = max(.milliseconds(100), min(frameDuration ?? .zero, .seconds(60)) * 5)
        longestStepBack = max(Self.shortestStepBack, min(frameDuration ?? .zero, .seconds(60)) * 20)
    }

    /// Whether the next packet, with decoding time `time`, is a step forward that may be intended: then its sequel has to be known. `other`
    /// is the clock of the other stream.
    func isDoubtful(at time: MediaTime, beside other: StreamClock, within extent: Extent) -> Bool {
        step(to: time + offset, beside: other, within: extent) == .doubtful
    }

    /// Whether the next packet, which is marked as not to be shown, is as edit lists have it: it follows the one before, or goes back. Damage steps forward, and
    /// demuxers take what follows it for what lies behind the last edit.
    mutating func leavesOut(at time: MediaTime, lasting duration: MediaTime, within extent: Extent) -> Bool {
        guard !extent.mayJump, offset == .zero, let before = leftOutEnd ?? end, time <= before + Self.longestGapAtEnd else { return false }
        leftOutEnd = time + duration
        return true
    }

    /// Whether the times jump between the last packet and the next one, with decoding time `time`.
    func jumps(to time: MediaTime, beside other: StreamClock, within extent: Extent) -> Bool {
        step(to: time + offset, beside: other, within: extent) == .jump
    }

    /// What is to be added to the timestamps of the next packet, with decoding time `time`, and whether they jump there.
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

    /// Takes the other stream's jump, where this one has come to the same place in the file.
    private mutating func follow(_ other: StreamClock, at time: MediaTime) {
        guard other.offset != offset, let end else { return }
        func distance(_ offset: MediaTime) -> UInt64 { (time + offset - end).nanoseconds.magnitude }
        let hasGoneAhead = ahead.map { other.jumps > $0.jumps && time + offset - $0.at < Self.longestLead } ?? false
        guard hasGoneAhead || distance(other.offset) < distance(offset) else { return }
        (offset, last, self.end, ahead) = (other.offset, nil, nil, nil)
    }

    /// What a later time `next` of the stream says of its step to `time`; nil when it says nothing.
    func sequel(of time: MediaTime, next: MediaTime) -> Sequel? {
        if next < time - longestStepBack { return .returns }
        return next >= time + Self.longestGap ? .goesOn : nil
    }

    /// How long a packet lasts: the duration it has, unless that ends far behind the container's end.
    static func duration(_ duration: MediaTime, at time: MediaTime, within extent: Extent) -> MediaTime {
        guard !extent.mayJump, let end = extent.end, duration > longestGapAtEnd, time + duration > end + tolerance else { return duration }
        return max(.zero, end - time)
    }

    /// What the distance between a frame's presentation time `time` and its decoding time `decoding` is. A frame waits for a few others at
    /// most, but the decoding times that FFmpeg estimates reach a gap that many frames later.
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
        // The other stream has gone on within the gap: packets of this one are rare, and their times do not jump.
        if other.hasBegun, let otherEnd = other.end, otherEnd > end + gap.scaled(by: 0.5) { return .on }
        if !extent.mayJump, let end = extent.end, time > end + Self.tolerance { return .jump }
        if gap <= Self.longestGap { return .on }
        return extent.mayJump ? .jump : .doubtful
    }
}
