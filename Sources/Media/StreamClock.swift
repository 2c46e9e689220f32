import Platform

/// Makes one run of times of a stream whose timestamps jump: what comes after a jump follows what came before it.
///
/// Those of a transport stream (and of every format that FFmpeg marks AVFMT_TS_DISCONT) jump by right, where its encoder was started anew or where files
/// were put one behind the other. In any other file a jump is damage: of one stamp, or of the one that a whole Matroska cluster counts from. But there
/// a gap may be meant, too: a slide that stands for a minute, a screen recording in which nothing moved. So a step ahead there is a jump only
/// - behind the end that the container tells (``Extent``), or
/// - when the times come back soon after (``Sequel``), or
/// - when it is long, no container tells an end, and nothing more comes, or it is very long.
///
/// Where the other stream goes on beside the gap it is none in either kind. Picture and sound jump one after the other, and by the same time, so that
/// they stay together.
struct StreamClock: Hashable, Sendable {
    /// What a container tells of its times.
    struct Extent: Hashable, Sendable {
        /// Whether its format lets them jump.
        var mayJump: Bool
        /// When it ends; nil where it does not tell.
        var end: MediaTime?
    }

    /// What the times of a stream do after a step ahead that may be meant.
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

    /// What a step of the times is.
    enum Step: Hashable, Sendable {
        case on, jump
        /// Its sequel has to be known.
        case doubtful
    }

    private var offset = MediaTime.zero
    /// When the last packet was decoded and when it ended, offset included. Before the first: when that is expected at the latest.
    private var last: MediaTime?, end: MediaTime?
    private var hasBegun = false
    /// How far decoding times may go back: real ones never do, but FFmpeg guesses some of a stream whose frames are reordered.
    private let longestStepBack: MediaTime

    private static let shortestStepBack = MediaTime.seconds(1)
    /// A step ahead by more than this is looked at.
    private static let longestGap = MediaTime.seconds(10)
    /// A step ahead by more than this is, behind the container's end. That may be off by the tolerance: it is rounded, or the sound's.
    private static let longestGapAtEnd = MediaTime.seconds(1), tolerance = MediaTime.milliseconds(500)
    /// A gap that nothing but the packets themselves speaks for is believed up to this.
    private static let longestUntoldGap = MediaTime.seconds(600)

    /// A clock for packets, the first of which is expected at `begin` (nil: anywhere) and whose frames last `frameDuration`.
    init(expecting begin: MediaTime? = nil, frameDuration: MediaTime? = nil) {
        (last, end) = (begin, begin)
        longestStepBack = max(Self.shortestStepBack, min(frameDuration ?? .zero, .seconds(60)) * 20)
    }

    /// Whether the next packet, which is decoded at `time`, is a step ahead that may be meant: then its sequel has to be known. `other` is the clock of the
    /// other stream.
    func isDoubtful(at time: MediaTime, beside other: StreamClock, within extent: Extent) -> Bool {
        step(to: time + offset, beside: other, within: extent) == .doubtful
    }

    /// What is to be added to the timestamps of the next packet, which is decoded at `time`, and whether they jump there.
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
            case .goesOn: isJump = extent.end == nil && time + offset > end! + Self.longestUntoldGap
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

    /// What the next decoding times of a stream, in order, say of its step to `time`; nil when they do not tell yet.
    func sequel(of time: MediaTime, next: MediaTime) -> Sequel? {
        if next < time - longestStepBack { return .returns }
        return next >= time + Self.longestGap ? .goesOn : nil
    }

    /// How long a packet lasts: by its own word, unless that is far behind the container's end.
    static func duration(_ duration: MediaTime, at time: MediaTime, within extent: Extent) -> MediaTime {
        guard !extent.mayJump, let end = extent.end, duration > longestGapAtEnd, time + duration > end + tolerance else { return duration }
        return max(.zero, end - time)
    }

    /// What it is that a frame is to be presented at `time` that is decoded at `decoding`. It waits for a few others at most, but the decoding times that FFmpeg
    /// guesses come to a gap that many frames later.
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
        // What goes on by that much while the other stream does, too, is rare, and does not jump.
        if other.hasBegun, let otherEnd = other.end, otherEnd > end + gap.scaled(by: 0.5) { return .on }
        if !extent.mayJump, let told = extent.end, time > told + Self.tolerance { return .jump }
        if gap <= Self.longestGap { return .on }
        return extent.mayJump ? .jump : .doubtful
    }
}
