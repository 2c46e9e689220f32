internal import KioskMedia
internal import KioskPlatform

/// What a file or a URL holds: a movie, a sound, a picture.
///
/// An asset is a name and nothing more until it is played or ``load()`` is called; to make one opens nothing.
public struct Asset: Hashable, Sendable {
    /// The path of a file, or a URL that FFmpeg opens (`https://…`, `rtsp://…`).
    public let source: String

    /// The asset of a path or a URL. A relative path is one of the working folder.
    public init(_ source: String) { self.source = source }

    /// What is known of an asset from its headers.
    public struct Properties: Hashable, Sendable {
        /// How long it lasts; nil for a still, and where it never ends or nobody knows.
        public var duration: Duration?
        /// What is played of it: a picture track and a sound track at most.
        public var tracks: [Track]
        /// Whether it is a single picture without a duration.
        public var isStill: Bool
        /// Whether one can move about in it.
        public var isSeekable: Bool
        /// What it calls itself.
        public var title: String?
    }

    /// A track of an asset.
    public struct Track: Hashable, Sendable {
        /// What a track is.
        public enum MediaType: Hashable, Sendable {
            /// Moving pictures, or a still.
            case video
            /// Sound.
            case audio
        }

        /// Whether it is pictures or sound.
        public var mediaType: MediaType
        /// FFmpeg's short name of its codec: `h264`, `aac`.
        public var codec: String
        /// Pixels across and down as stored, before it is turned upright; nil for sound.
        public var naturalSize: PixelSize?
        /// Pictures a second; nil for sound, stills, and where nobody says.
        public var nominalFrameRate: Double?
        /// Samples a second; nil for pictures.
        public var sampleRate: Int?
        /// How many channels there are; nil for pictures.
        public var channelCount: Int?
    }

    /// Opens the asset, reads its headers, and closes it again. Takes as long as the disk or the network does, 15 s at most.
    ///
    /// - Throws: ``PlaybackError`` with why it cannot be opened.
    public func load() async throws -> Properties {
        let source = source
        return try await withCheckedThrowingContinuation { continuation in
            // Not on the pool of the concurrency runtime, which a disk that hangs would hold up.
            Thread("asset") { continuation.resume(with: Result { try Self.read(source) }) }.detach()
        }
    }

    private static func read(_ source: String) throws(PlaybackError) -> Properties {
        do throws(MediaError) {
            let reader = try MediaReader.open(source, samples: AudioFormat(sampleRate: 48000, channelCount: 2))
            return Properties(reader.description)
        } catch { throw PlaybackError("\(error)") }
    }
}

/// Why something cannot be played.
public struct PlaybackError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was done to what, why it failed, and what can be done: one line for people.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// Pixels across and down.
public struct PixelSize: Hashable, Sendable {
    /// Across.
    public var width: Int
    /// Down.
    public var height: Int

    /// A size from its parts.
    public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }
}

extension Asset.Properties {
    init(_ description: AssetDescription) {
        var tracks: [Asset.Track] = []
        if let video = description.video {
            tracks.append(
                Asset.Track(
                    mediaType: .video, codec: video.codec, naturalSize: PixelSize(width: video.width, height: video.height),
                    nominalFrameRate: video.frameRate))
        }
        if let audio = description.audio {
            tracks.append(
                Asset.Track(mediaType: .audio, codec: audio.codec, sampleRate: audio.sampleRate, channelCount: audio.channelCount))
        }
        self.init(
            duration: description.duration?.duration, tracks: tracks, isStill: description.isStill, isSeekable: description.isSeekable,
            title: description.title)
    }
}
