@testable import KioskPlayback

/// Items are named by the order in which they came onto the list.
extension PlayerItem.ID: ExpressibleByIntegerLiteral {
    /// The item of that number.
    public init(integerLiteral number: Int) { self.init(number) }
}
