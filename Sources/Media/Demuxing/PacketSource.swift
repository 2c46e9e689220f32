import CKioskFFmpeg
import DequeModule
import Glibc
import KioskPlatform
import KioskVocabulary

/// The played streams of a source, by their index in the AVFormatContext; -1 for none.
struct StreamIndices: Hashable, Sendable {
    var video: Int32 = -1
    var audio: Int32 = -1
    var subtitle: Int32 = -1

    /// Whether packets of this stream are decoded.
    func contains(_ index: Int32) -> Bool { index == video || index == audio || index == subtitle }
}

/// The packets of an opened source, in file order and with libavformat's timestamps.
///
/// Allows a look at packets behind the next one: the packets after a timestamp jump show its kind (``TimestampRebaser``). They stay in
/// memory until ``next()`` hands them out in order.
struct PacketSource: ~Copyable, @unchecked Sendable {
    // Sendable because the pointers refer to parts of the format, which owns them.
    /// The path or URL.
    let name: String
    let format: FormatContext
    let interruption: Interruption
    /// The time limit of a step of opening, and of a seek.
    let openingLimit: MediaTime
    /// The receiver of a network source; nil for a file, which is read on demand.
    private let receiving: Receiving?
    private let readingLimit: MediaTime
    /// The streams found at opening: the context's list may move while packets arrive.
    private let found: [UnsafeMutablePointer<AVStream>?]
    /// The played streams. The sound may be dropped later.
    var streams: StreamIndices
    /// The reason in words if reading failed before the end; nil otherwise.
    private(set) var prematureEnd: String?
    /// Whether a packet was encrypted.
    private(set) var isEncrypted = false
    /// Packets that ``peek(_:)`` read and ``next()`` has not handed out.
    private var ahead = UniqueDeque<Packet>()
    /// The container time of the source's beginning, according to the container.
    let begin: MediaTime?
    /// Whether libavformat has given its last packet.
    private var hasEnded = false

    init(
        _ format: FormatContext, name: String, streams: StreamIndices, interruption: Interruption,
        settings: StreamSettings = StreamSettings(), isLive: Bool = false, keepsAllSubtitles: Bool = false
    ) {
        self.format = format
        self.name = name
        self.streams = streams
        self.interruption = interruption
        found = (0..<Int(format.raw.pointee.nb_streams)).map { format.raw.pointee.streams[$0] }
        begin = MediaTime(ticks: format.raw.pointee.start_time, of: shim_rational(1, AV_TIME_BASE))
        guard isStream(name) else {
            (receiving, openingLimit, readingLimit) = (nil, openingTimeLimit, readingTimeLimit)
            return
        }
        (openingLimit, readingLimit) = (settings.timeout, settings.timeout)
        receiving = Receiving(
            PacketReceiver(
                format, streams: streams, interruption: interruption, isLive: isLive,
                isPartly: SourceOptions.kind(of: name) == .http, settings: settings, keepsAllSubtitles: keepsAllSubtitles,
                extent: format.extent(of: streams)))
    }

    /// Marks the first picture as decoded: from now on a live stream collects the packets it receives.
    func opened() { receiving?.receiver.opened() }

    /// The receiver of a network source; nil for a file.
    var receiver: PacketReceiver? { receiving?.receiver }

    /// Returns the next packet; nil at the end, after an error (``prematureEnd``) and when cancelled. Blocks, for a file at most
    /// ``readingTimeLimit``, for a stream until 2 s after its receiver's limit.
    mutating func next() -> Packet? { ahead.popFirst() ?? read() }

    /// The number of packets in memory that ``next()`` hands out without reading.
    var packetsAhead: Int { ahead.count }

    /// Returns the packet `position` places behind the next one; nil if the source ends before it. Valid until ``next()`` hands it out.
    mutating func peek(_ position: Int) -> UnsafeMutablePointer<AVPacket>? {
        while position >= ahead.count {
            guard let packet = read() else { return nil }
            ahead.append(packet)
        }
        return ahead[position].raw
    }

    /// Reads a packet from libavformat, or takes a received one.
    private mutating func read() -> Packet? {
        if hasEnded || interruption.cancelled { return nil }
        if let receiver { return take(from: receiver) }
        let packet = Packet()
        let status = format.read(packet, within: readingTimeLimit, interruption)
        guard status >= 0 else {
            end(with: status)
            return nil
        }
        if shim_packet_is_encrypted(packet.raw) != 0 { isEncrypted = true }
        return packet
    }

    /// Waits for a packet a little longer than the receiver may wait itself: an uninterruptible call may never return.
    private mutating func take(from receiver: PacketReceiver) -> Packet? {
        let interruption = interruption
        return interruption.reading { next(of: receiver) }
    }

    private mutating func next(of receiver: PacketReceiver) -> Packet? {
        var giveUp = HostTime.now + readingLimit + Self.margin
        while !interruption.cancelled {
            switch receiver.take(until: .now + .milliseconds(100)) {
            case .packet(let packet):
                if receiver.isEncrypted { isEncrypted = true }
                return packet
            case .end(let status):
                end(with: status)
                return nil
            case nil:
                // The receiver is busy: its own limit counts.
                giveUp = max(giveUp, interruption.deadline + Self.margin)
                if HostTime.now > giveUp {
                    end(with: kAVERROR_EXIT)
                    return nil
                }
            }
        }
        return nil
    }

    private static let margin = MediaTime.seconds(2)

    private mutating func end(with status: Int32) {
        hasEnded = true
        guard status != kAVERROR_EOF, !interruption.cancelled else { return }
        // For HTTP without a length, FFmpeg reports the end as an error.
        if status == shim_averror(EIO), receiver?.isLive == true, SourceOptions.kind(of: name) == .http, !format.isList { return }
        let isTimeout = status == kAVERROR_EXIT || status == shim_averror(ETIMEDOUT)
        if status == PacketReceiver.tooFast {
            prematureEnd = "the network is too slow for it: kiosk goes on with a smaller picture"
            return
        }
        prematureEnd = isTimeout ? MediaError.Reason.timedOut(seconds: readingLimit.seconds).text : averrorText(status)
    }

    /// Moves to a point from which container time `time` can be decoded, or to the first byte. Discards the packets in memory. The
    /// corresponding C function is `avformat_seek_file`.
    ///
    /// - Parameters:
    ///   - isBeginning: whether `time` is the beginning of the source.
    ///   - index: the stream whose index to use; -1 for libavformat's choice.
    /// - Throws: ``MediaError/Reason/cancelled``; ``MediaError/Reason/notSeekable(_:)``; for a stream
    ///   ``MediaError/Reason/timedOut(seconds:)``.
    mutating func seek(to time: MediaTime, isBeginning: Bool, index: Int32) throws(MediaError) {
        ahead = UniqueDeque()
        hasEnded = false
        let timestamp = stream(index).map { time.ticks(of: $0.pointee.time_base) } ?? time.nanoseconds / 1000
        if let receiver {
            let status = receiver.seek(
                index: index, timestamp: timestamp, mayJump: isBeginning && format.mayJump, until: .now + openingLimit + Self.margin)
            if interruption.cancelled { throw MediaError(name, .cancelled) }
            guard let status else { throw MediaError(name, .timedOut(seconds: openingLimit.seconds)) }
            if status < 0 { throw MediaError(name, .notSeekable(averrorText(status))) }
            return
        }
        var status: Int32 = -1
        // Only formats without an index go straight to the first byte: other demuxers would continue to count times from their old
        // position.
        if !isBeginning || !format.mayJump {
            let (index, timestamp) = soundPreroll(before: time) ?? (index, timestamp)
            status = avformat_seek_file(format.raw, index, .min, timestamp, timestamp, 0)
        }
        if status < 0 { status = format.seekToBeginning(streams) }
        if interruption.cancelled { throw MediaError(name, .cancelled) }
        if status < 0 { throw MediaError(name, .notSeekable(averrorText(status))) }
    }

    /// Returns the seek target, and its stream, in a file with only AAC; nil for any other file. Half of a frame comes from the one before,
    /// without which its beginning fades in. At the beginning that is the priming, with times below zero.
    private func soundPreroll(before time: MediaTime) -> (index: Int32, timestamp: Int64)? {
        guard streams.video < 0, let stream = stream(streams.audio), let parameters = stream.pointee.codecpar,
            parameters.pointee.codec_id == AV_CODEC_ID_AAC, parameters.pointee.sample_rate > 0,
            let first = avformat_index_get_entry(stream, 0)?.pointee.timestamp
        else { return nil }
        let frame = MediaTime.seconds(Double(parameters.pointee.frame_size) / Double(parameters.pointee.sample_rate))
        let wanted = (time - frame).ticks(of: stream.pointee.time_base)
        return (streams.audio, max(wanted, min(first, time.ticks(of: stream.pointee.time_base))))
    }

    /// Makes libavformat discard the packets of the sound stream from now on.
    mutating func discardSound() {
        guard let stream = stream(streams.audio) else { return }
        if let receiver { receiver.listen(to: -1) } else { shim_stream_discard(stream, 1) }
        streams.audio = -1
    }

    /// Makes libavformat give out the packets of another sound stream from now on.
    mutating func selectSound(_ index: Int32) {
        guard let stream = stream(index) else { return }
        if let receiver {
            receiver.listen(to: index)
        } else {
            discardSound()
            shim_stream_discard(stream, 0)
        }
        streams.audio = index
    }

    /// Makes libavformat give out the packets of another subtitle stream from now on; -1 for none.
    mutating func selectSubtitles(_ index: Int32) {
        if let receiver {
            receiver.listen(toSubtitles: index)
        } else {
            for other in found.indices where isSubtitle(Int32(other)) { shim_stream_discard(found[other], Int32(other) == index ? 0 : 1) }
        }
        streams.subtitle = index
    }

    /// Whether a stream has subtitles.
    func isSubtitle(_ index: Int32) -> Bool { stream(index)?.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_SUBTITLE }

    // MARK: Times according to libavformat

    /// Returns the stream with this index; nil if there is none.
    func stream(_ index: Int32) -> UnsafeMutablePointer<AVStream>? {
        if index >= 0, index < found.count { return found[Int(index)] }
        guard receiver == nil, index >= 0, index < format.raw.pointee.nb_streams else { return nil }
        return format.raw.pointee.streams[Int(index)]
    }

    /// Returns the kind of a track that appeared after opening; nil for an earlier track, for other kinds, and for a network stream.
    func kindOfNewTrack(_ index: Int32) -> TrackKind? {
        guard receiver == nil, index >= found.count, index < format.raw.pointee.nb_streams,
            let type = format.raw.pointee.streams[Int(index)]?.pointee.codecpar.pointee.codec_type
        else { return nil }
        return type == AVMEDIA_TYPE_VIDEO ? .video : type == AVMEDIA_TYPE_AUDIO ? .audio : nil
    }

    /// Returns the decoding time of a packet in container time: its decoding timestamp, else its presentation timestamp, else nil.
    func decodingTime(of packet: UnsafeMutablePointer<AVPacket>) -> MediaTime? {
        let value = packet.pointee.dts == kAV_NOPTS_VALUE ? packet.pointee.pts : packet.pointee.dts
        return stream(packet.pointee.stream_index)?.time(value)
    }

    /// The extent of the source according to the container so far: a fragmented file grows as it is read.
    var extent: StreamClock.Extent { receiver?.extent ?? format.extent(of: streams) }
}

extension FormatContext {
    /// Reads the next packet; returns libavformat's status. The corresponding C function is `av_read_frame`.
    func read(_ packet: borrowing Packet, within limit: MediaTime, _ interruption: Interruption) -> Int32 {
        interruption.allow(limit)
        var status: Int32
        while true {
            status = av_read_frame(raw, packet.raw)
            if status != kAVERROR_EAGAIN || interruption.isOver { break }
            usleep(Self.retryPause)
        }
        if status >= 0, firstStamps[packet.raw.pointee.stream_index] == nil {
            firstStamps[packet.raw.pointee.stream_index] =
                packet.raw.pointee.dts == kAV_NOPTS_VALUE ? packet.raw.pointee.pts : packet.raw.pointee.dts
        }
        // Most demuxers report a failed read as the end of the file; the I/O context keeps the error.
        if status == kAVERROR_EOF, let io = raw.pointee.pb, io.pointee.error < 0 { return io.pointee.error }
        return status
    }

    /// Moves to the first byte, or to the first packet of a list, which has no first byte. A list's demuxer skips packets decoded before a
    /// time, and then all up to a key frame. Returns libavformat's status.
    func seekToBeginning(_ streams: StreamIndices) -> Int32 {
        let index = streams.video >= 0 ? streams.video : streams.audio
        guard isList, let first = firstStamps[index] else { return avformat_seek_file(raw, -1, .min, 0, .max, AVSEEK_FLAG_BYTE) }
        return avformat_seek_file(raw, index, .min, first, first, 0)
    }

    /// The pause between two reads of a source without a packet yet (EAGAIN), in microseconds.
    private static let retryPause: UInt32 = 5000

    /// Whether timestamps of this format may jump, as in a transport stream. The format's flag is AVFMT_TS_DISCONT.
    var mayJump: Bool { raw.pointee.iformat.pointee.flags & AVFMT_TS_DISCONT != 0 }

    /// Whether it is a list of separately fetched parts (HLS, DASH).
    var isList: Bool { ["hls", "dash"].contains(String(cString: raw.pointee.iformat.pointee.name)) }

    /// Whether it can seek. libavformat seeks in a list by its parts and fetches each from its beginning. So neither the list's own
    /// transport nor the server's support for ranges matters.
    var isSeekable: Bool {
        if isList { return raw.pointee.ctx_flags & AVFMTCTX_UNSEEKABLE == 0 && !input.hasPiecesOfMP4 }
        return raw.pointee.pb == nil || raw.pointee.pb.pointee.seekable != 0
    }

    /// Makes libavformat give out only the packets of these streams, and of all subtitles if `andSubtitles`.
    func giveOut(_ streams: StreamIndices, andSubtitles: Bool = false) {
        for index in 0..<Int32(raw.pointee.nb_streams) where !streams.contains(index) {
            let stream = raw.pointee.streams[Int(index)]
            if andSubtitles, stream?.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_SUBTITLE { continue }
            shim_stream_discard(stream, 1)
        }
    }

    /// Returns the extent of these streams according to the container.
    func extent(of streams: StreamIndices) -> StreamClock.Extent {
        let context = raw.pointee
        var extent = StreamClock.Extent(mayJump: mayJump, end: nil)
        // A duration that libavformat computed from the bit rate means nothing.
        guard context.duration_estimation_method != AVFMT_DURATION_FROM_BITRATE, context.duration > 0,
            let begin = MediaTime(ticks: context.start_time, of: shim_rational(1, AV_TIME_BASE)),
            let duration = MediaTime(ticks: context.duration, of: shim_rational(1, AV_TIME_BASE))
        else { return extent }
        var end = begin + duration
        for index in [streams.video, streams.audio] where index >= 0 && index < context.nb_streams {
            guard let stream = context.streams[Int(index)], let length = stream.time(stream.pointee.duration) else { continue }
            end = max(end, (stream.time(stream.pointee.start_time) ?? .zero) + length)
        }
        extent.end = end
        return extent
    }
}
