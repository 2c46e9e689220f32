import CKioskFFmpeg
import DequeModule
import KioskPlatform
import KioskVocabulary
import Synchronization

/// Reads a source packet by packet into a queue for its pictures and one for its sound, and judges how far the two are apart in the file.
///
/// Either side reads on when its queue is empty, so packets of the other side pile up meanwhile. Where a file is interleaved so badly that
/// the pictures wait for sound that lies far behind, or for sound that never comes, two limits end the wait: ``isSoundMissing(from:)``
/// takes sound that has not come for silence, and ``interleavingLimit`` bounds the bytes in a queue.
struct Demuxer: ~Copyable, Sendable {
    private(set) var source: PacketSource
    var pictures = PacketQueue(), sound = PacketQueue(), subtitles = PacketQueue()
    /// Whether the last packet is in its queue.
    private(set) var hasReadAll = false
    private(set) var hasReadPacket = false
    /// What is wrong with the source, as far as it has been read: each text once, later ones at the end.
    private(set) var problems: [String]
    /// Container time at which the sound read so far ends.
    private(set) var soundReadTo: MediaTime?
    /// Whether the pictures are a video track: those of a cover have no times.
    private let hasVideo: Bool
    /// Whether it has still to be said which subtitles are wanted: the beginning of all is kept until then.
    private var keepsAllSubtitles: Bool
    private var rebaser = TimestampRebaser()
    /// What has been added to the container's times of the picture that was read last.
    var pictureOffset: MediaTime { rebaser.pictureOffset }
    /// Container time of the picture packet that was read last.
    private(set) var pictureReadTo: MediaTime?
    /// How far behind the pictures the sound in the file has been at most.
    private var soundLag = MediaTime.zero

    /// Bytes that the packets of one kind may take while the other kind is wanted; a file that needs more plays nowhere.
    private static let interleavingLimit = 64 << 20
    /// Bytes of subtitles that wait for the pictures that they belong to.
    private static let mostSubtitles = 16 << 20
    /// Sound is missing where the pictures read are further ahead of it than it has lagged so far, and by this time more. In a file they
    /// must be so many bytes, too: these are read at once, so what is interleaved no worse than that keeps all of its sound.
    private static let missingSound = (time: MediaTime.seconds(2), bytes: 4 << 20)
    /// A lag beyond this is not waited for the next time: it is the last packet of an encoder whose pictures had ended, for one.
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

    /// Says that a list of parts has given less than it tells: libavformat leaves out parts that it cannot read, without an error.
    private mutating func reportEarlyEnd() {
        guard source.format.isList, source.prematureEnd == nil, !source.interruption.cancelled, let end = source.extent.end,
            let readTo = [pictureReadTo, soundReadTo].compactMap({ $0 }).max(), end - readTo > Self.longestMissing
        else { return }
        report(
            "ends \(Int(saturating: (end - readTo).seconds.rounded())) s before the end in its list: kiosk cannot read parts of it, such as those "
                + "behind a second EXT-X-MAP")
    }

    /// The times of a list are rounded to seconds.
    private static let longestMissing = MediaTime.seconds(2)

    /// Says that pictures or sound come in a track which was not there when the source was opened.
    private mutating func reportNewTrack(_ index: Int32) {
        guard let kind = source.kindOfNewTrack(index) else { return }
        report(
            "its \(kind == .video ? "pictures go" : "sound goes") on in another track, which kiosk does not play: its parts do not "
                + "fit, so join them again (ffmpeg -f concat)")
    }

    /// Whether what has been read says that no sound comes from container time `soundEnd` on, while the pictures go on.
    func isSoundMissing(from soundEnd: MediaTime) -> Bool {
        guard !hasReadAll, let pictureReadTo, pictureReadTo - soundEnd > soundLag + Self.missingSound.time else { return false }
        return pictures.byteCount > Self.missingSound.bytes || isURL(source.name)
    }

    /// Whether so many pictures wait for sound that no more may be read for it.
    var isFull: Bool { pictures.byteCount > Self.interleavingLimit }

    /// Drops what has been read and goes on where container time `time` can be decoded; `isBeginning` where the source begins at that time.
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

    /// Neither reads nor keeps sound from now on.
    mutating func leaveOutSound() {
        source.discardSound()
        sound.removeAll()
    }

    /// Reads the sound of another stream from here on; returns what has been read of the one before and not been decoded.
    mutating func selectSound(_ index: Int32) -> PacketQueue {
        source.selectSound(index)
        soundReadTo = nil
        return exchange(&sound, with: PacketQueue())
    }

    /// Reads another stream of subtitles from here on; -1 for none. Of the first one what has been read by then is kept.
    mutating func selectSubtitles(_ index: Int32) {
        source.selectSubtitles(index)
        if keepsAllSubtitles { subtitles.keep(stream: index) } else { subtitles.removeAll() }
        keepsAllSubtitles = false
    }

    /// Adds to ``problems`` what is not among them.
    mutating func report(_ problem: String) {
        if !problems.contains(problem) { problems.append(problem) }
    }
}

/// Packets of one stream that have been read and wait for its decoder, in order.
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

    /// Takes the oldest packet; nil when there is none.
    mutating func popFirst() -> Packet? {
        guard let packet = packets.popFirst() else { return nil }
        byteCount -= Int(packet.raw.pointee.size)
        return packet
    }

    /// Drops all packets but those of a stream.
    mutating func keep(stream index: Int32) {
        var kept = PacketQueue()
        while let packet = popFirst() { if packet.raw.pointee.stream_index == index { kept.append(packet) } }
        self = kept
    }

    /// Drops all packets and the memory of the queue.
    mutating func removeAll() {
        packets = UniqueDeque()
        byteCount = 0
    }
}
