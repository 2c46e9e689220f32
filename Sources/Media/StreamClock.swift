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
/// In either kind a step is no jump where the other stream has packets within the gap. Picture and sound jump one after the other, and by
/// the same time, so that they stay together.
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
        /// They go on from there.
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

    private var offset = MediaTime.zero
    /// Decoding time and end of the last packet, offset included. Before the first: when that is expected at the latest.
    private var last: MediaTime?, end: MediaTime?
    private var hasBegun = false
    /// How far decoding times may go back: real ones never do, but FFmpeg estimates some of a stream whose frames are reordered.
    private let longestStepBack: MediaTime

    private static let shortestStepBack = MediaTime.seconds(1)
    /// A step forward beyond this is judged.
    private static let longestGap = MediaTime.seconds(10)
    /// A step forward beyond this is a jump behind the container's end. That end may be wrong by the tolerance: it is rounded, or the
    /// sound's.
    private static let longestGapAtEnd = MediaTime.seconds(1), tolerance = MediaTime.milliseconds(500)
    /// Where the container tells no end, a gap up to this is intended when the times go on behind it.
    private static let longestGapWithoutEnd = MediaTime.seconds(600)

    /// A clock for packets, the first of which is expected at `begin` (nil: anywhere) and whose frames last `frameDuration`.
    init(expecting begin: MediaTime? = nil, frameDuration: MediaTime? = nil) {
        (last, end) = (begin, begin)
        longestStepBack = max(Self.shortestStepBack, min(frameDuration ?? .zero, .seconds(60)) * 20)
    }

    /// Whether the next packet, with decoding time `time`, is a step forward that may be intended: then its sequel has to be known. `other`
    /// is the clock of the other stream.
    func isDoubtful(at time: MediaTime, beside other: StreamClock, within extent: Extent) -> Bool {
        step(to: time + offset, beside: other, within: extent) == .doubtful
    }

    /// What is to be added to the timestamps of the next packet, with decoding time `time`, and whether they jump there.
    mutating func offset(
        at time: MediaTime, lasting duration: MediaTime, beside other: StreamClock, within extent: Extent, sequel: Sequel = .unknown
    ) -> (offset: MediaTime, isJump: Bool) {
        var isJump = false
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
        }
        (last, end, hasBegun) = (time + offset, time + offset + duration, true)
        return (offset, isJump)
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
        if time < last - longestStepBack { return hasBegun ? .jump : .on }
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
