import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

// The tracks, the chapters and the tags of a container.

/// A track of a source by its header; a cover is not a track.
package struct AssetTrack: Hashable, Sendable, Identifiable {
    /// The index of the stream in the container.
    package var id: Int
    package var kind: TrackKind
    /// The place among the tracks of its kind, from 1.
    package var number: Int
    /// FFmpeg's short codec name: `aac`.
    package var codec: String
    /// The language; nil if the file does not say.
    package var language: LanguageCode?
    /// The title: `Director's commentary`.
    package var title: String?
    /// Whether the file marks it as the default track.
    package var isDefault: Bool
    /// For subtitles: whether they translate only speech in another language (forced), and whether they describe sounds, too (SDH).
    package var isForced = false, isForHardOfHearing = false
    /// Whether it is a file beside the source.
    package var isBeside = false
    /// For a picture track: stored pixels across and down.
    package var width: Int?, height: Int?
    /// For a sound track: samples a second for each channel, and channels.
    package var sampleRate: Int?, channelCount: Int?

    /// `2 de aac stereo “Kommentar”`, for lists.
    package var summary: String {
        var words = ["\(number)"]
        if let language { words.append(language.description) }
        words.append(codec)
        if isForced { words.append("forced") }
        if isForHardOfHearing { words.append("SDH") }
        if let channelCount { words.append(channelCount == 1 ? "mono" : channelCount == 2 ? "stereo" : "\(channelCount) channels") }
        if let width, let height { words.append("\(width)×\(height)") }
        if let title { words.append("“\(title)”") }
        return words.joined(separator: " ")
    }
}

extension AssetTrack {
    /// Creates a track from these values alone.
    package init(id: Int, kind: TrackKind, number: Int, codec: String) {
        self.init(id: id, kind: kind, number: number, codec: codec, isDefault: false)
    }
}

/// A chapter of a source, in item time.
package struct AssetChapter: Hashable, Sendable {
    /// The title; nil if the file does not say.
    package var title: String?
    package var start: MediaTime
    package var end: MediaTime

    /// Creates a chapter from its parts.
    package init(title: String?, start: MediaTime, end: MediaTime) { (self.title, self.start, self.end) = (title, start, end) }
}

/// The tags of a source. Each text is one line of at most 200 characters.
package struct AssetMetadata: Hashable, Sendable {
    package var title: String?
    package var artist: String?
    package var album: String?
    /// The date as the file writes it: `2024`, `2024-05-01`.
    package var date: String?
    /// FFmpeg's short codec name of the cover (`mjpeg`, `png`), which ``AssetCover`` reads; nil if there is none.
    package var cover: String?

    /// Creates empty metadata.
    package init() {}
}

extension FormatContext {
    /// Returns the tracks of a kind, in the container's order.
    func streams(of kind: TrackKind) -> [UnsafeMutablePointer<AVStream>] {
        let type =
            switch kind {
            case .audio: AVMEDIA_TYPE_AUDIO
            case .video: AVMEDIA_TYPE_VIDEO
            case .subtitle: AVMEDIA_TYPE_SUBTITLE
            }
        return (0..<Int(raw.pointee.nb_streams)).compactMap { raw.pointee.streams[$0] }.filter {
            $0.pointee.codecpar.pointee.codec_type == type && shim_stream_is_attached_picture($0) == 0
        }
    }

    /// Returns the index of the stream for a choice. Returns -1 if the choice is off, and a negative AVERROR if no stream is of this kind.
    /// If several fit, prefers libavformat's best, then the file's default. The corresponding C function is `av_find_best_stream`.
    ///
    /// - Parameter related: the stream that it should belong to, if the container has programs.
    func stream(_ choice: TrackChoice, of kind: TrackKind, related: Int32 = -1) -> Int32 {
        let type = kind == .audio ? AVMEDIA_TYPE_AUDIO : AVMEDIA_TYPE_VIDEO
        let automatic = av_find_best_stream(raw, type, -1, related, nil, 0)
        switch choice {
        case .automatic: return automatic
        case .off: return -1
        case .number(let number):
            let streams = streams(of: kind)
            return streams.indices.contains(number - 1) ? streams[number - 1].pointee.index : automatic
        case .language(let code):
            let fitting = streams(of: kind).filter { $0.language.map(code.matches) ?? false }
            if fitting.contains(where: { $0.pointee.index == automatic }) { return automatic }
            return fitting.first { $0.pointee.disposition & AV_DISPOSITION_DEFAULT != 0 }?.pointee.index ?? fitting.first?.pointee.index
                ?? automatic
        }
    }

    /// Returns the text of a warning if a choice names a missing track and kiosk plays another.
    func problem(with choice: TrackChoice, of kind: TrackKind) -> String? {
        let streams = streams(of: kind)
        switch choice {
        case .automatic, .off: return nil
        case .number(let number): if number <= streams.count { return nil }
        case .language(let code): if streams.contains(where: { $0.language.map(code.matches) ?? false }) { return nil }
        }
        if streams.isEmpty { return nil }
        let have = tracks.filter { $0.kind == kind }.map(\.summary).joined(separator: "; ")
        return "has no \(kind.rawValue) track “\(choice)”: kiosk plays the first choice of the file; there is \(have)"
    }

    /// All tracks by kind, each kind in the container's order.
    var tracks: [AssetTrack] {
        TrackKind.allCases.flatMap { kind in
            streams(of: kind).enumerated().map { place, stream in
                let parameters = stream.pointee.codecpar.pointee
                var track = AssetTrack(
                    id: Int(stream.pointee.index), kind: kind, number: place + 1,
                    codec: String(cString: avcodec_get_name(parameters.codec_id)), language: stream.language,
                    title: tag("title", of: stream.pointee.metadata), isDefault: stream.pointee.disposition & AV_DISPOSITION_DEFAULT != 0)
                if kind == .subtitle {
                    track.isForced = stream.pointee.disposition & AV_DISPOSITION_FORCED != 0
                    track.isForHardOfHearing = stream.pointee.disposition & (AV_DISPOSITION_HEARING_IMPAIRED | AV_DISPOSITION_CAPTIONS) != 0
                }
                if kind == .video { (track.width, track.height) = (Int(parameters.width), Int(parameters.height)) }
                if kind == .audio {
                    (track.sampleRate, track.channelCount) = (Int(parameters.sample_rate), Int(parameters.ch_layout.nb_channels))
                }
                return track
            }
        }
    }

    /// The chapters in container time, without those that have no valid start; from the first ``mostChapters``.
    var chapters: [AssetChapter] {
        (0..<min(Int(raw.pointee.nb_chapters), Self.mostChapters)).compactMap { index -> AssetChapter? in
            guard let chapter = raw.pointee.chapters[index],
                let start = MediaTime(ticks: chapter.pointee.start, of: chapter.pointee.time_base)
            else { return nil }
            let end = MediaTime(ticks: chapter.pointee.end, of: chapter.pointee.time_base)
            return AssetChapter(title: tag("title", of: chapter.pointee.metadata), start: start, end: max(end ?? start, start))
        }.sorted { $0.start < $1.start }
    }
    private static let mostChapters = 1000

    /// Returns the container's tags. Ogg has tags only for streams: there it adds those of `video` or `audio`, the higher index.
    func metadata(video: Int32, audio: Int32) -> AssetMetadata {
        let isOgg = String(cString: raw.pointee.iformat.pointee.name) == "ogg"
        let stream = isOgg && max(video, audio) >= 0 ? raw.pointee.streams[Int(max(video, audio))] : nil
        func value(_ names: String...) -> String? {
            for name in names {
                if let text = tag(name, of: raw.pointee.metadata) ?? tag(name, of: stream?.pointee.metadata) { return text }
            }
            return nil
        }
        var metadata = AssetMetadata()
        (metadata.title, metadata.artist) = (value("title"), value("artist", "album_artist", "author"))
        (metadata.album, metadata.date) = (value("album"), value("date", "year"))
        metadata.cover = cover.map { String(cString: avcodec_get_name($0.pointee.codecpar.pointee.codec_id)) }
        return metadata
    }

    /// The stream of the file's cover; nil if there is none.
    var cover: UnsafeMutablePointer<AVStream>? {
        (0..<Int(raw.pointee.nb_streams)).compactMap { raw.pointee.streams[$0] }.first { shim_stream_is_attached_picture($0) != 0 }
    }

    private func tag(_ name: String, of tags: OpaquePointer?) -> String? {
        av_dict_get(tags, name, nil, 0)?.pointee.value.flatMap { String(cString: $0).asTitle }
    }
}

extension UnsafeMutablePointer<AVStream> {
    /// The language of the track; nil if the file does not say.
    var language: LanguageCode? {
        av_dict_get(pointee.metadata, "language", nil, 0)?.pointee.value.flatMap { LanguageCode(String(cString: $0)) }
    }
}

extension [AssetTrack] {
    /// Returns the subtitle track for a choice; nil for none. The automatic choice is meant for every viewer. It is a forced track in the
    /// language of the sound, or without a language. Otherwise it is a file beside the source with no language in its name.
    package func subtitles(_ choice: TrackChoice, sound: LanguageCode?) -> AssetTrack? {
        let all = filter { $0.kind == .subtitle }
        switch choice {
        case .off: return nil
        case .number(let number): return all.first { $0.number == number }
        case .language(let code):
            let fitting = all.filter { $0.language.map(code.matches) ?? false }
            // Full subtitles first, then those for the hard of hearing, then forced ones.
            return fitting.first { !$0.isForced && !$0.isForHardOfHearing } ?? fitting.first { !$0.isForced } ?? fitting.first
        case .automatic:
            let isHeard = { (track: AssetTrack) in track.language.map { sound.map($0.matches) ?? false } ?? true }
            return all.first { $0.isForced && isHeard($0) } ?? all.first { $0.isBeside && $0.language == nil && !$0.isForHardOfHearing }
        }
    }
}

/// The cover of a file.
package struct AssetCover: Hashable, Sendable {
    /// FFmpeg's short name of its codec: `mjpeg`, `png`.
    package var codec: String
    /// The bytes of a file in that format.
    package var bytes: [UInt8]

    /// A cover from its parts.
    package init(codec: String, bytes: [UInt8]) { (self.codec, self.bytes) = (codec, bytes) }

    /// The most bytes of a cover; larger ones count as none.
    private static let longest = 16 << 20

    /// Opens a source to read its cover; returns nil if it has none. Blocks as ``MediaReader/open`` does.
    ///
    /// - Parameters:
    ///   - isKept: as for ``MediaReader/open``.
    ///   - reach: the files and servers that the source may name; nil for the default of its kind.
    ///   - settings: the network settings of a stream.
    package static func read(
        from source: String, isKept: Bool = false, reach: SourceReach? = nil, settings: StreamSettings = StreamSettings(),
        interruption: Interruption = Interruption()
    ) throws(MediaError) -> AssetCover? {
        let format = try FormatContext.open(source, settings: settings, isKept: isKept, reach: reach, interruption: interruption)
        guard let stream = format.cover, let data = stream.pointee.attached_pic.data else { return nil }
        let count = Int(stream.pointee.attached_pic.size)
        guard 1...longest ~= count else { return nil }
        return AssetCover(
            codec: String(cString: avcodec_get_name(stream.pointee.codecpar.pointee.codec_id)),
            bytes: Array(UnsafeBufferPointer(start: data, count: count)))
    }
}
