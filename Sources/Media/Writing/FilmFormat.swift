import KioskPlatform
import KioskVocabulary

/// What a film is to hold, and how it is encoded.
package struct FilmFormat: Hashable, Sendable {
    /// How the file is put together.
    package enum Container: Hashable, CaseIterable, Sendable {
        /// Its index comes first, so that it plays while it is loaded. Nothing of it can be played before it is finished.
        case mp4
        /// In fragments of at most a second, each written to the disk when it is complete: what a power cut leaves can be played. Of less
        /// than a second nothing can.
        case fragmentedMP4
    }

    /// What pictures are encoded with.
    package enum VideoCodec: String, CaseIterable, Sendable {
        case h264, hevc, mpeg4
    }

    /// How their numbers mean colours; always the limited range.
    package enum Colour: Hashable, CaseIterable, Sendable { case bt601, bt709 }

    /// The picture track.
    package struct Video: Hashable, Sendable {
        /// Pixels across and down, as stored; even.
        package var width: Int, height: Int
        /// What it is encoded with; nil for the first of H.264 and MPEG-4 that the machine has an encoder for.
        package var codec: VideoCodec?
        /// Whether the processor or the hardware does.
        package var encoder = EncoderWish(.automatic)
        /// Pictures a second, for the encoder to reckon with; their times may be others.
        package var frameRate: Double
        /// The constant rate factor of x264: 0 is lossless, 51 the worst; 18 looks like the original. Encoders that have none are given a bit
        /// rate or a quantiser that comes near it.
        package var quality = 20
        /// Bits a second on average; it beats ``quality``.
        package var bitRate: Int?
        /// How a player must rotate the stored picture.
        package var orientation = Orientation.up
        /// BT.709 above 576 lines, as players take it where nothing is said.
        package var colour: Colour
        /// How often at least a picture can be sought.
        package var keyFrameInterval = MediaTime.seconds(2)
        /// Whether each picture has to come out as soon as it has gone in, at some cost in quality: a recording is not to lag behind.
        package var isLive = false
        /// How many threads encode; 0 is one for each processor.
        package var threads = 0

        /// A track of pictures of this size, the rest as usual. Sizes are rounded down to even numbers, and kept from 2 to 16384.
        package init(width: Int, height: Int, frameRate: Double) {
            func even(_ length: Int) -> Int { min(max(length, 2), 16384) / 2 * 2 }
            (self.width, self.height) = (even(width), even(height))
            self.frameRate = frameRate.isFinite ? min(max(frameRate, 1), 1000) : 30
            colour = self.height > 576 ? .bt709 : .bt601
        }
    }

    /// The sound track: AAC.
    package struct Audio: Hashable, Sendable {
        /// What it is given; AAC takes 8000 to 96000 a second, and one to eight channels.
        package var samples: AudioFormat
        /// Bits a second.
        package var bitRate = 192_000

        /// Sound of this format at the usual bit rate.
        package init(_ samples: AudioFormat) { self.samples = samples }
    }

    /// How the file is put together.
    package var container = Container.mp4
    /// nil for a file of sound alone.
    package var video: Video?
    /// nil for a silent file.
    package var audio: Audio?
    /// What the file calls itself.
    package var title: String?

    /// A format of these tracks, of which there is at least one.
    package init(container: Container = .mp4, video: Video?, audio: Audio?) {
        (self.container, self.video, self.audio) = (container, video, audio)
    }
}
