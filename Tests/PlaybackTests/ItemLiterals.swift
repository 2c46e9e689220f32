@testable import KioskPlayback

/// Items are named by the order in which they came onto the list.
extension QueueItem.ID: ExpressibleByIntegerLiteral {
    /// The item of that number.
    public init(integerLiteral number: Int) { self.init(number) }
}
