// What lies over the clips, such as the controls, as the latch log shows it.

extension Vblank {
    /// Whether it looks the same as `other`, and is scanned out of the same buffers.
    fileprivate func isLike(_ other: Vblank) -> Bool { hash == other.hash && planes == other.planes }
}

/// What clips look like with nothing over them: learnt from a stretch of the log, at least one turn of each. The kernel's hash of a vblank is of
/// what every plane shows and of where it is: one that is not among these has something over it, on a plane of its own or blended into the
/// picture. Clips that bars are left beside keep their number readable: it is not beneath what is drawn.
package struct BarePictures: Sendable {
    private let hashes: Set<UInt64>

    /// Learns from the vblanks of a stretch.
    package init(_ vblanks: [Vblank], in stretch: Range<Duration>) {
        hashes = Set(vblanks.filter { stretch.contains($0.time) }.map(\.hash))
    }

    /// Whether nothing lies over the clips.
    package func isBare(_ vblank: Vblank) -> Bool { hashes.contains(vblank.hash) }

    /// The stretches in which something does, from the first vblank of each to the first without it. What is shorter than a frame of 60 a
    /// second is none: a picture may have been seen for the first time.
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
    /// From `time` to the first vblank that shows something else than the one that was on the display then; nil where that never came. Only
    /// where the picture stands still it is an answer.
    package func change(after time: Duration, on display: Int = 0) -> Duration? {
        guard let before = vblank(at: time, on: display) else { return nil }
        return displays[display].first { $0.time > time && !$0.isLike(before) }.map { $0.time - time }
    }
}

/// How long things took: as many as were measured, in order.
package struct Spread: Sendable, CustomStringConvertible {
    private let sorted: [Duration]

    /// That of these.
    package init(_ durations: [Duration]) { sorted = durations.sorted() }

    /// The value that so many per cent do not exceed; zero of none.
    package func percentile(_ percent: Int) -> Duration {
        sorted.isEmpty ? .zero : sorted[min(sorted.count - 1, max(0, (sorted.count * percent + 99) / 100 - 1))]
    }

    /// The longest; zero of none.
    package var most: Duration { sorted.last ?? .zero }

    /// How many there are in each stretch of `width`, from zero on.
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
