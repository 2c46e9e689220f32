/// Pixels across and down.
public struct PixelSize: Hashable, Sendable {
    /// Across.
    public var width: Int
    /// Down.
    public var height: Int

    /// Creates a size from its parts.
    public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
}
