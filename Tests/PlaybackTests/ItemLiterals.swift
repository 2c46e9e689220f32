@testable import KioskPlayback

/// A literal names an item by its place in the order of additions to the list.
extension QueueItem.ID: ExpressibleByIntegerLiteral {
    /// Creates the identifier of the item with that number.
    public init(integerLiteral number: Int) { self.init(number) }
}
