// Finds overlays over the clips, such as the controls, in the latch log.

extension Vblank {
    /// Whether it looks the same as `other` and scans out the same buffers.
    fileprivate func isLike(_ other: Vblank) -> Bool { hash == other.hash && planes == other.planes }
}

/// The hashes of clips without an overlay, learnt from a stretch of the log. The stretch must hold at least one turn of each clip. The
/// kernel's hash of a vblank covers the content and position of every plane. An unknown hash therefore means an overlay, on a plane of its
/// own or blended into the picture. Numbers stay readable in clips that leave bars: controls do not cover them there.
package struct BarePictures: Sendable {
    private let hashes: Set<UInt64>

    /// Learns from the vblanks of a stretch.
    package init(_ vblanks: [Vblank], in stretch: Range<Duration>) {
        hashes = Set(vblanks.filter { stretch.contains($0.time) }.map(\.hash))
    }

    /// Whether nothing covers the clips.
    package func isBare(_ vblank: Vblank) -> Bool { hashes.contains(vblank.hash) }

    /// Returns the stretches in which something covers the clips, each from its first vblank to the first one without it. A picture that
    /// the learnt stretch did not contain counts as covered, even for one frame.
    package func covered(_ vblanks: [Vblank]) -> [Range<Duration>] {
        var found: [Range<Duration>] = []
        var begin: Duration?
        for vblank in vblanks {
            if isBare(vblank) {
                if let begin { found.append(begin..<vblank.time) }
                begin = nil
            } else if begin == nil {
                begin = vblank.time
            }
        }
        if let begin, let last = vblanks.last { found.append(begin..<max(begin, last.time)) }
        return found
    }
}

extension Record {
    /// Returns the time from `time` to the first vblank that differs from the one on the display then; nil if there is none. Meaningful
    /// only if the picture stands still.
    package func change(after time: Duration, on display: Int = 0) -> Duration? {
        guard let before = vblank(at: time, on: display) else { return nil }
        return displays[display].first { $0.time > time && !$0.isLike(before) }.map { $0.time - time }
    }
}

/// The distribution of measured durations.
package struct Spread: Sendable, CustomStringConvertible {
    private let sorted: [Duration]

    /// Creates the distribution of `durations`.
    package init(_ durations: [Duration]) { sorted = durations.sorted() }

    /// Returns the duration that `percent` per cent do not exceed; zero if there are none.
    package func percentile(_ percent: Int) -> Duration {
        sorted.isEmpty ? .zero : sorted[min(sorted.count - 1, max(0, (sorted.count * percent + 99) / 100 - 1))]
    }

    /// The longest duration; zero if there are none.
    package var most: Duration { sorted.last ?? .zero }

    /// Returns the number of durations in each interval of `width`, from zero on.
    package func histogram(width: Duration) -> [Int] {
        var counts = [Int](repeating: 0, count: Int(most / width) + 1)
        for duration in sorted { counts[Int(duration / width)] += 1 }
        return counts
    }

    /// `p50 12.1 ms, p99 29.8 ms, of 40; 5 ms each: 0 4 11 …`
    package var description: String {
        func text(_ duration: Duration) -> String { "\((duration / .milliseconds(1) * 10).rounded() / 10) ms" }
        let counts = histogram(width: .milliseconds(5)).map(String.init).joined(separator: " ")
        return "p50 \(text(percentile(50))), p99 \(text(percentile(99))), of \(sorted.count); 5 ms each: \(counts)"
    }
}
