import CFFmpeg
import Glibc

/// Why a snapshot could not be made.
package enum SnapshotError: Error, CustomStringConvertible {
    /// There is no display now.
    case noDisplay
    /// libavcodec has no PNG encoder, or it failed.
    case encoder(String)
    /// The file could not be written.
    case file(String)

    /// With `errno`, which is read first.
    init(writing path: String, code: Int32 = errno) { self = .file("\(path): \(String(cString: strerror(code)))") }

    /// What went wrong, in words.
    package var description: String {
        switch self {
        case .noDisplay: "there is no display to take a snapshot of"
        case .encoder(let reason): "the snapshot could not be encoded: \(reason)"
        case .file(let reason): "the snapshot could not be written: \(reason)"
        }
    }
}

extension ScreenPixels {
    /// Writes the pixels as a PNG file at `path`, with libavcodec's encoder.
    func writePNG(to path: String) throws(SnapshotError) {
        guard let picture = ScratchPicture.make(AV_PIX_FMT_RGB24, width: width, height: height),
            let scale = ScaleContext.make(
                from: (format.av, width, height), to: (AV_PIX_FMT_RGB24, width, height), flags: SWS_POINT)
        else { throw .encoder("no memory") }
        scale.run(from: planes, to: picture.planes)

        guard let encoder = avcodec_find_encoder(AV_CODEC_ID_PNG), let context = avcodec_alloc_context3(encoder) else {
            throw .encoder("libavcodec was built without PNG")
        }
        defer {
            var pointer: UnsafeMutablePointer<AVCodecContext>? = context
            avcodec_free_context(&pointer)
        }
        context.pointee.width = Int32(width)
        context.pointee.height = Int32(height)
        context.pointee.pix_fmt = AV_PIX_FMT_RGB24
        context.pointee.time_base = AVRational(num: 1, den: 1)
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        guard let encoded = packet, avcodec_open2(context, encoder, nil) >= 0, avcodec_send_frame(context, picture.av) >= 0,
            avcodec_receive_packet(context, encoded) >= 0
        else { throw .encoder("libavcodec refused \(width)x\(height)") }

        guard let file = fopen(path, "we") else { throw SnapshotError(writing: path) }
        let written = fwrite(encoded.pointee.data, 1, Int(encoded.pointee.size), file)
        guard fclose(file) == 0, written == Int(encoded.pointee.size) else { throw SnapshotError(writing: path) }
    }
}
