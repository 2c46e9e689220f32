/// Converted samples between the decoder and its consumer: one continuous run of frames, numbered from the container's time zero.
///
/// Drops samples before the requested start and those after ``limit``. Drops overlaps, and fills holes with silence.
struct SampleQueue: Sendable {
    private let channelCount: Int
    private let sampleRate: Int
    /// Interleaved samples, not yet taken from `head` on. A resampler appends to them; ``place(from:at:)`` then fits in its samples.
    var samples: [Float] = []
    private var head = 0
    /// The frames of silence before `samples`.
    private var silence: Int64 = 0
    /// The frames held back at the end of `samples`. They are released when others follow, and dropped otherwise.
    private var padding: Int64 = 0
    /// The number of the first frame to drop; nil for none.
    var limit: Int64?
    /// The number of the frame after the last one, padding included.
    private(set) var endWithPadding: Int64 = 0

    /// The longest hole in mid-stream, in seconds. A hole takes memory as samples of silence.
    private static let longestHole: Int64 = 60  // seconds

    init(_ format: AudioFormat) { (channelCount, sampleRate) = (format.channelCount, format.sampleRate) }

    /// Drops everything; frame number `start` comes next.
    mutating func restart(at start: Int64) {
        samples.removeAll(keepingCapacity: true)
        (head, silence, padding, endWithPadding) = (0, 0, 0, start)
    }

    /// The number of frames that can be taken now.
    var availableFrames: Int { Int(min(silence, 1 << 30)) + max(0, (samples.count - head) / channelCount - Int(padding)) }

    /// The number of the frame after the last one that is not held back.
    var end: Int64 { endWithPadding - padding }

    /// Fits the samples from index `begin` on to the end of the run. Their first frame has the number `position`. Returns the number of the
    /// frame after them.
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
                silence += hole  // at the start of the queue: takes no memory, however long
            } else {
                let bounded = Int(min(hole, Self.longestHole * Int64(sampleRate)))
                samples.insert(contentsOf: repeatElement(0, count: bounded * channelCount), at: begin)
            }
        }
        if count > 0 { endWithPadding = max(endWithPadding, position + count) }
        return position + all
    }

    /// Appends `frames` frames of silence if the queue has nothing to take.
    mutating func appendSilence(_ frames: Int) {
        guard availableFrames == 0 else { return }
        silence += Int64(frames)
        endWithPadding += Int64(frames)
    }

    /// Holds the last `frames` frames back; 0 releases all.
    mutating func setPadding(_ frames: Int64) { padding = frames }

    /// Drops the frames held back.
    mutating func dropPadding() {
        samples.removeLast(min(samples.count - head, Int(padding) * channelCount))
        (endWithPadding, padding) = (endWithPadding - padding, 0)
    }

    /// Moves up to `destination.count` samples out (whole frames); returns the number of frames.
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
        // Padding may stay after `head`, so `head` may never reach the end.
        if head >= samples.count - head {
            samples.removeSubrange(..<head)
            head = 0
        }
        return quiet + count / channelCount
    }
}
