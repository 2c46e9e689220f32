/// An impossible message or value from a reader. The player then ends the reader: it has a fault, or an attacker has taken it over.
package enum ReaderLie: Error, Hashable, Sendable, CustomStringConvertible {
    /// An unreadable message.
    case message(WireError)
    /// A message out of turn.
    case turn(String)
    /// A count beyond the capacity of a ring, or a position in it that has not come.
    case cursor(String, UInt32)
    /// The number of an unknown kind of record.
    case kind(UInt8)
    /// A kind of memory that this reader's pictures must not lie in.
    case place(UInt8)
    /// A picture number that does not exist, or that the player holds.
    case slot(UInt16)
    /// A pixel format that cannot be shown.
    case format(Int32)
    case size(width: UInt32, height: UInt32)
    /// The bytes of a picture that is too large.
    case memory(Int)
    /// The stride of a plane in bytes.
    case stride(plane: Int, Int32)
    /// A plane outside of the memory, or one too many.
    case plane(Int, offset: UInt64)
    /// A result that does not answer the order.
    case result(String)
    /// An invalid surface, or one too many.
    case surface

    package var description: String {
        switch self {
        case .message(let error): "sent a message that \(error)"
        case .turn(let what): "sent \(what) out of turn"
        case .cursor(let what, let count): "claims to be \(count) ahead in its \(what)"
        case .kind(let number): "sent a record of kind \(number)"
        case .place(let number): "sent a picture in memory of kind \(number)"
        case .slot(let number): "sent picture \(number), which it cannot have"
        case .format(let number): "sent a picture of pixel format \(number)"
        case .size(let width, let height): "sent a picture of \(width)×\(height) pixels"
        case .memory(let bytes): "sent a picture of \(bytes) bytes"
        case .stride(let plane, let bytes): "sent rows of \(bytes) bytes in plane \(plane)"
        case .plane(let plane, let offset): "sent plane \(plane) at \(offset), outside of its memory"
        case .result(let what): "sent \(what) as a result"
        case .surface: "sent a surface that cannot be"
        }
    }
}
