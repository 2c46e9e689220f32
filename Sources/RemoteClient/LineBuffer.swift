/// Splits received bytes into lines: a pure value.
package struct LineBuffer: Hashable, Sendable {
    /// The longest line in bytes; a longer one is refused.
    package static let longest = 64 << 10
    private let limit: Int
    private var bytes: [UInt8] = []
    /// Whether a line was too long; no more lines follow.
    package private(set) var isOverlong = false

    package init(longest: Int = Self.longest) { limit = longest }

    /// Appends bytes; returns the lines that are now complete. Replacement characters stand for invalid UTF-8.
    package mutating func append(_ piece: some Collection<UInt8>) -> [String] {
        var lines: [String] = []
        for byte in piece where !isOverlong {
            if byte == 0x0A {
                lines.append(String(decoding: bytes, as: UTF8.self))
                bytes.removeAll(keepingCapacity: true)
            } else if bytes.count == limit {
                isOverlong = true
                bytes = []
            } else {
                bytes.append(byte)
            }
        }
        return lines
    }
}
