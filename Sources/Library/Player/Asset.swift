internal import KioskMedia
internal import KioskPlatform
internal import KioskReaderProtocol
internal import KioskReaders
public import KioskVocabulary

/// The media in a file or at a URL: a movie, a sound, a picture.
///
/// An asset is only a name until it is played or ``load()`` is called; creating one opens nothing.
public struct Asset: Hashable, Sendable {
    /// The path of a file, or a URL that FFmpeg opens (`https://…`, `rtsp://…`).
    public let source: String
    /// How to fetch it over the network.
    public let options: Options

    /// Creates the asset of a path or a URL. A relative path starts at the working folder.
    public init(_ source: String, options: Options = Options()) { (self.source, self.options) = (source, options) }

    /// How to fetch an asset over the network: the options of AVURLAsset. Files ignore them.
    public struct Options: Hashable, Sendable {
        /// Headers of each HTTP request, by their names. A header that HTTP does not allow, such as a value of several lines, is left out.
        public var httpHeaders: [String: String] = [:]
        /// The User-Agent sent to HTTP and RTSP servers.
        public var userAgent = StreamSettings().userAgent
        /// How long a connection may give no data before it counts as lost, and how long opening it may take: 1 s to an hour.
        public var timeout = StreamSettings().timeout.duration

        /// Creates options with no headers and 10 s.
        public init() {}
    }

    /// The properties of an asset, from its headers.
    public struct Properties: Hashable, Sendable {
        /// Its duration; ``CMTime/indefinite`` for a still, and if it is endless or unknown.
        public var duration: CMTime
        /// All its tracks, in file order within each kind.
        public var tracks: [Track]
        /// Its chapters, in order.
        public var chapters: [Chapter]
        /// Whether it is a single picture without a duration.
        public var isStill: Bool
        /// Whether it can seek.
        public var isSeekable: Bool
        /// Its metadata.
        public var metadata: Metadata
    }

    /// A track of an asset.
    public struct Track: Hashable, Sendable, Identifiable {
        /// The kind of a track.
        public enum MediaType: Hashable, Sendable {
            /// Moving pictures, or a still.
            case video
            /// Sound.
            case audio
            /// Subtitles, in the file or beside it.
            case subtitle
        }

        /// Its index among all tracks of the file, from 0.
        public var id: Int
        /// The kind of the track.
        public var mediaType: MediaType
        /// Its number among the tracks of its kind, from 1.
        public var number: Int
        /// FFmpeg's short name of its codec: `h264`, `aac`.
        public var codec: String
        /// Its language as the file writes it, in lower case: `de`, `deu`, `de-at`; nil if the file states none.
        public var languageTag: String?
        /// Its title: `Director's commentary`; nil if the file states none.
        public var title: String?
        /// Whether the file marks it as the default.
        public var isDefault: Bool
        /// Pixels across and down as stored, before the rotation upright; nil if it is no picture.
        public var naturalSize: PixelSize?
        /// Pictures a second; nil unless it is the picture track in use, for stills, and if unknown.
        public var nominalFrameRate: Double?
        /// Samples a second; nil if it is no sound.
        public var sampleRate: Int?
        /// The number of channels; nil if it is no sound.
        public var channelCount: Int?
        /// Of subtitles: whether they cover only speech in another language.
        public var containsOnlyForcedSubtitles = false
        /// Of subtitles: whether they describe sounds, too (SDH).
        public var isForHardOfHearing = false
        /// The asset that it belongs to.
        public internal(set) var asset: Asset?
        /// Brings a stored picture upright; known of the picture track in use.
        package var uprightTransform = PictureTransform.identity
    }

    /// A chapter of an asset.
    public struct Chapter: Hashable, Sendable {
        /// Its title; nil if the file states none.
        public var title: String?
        /// The time from its beginning to its end.
        public var timeRange: CMTimeRange
    }

    /// The metadata of an asset: AVFoundation's common metadata. Texts are one line of at most 200 characters; nil if the file states none.
    public struct Metadata: Hashable, Sendable {
        /// Its title.
        public var title: String?
        /// Its author or performer.
        public var artist: String?
        /// The title of its album or collection.
        public var albumName: String?
        /// Its date of creation, as the file writes it: `2024`, `2024-05-01`.
        public var creationDate: String?
        /// Whether it has an artwork, which ``Asset/loadArtwork()`` reads.
        public var hasArtwork = false
    }

    /// The artwork of an asset: a cover.
    public struct Artwork: Hashable, Sendable {
        /// FFmpeg's short name of its codec: `mjpeg`, `png`.
        public var codec: String
        /// The bytes of a file of that codec.
        public var data: [UInt8]
    }

    /// Opens the asset, reads its headers, and closes it again. Takes as long as the disk or the network needs, at most 15 s or the time
    /// limit in its options.
    ///
    /// - Throws: ``PlaybackError`` with the reason why it cannot be opened.
    public func load() async throws -> Properties {
        try await read { [readers = Player.readers] source, settings throws(MediaError) in
            var order = OpenOrder(.play, source, settings)
            order.samples = AudioFormat(sampleRate: 48000, channelCount: 2)
            let client = try ReaderClient(order, by: readers, Interruption())
            return Properties(client.description, played: client.selectedTracks[.video], of: self)
        }
    }

    /// Returns the same as ``load()``, and blocks for that.
    package func loadNow() throws(PlaybackError) -> Properties {
        LibraryLog.begin()
        var order = OpenOrder(.play, location, streamSettings)
        order.samples = AudioFormat(sampleRate: 48000, channelCount: 2)
        do throws(MediaError) {
            let client = try ReaderClient(order, by: Player.readers, Interruption())
            return Properties(client.description, played: client.selectedTracks[.video], of: self)
        } catch { throw PlaybackError("\(error)") }
    }

    /// Reads the artwork of the asset; nil if it has none, or one of more than 16 MB. Takes as long as ``load()``.
    ///
    /// - Throws: ``PlaybackError`` with the reason why the asset cannot be opened.
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
            // Not on the pool of the concurrency runtime: a disk that hangs would block it.
            Thread("asset") {
                do throws(MediaError) { continuation.resume(returning: try body(location, settings)) } catch {
                    continuation.resume(throwing: PlaybackError("\(error)"))
                }
            }.detach()
        }
    }

    /// Its absolute path, or its URL.
    package var location: String {
        let source = withoutFileScheme(source)
        return isURL(source) || source.hasPrefix("/") ? source : workingFolder + "/" + source
    }

    /// The engine's stream options.
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

/// The reason why something cannot be played.
public struct PlaybackError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The attempt, the cause of its failure and the remedy: one line for people.
    public let description: String

    package init(_ description: String) { self.description = description }
}

extension Asset.Properties {
    /// - Parameter played: the picture track in use.
    init(_ description: AssetDescription, played: Int?, of asset: Asset) {
        let tracks = description.tracks.map { track in
            var result = Asset.Track(track)
            result.asset = asset
            if track.id == played, let video = description.video {
                result.nominalFrameRate = video.frameRate
                result.uprightTransform = video.orientation.transform(width: Double(video.width), height: Double(video.height))
            }
            return result
        }
        self.init(
            duration: description.duration.map { CMTime($0) } ?? .indefinite, tracks: tracks,
            chapters: description.chapters.map(Asset.Chapter.init),
            isStill: description.isStill, isSeekable: description.isSeekable, metadata: Asset.Metadata(description.metadata))
    }
}

/// The log lines of other libraries.
package enum LibraryLog {
    private static let hasBegun: Void = FFmpegLog.capture()

    /// Sends the log lines of libav* to swift-log from now on, at `debug` with the label `ffmpeg`, instead of standard error.
    package static func begin() { hasBegun }
}
