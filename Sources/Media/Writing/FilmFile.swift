import CKioskFFmpeg
import Glibc
import KioskPlatform

/// The muxer of a film.
///
/// A fragment is on the disk when the next one begins (``FilmOutput/sync()``). The index of a fragmented file (`moov`) comes with its first
/// fragment. Only then are the delays of the encoders known.
struct FilmFile: ~Copyable, @unchecked Sendable {
    // Sendable because only the single owner uses the pointers.
    private let raw: UnsafeMutablePointer<AVFormatContext>
    private let output: any FilmOutput
    private let stream: ByteStream
    /// Reads back the written bytes, to put the index before them.
    private let openStreams: OpenStreams
    /// For messages.
    private let path: String
    private let isFragmented: Bool
    /// The bytes already synced to the disk.
    private var syncedCount = 0

    /// The longest fragment, in microseconds. With the buffers of the encoders and the muxer, a power cut loses less than a second.
    static let fragmentDuration = 800_000

    private final class OpenStreams {
        let output: any FilmOutput
        let written: ByteStream
        var reading: [UnsafeMutablePointer<AVIOContext>: ByteStream] = [:]

        init(_ output: any FilmOutput, _ written: ByteStream) { (self.output, self.written) = (output, written) }
    }

    /// Creates a file without a track, with `output` for its bytes; `path` is for messages.
    init(_ output: any FilmOutput, _ container: FilmFormat.Container, path: String) throws(FilmError) {
        var context: UnsafeMutablePointer<AVFormatContext>?
        let made = avformat_alloc_output_context2(&context, nil, container.muxer, nil)
        guard made >= 0, let context else { throw FilmError(path, writing: made) }
        let stream = ByteStream(length: nil, read: { _, _ in .failed(errno: EBADF) }, write: { output.write($0, at: $1) })
        (raw, self.output, self.stream, self.path) = (context, output, stream, path)
        isFragmented = container == .fragmentedMP4
        openStreams = OpenStreams(output, stream)
        raw.pointee.pb = stream.context
        raw.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
        raw.pointee.opaque = Unmanaged.passUnretained(openStreams).toOpaque()
        // The muxer opens only its own file, for reading.
        raw.pointee.io_open = { context, result, _, flags, _ in
            guard let context, let result, let opaque = context.pointee.opaque, flags & AVIO_FLAG_READ_WRITE == AVIO_FLAG_READ else {
                return shim_averror(EACCES)
            }
            let streams = Unmanaged<OpenStreams>.fromOpaque(opaque).takeUnretainedValue()
            let reading = ByteStream(
                length: { streams.written.size }, read: { ByteStream.ReadResult(streams.output.read(into: $0, at: $1)) })
            streams.reading[reading.context] = reading
            result.pointee = reading.context
            return 0
        }
        raw.pointee.io_close2 = { context, io in
            guard let context, let io, let opaque = context.pointee.opaque else { return 0 }
            Unmanaged<OpenStreams>.fromOpaque(opaque).takeUnretainedValue().reading[io] = nil
            return 0
        }
    }

    deinit { avformat_free_context(raw) }

    /// Adds a track encoded by `codec`. Call it before ``begin(_:isIndexFirst:)``.
    mutating func addTrack(_ codec: UnsafeMutablePointer<AVCodecContext>) throws(FilmError) -> UnsafeMutablePointer<AVStream> {
        guard let stream = avformat_new_stream(raw, nil) else { throw FilmError(path, errno: ENOMEM) }
        let copied = avcodec_parameters_from_context(stream.pointee.codecpar, codec)
        guard copied >= 0 else { throw FilmError(path, writing: copied) }
        stream.pointee.time_base = codec.pointee.time_base
        stream.pointee.avg_frame_rate = codec.pointee.framerate
        stream.pointee.sample_aspect_ratio = codec.pointee.sample_aspect_ratio
        return stream
    }

    /// Adds a track of packets copied from `source`. Call it before ``begin(_:isIndexFirst:)``.
    mutating func addCopy(of source: UnsafeMutablePointer<AVStream>) throws(FilmError) {
        guard let stream = avformat_new_stream(raw, nil) else { throw FilmError(path, errno: ENOMEM) }
        let copied = avcodec_parameters_copy(stream.pointee.codecpar, source.pointee.codecpar)
        guard copied >= 0 else { throw FilmError(path, writing: copied) }
        // A tag belongs to its container.
        stream.pointee.codecpar.pointee.codec_tag = 0
        stream.pointee.time_base = source.pointee.time_base
        stream.pointee.avg_frame_rate = source.pointee.avg_frame_rate
        // The container's shape comes first (TrackGeometry), and the muxer takes both or neither.
        let shape = av_guess_sample_aspect_ratio(nil, source, nil)
        (stream.pointee.sample_aspect_ratio, stream.pointee.codecpar.pointee.sample_aspect_ratio) = (shape, shape)
        if let matrix = shim_stream_display_matrix(source), shim_stream_set_display_matrix(stream, matrix) < 0 {
            throw FilmError(path, errno: ENOMEM)
        }
    }

    /// Writes the header. The tracks must be complete.
    mutating func begin(_ metadata: FilmFormat.Metadata, isIndexFirst: Bool = true) throws(FilmError) {
        // A copy: under ThreadSanitizer the compiler (6.3.1) fails on an inout access through a property of a noncopyable value.
        let raw = raw
        let texts = [
            ("title", metadata.title), ("artist", metadata.artist), ("album", metadata.album), ("date", metadata.date),
            ("comment", metadata.comment),
        ]
        for (key, text) in texts { if let text { av_dict_set(&raw.pointee.metadata, key, text, 0) } }
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        av_dict_set(&options, "video_track_timescale", "90000", 0)
        if isFragmented {
            av_dict_set(&options, "movflags", "+delay_moov+default_base_moof", 0)
            av_dict_set_int(&options, "frag_duration", Int64(Self.fragmentDuration), 0)
            raw.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
            raw.pointee.flush_packets = 1
        } else if isIndexFirst {
            av_dict_set(&options, "movflags", "+faststart", 0)
        }
        try check(avformat_write_header(raw, &options))
    }

    /// Writes a packet of track `index`, with its times in `base`; empties the packet.
    mutating func write(_ packet: UnsafeMutablePointer<AVPacket>, track index: Int, in base: AVRational) throws(FilmError) {
        guard let stream = raw.pointee.streams[index] else { preconditionFailure("no track \(index)") }
        av_packet_rescale_ts(packet, base, stream.pointee.time_base)
        packet.pointee.stream_index = Int32(index)
        packet.pointee.pos = -1
        output.advance()
        try check(av_interleaved_write_frame(raw, packet))
        // The muxer writes a fragment in one piece.
        if isFragmented, byteCount != syncedCount {
            syncedCount = byteCount
            output.sync()
        }
    }

    /// Throws an error of this call, or of an earlier flush: libavformat buffers, and stores write errors in the context.
    private func check(_ status: Int32) throws(FilmError) {
        if let pb = raw.pointee.pb, pb.pointee.error < 0 { throw FilmError(path, writing: pb.pointee.error) }
        if status < 0 { throw FilmError(path, writing: status) }
    }

    /// The bytes written so far; the last may not be on the disk.
    var byteCount: Int { raw.pointee.pb.map { max(0, Int($0.pointee.pos)) } ?? 0 }

    /// Writes the rest, and the index.
    mutating func finish() throws(FilmError) {
        try check(av_write_trailer(raw))
        avio_flush(raw.pointee.pb)
        try check(0)
    }
}
