import CKioskFFmpeg
import DequeModule
import KioskPlatform

/// Packets of a stream that have been received and not been taken, in order, and how much time they cover.
///
/// The time is added up of the steps from packet to packet, so that timestamps may jump. What is dropped counts on: the packet behind it
/// has a longer step.
struct ReceivedPackets: ~Copyable, Sendable {
    /// One of the two streams that are played.
    struct Track: Hashable, Sendable {
        /// Decoding time of the packet that came last.
        var last: MediaTime?
        /// What the packets that are here cover.
        var level = MediaTime.zero
        /// Steps of packets that were dropped.
        var dropped = MediaTime.zero
        var count = 0

        /// How far a packet that is decoded at `time` and lasts `duration` is behind the one before.
        mutating func step(to time: MediaTime?, duration: MediaTime) -> MediaTime {
            defer { if let time { last = time } }
            guard let time, let last else { return duration }
            let step = time - last
            return step >= .zero && step < Self.longestStep ? step : duration
        }

        private static let longestStep = MediaTime.seconds(10)
    }

    /// A packet, and how far it is behind the one before it of the same stream. Subtitles are nil where pictures are true: they count for nothing.
    struct Entry: ~Copyable, Sendable {
        var packet: Packet
        var step: MediaTime
        var isPicture: Bool?
        var isKey: Bool
    }

    private var entries = UniqueDeque<Entry>()
    private(set) var pictures = Track(), sound = Track()
    private subscript(isPicture: Bool) -> Track {
        get { isPicture ? pictures : sound }
        set { if isPicture { pictures = newValue } else { sound = newValue } }
    }
    /// Bytes of all packets.
    private(set) var byteCount = 0

    var count: Int { entries.count }

    /// How much of the stream is here: of that of its two streams that has come less far. One that has none here does not count.
    var level: MediaTime {
        switch (pictures.count, sound.count) {
        case (0, _): sound.level
        case (_, 0): pictures.level
        default: min(pictures.level, sound.level)
        }
    }

    /// Appends a packet; returns how far it is behind the one before.
    @discardableResult
    mutating func append(_ packet: consuming Packet, isPicture: Bool, at time: MediaTime?, lasting duration: MediaTime) -> MediaTime {
        let isKey = packet.raw.pointee.flags & AV_PKT_FLAG_KEY != 0
        byteCount += Int(packet.raw.pointee.size)
        let step = self[isPicture].step(to: time, duration: duration)
        let whole = step + self[isPicture].dropped
        self[isPicture].dropped = .zero
        self[isPicture].level += whole
        self[isPicture].count += 1
        entries.append(Entry(packet: packet, step: whole, isPicture: isPicture, isKey: isKey))
        return step
    }

    /// Appends one of subtitles.
    mutating func append(subtitles packet: consuming Packet) {
        byteCount += Int(packet.raw.pointee.size)
        entries.append(Entry(packet: packet, step: .zero, isPicture: nil, isKey: false))
    }

    mutating func popFirst() -> Packet? {
        guard let entry = entries.popFirst() else { return nil }
        left(entry)
        return entry.packet
    }

    private mutating func left(_ entry: borrowing Entry) {
        byteCount -= Int(entry.packet.raw.pointee.size)
        guard let isPicture = entry.isPicture else { return }
        self[isPicture].level -= entry.step
        self[isPicture].count -= 1
    }

    /// Drops what is older than the newest key frame that has `time` of pictures behind it; all but `time` of a stream without pictures.
    mutating func drop(keeping time: MediaTime, hasPictures: Bool) {
        var behind = MediaTime.zero
        var index = entries.count - 1
        while index > 0 {
            if entries[index].isPicture == hasPictures {
                behind = behind + entries[index].step
                if behind >= time, entries[index].isKey || !hasPictures { break }
            }
            index -= 1
        }
        guard index > 0 else { return }
        var dropped = (pictures: MediaTime.zero, sound: MediaTime.zero)
        for _ in 0..<index {
            guard let entry = entries.popFirst() else { break }
            left(entry)
            switch entry.isPicture {
            case true: dropped.pictures = dropped.pictures + entry.step
            case false: dropped.sound = dropped.sound + entry.step
            case nil: break
            }
        }
        // The next packet of either is as much further behind the one that was taken last.
        add(dropped.pictures, isPicture: true)
        add(dropped.sound, isPicture: false)
    }

    private mutating func add(_ step: MediaTime, isPicture: Bool) {
        for index in 0..<entries.count where entries[index].isPicture == isPicture {
            entries[index].step += step
            self[isPicture].level += step
            return
        }
        self[isPicture].dropped += step
    }

    /// Drops everything; what comes next has no packet before it.
    mutating func removeAll() {
        entries = UniqueDeque()
        (pictures, sound, byteCount) = (Track(), Track(), 0)
    }

    mutating func removeSound() {
        var kept = UniqueDeque<Entry>()
        while let entry = entries.popFirst() {
            if entry.isPicture != false { kept.append(entry) } else { byteCount -= Int(entry.packet.raw.pointee.size) }
        }
        entries = kept
        sound = Track()
    }
}
