import CKioskFFmpeg
import KioskVocabulary

/// The containers and codecs that kiosk plays, by FFmpeg's names; docs/formats.md lists them for users. FFmpeg knows some 350 demuxers and
/// 500 decoders. Most are for games, phones and studios; few were checked against hostile files, and signs do not need them.
enum FormatWhitelist {
    /// Demuxers.
    static let formats = [
        // Video, with or without sound.
        "mov", "mp4", "matroska", "webm", "avi", "mpegts", "mpeg", "mpegvideo", "m4v", "h264", "hevc", "obu", "ivf", "flv", "live_flv",
        "asf", "ogg", "mxf", "nut",
        "dv", "mjpeg", "mpjpeg", "vc1",
        // Sound.
        "mp3", "aac", "flac", "wav", "w64", "aiff", "caf", "ac3", "eac3", "dts", "truehd", "wv", "amr",
        // Pictures.
        "image2", "jpeg_pipe", "png_pipe", "apng", "gif", "gif_pipe", "webp_pipe", "bmp_pipe", "tiff_pipe", "jpegxl_pipe",
        // Subtitles that an HLS list names.
        "webvtt",
    ]

    /// Codecs.
    static let codecs = [
        // Video.
        "h264", "hevc", "av1", "vp8", "vp9", "mpeg1video", "mpeg2video", "mpeg4", "h263", "flv1", "mjpeg", "prores", "dnxhd", "vc1", "wmv1",
        "wmv2", "wmv3",
        "msmpeg4v1", "msmpeg4v2", "msmpeg4v3", "theora", "dvvideo", "ffv1", "huffyuv", "ffvhuff", "utvideo", "qtrle", "rawvideo",
        // Sound.
        "aac", "aac_latm", "mp1", "mp2", "mp3", "ac3", "eac3", "dts", "truehd", "mlp", "opus", "vorbis", "flac", "alac", "wavpack", "wmav1",
        "wmav2", "wmapro", "wmalossless",
        "amr_nb", "amr_wb", "adpcm_ms", "adpcm_ima_wav", "adpcm_ima_qt", "adpcm_swf", "speex",
        // Pictures.
        "png", "apng", "gif", "webp", "bmp", "tiff", "jpegxl",
        // Subtitles, which are listed.
        "subrip", "ass", "ssa", "webvtt", "mov_text", "dvb_subtitle", "dvd_subtitle", "hdmv_pgs_subtitle", "eia_608", "dvb_teletext",
        "text",
    ]

    /// FFmpeg's own list formats: they open the names in them without a check, so no setting allows them.
    static let neverFormats: Set<String> = [
        "concat", "imf", "sdp", "rtsp", "rtp", "sap", "hls", "dash", "webm_dash_manifest", "lavfi", "tty",
    ]

    /// Returns libavformat's `format_whitelist` for a source.
    static func formats(_ settings: StreamSettings, lists: [String]) -> String {
        (formats + settings.furtherFormats.filter { !neverFormats.contains($0) } + lists).joined(separator: ",")
    }

    /// Whether kiosk decodes a track of this codec.
    static func plays(_ codec: AVCodecID, _ settings: StreamSettings) -> Bool {
        let name = String(cString: avcodec_get_name(codec))
        // All plain samples, by their prefix.
        return codec == AV_CODEC_ID_NONE || name.hasPrefix("pcm_") || codecs.contains(name) || settings.furtherCodecs.contains(name)
    }

    /// Returns libavcodec's `codec_whitelist` for a source: the names of all decoders of its codecs.
    static func decoders(_ settings: StreamSettings) -> String {
        let further = Set(settings.furtherCodecs)
        return (usualDecoders + (further.isEmpty ? [] : decoders { further.contains($0) })).joined(separator: ",")
    }

    private static let usualDecoders: [String] = {
        let usual = Set(codecs)
        return decoders { usual.contains($0) || $0.hasPrefix("pcm_") }
    }()

    private static func decoders(where isWanted: (String) -> Bool) -> [String] {
        DecoderInventory.all.filter { isWanted(String(cString: avcodec_get_name($0.pointee.id))) }.map { String(cString: $0.pointee.name) }
    }
}

/// Reads a recorded film, or a clip that was opened before, packet by packet without a ``MediaReader``.
package final class FilmInput {
    private var context: UnsafeMutablePointer<AVFormatContext>?
    private let stream: ByteStream

    /// Opens a file, which may open nothing else. The corresponding C function is `avformat_open_input`.
    ///
    /// - Throws: ``FilmError`` if the file is unreadable.
    package init(_ file: OpenedFile, path: String) throws(FilmError) {
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        av_dict_set(&options, "protocol_whitelist", "data", 0)
        av_dict_set(&options, "format_whitelist", FormatWhitelist.formats(StreamSettings(), lists: []), 0)
        stream = ByteStream(
            length: { file.version.size }, read: { ByteStream.ReadResult(file.read(into: $0.baseAddress!, count: $0.count, at: $1).count) })
        context = avformat_alloc_context()
        context?.pointee.pb = stream.context
        var status = avformat_open_input(&context, path, nil, &options)
        if status >= 0 { status = avformat_find_stream_info(context, nil) }
        if status < 0 { throw FilmError(path, .unreadable(averrorText(status))) }
    }

    deinit { avformat_close_input(&context) }

    package var raw: UnsafeMutablePointer<AVFormatContext> { context! }
}
