/// The reason why a shelf cannot be shown.
public struct ShelfError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a reason.
    public enum Code: Hashable, Sendable {
        /// The configuration names no folder and no asset.
        case noContent
        /// A folder is none, or cannot be read.
        case cannotRead
        /// This shelf, or another one on the same output, is on the screen.
        case isPresented
    }

    /// The kind of the reason.
    public let code: Code
    /// The attempt, the cause of its failure and the remedy: for people.
    public let description: String

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }
}
