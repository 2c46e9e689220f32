import KioskPlatform

// A message is one datagram of a SEQPACKET socket, or several if it is long. Each begins with a head:
//
//     kind u16 · part u8 · parts u8 · serial u32 · length of what follows u32 · 0 u32
//
// The serial is that of an order and of its answer; 0 for other messages.

/// A message from one side to the other.
package protocol WireMessage: Sendable {
    /// The most datagrams of a message.
    static var mostParts: Int { get }
    /// Writes the part after the head; returns the number of its kind.
    func write(to wire: inout WireWriter) -> UInt16
    init(kind: UInt16, from wire: inout WireReader) throws(WireError)
}

/// The format of datagrams.
package enum Datagram {
    /// The most bytes of a datagram.
    package static let longest = 60 << 10
    static let headLength = 16

    struct Head: Hashable {
        var kind: UInt16
        var part: UInt8, parts: UInt8
        var serial: UInt32
        var length: UInt32

        func write(to wire: inout WireWriter) {
            wire.put(kind, part, parts, serial, length, 0 as UInt32)
        }
    }
}

extension Datagram.Head {
    init(from wire: inout WireReader) throws(WireError) {
        self.init(
            kind: try wire.take(), part: try wire.take(), parts: try wire.take(), serial: try wire.take(), length: try wire.take())
        let reserved = try wire.take() as UInt32
        if reserved != 0 { throw .unknown("head", Int(clamping: reserved)) }
    }
}

extension WireMessage {
    /// Returns its datagrams, to be sent one after the other.
    ///
    /// - Throws: ``WireError/tooLong(_:count:)`` if it does not fit into ``mostParts``.
    package func datagrams(serial: UInt32 = 0) throws(WireError) -> [[UInt8]] {
        var body = WireWriter()
        let kind = write(to: &body)
        if let error = body.error { throw error }
        let room = Datagram.longest - Datagram.headLength
        let count = max(1, (body.bytes.count + room - 1) / room)
        guard count <= Self.mostParts, let parts = UInt8(exactly: count) else { throw .tooLong("message", count: body.bytes.count) }
        return (0..<parts).map { part in
            let bytes = body.bytes.dropFirst(Int(part) * room).prefix(room)
            var datagram = WireWriter()
            Datagram.Head(kind: kind, part: part, parts: parts, serial: serial, length: UInt32(clamping: bytes.count)).write(to: &datagram)
            return datagram.bytes + bytes
        }
    }
}

/// Assembles messages from the other side's datagrams. Do not use it after an error.
package struct Assembly<Message: WireMessage>: Sendable {
    /// The parts of an incomplete message.
    private var begun: (head: Datagram.Head, bytes: [UInt8])?

    package init() {}

    /// Adds a datagram; returns the message and its serial if it is complete.
    package mutating func add(_ datagram: ArraySlice<UInt8>) throws(WireError) -> (message: Message, serial: UInt32)? {
        guard datagram.count <= Datagram.longest else { throw .tooLong("datagram", count: datagram.count) }
        var wire = WireReader(datagram.prefix(Datagram.headLength))
        let head = try Datagram.Head(from: &wire)
        let bytes = datagram.dropFirst(Datagram.headLength)
        guard bytes.count == Int(head.length) else { throw .short }
        guard 1...Self.mostParts ~= Int(head.parts), head.part < head.parts else { throw .unknown("part", Int(head.part)) }
        guard head.part == (begun?.head.part).map({ $0 + 1 }) ?? 0 else { throw .disorder }
        if let begun, (begun.head.kind, begun.head.serial, begun.head.parts) != (head.kind, head.serial, head.parts) { throw .disorder }
        let whole = (begun?.bytes ?? []) + bytes
        guard head.part + 1 == head.parts else {
            begun = (head, whole)
            return nil
        }
        begun = nil
        var body = WireReader(whole[...])
        let message = try Message(kind: head.kind, from: &body)
        try body.end()
        return (message, head.serial)
    }

    private static var mostParts: Int { max(1, Message.mostParts) }
}
