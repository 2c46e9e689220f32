import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

// Subtitles inside the source. Their packets lie between those of pictures and sound. kiosk decodes them after the pictures around them.

extension MediaReader {
    /// Reads the subtitle track with this ``AssetTrack/id`` from here on, or none. Its first cue is the next one in the source.
    ///
    /// - Returns: the script for drawing, also for a track with a list of its own (``feed(_:deliver:)``). Returns nil for pictures. Also
    ///   returns nil if the track cannot be decoded, and reports that as a problem of the source.
    package mutating func selectSubtitles(_ id: Int?) -> SubtitleScript? {
        subtitles = nil
        if let id, id >= Self.firstListed {
            demuxer.selectSubtitles(-1)
            return SubtitleScript(header: nil)
        }
        let index = id.flatMap(Int32.init(exactly:)) ?? -1
        guard index >= 0, let stream = demuxer.source.stream(index) else {
            demuxer.selectSubtitles(-1)
            return nil
        }
        do throws(MediaError) {
            try demuxer.source.format.checkCodec(stream, demuxer.source.name)
            let decoder = try SubtitleDecoder.open(stream, source: demuxer.source.name)
            var script: SubtitleScript?
            if SubtitleDecoder.isText(stream.pointee.codecpar.pointee.codec_id) {
                script = SubtitleScript(header: decoder.header)
                if script?.header != nil { script?.fonts = attachedFonts }
            }
            subtitles = consume decoder
            demuxer.selectSubtitles(index)
            return script
        } catch {
            demuxer.selectSubtitles(-1)
            demuxer.report("plays without its subtitles: \(error.reason.text)")
            return nil
        }
    }

    /// Whether a track of the source is text.
    package func isText(_ id: Int) -> Bool {
        if id >= Self.firstListed { return true }
        return Int32(exactly: id).flatMap { demuxer.source.stream($0) }.map { SubtitleDecoder.isText($0.pointee.codecpar.pointee.codec_id) }
            ?? false
    }

    /// Returns the cues read since the last call, in item time.
    package mutating func takeCues() -> [SubtitleCue] {
        guard subtitles != nil, !demuxer.subtitles.isEmpty else { return [] }
        var cues: [SubtitleCue] = []
        while let packet = demuxer.subtitles.popFirst() { cues += subtitles!.decode(packet.raw) }
        return cues.map { $0.moved(by: MediaTime.zero - origin) }
    }

    /// The fonts attached to the source.
    private var attachedFonts: [(name: String, bytes: [UInt8])] {
        let context = demuxer.source.format.raw.pointee
        var fonts: [(name: String, bytes: [UInt8])] = []
        var left = Self.mostFontBytes
        for index in 0..<Int(context.nb_streams) {
            guard let stream = context.streams[index], let parameters = stream.pointee.codecpar,
                parameters.pointee.codec_type == AVMEDIA_TYPE_ATTACHMENT, let bytes = parameters.pointee.extradata
            else { continue }
            let count = Int(parameters.pointee.extradata_size)
            let name = av_dict_get(stream.pointee.metadata, "filename", nil, 0).map { String(cString: $0.pointee.value) } ?? "font"
            let isFont =
                [AV_CODEC_ID_TTF, AV_CODEC_ID_OTF].contains(parameters.pointee.codec_id)
                || [".ttf", ".otf", ".ttc", ".otc"].contains { name.lowercased().hasSuffix($0) }
            guard isFont, count > 0, count <= left, fonts.count < Self.mostFonts else { continue }
            left -= count
            fonts.append((name, Array(UnsafeBufferPointer(start: bytes, count: count))))
        }
        return fonts
    }

    private static let mostFonts = 64, mostFontBytes = 64 << 20
}

extension SubtitleCue {
    /// Whether the cue is visible at an item time.
    func isSeen(at time: MediaTime) -> Bool {
        switch self {
        case .line(_, let start, let end): start <= time && time < end
        case .pictures(_, _, let start, let end): start <= time && end.map { time < $0 } ?? true
        }
    }

    /// Returns the cue shifted by a time.
    func moved(by span: MediaTime) -> SubtitleCue {
        switch self {
        case .line(let line, let start, let end): .line(line, start: start + span, end: end + span)
        case .pictures(let pictures, let canvas, let start, let end):
            .pictures(pictures, canvas: canvas, start: start + span, end: end.map { $0 + span })
        }
    }
}
