import CKioskFFmpeg
import DequeModule

/// Packets of one stream that have been read and wait for its decoder, in order.
struct PacketQueue: ~Copyable, Sendable {
    private var packets = UniqueDeque<Packet>()
    /// Bytes of all packets in the queue.
    private(set) var byteCount = 0

    /// Packets in the queue.
    var count: Int { packets.count }
    /// Whether there is no packet.
    var isEmpty: Bool { packets.isEmpty }

    /// Puts a packet at the end.
    mutating func append(_ packet: consuming Packet) {
        byteCount += Int(packet.raw.pointee.size)
        packets.append(packet)
    }

    /// Takes the oldest packet; nil when there is none.
    mutating func popFirst() -> Packet? {
        guard let packet = packets.popFirst() else { return nil }
        byteCount -= Int(packet.raw.pointee.size)
        return packet
    }

    /// Drops all packets and the memory of the queue.
    mutating func removeAll() {
        packets = UniqueDeque()
        byteCount = 0
    }
}
