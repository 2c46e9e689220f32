import KioskPlayback

/// Divides an overlay among a few planes: one rectangle for each plane, with every picture whole in one of them. The rectangles do not
/// overlap, so the order of the planes does not matter. Pure.
///
/// A single plane would be as large as the screen if there is something at its top and at its bottom. That is 8 MB at 1080p, two or three
/// times.
struct OverlayBoxes {
    /// Returns at most `count` rectangles around `places`. Keeps those of `former` that contain a picture: a picture that moves a little
    /// then moves within its plane, and the plane stays.
    static func around(_ places: [PixelRectangle], count: Int, keeping former: [PixelRectangle] = []) -> [PixelRectangle] {
        var boxes = former.filter { box in places.contains { box.contains($0) } }
        boxes += places.filter { place in !boxes.contains { $0.contains(place) } }
        boxes = merged(boxes)
        while boxes.count > max(count, 1) {
            var best: (growth: Int, a: Int, b: Int)?
            for a in boxes.indices {
                for b in boxes.indices where b > a {
                    let growth = boxes[a].union(boxes[b]).area - boxes[a].area - boxes[b].area
                    if growth < best?.growth ?? .max { best = (growth, a, b) }
                }
            }
            guard let best else { break }
            let joined = boxes[best.a].union(boxes[best.b])
            boxes.remove(at: best.b)
            boxes[best.a] = joined
            boxes = merged(boxes)
        }
        return boxes.sorted { ($0.y, $0.x) < ($1.y, $1.x) }
    }

    /// Returns the same rectangles, with overlapping ones merged.
    static func merged(_ places: [PixelRectangle]) -> [PixelRectangle] {
        var boxes: [PixelRectangle] = []
        for place in places {
            var box = place
            while let index = boxes.firstIndex(where: { $0.intersection(box) != nil }) { box = box.union(boxes.remove(at: index)) }
            boxes.append(box)
        }
        return boxes
    }
}
