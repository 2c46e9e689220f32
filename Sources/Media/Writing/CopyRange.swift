/// The packets of a picture track that make up a clip: a pure value.
struct CopyRange: Hashable {
    /// The time of the first picture of the file, the item's zero.
    private(set) var origin: Int64
    /// The times of the clip's pictures, from the first to before the end.
    private(set) var times: Range<Int64>
    /// The packets of the clip, in the file's order.
    private(set) var packets: Range<Int>

    /// The reason that a range cannot be copied.
    enum Obstacle: Error, Hashable {
        case noPackets
        /// No key frame lies at the beginning; with the nearest, in ticks after ``CopyRange/origin``.
        case beginning(nearest: Int64)
        case end(nearest: Int64)
        /// Pictures before the key frame at the end depend on it.
        case openEnd
        /// An edit list begins between key frames.
        case edited
        /// The times are missing or implausible.
        case times

        /// Returns the obstacle in words; `seconds` formats ticks.
        func text(_ seconds: (Int64) -> String) -> String {
            switch self {
            case .noPackets: "it has no pictures"
            case .beginning(let nearest): "no key frame at its start; the nearest is at \(seconds(nearest))"
            case .end(let nearest): "no key frame at its end; the nearest is at \(seconds(nearest))"
            case .openEnd: "pictures before its end need the key frame there"
            case .edited: "its edit list begins between key frames"
            case .times: "the times of its pictures are missing or damaged"
            }
        }
    }

    /// All obstacles to copying a clip.
    struct Obstacles: Error, Hashable { var all: [Obstacle] }

    /// The plausible times: their sums and differences do not overflow.
    private static let plausible = -(1 << 60)...(1 << 60) as ClosedRange<Int64>

    /// Finds the range from `start` to `end` ticks after the first picture (nil: the end of the file). A key frame may be a quarter of
    /// `frameDuration` off.
    init(_ entries: [PictureSource.Entry], start: Int64, end: Int64?, frameDuration: Int64) throws(Obstacles) {
        guard let origin = entries.filter({ !$0.isDiscarded }).map(\.pts).min(), let last = entries.map(\.pts).max() else {
            throw Obstacles(all: [.noPackets])
        }
        guard entries.allSatisfy({ Self.plausible ~= $0.pts && Self.plausible ~= $0.dts }) else { throw Obstacles(all: [.times]) }
        self.origin = origin
        let tolerance = max(frameDuration / 4, 1)
        let keys = entries.indices.filter { entries[$0].isKey }
        func nearest(_ time: Int64) -> Int64 {
            (keys.map { entries[$0].pts - origin }.min { abs($0 - time) < abs($1 - time) }) ?? 0
        }
        var obstacles: [Obstacle] = []
        let found = keys.first { abs(entries[$0].pts - origin - start) <= tolerance }
        if found == nil { obstacles.append(start == 0 ? .edited : .beginning(nearest: nearest(start))) }
        let first = found ?? 0
        if found != nil, entries[first...].contains(where: \.isDiscarded) { obstacles.append(.edited) }
        (times, packets) = (entries[first].pts..<Int64.max, first..<entries.count)
        if let end, end < last - origin + frameDuration - tolerance {
            let stop = keys.first { $0 > first && abs(entries[$0].pts - origin - end) <= tolerance }
            if let stop {
                let limit = entries[stop].pts
                if entries[stop...].contains(where: { $0.pts < limit && $0.pts >= entries[first].pts }) { obstacles.append(.openEnd) }
                (times, packets) = (min(entries[first].pts, limit)..<limit, first..<stop)
            } else {
                obstacles.append(.end(nearest: nearest(end)))
            }
        }
        if !obstacles.isEmpty { throw Obstacles(all: obstacles) }
    }
}
