import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary

/// The pictures of a file as packets, in the order of the file.
final class PictureSource: @unchecked Sendable {
    // Sendable because one thread at a time uses it: that which makes the film.

    /// What is known of a packet; times are in ``base``.
    struct Entry: Hashable {
        var pts: Int64, dts: Int64
        var isKey: Bool
        /// Needed to decode what follows, and not to be shown: an edit list begins after it.
        var isDiscarded = false
    }

    private let input: FilmInput
    private let index: Int32
    /// The next packet, after ``read()`` has returned true.
    let packet = av_packet_alloc()!

    /// The first picture track of a file.
    init(_ file: OpenedFile, path: String) throws(FilmError) {
        input = try FilmInput(file, path: path)
        index = av_find_best_stream(input.raw, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0)
        guard index >= 0 else { throw FilmError(path, .unreadable(averrorText(index))) }
        for other in 0..<Int32(input.raw.pointee.nb_streams) where other != index {
            shim_stream_discard(input.raw.pointee.streams[Int(other)], 1)
        }
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }

    /// The track.
    var stream: UnsafeMutablePointer<AVStream> { input.raw.pointee.streams[Int(index)]! }
    /// What times are counted in.
    var base: AVRational { stream.pointee.time_base }
    /// How long a picture stands, in ``base``; 0 where nobody says.
    var frameDuration: Int64 {
        let rate = stream.pointee.avg_frame_rate
        return rate.num > 0 && rate.den > 0 ? av_rescale_q(1, shim_rational(rate.den, rate.num), base) : 0
    }

    /// `2.5 s`, of ticks of ``base``.
    func seconds(_ ticks: Int64) -> String { "\(decimal(Double(ticks) * Double(base.num) / Double(base.den))) s" }

    /// Reads the next packet of the track; false after the last.
    func read() -> Bool {
        while true {
            av_packet_unref(packet)
            guard av_read_frame(input.raw, packet) >= 0 else { return false }
            if packet.pointee.stream_index == index { return true }
        }
    }

    /// What the present packet is.
    var entry: Entry {
        let pts = packet.pointee.pts == kAV_NOPTS_VALUE ? packet.pointee.dts : packet.pointee.pts
        return Entry(
            pts: pts, dts: packet.pointee.dts == kAV_NOPTS_VALUE ? pts : packet.pointee.dts,
            isKey: packet.pointee.flags & AV_PKT_FLAG_KEY != 0, isDiscarded: packet.pointee.flags & AV_PKT_FLAG_DISCARD != 0)
    }

    /// Why the pictures of both cannot follow each other in one track; empty where they can.
    func differences(from other: PictureSource) -> [String] {
        let (a, b) = (stream.pointee.codecpar.pointee, other.stream.pointee.codecpar.pointee)
        func name(_ codec: AVCodecParameters) -> String { String(cString: avcodec_get_name(codec.codec_id)) }
        var differences: [String] = []
        if a.codec_id != b.codec_id { differences.append("its codec is \(name(a)), that of the first clip \(name(b))") }
        if a.width != b.width || a.height != b.height {
            differences.append("it is \(a.width)×\(a.height), the first clip \(b.width)×\(b.height)")
        }
        if a.format != b.format { differences.append("its pixel format is not that of the first clip") }
        if shape != other.shape {
            differences.append("the shape of its pixels is not that of the first clip's")
        }
        if matrix != other.matrix { differences.append("it is turned otherwise than the first clip") }
        // What the encoder says of its settings has all of the above in it but the rotation.
        let extra = [a, b].map { Array(UnsafeBufferPointer(start: $0.extradata, count: Int($0.extradata_size))) }
        let isAlike = a.codec_id == b.codec_id && a.width == b.width && a.height == b.height && a.format == b.format
        if isAlike, extra[0] != extra[1] { differences.append("it was encoded with other settings than the first clip") }
        return differences
    }

    /// Width of a stored pixel divided by its height, as it is drawn; the container's word comes first. 1 where nobody tells.
    private var shape: Double {
        let ratio = av_guess_sample_aspect_ratio(nil, stream, nil)
        return ratio.num > 0 && ratio.den > 0 ? av_q2d(ratio) : 1
    }

    private var matrix: [Int32]? { shim_stream_display_matrix(stream).map { Array(UnsafeBufferPointer(start: $0, count: 9)) } }
}
