import CKioskFFmpeg
import DequeModule

/// The packets that a hardware decoder has been given and whose pictures may not have come out yet, from a key frame on: what software
/// begins with where the hardware fails in mid-item.
///
/// Pictures come out in the order of their presentation, so with one that is not before a key frame all before that key frame are out.
struct KeptPackets: ~Copyable, Sendable {
    private var packets = PacketQueue()
    /// Where the key frames are: how many packets were ever put in before, and their timestamps.
    private var keys: Deque<(number: Int, stamp: Int64)> = []
    /// How many packets were ever taken out.
    private var taken = 0
    var byteCount: Int { packets.byteCount }
    /// Whether nothing was left out for want of room since the key frame they begin with.
    private(set) var isComplete = true
    /// Whether a key frame is among them.
    var hasKey: Bool { !keys.isEmpty }
    /// Packets that are kept.
    var count: Int { packets.count }
    /// The timestamp of the packet that is presented last; nil where there is none.
    private(set) var lastStamp: Int64?

    /// No more bytes than this are kept: half a minute of a stream of 8 Mbit/s. Where key frames are further apart, all are left out up to
    /// the next key frame.
    static let byteLimit = 32 << 20
    private let limit: Int

    /// None yet; `limit` bytes at most.
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

    /// A picture with this timestamp has come out.
    mutating func gaveOut(_ stamp: Int64) {
        while keys.count > 1, keys[1].stamp <= stamp { keys.removeFirst() }
        guard let first = keys.first, first.stamp <= stamp else { return }
        while taken < first.number, popFirst() != nil {}
    }

    /// Drops all of them.
    mutating func removeAll() {
        packets.removeAll()
        keys = []
        (taken, isComplete, lastStamp) = (0, true, nil)
    }

    /// Takes the oldest; nil when there is none.
    mutating func popFirst() -> Packet? {
        guard let packet = packets.popFirst() else { return nil }
        taken += 1
        return packet
    }
}

extension Packet {
    /// Another reference to the same packet; nil without memory. The corresponding C function is `av_packet_ref`.
    borrowing func shared() -> Packet? {
        let copy = Packet()
        guard av_packet_ref(copy.raw, raw) >= 0 else { return nil }
        return copy
    }

    /// When it is presented, in ticks of its stream; when it is decoded where the container does not tell. nil where it tells neither.
    var stamp: Int64? { [raw.pointee.pts, raw.pointee.dts].first { $0 != kAV_NOPTS_VALUE } }
}
