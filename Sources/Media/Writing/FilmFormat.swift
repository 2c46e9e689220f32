import KioskPlatform
import KioskVocabulary

/// The content of a film, and its encoding.
package struct FilmFormat: Hashable, Sendable {
    /// The layout of the file.
    package enum Container: Hashable, CaseIterable, Sendable {
        /// A file with its index first, so that it plays while it loads. It cannot play before it is finished.
        case mp4
        /// The same as a QuickTime movie.
        case mov
        /// A file of fragments of at most a second, each written to the disk when complete. After a power cut, the complete fragments play.
        /// A film of less than a second has none.
        case fragmentedMP4
    }

    /// What is known of a film besides its content; texts of one line, nil for none.
    package struct Metadata: Hashable, Sendable {
        /// The film's title, and its author.
        package var title: String?, artist: String?
        /// The collection that it belongs to.
        package var album: String?
        /// The date of its creation: `2026`, `2026-05-01`.
        package var date: String?
        package var comment: String?

        package init() {}
    }

    /// The codec of the pictures.
    package enum VideoCodec: String, CaseIterable, Sendable {
        case h264, hevc, mpeg4
    }

    /// The colour standard of the pictures; always limited range.
    package enum Colour: Hashable, CaseIterable, Sendable { case bt601, bt709 }

    /// The picture track.
    package struct Video: Hashable, Sendable {
        /// Stored pixels across and down; even.
        package var width: Int, height: Int
        /// The codec; nil for the first of H.264 and MPEG-4 with an encoder on this machine.
        package var codec: VideoCodec?
        /// The choice between processor and hardware.
        package var encoder = EncoderWish(.automatic)
        /// Pictures a second, as a hint to the encoder; their times may differ.
        package var frameRate: Double
        /// The constant rate factor of x264: 0 is lossless, 51 the worst; 18 looks like the original. Other encoders get a comparable bit
        /// rate or quantiser.
        package var quality = 20
        /// Average bits a second; overrides ``quality``.
        package var bitRate: Int?
        /// The most bits a second, averaged over a second; nil for no limit.
        package var bitRateLimit: Int?
        /// The rotation that a player must apply to the stored picture.
        package var orientation = Orientation.up
        /// BT.709 above 576 lines: players assume this if nothing is said.
        package var colour: Colour
        /// The longest interval between pictures to which a player can seek.
        package var keyFrameInterval = MediaTime.seconds(2)
        /// Whether each picture comes out at once, at some cost in quality, so that a recording does not lag.
        package var isLive = false
        /// The number of encoding threads; 0 is one for each processor.
        package var threads = 0

        /// Creates a track of pictures of this size, with defaults otherwise. Rounds sizes down to even numbers from 2 to 16384.
        package init(width: Int, height: Int, frameRate: Double) {
            func even(_ length: Int) -> Int { min(max(length, 2), 16384) / 2 * 2 }
            (self.width, self.height) = (even(width), even(height))
            self.frameRate = frameRate.isFinite ? min(max(frameRate, 1), 1000) : 30
            colour = self.height > 576 ? .bt709 : .bt601
        }
    }

    /// The sound track: AAC.
    package struct Audio: Hashable, Sendable {
        /// The input format; AAC takes 8000 to 96000 samples a second, and one to eight channels.
        package var samples: AudioFormat
        /// Bits a second.
        package var bitRate = 192_000

        /// Creates a sound track of this format at the default bit rate.
        package init(_ samples: AudioFormat) { self.samples = samples }
    }

    /// The layout of the file.
    package var container = Container.mp4
    /// The picture track; nil for a file of sound alone.
    package var video: Video?
    /// The sound track; nil for a silent file.
    package var audio: Audio?
    /// Whether the index is moved before the content, which writes a complete film once more. Ignored for fragments.
    package var isIndexFirst = true
    package var metadata = Metadata()

    /// Creates a format of these tracks; at least one is not nil.
    package init(container: Container = .mp4, video: Video?, audio: Audio?) {
        (self.container, self.video, self.audio) = (container, video, audio)
    }
}

/// The types of film files, by the extensions of their names.
package enum FilmType: Hashable, CaseIterable, Sendable {
    case mp4, mov

    /// The type's name in messages.
    package var title: String { self == .mp4 ? "MP4" : "MOV" }
    /// The extensions, the usual one first.
    package var extensions: [String] { self == .mp4 ? ["mp4", "m4v"] : ["mov", "qt"] }
    /// The layout of such a file.
    package var container: FilmFormat.Container { self == .mp4 ? .mp4 : .mov }

    /// Returns the type that a path's extension names; nil if it names neither.
    package static func named(by path: String) -> FilmType? {
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
        return allCases.first { $0.extensions.contains(name[name.index(after: dot)...].lowercased()) }
    }
}

extension FilmFormat.Container {
    /// libavformat's name of the muxer.
    var muxer: String { self == .mov ? "mov" : "mp4" }
}
