import CKioskFFmpeg
import DequeModule

/// The packets in a hardware decoder whose pictures may not have come out, from a key frame on. If the hardware fails in mid-item, software
/// begins with them.
///
/// Pictures come out in presentation order. So a picture at or after a key frame means that all before that key frame are out.
struct KeptPackets: ~Copyable, Sendable {
    private var packets = PacketQueue()
    /// The key frames: the number of packets before each since the start, and their timestamps.
    private var keys: Deque<(number: Int, stamp: Int64)> = []
    /// The number of packets taken out since the start.
    private var taken = 0
    var byteCount: Int { packets.byteCount }
    /// Whether no packet since the first key frame was dropped for lack of room.
    private(set) var isComplete = true
    /// Whether a key frame is among the packets.
    var hasKey: Bool { !keys.isEmpty }
    /// The number of packets.
    var count: Int { packets.count }
    /// The latest presentation timestamp; nil if there is none.
    private(set) var lastStamp: Int64?

    /// The most bytes to keep: half a minute of an 8 Mbit/s stream. If key frames are further apart, all packets up to the next one are
    /// dropped.
    static let byteLimit = 32 << 20
    private let limit: Int

    /// Creates an empty buffer of at most `limit` bytes.
    init(limit: Int = byteLimit) { self.limit = limit }

    /// Keeps another reference to a packet. The corresponding C function is `av_packet_ref`.
    mutating func append(_ packet: borrowing Packet) {
        let isKey = packet.raw.pointee.flags & AV_PKT_FLAG_KEY != 0
        if isKey, let stamp = packet.stamp {
            if !isComplete { removeAll() }
            keys.append((taken + packets.count, stamp))
        }
        let size = Int(packet.raw.pointee.size)
        guard isComplete, byteCount + size <= limit, let copy = packet.shared() else {
            removeAll()
            isComplete = false
            return
        }
        if let stamp = packet.stamp { lastStamp = max(lastStamp ?? stamp, stamp) }
        packets.append(copy)
    }

    /// Drops the packets before the last key frame at or before this picture's timestamp.
    mutating func gaveOut(_ stamp: Int64) {
        while keys.count > 1, keys[1].stamp <= stamp { keys.removeFirst() }
        guard let first = keys.first, first.stamp <= stamp else { return }
        while taken < first.number, popFirst() != nil {}
    }

    /// Drops all packets.
    mutating func removeAll() {
        packets.removeAll()
        keys = []
        (taken, isComplete, lastStamp) = (0, true, nil)
    }

    /// Takes the oldest packet; nil if there is none.
    mutating func popFirst() -> Packet? {
        guard let packet = packets.popFirst() else { return nil }
        taken += 1
        return packet
    }
}

extension Packet {
    /// Returns another reference to the same packet; nil without memory. The corresponding C function is `av_packet_ref`.
    borrowing func shared() -> Packet? {
        let copy = Packet()
        guard av_packet_ref(copy.raw, raw) >= 0 else { return nil }
        return copy
    }

    /// The presentation time in ticks of the stream; the decoding time if the container has no presentation time. nil if it has neither.
    var stamp: Int64? { [raw.pointee.pts, raw.pointee.dts].first { $0 != kAV_NOPTS_VALUE } }
}
