internal import KioskMedia
internal import KioskPlatform
internal import KioskReaderProtocol
internal import KioskReaders
public import KioskVocabulary

/// What a file or a URL holds: a movie, a sound, a picture.
///
/// An asset is a name and nothing more until it is played or ``load()`` is called; to make one opens nothing.
public struct Asset: Hashable, Sendable {
    /// The path of a file, or a URL that FFmpeg opens (`https://…`, `rtsp://…`).
    public let source: String
    /// How it is fetched where it comes over the network.
    public let options: Options

    /// The asset of a path or a URL. A relative path is one of the working folder.
    public init(_ source: String, options: Options = Options()) { (self.source, self.options) = (source, options) }

    /// How an asset is fetched that comes over the network: the options of AVURLAsset. Files have no use for it.
    public struct Options: Hashable, Sendable {
        /// Headers that each request by HTTP is made with, by their names. One that HTTP does not allow, as its value has more than one line, is
        /// left out.
        public var httpHeaders: [String: String] = [:]
        /// What an HTTP or RTSP server is told who asks.
        public var userAgent = StreamSettings().userAgent
        /// How long a connection may give no data before it is taken to have broken off, and how long opening it may take: 1 s to an hour.
        public var timeout = StreamSettings().timeout.duration

        /// No headers, and 10 s.
        public init() {}
    }

    /// What is known of an asset from its headers.
    public struct Properties: Hashable, Sendable {
        /// How long it lasts; nil for a still, and where it never ends or nobody knows.
        public var duration: Duration?
        /// All its tracks, those of a kind in the order of the file.
        public var tracks: [Track]
        /// Its chapters in their order.
        public var chapters: [Chapter]
        /// Whether it is a single picture without a duration.
        public var isStill: Bool
        /// Whether one can move about in it.
        public var isSeekable: Bool
        /// What it says of itself.
        public var metadata: Metadata
    }

    /// A track of an asset.
    public struct Track: Hashable, Sendable, Identifiable {
        /// What a track is.
        public enum MediaType: Hashable, Sendable {
            /// Moving pictures, or a still.
            case video
            /// Sound.
            case audio
            /// Subtitles, in the file or beside it.
            case subtitle
        }

        /// Its place among all tracks of the file, from 0.
        public var id: Int
        /// What it is.
        public var mediaType: MediaType
        /// Its place among those of its kind, from 1.
        public var number: Int
        /// FFmpeg's short name of its codec: `h264`, `aac`.
        public var codec: String
        /// Its language as the file writes it, in lower case: `de`, `deu`, `de-at`; nil where the file does not say.
        public var languageTag: String?
        /// What it is called: `Director's commentary`; nil where the file does not say.
        public var title: String?
        /// Whether the file marks it as the one to be played.
        public var isDefault: Bool
        /// Pixels across and down as stored, before it is rotated upright; nil for what is no picture.
        public var naturalSize: PixelSize?
        /// Pictures a second; nil where it is not the picture track that is played, for stills, and where nobody says.
        public var nominalFrameRate: Double?
        /// Samples a second; nil for what is no sound.
        public var sampleRate: Int?
        /// How many channels there are; nil for what is no sound.
        public var channelCount: Int?
        /// Of subtitles: whether they are only for what is spoken in another language.
        public var containsOnlyForcedSubtitles = false
        /// Of subtitles: whether they tell of sounds, too (SDH).
        public var isForHardOfHearing = false
    }

    /// A chapter of an asset.
    public struct Chapter: Hashable, Sendable {
        /// What it is called; nil where the file does not say.
        public var title: String?
        /// From where to where it goes.
        public var timeRange: Range<Duration>
    }

    /// What an asset says of itself: AVFoundation's common metadata. Texts are one line of at most 200 characters; nil is what the file does not
    /// say.
    public struct Metadata: Hashable, Sendable {
        /// What it is called.
        public var title: String?
        /// Who made it.
        public var artist: String?
        /// What it is a part of.
        public var albumName: String?
        /// When it was made, as the file writes it: `2024`, `2024-05-01`.
        public var creationDate: String?
        /// Whether a picture belongs to it, which ``Asset/loadArtwork()`` reads.
        public var hasArtwork = false
    }

    /// The picture that belongs to an asset: a cover.
    public struct Artwork: Hashable, Sendable {
        /// FFmpeg's short name of its codec: `mjpeg`, `png`.
        public var codec: String
        /// The bytes of a file of that kind.
        public var data: [UInt8]
    }

    /// Opens the asset, reads its headers, and closes it again. Takes as long as the disk or the network does, 15 s or the time limit of its
    /// options at most.
    ///
    /// - Throws: ``PlaybackError`` with why it cannot be opened.
    public func load() async throws -> Properties {
        try await read { [readers = Player.readers] source, settings throws(MediaError) in
            var order = OpenOrder(.play, source, settings)
            order.samples = AudioFormat(sampleRate: 48000, channelCount: 2)
            let client = try ReaderClient(order, by: readers, Interruption())
            return Properties(client.description, played: client.selectedTracks[.video])
        }
    }

    /// Reads the picture that belongs to the asset; nil where it has none, or one of more than 16 MB. Takes as long as ``load()``.
    ///
    /// - Throws: ``PlaybackError`` with why the asset cannot be opened.
    public func loadArtwork() async throws -> Artwork? {
        try await read { [readers = Player.readers] source, settings throws(MediaError) in
            let cover = try AssetCover.read(of: source, isKept: false, settings: settings, by: readers, interruption: Interruption())
            return cover.map { Artwork(codec: $0.codec, data: $0.bytes) }
        }
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (String, StreamSettings) throws(MediaError) -> Value
    ) async throws -> Value {
        let (location, settings) = (location, streamSettings)
        LibraryLog.begin()
        return try await withCheckedThrowingContinuation { continuation in
            // Not on the pool of the concurrency runtime, which a disk that hangs would hold up.
            Thread("asset") {
                do throws(MediaError) { continuation.resume(returning: try body(location, settings)) } catch {
                    continuation.resume(throwing: PlaybackError("\(error)"))
                }
            }.detach()
        }
    }

    /// Where it is: a path from the root, or a URL.
    var location: String {
        let source = withoutFileScheme(source)
        return isURL(source) || source.hasPrefix("/") ? source : workingFolder + "/" + source
    }

    /// The engine's options of a stream.
    var streamSettings: StreamSettings {
        var settings = StreamSettings()
        settings.timeout = min(max(MediaTime(options.timeout), StreamSettings.shortestTimeout), .seconds(3600))
        settings.headers = options.httpHeaders.sorted { $0.key < $1.key }.compactMap { StreamSettings.header($0.key, $0.value) }
        if !options.userAgent.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            settings.userAgent = options.userAgent
        }
        return settings
    }
}

/// Why something cannot be played.
public struct PlaybackError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was done to what, why it failed, and what can be done: one line for people.
    public let description: String

    init(_ description: String) { self.description = description }
}

extension Asset.Properties {
    /// - Parameter played: which picture track is.
    init(_ description: AssetDescription, played: Int?) {
        let tracks = description.tracks.map { track in
            var result = Asset.Track(track)
            if track.id == played { result.nominalFrameRate = description.video?.frameRate }
            return result
        }
        self.init(
            duration: description.duration?.duration, tracks: tracks, chapters: description.chapters.map(Asset.Chapter.init),
            isStill: description.isStill, isSeekable: description.isSeekable, metadata: Asset.Metadata(description.metadata))
    }
}

/// What libraries of others log in their own words.
enum LibraryLog {
    private static let hasBegun: Void = FFmpegLog.capture()

    /// Has the lines of libav* logged by swift-log from now on, at `debug` with the label `ffmpeg`, instead of written to standard error.
    static func begin() { hasBegun }
}
