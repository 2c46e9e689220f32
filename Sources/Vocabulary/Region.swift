/// A rectangle of the display, as a viewer sees it, for a player's picture. Its numbers are shares of the display's width and height, so it
/// means the same in each mode.
public struct Region: Hashable, Sendable {
    /// The distance from the left edge of the display, 0…1.
    public let x: Double
    /// The distance from its top edge, 0…1.
    public let y: Double
    /// The width, 0…1 of the display's.
    public let width: Double
    /// The height, 0…1 of the display's.
    public let height: Double

    /// The whole display.
    public static let full = Region(x: 0, y: 0, width: 1, height: 1)

    /// The least width and height.
    private static let least = 0.01

    /// Creates a rectangle, clipped to the display, at least a hundredth of it in each direction. Numbers that are not finite give the
    /// whole display.
    public init(x: Double, y: Double, width: Double, height: Double) {
        func side(_ start: Double, _ length: Double) -> (Double, Double) {
            guard start.isFinite, length.isFinite else { return (0, 1) }
            let begin = min(max(start, 0), 1 - Self.least)
            return (begin, max(min(start + length, 1) - begin, Self.least))
        }
        (self.x, self.width) = side(x, width)
        (self.y, self.height) = side(y, height)
    }

    /// Whether it contains a point of the display, 0…1 in each direction.
    package func contains(_ x: Double, _ y: Double) -> Bool {
        // A rectangle contains the far edge of the display if it reaches it.
        func isIn(_ place: Double, _ start: Double, _ length: Double) -> Bool {
            place >= start && (place < start + length || start + length >= 1)
        }
        return isIn(x, self.x, width) && isIn(y, self.y, height)
    }

    /// Returns the rectangle at `share` (0…1) of the way to another one.
    package func moved(to other: Region, share: Double) -> Region {
        if share >= 1 { return other }
        func between(_ a: Double, _ b: Double) -> Double { a + (b - a) * max(share, 0) }
        return Region(
            x: between(x, other.x), y: between(y, other.y), width: between(width, other.width), height: between(height, other.height))
    }
}

extension Region {
    /// Parses the text in kiosk.conf: `60 60 35 35`, four numbers in hundredths of the display. nil for any other text, and for rectangles
    /// that do not lie on the display.
    package init?(_ text: String) {
        let numbers = text.split(separator: " ").map { Double($0) }
        guard numbers.count == 4, case let known = numbers.compactMap({ $0 }), known.count == 4, known.allSatisfy(\.isFinite),
            known[0] >= 0, known[1] >= 0, known[2] >= 1, known[3] >= 1, known[0] + known[2] <= 100, known[1] + known[3] <= 100
        else { return nil }
        self.init(x: known[0] / 100, y: known[1] / 100, width: known[2] / 100, height: known[3] / 100)
    }

    /// The text in kiosk.conf.
    package var text: String {
        [x, y, width, height].map { share in
            let hundredths = (share * 1e6).rounded() / 1e4
            return hundredths == hundredths.rounded() ? "\(Int(hundredths))" : "\(hundredths)"
        }.joined(separator: " ")
    }
}
