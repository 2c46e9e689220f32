internal import KioskVocabulary

/// A rectangle of the display, as a viewer sees it: where a player's picture is. Its numbers are shares of the display's width and height, so
/// that it means the same in each mode.
public struct Region: Hashable, Sendable {
    /// From the left edge of the display, 0…1.
    public let x: Double
    /// From its top edge, 0…1.
    public let y: Double
    /// Across, 0…1 of the display's width.
    public let width: Double
    /// Down, 0…1 of the display's height.
    public let height: Double

    /// The whole display.
    public static let full = Region(x: 0, y: 0, width: 1, height: 1)

    /// What of the rectangle lies on the display, at least a hundredth of it each way. The whole display for what is not a number.
    public init(x: Double, y: Double, width: Double, height: Double) {
        self.init(KioskVocabulary.Region(x: x, y: y, width: width, height: height))
    }

    init(_ region: KioskVocabulary.Region) { (x, y, width, height) = (region.x, region.y, region.width, region.height) }

    var engine: KioskVocabulary.Region { KioskVocabulary.Region(x: x, y: y, width: width, height: height) }
}
