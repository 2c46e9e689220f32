import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary

/// Reads the pictures of a file as packets, in the order of the file.
final class PictureSource: @unchecked Sendable {
    // Sendable because only the thread that makes the film uses it.

    /// The properties of a packet; times are in ``base``.
    struct Entry: Hashable {
        var pts: Int64, dts: Int64
        var isKey: Bool
        /// Decode it for later pictures, but do not show it: an edit list begins after it.
        var isDiscarded = false
    }

    private let input: FilmInput
    private let index: Int32
    /// The next packet, after ``read()`` has returned true.
    let packet = av_packet_alloc()!

    /// Opens the first picture track of a file.
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
    /// The time base of the times.
    var base: AVRational { stream.pointee.time_base }
    /// The duration of a picture in ``base``; 0 if unknown.
    var frameDuration: Int64 {
        let rate = stream.pointee.avg_frame_rate
        return rate.num > 0 && rate.den > 0 ? av_rescale_q(1, shim_rational(rate.den, rate.num), base) : 0
    }

    /// Returns ticks of ``base`` as `2.5 s`.
    func seconds(_ ticks: Int64) -> String { "\(decimal(Double(ticks) * Double(base.num) / Double(base.den))) s" }

    /// Reads the next packet of the track; false after the last.
    func read() -> Bool {
        while true {
            av_packet_unref(packet)
            guard av_read_frame(input.raw, packet) >= 0 else { return false }
            if packet.pointee.stream_index == index { return true }
        }
    }

    /// The properties of the current packet.
    var entry: Entry {
        let pts = packet.pointee.pts == kAV_NOPTS_VALUE ? packet.pointee.dts : packet.pointee.pts
        return Entry(
            pts: pts, dts: packet.pointee.dts == kAV_NOPTS_VALUE ? pts : packet.pointee.dts,
            isKey: packet.pointee.flags & AV_PKT_FLAG_KEY != 0, isDiscarded: packet.pointee.flags & AV_PKT_FLAG_DISCARD != 0)
    }

    /// Returns the reasons that the pictures of both cannot share one track; empty for none.
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
        // The encoder's headers contain all of the above except the rotation.
        let extra = [a, b].map { Array(UnsafeBufferPointer(start: $0.extradata, count: Int($0.extradata_size))) }
        let isAlike = a.codec_id == b.codec_id && a.width == b.width && a.height == b.height && a.format == b.format
        if isAlike, extra[0] != extra[1] { differences.append("it was encoded with other settings than the first clip") }
        return differences
    }

    /// Width of a stored pixel divided by its height, the container's value first; 1 if unknown.
    private var shape: Double {
        let ratio = av_guess_sample_aspect_ratio(nil, stream, nil)
        return ratio.num > 0 && ratio.den > 0 ? av_q2d(ratio) : 1
    }

    private var matrix: [Int32]? { shim_stream_display_matrix(stream).map { Array(UnsafeBufferPointer(start: $0, count: 9)) } }
}
