import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

/// Rebases packet timestamps after jumps: each stream gets continuous times. A ``StreamClock`` for each stream finds the jumps. This type
/// reads ahead if that needs a sequel, and rewrites the packets.
struct TimestampRebaser: Sendable {
    private var pictures = StreamClock(), sound = StreamClock()
    private var hasReportedJump = false

    /// The present offset of the picture times.
    var pictureOffset: MediaTime { pictures.offset }

    /// The most to read ahead to see whether timestamps come back.
    private static let readAheadLimit = (packets: 4000, bytes: 8 << 20)

    /// Restarts with the first packets expected at container time `begin` (nil: anywhere). `hasVideo`: whether there are pictures whose
    /// times the sound follows.
    mutating func restart(expecting begin: MediaTime?, frameDuration: MediaTime?, hasVideo: Bool) {
        pictures = StreamClock(expecting: begin, frameDuration: frameDuration)
        sound = StreamClock(expecting: begin, leads: !hasVideo)
    }

    /// Rewrites the timestamps and the duration of the last packet taken from `source`.
    ///
    /// - Returns: the time to which timestamps jump wrongly; only for the first such jump.
    mutating func rebase(_ packet: borrowing Packet, from source: inout PacketSource) -> MediaTime? {
        let raw = packet.raw, index = packet.raw.pointee.stream_index
        guard source.streams.contains(index), let stream = source.stream(index) else { return nil }
        if index == source.streams.subtitle {
            // Subtitles come at any time and move with the pictures.
            move(raw, by: pictures.offset, stream)
            return nil
        }
        let isPicture = index == source.streams.video
        // Of reordered frames, only the decoding times are in order.
        guard
            let time = isPicture && stream.pointee.codecpar.pointee.video_delay > 0
                ? stream.time(raw.pointee.dts) : source.decodingTime(of: raw)
        else { return nil }
        let extent = source.extent
        let listed = stream.time(raw.pointee.duration) ?? .zero
        let shown = stream.time(raw.pointee.pts) ?? time
        if raw.pointee.flags & AV_PKT_FLAG_DISCARD != 0, pictures.presentation(at: shown, decodedAt: time, within: extent) == .on {
            let isLeftOut =
                isPicture
                ? pictures.leavesOut(at: time, lasting: listed, within: extent) : sound.leavesOut(at: time, lasting: listed, within: extent)
            if isLeftOut { return nil }
        }
        let (clock, other) = isPicture ? (pictures, sound) : (sound, pictures)
        let duration = StreamClock.duration(listed, at: time, within: extent)
        if duration != listed { raw.pointee.duration = duration.ticks(of: stream.pointee.time_base) }
        let sequel = clock.isDoubtful(at: time, beside: other, within: extent) ? sequel(of: time, in: index, of: &source) : .unknown
        let (offset, isJump) =
            isPicture
            ? pictures.offset(at: time, lasting: duration, beside: sound, within: extent, sequel: sequel)
            : sound.offset(at: time, lasting: duration, beside: pictures, within: extent, sequel: sequel)
        var jump: MediaTime?
        if let presentation = stream.time(raw.pointee.pts), raw.pointee.dts != kAV_NOPTS_VALUE {
            let step = clock.presentation(at: presentation + offset, decodedAt: time + offset, within: extent)
            if isDamaged(presentation, step, in: index, of: &source) {
                raw.pointee.pts = kAV_NOPTS_VALUE
                raw.pointee.flags &= ~AV_PKT_FLAG_DISCARD
                jump = presentation
            }
        }
        if isJump, !extent.mayJump { jump = jump ?? time }
        if offset != .zero {
            move(raw, by: offset, stream)
            // The demuxer marks frames beyond the end of an edit list as hidden, and used the damaged time for that.
            if !extent.mayJump { raw.pointee.flags &= ~AV_PKT_FLAG_DISCARD }
        }
        if isPicture, extent.mayJump, raw.pointee.flags & AV_PKT_FLAG_CORRUPT != 0, isBeforeJoint(index, within: extent, of: &source) {
            raw.pointee.flags &= ~AV_PKT_FLAG_CORRUPT
        }
        guard let jump, !hasReportedJump else { return nil }
        hasReportedJump = true
        return jump
    }

    /// Whether files were joined right after the last rebased picture, or after the next one. The demuxer marks the last picture before a
    /// joint as damaged, as the packet counters do not fit there. libavformat's parser passes the mark on with the picture before. If
    /// something is really missing, the decoder reports it.
    private func isBeforeJoint(_ index: Int32, within extent: StreamClock.Extent, of source: inout PacketSource) -> Bool {
        guard !isURL(source.name), let stream = source.stream(index) else { return false }
        var (position, count) = (0, 0)
        while count < 2, position < Self.readAheadLimit.packets, let packet = source.peek(position) {
            position += 1
            guard packet.pointee.stream_index == index else { continue }
            count += 1
            let isReordered = stream.pointee.codecpar.pointee.video_delay > 0
            guard let time = isReordered ? stream.time(packet.pointee.dts) : source.decodingTime(of: packet) else { return false }
            if pictures.jumps(to: time, beside: sound, within: extent) { return true }
        }
        return false
    }

    private func move(_ raw: UnsafeMutablePointer<AVPacket>, by offset: MediaTime, _ stream: UnsafeMutablePointer<AVStream>) {
        let ticks = offset.ticks(of: stream.pointee.time_base)
        // A sum that overflows is implausible, whatever its value.
        if raw.pointee.dts != kAV_NOPTS_VALUE { raw.pointee.dts &+= ticks }
        if raw.pointee.pts != kAV_NOPTS_VALUE { raw.pointee.pts &+= ticks }
    }

    /// Whether a frame's presentation time is damaged. Frames decoded after the first one behind a gap, and presented before it, go back in
    /// time, too. So it is damaged only if more frames go back than ever wait for another.
    private func isDamaged(_ presentation: MediaTime, _ step: StreamClock.Step, in index: Int32, of source: inout PacketSource) -> Bool {
        if step != .doubtful { return step == .jump }
        return sequel(of: presentation, in: index, of: &source, returns: 17, by: \.pts) == .returns
    }

    /// Reads ahead for the sequel of a step to `time`. The times come back if `returns` packets do.
    private func sequel(
        of time: MediaTime, in index: Int32, of source: inout PacketSource, returns: Int = 1, by kind: KeyPath<AVPacket, Int64>? = nil
    ) -> StreamClock.Sequel {
        guard !isURL(source.name), let stream = source.stream(index) else { return .unknown }
        let clock = index == source.streams.video ? pictures : sound
        var (position, bytes, back) = (0, 0, 0)
        while true {
            if position == source.packetsAhead, position >= Self.readAheadLimit.packets || bytes >= Self.readAheadLimit.bytes {
                return .goesOn
            }
            guard let packet = source.peek(position) else { return .ends }
            bytes += Int(packet.pointee.size)
            let next = kind.map { stream.time(packet.pointee[keyPath: $0]) } ?? source.decodingTime(of: packet)
            if packet.pointee.stream_index == index, let next, let sequel = clock.sequel(of: time, next: next) {
                back += 1
                if sequel != .returns || back >= returns { return sequel }
            }
            position += 1
        }
    }
}
