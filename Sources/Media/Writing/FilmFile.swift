import CKioskFFmpeg
import Glibc
import KioskPlatform

/// The file that a film is written to, and its muxer.
///
/// It is written under a name of its own in the same folder (``draftPath(of:)``: hidden, and no name of a video, so that no playlist takes it up)
/// and is given its name when all of it is on the disk. The draft of an earlier run that was cut off is written over. While it is written it
/// is locked: a second process that wants the same file is told so.
///
/// A fragment is written to the disk (fdatasync) when it is complete. The index of a fragmented file (`moov`) is written with its first
/// fragment, as only then it is known by how much the encoders are behind.
struct FilmFile: ~Copyable, @unchecked Sendable {
    // Sendable because the pointers are reached only through their single owner.
    let path: String
    let draft: String
    private let raw: UnsafeMutablePointer<AVFormatContext>
    /// The draft once more, for the lock and for fdatasync: libavformat keeps its own descriptor to itself.
    private let file: Descriptor
    private let isFragmented: Bool
    private var hasHeader = false
    private var isFinished = false
    /// How far it is on the disk.
    private var syncedCount = 0

    /// How long a fragment is at most, in microseconds; with what the encoders and the muxer hold less than a second is lost in a power cut.
    static let fragmentDuration = 800_000

    /// What the file at `path` is called until it is finished.
    static func draftPath(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return ".\(path).part" }
        return "\(path[...slash]).\(path[path.index(after: slash)...]).part"
    }

    /// Creates the draft of the file at `path`, without a track.
    static func create(_ path: String, fragmented: Bool) throws(FilmError) -> FilmFile {
        try FilmWriter.checkPlace(path)
        let draft = draftPath(of: path)
        guard let file = Descriptor(opening: draft, O_RDWR | O_CREAT, mode: 0o666), file.lock() else {
            throw FilmError(path, errno: errno)
        }
        var context: UnsafeMutablePointer<AVFormatContext>?
        let made = avformat_alloc_output_context2(&context, nil, "mp4", draft)
        guard made >= 0, let context else {
            unlink(draft)
            throw FilmError(path, writing: made)
        }
        return FilmFile(path, draft, context, file, isFragmented: fragmented)
    }

    private init(
        _ path: String, _ draft: String, _ raw: UnsafeMutablePointer<AVFormatContext>, _ file: consuming Descriptor, isFragmented: Bool
    ) {
        (self.path, self.draft, self.raw, self.isFragmented) = (path, draft, raw, isFragmented)
        self.file = file
    }

    deinit {
        if raw.pointee.pb != nil { avio_closep(&raw.pointee.pb) }
        avformat_free_context(raw)
        // What is there of a fragmented file can be played.
        if !isFinished, !isFragmented || !hasHeader { unlink(draft) }
    }

    /// Adds a track that `codec` encodes. Before ``begin(title:)``.
    mutating func addTrack(_ codec: UnsafeMutablePointer<AVCodecContext>) throws(FilmError) -> UnsafeMutablePointer<AVStream> {
        guard let stream = avformat_new_stream(raw, nil) else { throw FilmError(path, errno: ENOMEM) }
        let copied = avcodec_parameters_from_context(stream.pointee.codecpar, codec)
        guard copied >= 0 else { throw FilmError(path, writing: copied) }
        stream.pointee.time_base = codec.pointee.time_base
        stream.pointee.avg_frame_rate = codec.pointee.framerate
        stream.pointee.sample_aspect_ratio = codec.pointee.sample_aspect_ratio
        return stream
    }

    /// Adds a track whose packets are copied from `source`. Before ``begin(title:)``.
    mutating func addCopy(of source: UnsafeMutablePointer<AVStream>) throws(FilmError) {
        guard let stream = avformat_new_stream(raw, nil) else { throw FilmError(path, errno: ENOMEM) }
        let copied = avcodec_parameters_copy(stream.pointee.codecpar, source.pointee.codecpar)
        guard copied >= 0 else { throw FilmError(path, writing: copied) }
        // A tag belongs to the container it comes from.
        stream.pointee.codecpar.pointee.codec_tag = 0
        stream.pointee.time_base = source.pointee.time_base
        stream.pointee.avg_frame_rate = source.pointee.avg_frame_rate
        // The container's word comes first (TrackGeometry), and the muxer takes both or neither.
        let shape = av_guess_sample_aspect_ratio(nil, source, nil)
        (stream.pointee.sample_aspect_ratio, stream.pointee.codecpar.pointee.sample_aspect_ratio) = (shape, shape)
        if let matrix = shim_stream_display_matrix(source), shim_stream_set_display_matrix(stream, matrix) < 0 {
            throw FilmError(path, errno: ENOMEM)
        }
    }

    /// Writes the header. The tracks must be complete.
    mutating func begin(title: String?) throws(FilmError) {
        // A copy: under ThreadSanitizer the compiler (6.3.1) fails on an inout access through a property of a value that cannot be copied.
        let raw = raw
        if let title { av_dict_set(&raw.pointee.metadata, "title", title, 0) }
        var opened = avio_open2(&raw.pointee.pb, draft, AVIO_FLAG_WRITE, nil, nil)
        guard opened >= 0 else { throw FilmError(path, writing: opened) }
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        av_dict_set(&options, "video_track_timescale", "90000", 0)
        if isFragmented {
            av_dict_set(&options, "movflags", "+delay_moov+default_base_moof", 0)
            av_dict_set_int(&options, "frag_duration", Int64(Self.fragmentDuration), 0)
            raw.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
            raw.pointee.flush_packets = 1
        } else {
            av_dict_set(&options, "movflags", "+faststart", 0)
        }
        opened = avformat_write_header(raw, &options)
        try check(opened)
        hasHeader = true
    }

    /// Writes a packet of track `index`, whose times are in `base`; it is empty then.
    mutating func write(_ packet: UnsafeMutablePointer<AVPacket>, track index: Int, in base: AVRational) throws(FilmError) {
        guard let stream = raw.pointee.streams[index] else { preconditionFailure("no track \(index)") }
        av_packet_rescale_ts(packet, base, stream.pointee.time_base)
        packet.pointee.stream_index = Int32(index)
        packet.pointee.pos = -1
        try check(av_interleaved_write_frame(raw, packet))
        // A fragment is written in one piece.
        if isFragmented, byteCount != syncedCount {
            syncedCount = byteCount
            if fdatasync(file.raw) != 0 { throw FilmError(path, errno: errno) }
        }
    }

    /// libavformat buffers, and says in the context what went wrong when it emptied its buffer.
    private func check(_ status: Int32) throws(FilmError) {
        if let pb = raw.pointee.pb, pb.pointee.error < 0 { throw FilmError(path, writing: pb.pointee.error) }
        if status < 0 { throw FilmError(path, writing: status) }
    }

    /// Bytes written so far, the last of them perhaps not to the disk.
    var byteCount: Int { raw.pointee.pb.map { max(0, Int($0.pointee.pos)) } ?? 0 }

    /// Writes the index, has all of it written to the disk, and gives the file its name.
    mutating func finish() throws(FilmError) {
        try check(av_write_trailer(raw))
        avio_flush(raw.pointee.pb)
        try check(0)
        let closed = avio_closep(&raw.pointee.pb)
        guard closed >= 0 else { throw FilmError(path, writing: closed) }
        guard fsync(file.raw) == 0, rename(draft, path) == 0 else { throw FilmError(path, errno: errno) }
        isFinished = true
        // The name must survive a power cut, too.
        syncFolder(of: path)
    }

    /// Gives up the file; nothing of it is left, nor comes back after a power cut.
    mutating func discard() {
        if isFinished { return }
        unlink(draft)
        syncFolder(of: draft)
        isFinished = true
    }
}

extension FilmWriter {
    /// Whether a film can have this name: not where something lies there that is no regular file. A film that is finished takes the place of what
    /// had its name, a device's, too.
    package static func checkPlace(_ path: String) throws(FilmError) {
        if let status = stat(at: path), !status.isFile { throw FilmError(path, status.isFolder ? .isDirectory : .isNoFile) }
    }

    /// What is wrong with a name for a film, and what to do; nil for nothing. Without an extension it is as good as another.
    package static func nameProblem(_ path: String) -> String? {
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        if path.isEmpty { return "name the file to write" }
        if name.isEmpty { return "\(path): is the name of a folder: name a file in it" }
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex,
            others.contains(name[name.index(after: dot)...].lowercased())
        else { return nil }
        return "\(path): films are MP4: name it \(path.dropLast(name.distance(from: dot, to: name.endIndex))).mp4"
    }

    /// Extensions of other things than MP4.
    private static let others: Set<String> = [
        "3g2", "3gp", "aac", "apng", "asf", "avi", "conf", "divx", "dv", "f4v", "flac", "flv", "gif", "jpeg", "jpg", "m2t", "m2ts", "m2v",
        "m3u",
        "m3u8", "m4a", "mka", "mkv", "mov", "mp3", "mpd", "mpeg", "mpg", "mts", "mxf", "nut", "oga", "ogg", "ogm", "ogv", "opus", "png",
        "rm",
        "rmvb", "toml", "ts", "txt", "vob", "wav", "webm", "webp", "wma", "wmv", "y4m", "zip",
    ]
}
