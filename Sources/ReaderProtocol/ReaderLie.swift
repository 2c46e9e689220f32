/// What a reader has said that cannot be, so that it is ended: it has a fault, or somebody else has taken it over.
package enum ReaderLie: Error, Hashable, Sendable, CustomStringConvertible {
    /// A message that is none.
    case message(WireError)
    /// A message that nobody waits for.
    case turn(String)
    /// A ring that would hold more than it can, or a place in it that has not come.
    case cursor(String, UInt32)
    /// The number of a record's kind.
    case kind(UInt8)
    /// Memory that pictures of this reader do not lie in.
    case place(UInt8)
    /// The number of a picture: there is none such, or the player holds that one.
    case slot(UInt16)
    /// A pixel format that nobody can show.
    case format(Int32)
    case size(width: UInt32, height: UInt32)
    /// A picture of so many bytes, more than one may have.
    case memory(Int)
    /// Bytes from row to row of a plane.
    case stride(plane: Int, Int32)
    /// A plane that lies outside of the memory, or is one too many.
    case plane(Int, offset: UInt64)
    /// A result that is not what was asked for.
    case result(String)
    /// A surface that cannot be, or one more than there may be.
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
