/// Converted samples on their way from the decoder to who takes them: one unbroken run of frames, numbered from the container's time zero.
///
/// What lies before the wanted beginning is cut off, and what lies behind ``limit``; overlaps are dropped, holes become silence.
struct SampleQueue: Sendable {
    private let channelCount: Int
    private let sampleRate: Int
    /// Interleaved samples, not taken yet from `head` on. A resampler appends to them, and ``place(from:at:)`` fits in what it has
    /// appended.
    var samples: [Float] = []
    private var head = 0
    /// Frames of silence before `samples`.
    private var silence: Int64 = 0
    /// Frames at the end of `samples` that are held back: given out when others follow, dropped when none do.
    private var padding: Int64 = 0
    /// Frames from this number on are dropped; nil where none are.
    var limit: Int64?
    /// Number of the frame behind the last one, padding included.
    private(set) var endWithPadding: Int64 = 0

    /// A hole in mid-stream takes memory as samples of silence: it is cut off beyond this.
    private static let longestHole: Int64 = 60  // seconds

    init(_ format: AudioFormat) { (channelCount, sampleRate) = (format.channelCount, format.sampleRate) }

    /// Drops everything; frame number `start` is the next to be taken.
    mutating func restart(at start: Int64) {
        samples.removeAll(keepingCapacity: true)
        (head, silence, padding, endWithPadding) = (0, 0, 0, start)
    }

    /// Frames that can be taken now.
    var availableFrames: Int { Int(min(silence, 1 << 30)) + max(0, (samples.count - head) / channelCount - Int(padding)) }

    /// Number of the frame behind the last one that is not held back.
    var end: Int64 { endWithPadding - padding }

    /// Fits the samples that were appended since index `begin`, whose first frame is number `position`, to the end of the run. Returns the
    /// number of the frame after them.
    mutating func place(from begin: Int, at position: Int64) -> Int64 {
        let all = Int64((samples.count - begin) / channelCount)
        let count = limit.map { min(all, max(0, $0 - position)) } ?? all
        samples.removeLast(Int(all - count) * channelCount)
        if position < endWithPadding {
            let surplus = Int(min(count, endWithPadding - position))
            samples.removeSubrange(begin..<(begin + surplus * channelCount))
        } else if position > endWithPadding, count > 0 {
            let hole = position - endWithPadding
            if begin == head {
                silence += hole  // nothing before it: it takes no memory, however long it is
            } else {
                let bounded = Int(min(hole, Self.longestHole * Int64(sampleRate)))
                samples.insert(contentsOf: repeatElement(0, count: bounded * channelCount), at: begin)
            }
        }
        if count > 0 { endWithPadding = max(endWithPadding, position + count) }
        return position + all
    }

    /// Appends `frames` frames of silence, where nothing else can be taken.
    mutating func appendSilence(_ frames: Int) {
        guard availableFrames == 0 else { return }
        silence += Int64(frames)
        endWithPadding += Int64(frames)
    }

    /// Holds the last `frames` frames back; 0 releases those held back before.
    mutating func setPadding(_ frames: Int64) { padding = frames }

    /// Drops the frames held back.
    mutating func dropPadding() {
        samples.removeLast(min(samples.count - head, Int(padding) * channelCount))
        (endWithPadding, padding) = (endWithPadding - padding, 0)
    }

    /// Moves up to `destination.count` samples out (whole frames); returns the frames moved.
    mutating func take(into destination: UnsafeMutableBufferPointer<Float>) -> Int {
        let wanted = destination.count / channelCount
        let quiet = Int(min(silence, Int64(wanted)))
        if quiet > 0 { destination[0..<(quiet * channelCount)].update(repeating: 0) }
        silence -= Int64(quiet)
        let count = max(0, min(samples.count - head - Int(padding) * channelCount, (wanted - quiet) * channelCount))
        if count > 0 {
            _ = samples.withUnsafeBufferPointer { source in
                UnsafeMutableBufferPointer(rebasing: destination[(quiet * channelCount)...])
                    .update(fromContentsOf: source[head..<(head + count)])
            }
            head += count
        }
        // Padding may always be left behind `head`, so that it never meets the end.
        if head >= samples.count - head {
            samples.removeSubrange(..<head)
            head = 0
        }
        return quiet + count / channelCount
    }
}
