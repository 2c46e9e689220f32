import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

/// The decoder of a subtitle track: packets in, cues out. The corresponding C function is `avcodec_decode_subtitle2`.
struct SubtitleDecoder: ~Copyable, Sendable {
    private let context: CodecContext
    private let codec: AVCodecID
    private let timeBase: AVRational

    /// The duration of a line without an end, and the longest of any.
    private static let usual = MediaTime.seconds(5), longest = MediaTime.seconds(600)
    /// The most pixels of a picture, and the most pictures of a cue.
    private static let largest = 4096 * 4096, mostPictures = 32
    /// The canvas of picture tracks that name none: that of DVB and DVD.
    private static let usualCanvas = PixelSize(width: 720, height: 576)

    private init(_ context: consuming CodecContext, _ codec: AVCodecID, _ timeBase: AVRational) {
        (self.codec, self.timeBase) = (codec, timeBase)
        self.context = context
    }

    /// Opens the decoder of a stream.
    ///
    /// - Throws: ``MediaError`` if there is no decoder for it, or the decoder cannot be opened.
    static func open(_ stream: UnsafeMutablePointer<AVStream>, source: String) throws(MediaError) -> SubtitleDecoder {
        let parameters = stream.pointee.codecpar!
        let name = String(cString: avcodec_get_name(parameters.pointee.codec_id))
        guard let decoder = avcodec_find_decoder(parameters.pointee.codec_id), let raw = avcodec_alloc_context3(decoder) else {
            throw MediaError(source, .unsupportedCodec(name))
        }
        let context = CodecContext(raw: raw)
        raw.pointee.pkt_timebase = stream.pointee.time_base
        guard avcodec_parameters_to_context(raw, parameters) >= 0, avcodec_open2(raw, decoder, nil) >= 0 else {
            throw MediaError(source, .unsupportedCodec(name))
        }
        return SubtitleDecoder(context, parameters.pointee.codec_id, stream.pointee.time_base)
    }

    /// Whether a codec is text, not pictures.
    static func isText(_ codec: AVCodecID) -> Bool {
        guard let descriptor = avcodec_descriptor_get(codec) else { return false }
        return descriptor.pointee.props & AV_CODEC_PROP_TEXT_SUB != 0
    }

    /// The headers and styles of a script; nil if it has none of its own.
    var header: [UInt8]? {
        guard codec == AV_CODEC_ID_ASS || codec == AV_CODEC_ID_SSA, let header = context.raw.pointee.subtitle_header else { return nil }
        return Array(UnsafeBufferPointer(start: header, count: Int(context.raw.pointee.subtitle_header_size)))
    }

    /// Returns the cues of a packet, in container time.
    mutating func decode(_ packet: UnsafeMutablePointer<AVPacket>) -> [SubtitleCue] {
        var subtitle = AVSubtitle()
        var isWhole: Int32 = 0
        guard avcodec_decode_subtitle2(context.raw, &subtitle, &isWhole, packet) >= 0, isWhole != 0 else { return [] }
        defer { avsubtitle_free(&subtitle) }
        guard let time = MediaTime(ticks: packet.pointee.pts, of: timeBase) ?? MediaTime(ticks: packet.pointee.dts, of: timeBase) else {
            return []
        }
        let start = time + .milliseconds(Int64(subtitle.start_display_time))
        var end: MediaTime?
        if subtitle.end_display_time > subtitle.start_display_time, subtitle.end_display_time < UInt32.max {
            end = time + .milliseconds(Int64(subtitle.end_display_time))
        } else if packet.pointee.duration > 0, let duration = MediaTime(ticks: packet.pointee.duration, of: timeBase) {
            end = start + duration
        }
        let rects = (0..<Int(subtitle.num_rects)).compactMap { subtitle.rects[$0] }
        let settings = Self.isText(codec) ? Self.settings(of: packet) : ""
        let lines = rects.compactMap { rect -> SubtitleCue? in
            guard let text = rect.pointee.ass else { return nil }
            let line = Self.line(String(cString: text), settings: settings)
            return .line(line, start: start, end: min(end ?? start + Self.usual, start + Self.longest))
        }
        if Self.isText(codec) { return lines }
        let pictures = rects.prefix(Self.mostPictures).compactMap { Self.picture($0) }
        let (width, height) = (Int(context.raw.pointee.width), Int(context.raw.pointee.height))
        let canvas = width > 0 && height > 0 ? PixelSize(width: width, height: height) : Self.usualCanvas
        return [.pictures(pictures, canvas: canvas, start: start, end: end)] + lines
    }

    /// Discards everything in the decoder. The corresponding C function is `avcodec_flush_buffers`.
    mutating func restart() { avcodec_flush_buffers(context.raw) }

    /// Returns a picture from its palette.
    private static func picture(_ rect: UnsafeMutablePointer<AVSubtitleRect>) -> SubtitlePicture? {
        let rect = rect.pointee
        let (width, height) = (Int(rect.w), Int(rect.h))
        guard rect.type == SUBTITLE_BITMAP, width > 0, height > 0, width <= largest / height, let indexes = rect.data.0,
            let palette = rect.data.1
        else { return nil }
        let colours = palette.withMemoryRebound(to: UInt32.self, capacity: 256) { colours in
            (0..<256).map { index in index < max(Int(rect.nb_colors), 0) ? premultiplied(colours[index]) : 0 }
        }
        var pixels: [UInt32] = []
        pixels.reserveCapacity(width * height)
        for row in 0..<height {
            for column in 0..<width { pixels.append(colours[Int(indexes[row * Int(rect.linesize.0) + column])]) }
        }
        return SubtitlePicture(x: Int(rect.x), y: Int(rect.y), width: width, height: height, pixels: pixels)
    }

    private static func premultiplied(_ color: UInt32) -> UInt32 {
        let alpha = color >> 24
        func part(_ shift: UInt32) -> UInt32 { (((color >> shift & 255) * alpha + 127) / 255) << shift }
        return alpha << 24 | part(16) | part(8) | part(0)
    }

    /// Returns the WebVTT settings of a cue's place.
    private static func settings(of packet: UnsafeMutablePointer<AVPacket>) -> String {
        var count = 0
        guard let data = av_packet_get_side_data(packet, AV_PKT_DATA_WEBVTT_SETTINGS, &count), count > 0 else { return "" }
        return String(decoding: UnsafeBufferPointer(start: data, count: count), as: UTF8.self)
    }

    /// Moves an event's line to its WebVTT place: at the top, left or right, as near as a script can.
    static func line(_ line: String, settings: String) -> String {
        var (row, column) = (0, 2)
        for setting in settings.split(separator: " ") {
            let parts = setting.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let value = parts[1].prefix { $0 != "," }
            switch parts[0] {
            case "line":
                if value.hasSuffix("%") {
                    let place = Double(value.dropLast()) ?? 100
                    row = place < 34 ? 6 : place < 67 ? 3 : 0
                } else if let number = Int(value) {
                    row = number >= 0 && number < 8 ? 6 : 0
                }
            case "align": column = ["start": 1, "left": 1, "end": 3, "right": 3][String(value)] ?? 2
            default: break
            }
        }
        guard (row, column) != (0, 2) else { return line }
        var fields = line.split(separator: ",", maxSplits: 8, omittingEmptySubsequences: false)
        guard fields.count == 9 else { return line }
        fields[8] = "{\\an\(row + column)}" + fields[8]
        return fields.joined(separator: ",")
    }
}
