import CKioskFFmpeg
import DequeModule
import KioskPlatform

/// A queue of received packets of a stream, in order, with the time that they cover.
///
/// The time is the sum of the steps from packet to packet, so timestamps may jump. Dropped packets still count: the packet behind them has
/// a longer step.
struct ReceivedPackets: ~Copyable, Sendable {
    /// One of the two played streams.
    struct Track: Hashable, Sendable {
        /// Decoding time of the last packet that came.
        var last: MediaTime?
        /// The time that the packets in the queue cover.
        var level = MediaTime.zero
        /// The steps of dropped packets.
        var dropped = MediaTime.zero
        var count = 0

        /// Returns the step from the last packet to one with decoding time `time` and duration `duration`.
        mutating func step(to time: MediaTime?, duration: MediaTime) -> MediaTime {
            defer { if let time { last = time } }
            guard let time, let last else { return duration }
            let step = time - last
            return step >= .zero && step < Self.longestStep ? step : duration
        }

        private static let longestStep = MediaTime.seconds(10)
    }

    /// A packet and its step from the one before it in the same stream. `isPicture` is nil for subtitles, which do not count.
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

    /// The time queued: the smaller one of the two streams. A stream without packets here does not count.
    var level: MediaTime {
        switch (pictures.count, sound.count) {
        case (0, _): sound.level
        case (_, 0): pictures.level
        default: min(pictures.level, sound.level)
        }
    }

    /// Appends a packet; returns its step from the one before.
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

    /// Appends a packet of subtitles.
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

    /// Drops the packets before the newest key frame with at least `time` of pictures from it on. Without pictures, drops all but `time` of
    /// sound.
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
        // The next packet of each stream is that much further behind the last one taken.
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

    /// Drops everything; the next packet has none before it.
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
