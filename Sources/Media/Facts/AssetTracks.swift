import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

// What a container tells of its tracks, its chapters and itself.

/// A track of a source, as its header tells; a cover is none.
package struct AssetTrack: Hashable, Sendable, Identifiable {
    /// The index of the stream in the container.
    package var id: Int
    package var kind: TrackKind
    /// Its place among those of its kind, from 1.
    package var number: Int
    /// FFmpeg's short codec name: `aac`.
    package var codec: String
    /// Its language; nil where the file does not say.
    package var language: LanguageCode?
    /// What it is called: `Director's commentary`.
    package var title: String?
    /// Whether the file marks it as the one to be played.
    package var isDefault: Bool
    /// Of subtitles: whether they are only for what another language is spoken in (forced), and whether they tell of sounds, too (SDH).
    package var isForced = false, isForHardOfHearing = false
    /// Whether it is a file beside the source.
    package var isBeside = false
    /// Of a picture track: pixels across and down as stored.
    package var width: Int?, height: Int?
    /// Of a sound track: samples a second for each channel, and channels.
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
    /// A track of which no more is known.
    package init(id: Int, kind: TrackKind, number: Int, codec: String) {
        self.init(id: id, kind: kind, number: number, codec: codec, isDefault: false)
    }
}

/// A chapter of a source, in item time.
package struct AssetChapter: Hashable, Sendable {
    /// What it is called; nil where the file does not say.
    package var title: String?
    package var start: MediaTime
    package var end: MediaTime

    /// A chapter from its parts.
    package init(title: String?, start: MediaTime, end: MediaTime) { (self.title, self.start, self.end) = (title, start, end) }
}

/// What a source says of itself. Texts are one line of at most 200 characters.
package struct AssetMetadata: Hashable, Sendable {
    package var title: String?
    package var artist: String?
    package var album: String?
    /// When it was made, as the file writes it: `2024`, `2024-05-01`.
    package var date: String?
    /// The picture that belongs to it: FFmpeg's short name of its codec (`mjpeg`, `png`); ``AssetCover`` reads it. nil where there is none.
    package var cover: String?

    /// One that says nothing.
    package init() {}
}

extension FormatContext {
    /// The streams of a kind that are tracks, in the order of the container.
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

    /// The stream that a choice stands for; -1 where there is none of this kind, or none is wanted. Of several that fit it is libavformat's
    /// best; the corresponding C function is `av_find_best_stream`.
    ///
    /// - Parameter related: the stream it is to belong to, where the container has programs.
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

    /// Whether a choice names a track that is not there, so that another is played: what to say about it.
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

    /// All tracks, those of a kind in the order of the container.
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

    /// The chapters, in container time; at most ``mostChapters``, those that make sense.
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

    /// What the container says of itself, or its sound where the container is Ogg, which has tags for streams only.
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

    /// The stream of the picture that belongs to the file; nil where there is none.
    var cover: UnsafeMutablePointer<AVStream>? {
        (0..<Int(raw.pointee.nb_streams)).compactMap { raw.pointee.streams[$0] }.first { shim_stream_is_attached_picture($0) != 0 }
    }

    private func tag(_ name: String, of tags: OpaquePointer?) -> String? {
        av_dict_get(tags, name, nil, 0)?.pointee.value.flatMap { String(cString: $0).asTitle }
    }
}

extension UnsafeMutablePointer<AVStream> {
    /// The language of the track; nil where the file does not say.
    var language: LanguageCode? {
        av_dict_get(pointee.metadata, "language", nil, 0)?.pointee.value.flatMap { LanguageCode(String(cString: $0)) }
    }
}

extension [AssetTrack] {
    /// The track of subtitles that a choice stands for; nil for none. Automatically that is what somebody has put there for everybody: what is forced in the
    /// language of the sound, or a file beside the source with no language in its name.
    package func subtitles(_ choice: TrackChoice, sound: LanguageCode?) -> AssetTrack? {
        let all = filter { $0.kind == .subtitle }
        switch choice {
        case .off: return nil
        case .number(let number): return all.first { $0.number == number }
        case .language(let code):
            let fitting = all.filter { $0.language.map(code.matches) ?? false }
            // Those for everybody, then those for the hard of hearing, then those for what is in another language only.
            return fitting.first { !$0.isForced && !$0.isForHardOfHearing } ?? fitting.first { !$0.isForced } ?? fitting.first
        case .automatic:
            let isHeard = { (track: AssetTrack) in track.language.map { sound.map($0.matches) ?? false } ?? true }
            return all.first { $0.isForced && isHeard($0) } ?? all.first { $0.isBeside && $0.language == nil && !$0.isForHardOfHearing }
        }
    }
}

/// The picture that belongs to a file.
package struct AssetCover: Hashable, Sendable {
    /// FFmpeg's short name of its codec: `mjpeg`, `png`.
    package var codec: String
    /// The bytes of a file of that kind.
    package var bytes: [UInt8]

    /// A cover from its parts.
    package init(codec: String, bytes: [UInt8]) { (self.codec, self.bytes) = (codec, bytes) }

    /// Larger ones are not given out.
    private static let longest = 16 << 20

    /// Opens a source to read its cover; nil where it has none. Blocks as ``MediaReader/open`` does.
    ///
    /// - Parameters:
    ///   - isKept: as of ``MediaReader/open``.
    ///   - reach: what it may name; nil for what its kind may.
    ///   - settings: how it is fetched where it comes over the network.
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
