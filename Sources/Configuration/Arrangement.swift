import KioskPlatform
import KioskVocabulary

/// A film that is to be put together: what an arrangement file says. It is the timeline of a playlist that is played once, written to a file
/// instead of shown.
package struct Arrangement: Hashable, Sendable {
    /// `[output]`: the file that comes of it.
    package struct Output: Hashable, Sendable {
        /// Pixels across and down, even; nil is that of the first clip that moves, upright.
        package var size: PictureSize?
        /// Pictures a second; nil is as many as show every picture of the clips, up to 60.
        package var rate: FrameRate?
        /// What pictures are encoded with; nil for the first of H.264 and MPEG-4 that the machine has an encoder for.
        package var codec: ExportCodec?
        /// Whether the processor or the hardware encodes them.
        package var encoder = EncoderSetting.automatic
        /// The constant rate factor of x264, 0…51.
        package var quality = 20
        /// Bits a second of the pictures, instead of ``quality``.
        package var bitRate: Int?
        package var title: String?

        package init() {}
    }

    /// `[film]`: what holds for all clips that do not say otherwise.
    package struct Film: Hashable, Sendable {
        /// How a picture is fitted to the film's size.
        package var gravity = VideoGravity.resizeAspect
        /// What is beside a picture.
        package var background = Color.black
        /// How long a still, or a title card, stands.
        package var imageDuration = MediaTime.seconds(5)
        /// How a clip follows the one before.
        package var transition = Transition.cut
        /// How long a fade lasts.
        package var transitionDuration = MediaTime.seconds(1)
        /// The font of title cards, as fontconfig understands it.
        package var font = "Inter, sans-serif"
        /// Which sound track of clips that have several is heard. No key of an arrangement file; a film of clips that were chosen on the shelf has
        /// the player's.
        package var audioTrack = TrackChoice.automatic
        /// Which subtitles of clips are drawn into the film.
        package var subtitles = TrackChoice.off

        package init() {}
    }

    /// One `[[clip]]`.
    package struct Clip: Hashable, Sendable {
        /// What is shown.
        package enum Content: Hashable, Sendable {
            /// A file: an absolute path, or a URL.
            case file(String)
            /// A card with a text, and a smaller one below it.
            case card(text: String, subtitle: String?, background: Color?, foreground: Color)
        }

        package var content: Content
        /// Where in the source to begin, and to end; nil is its end.
        package var start = MediaTime.zero, end: MediaTime?
        /// How long it is shown: a still is held for it, a longer clip is cut, a shorter one begins again.
        package var duration: MediaTime?
        /// nil is the film's.
        package var gravity: VideoGravity?
        /// Loudness, 0…100.
        package var volume = 100
        /// Whether its sound is left out.
        package var isMuted = false
        /// How many times in a row it is shown.
        package var repeatCount = 1
        /// How it follows the one before; nil is the film's.
        package var transition: Transition?
        /// How long a fade lasts; nil is the film's.
        package var transitionDuration: MediaTime?
        package var deinterlace = Deinterlace.auto

        package init(_ content: Content) { self.content = content }
    }

    /// `[music]`: a track of sound under all of the film.
    package struct Music: Hashable, Sendable {
        /// An absolute path, or a URL.
        package var source: String
        /// Where in it to begin.
        package var start = MediaTime.zero
        /// Loudness, 0…100.
        package var volume = 100
        /// What becomes of the clips' own sound.
        package var mode = MusicMode.duck
        /// Whether it begins again where it is shorter than the film; else silence follows.
        package var isRepeated = true
        /// How long it fades in at the beginning of the film, and out at its end.
        package var fadeIn = MediaTime.zero, fadeOut = MediaTime.seconds(2)

        package init(source: String) { self.source = source }
    }

    package var output = Output()
    package var film = Film()
    package var clips: [Clip] = []
    /// `[music]`.
    package var music: Music?

    package init() {}
}

/// What becomes of the clips' own sound where there is music.
package enum MusicMode: String, Hashable, Sendable, CaseIterable {
    /// Both are heard; the music is lowered while a clip has sound.
    case duck
    /// Both are heard, each as loud as it is.
    case mix
    /// The music alone is heard.
    case replace
}

/// What the pictures of a film are encoded with.
package enum ExportCodec: String, Hashable, Sendable, CaseIterable {
    case h264, hevc, mpeg4
}

extension Arrangement {
    /// What `configuration` shows when it plays `clips` one after the other, with `music` under them. All are absolute paths.
    ///
    /// What it says about clips decides: how they are fitted, what is beside them, how long a still stands, how one follows the other, what becomes of
    /// interlaced video, which sound track is heard. What it says about this box does not, as the film is seen elsewhere: how its display was turned
    /// (`rotation`) and where on it the picture is (`region`), how loud it is (`volume`, `muted`), and what decodes.
    package init(showing clips: [String], music: String?, in configuration: Configuration) {
        self.init()
        film.gravity = configuration.display.gravity
        film.background = configuration.display.background
        film.imageDuration = configuration.playback.imageDuration
        film.transition = configuration.playback.transition
        film.transitionDuration = configuration.playback.transitionDuration
        film.audioTrack = configuration.playback.audioTrack
        self.clips = clips.map { source in
            var clip = Clip(.file(source))
            clip.deinterlace = configuration.playback.deinterlace
            return clip
        }
        self.music = music.map { Music(source: $0) }
    }

    /// An arrangement file of `clips` with `music` under them: what ``load(_:)`` reads.
    package static func file(of clips: [String], music: String?) -> String {
        clips.map { "[[clip]]\nsource = \(quoted($0))\n" }.joined() + (music.map { "[music]\nsource = \(quoted($0))\n" } ?? "")
    }
}

/// A size of pictures: `1920x1080`; even numbers from 16 to 8192.
package struct PictureSize: Hashable, Sendable, LosslessStringConvertible {
    /// Pixels across and down.
    package let width: Int, height: Int

    /// nil where a number is odd, too small or too large.
    package init?(width: Int, height: Int) {
        let range = 16...8192
        guard range ~= width, range ~= height, width % 2 == 0, height % 2 == 0 else { return nil }
        (self.width, self.height) = (width, height)
    }

    /// nil when `text` has not the shape of it.
    package init?(_ text: String) {
        guard let match = text.wholeMatch(of: /([0-9]{2,4})x([0-9]{2,4})/), let width = Int(match.1), let height = Int(match.2) else {
            return nil
        }
        self.init(width: width, height: height)
    }

    /// `1920x1080`.
    package var description: String { "\(width)x\(height)" }
}
