import CKioskFFmpeg
import DequeModule
import KioskPlatform
import KioskVocabulary
import Synchronization

/// Reads a source packet by packet into queues for pictures and sound. Measures how far apart the two are in the file.
/// Either side reads when its queue is empty, and packets of the other side pile up meanwhile. In a badly interleaved file, the pictures
/// may wait for sound that lies far behind or never comes. Two limits end that wait: ``isSoundMissing(from:)`` replaces late sound by
/// silence, and ``interleavingLimit`` bounds the bytes in a queue.
struct Demuxer: ~Copyable, Sendable {
    private(set) var source: PacketSource
    var pictures = PacketQueue(), sound = PacketQueue(), subtitles = PacketQueue()
    /// Whether the last packet is in its queue.
    private(set) var hasReadAll = false
    private(set) var hasReadPacket = false
    /// Problems found in the source so far: each text once, new ones at the end.
    private(set) var problems: [String]
    /// The container time at which the sound read so far ends.
    private(set) var soundReadTo: MediaTime?
    /// Whether the pictures are a video track: a cover has no times.
    private let hasVideo: Bool
    /// Whether the subtitles are not chosen yet: the beginning of all is kept until then.
    private var keepsAllSubtitles: Bool
    private var rebaser = TimestampRebaser()
    /// The offset added to the container's times of the last picture read.
    var pictureOffset: MediaTime { rebaser.pictureOffset }
    /// The container time of the last picture packet read.
    private(set) var pictureReadTo: MediaTime?
    /// The longest lag of the sound behind the pictures in the file so far.
    private var soundLag = MediaTime.zero

    /// The most bytes for packets of one kind while the other kind is wanted. No player handles a file that needs more.
    private static let interleavingLimit = 64 << 20
    /// The most bytes of subtitles that wait for their pictures.
    private static let mostSubtitles = 16 << 20
    /// The limits for missing sound. It is missing if the pictures are ahead by its longest lag so far and this time more. In a file they
    /// must also take this many bytes. kiosk reads these at once, so files interleaved no worse than that keep all of their sound.
    private static let missingSound = (time: MediaTime.seconds(2), bytes: 4 << 20)
    /// A longer lag does not extend the next wait: for example, an encoder's last packet after its pictures ended.
    private static let longestLag = MediaTime.seconds(10)

    init(
        _ source: consuming PacketSource, hasVideo: Bool, frameDuration: MediaTime?, problems: [String], keepsAllSubtitles: Bool = false
    ) {
        (self.hasVideo, self.keepsAllSubtitles) = (hasVideo, keepsAllSubtitles)
        self.problems = problems
        rebaser.restart(expecting: source.begin, frameDuration: frameDuration, hasVideo: hasVideo)
        self.source = source
    }

    /// Reads one packet into its queue; false at the end of the source. Blocks as ``PacketSource/next()`` does.
    mutating func read() -> Bool {
        guard let packet = source.next() else {
            hasReadAll = true
            reportEarlyEnd()
            return false
        }
        hasReadPacket = true
        if source.format.input.hasOtherHeader.load(ordering: .relaxed) {
            report("its list goes on with another header (EXT-X-MAP), which kiosk does not read: the rest is damaged or missing")
        }
        if let jump = rebaser.rebase(packet, from: &source) {
            report("its timestamps jump (to \(jump)): kiosk joins the two parts; export or remux it again")
        }
        let raw = packet.raw
        switch raw.pointee.stream_index {
        case source.streams.video:
            if hasVideo, let time = source.decodingTime(of: raw) { pictureReadTo = time }
            pictures.append(packet)
        case source.streams.audio:
            if let time = source.decodingTime(of: raw) {
                let end = time + (source.stream(source.streams.audio)?.time(raw.pointee.duration) ?? .zero)
                soundReadTo = max(soundReadTo ?? end, end)
                if let pictureReadTo, pictureReadTo - time < Self.longestLag { soundLag = max(soundLag, pictureReadTo - time) }
            }
            sound.append(packet)
            while sound.byteCount > Self.interleavingLimit { _ = sound.popFirst() }
        case source.streams.subtitle:
            subtitles.append(packet)
            while subtitles.byteCount > Self.mostSubtitles { _ = subtitles.popFirst() }
        case let index where keepsAllSubtitles && source.isSubtitle(index): subtitles.append(packet)
        default: reportNewTrack(raw.pointee.stream_index)
        }
        return true
    }

    /// Reports that a list had less than it states: libavformat skips unreadable parts without an error.
    private mutating func reportEarlyEnd() {
        guard source.format.isList, source.prematureEnd == nil, !source.interruption.cancelled, let end = source.extent.end,
            let readTo = [pictureReadTo, soundReadTo].compactMap({ $0 }).max(), end - readTo > Self.longestMissing
        else { return }
        report(
            "ends \(Int(saturating: (end - readTo).seconds.rounded())) s before the end in its list: kiosk cannot read parts of it, such as those "
                + "behind a second EXT-X-MAP")
    }

    /// The tolerance for the times of a list, which are rounded to seconds.
    private static let longestMissing = MediaTime.seconds(2)

    /// Reports pictures or sound in a track that did not exist at opening.
    private mutating func reportNewTrack(_ index: Int32) {
        guard let kind = source.kindOfNewTrack(index) else { return }
        report(
            "its \(kind == .video ? "pictures go" : "sound goes") on in another track, which kiosk does not play: its parts do not "
                + "fit, so join them again (ffmpeg -f concat)")
    }

    /// Whether the packets read show that no sound comes from container time `soundEnd` on, while the pictures continue.
    func isSoundMissing(from soundEnd: MediaTime) -> Bool {
        guard !hasReadAll, let pictureReadTo, pictureReadTo - soundEnd > soundLag + Self.missingSound.time else { return false }
        return pictures.byteCount > Self.missingSound.bytes || isURL(source.name)
    }

    /// Whether too many pictures wait for sound to read more for it.
    var isFull: Bool { pictures.byteCount > Self.interleavingLimit }

    /// Discards the packets read and continues at a point from which container time `time` can be decoded. `isBeginning`: whether the
    /// source begins at that time.
    ///
    /// - Throws: as ``PacketSource/seek(to:isBeginning:index:)``.
    mutating func seek(to time: MediaTime, isBeginning: Bool, frameDuration: MediaTime?) throws(MediaError) {
        pictures.removeAll()
        sound.removeAll()
        subtitles.removeAll()
        (hasReadAll, pictureReadTo, soundReadTo) = (false, nil, nil)
        try source.seek(to: time, isBeginning: isBeginning, index: hasVideo ? source.streams.video : -1)
        rebaser.restart(expecting: isBeginning ? source.begin : time, frameDuration: frameDuration, hasVideo: hasVideo)
    }

    /// Stops reading sound and discards it.
    mutating func leaveOutSound() {
        source.discardSound()
        sound.removeAll()
    }

    /// Reads the sound of another stream from here on; returns the old stream's packets that were read and not decoded.
    mutating func selectSound(_ index: Int32) -> PacketQueue {
        source.selectSound(index)
        soundReadTo = nil
        return exchange(&sound, with: PacketQueue())
    }

    /// Reads another subtitle stream from here on; -1 for none. The first choice keeps the packets of that stream read so far.
    mutating func selectSubtitles(_ index: Int32) {
        source.selectSubtitles(index)
        if keepsAllSubtitles { subtitles.keep(stream: index) } else { subtitles.removeAll() }
        keepsAllSubtitles = false
    }

    /// Adds a problem to ``problems`` unless it is there.
    mutating func report(_ problem: String) {
        if !problems.contains(problem) { problems.append(problem) }
    }
}

/// A queue of one stream's packets that wait for its decoder, in order.
struct PacketQueue: ~Copyable, Sendable {
    private var packets = UniqueDeque<Packet>()
    /// Bytes of all packets in the queue.
    private(set) var byteCount = 0

    var count: Int { packets.count }
    var isEmpty: Bool { packets.isEmpty }

    /// Puts a packet at the end.
    mutating func append(_ packet: consuming Packet) {
        byteCount += Int(packet.raw.pointee.size)
        packets.append(packet)
    }

    /// Takes the oldest packet; nil if there is none.
    mutating func popFirst() -> Packet? {
        guard let packet = packets.popFirst() else { return nil }
        byteCount -= Int(packet.raw.pointee.size)
        return packet
    }

    /// Discards all packets except those of one stream.
    mutating func keep(stream index: Int32) {
        var kept = PacketQueue()
        while let packet = popFirst() { if packet.raw.pointee.stream_index == index { kept.append(packet) } }
        self = kept
    }

    /// Discards all packets and the memory of the queue.
    mutating func removeAll() {
        packets = UniqueDeque()
        byteCount = 0
    }
}
