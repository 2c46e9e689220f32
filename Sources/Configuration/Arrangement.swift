import KioskPlatform
import KioskVocabulary

/// A film to be exported: the content of an arrangement file. It is the timeline of a playlist that plays once, written to a file instead
/// of shown.
package struct Arrangement: Hashable, Sendable {
    /// `[output]`: the exported file.
    package struct Output: Hashable, Sendable {
        /// Width and height in pixels, both even; nil for the size of the first clip that moves, upright.
        package var size: PictureSize?
        /// Frames a second; nil for the rate that shows every frame of the clips, at most 60.
        package var rate: FrameRate?
        /// The video codec; nil for the first of H.264 and MPEG-4 that the machine can encode.
        package var codec: ExportCodec?
        /// Whether the processor or the hardware encodes the frames.
        package var encoder = EncoderSetting.automatic
        /// The constant rate factor of x264, 0…51.
        package var quality = 20
        /// The bit rate of the video in bits a second, instead of ``quality``.
        package var bitRate: Int?
        package var title: String?
        /// Its artist, album, date and comment. These, and all that follow, are for applications: files have no keys for them.
        package var artist: String?, album: String?, date: String?, comment: String?
        /// The largest size, if ``size`` is nil: the clips' size is scaled down into it, or into the same size upright.
        package var largest: PictureSize?
        /// Whether the file begins with its index.
        package var isIndexFirst = true
        /// The largest length of the file in bytes; nil for no limit.
        package var byteLimit: Int64?

        package init() {}
    }

    /// `[film]`: defaults for all clips.
    package struct Film: Hashable, Sendable {
        /// How a picture is fitted to the film's size.
        package var gravity = VideoGravity.resizeAspect
        /// The colour beside a picture.
        package var background = Color.black
        /// How long a still or a title card is shown.
        package var imageDuration = MediaTime.seconds(5)
        /// How a clip follows the one before.
        package var transition = Transition.cut
        /// How long a fade lasts.
        package var transitionDuration = MediaTime.seconds(1)
        /// The font of title cards, as fontconfig understands it.
        package var font = "Inter, sans-serif"
        /// The audio track to use if a clip has several. Arrangement files have no key for it. A film of clips chosen on the shelf takes
        /// the player's setting.
        package var audioTrack = TrackChoice.automatic
        /// The subtitles to draw into the film.
        package var subtitles = TrackChoice.off

        package init() {}
    }

    /// One `[[clip]]`.
    package struct Clip: Hashable, Sendable {
        /// The content of a clip.
        package enum Content: Hashable, Sendable {
            /// A file: an absolute path, or a URL.
            case file(String)
            /// A card with a text, and a smaller one below it.
            case card(text: String, subtitle: String?, background: Color?, foreground: Color)
        }

        package var content: Content
        /// The start and the end in the source; nil for the source's end.
        package var start = MediaTime.zero, end: MediaTime?
        /// How long it is shown: a still is held, a longer clip is cut, a shorter clip repeats.
        package var duration: MediaTime?
        /// How it is fitted; nil for the film's setting.
        package var gravity: VideoGravity?
        /// Loudness, 0…100.
        package var volume = 100
        /// Whether its sound is left out.
        package var isMuted = false
        /// How many times in a row it is shown.
        package var repeatCount = 1
        /// How it follows the clip before; nil for the film's setting.
        package var transition: Transition?
        /// How long a fade lasts; nil for the film's setting.
        package var transitionDuration: MediaTime?
        package var deinterlace = Deinterlace.auto
        /// Changes over the time since the beginning of a showing, for applications; arrangement files have no keys for them.
        package var changes = Changes()

        package init(_ content: Content) { self.content = content }
    }

    /// The place, the opacity and the loudness of a clip over time.
    package struct Changes: Hashable, Sendable {
        /// The transform of its picture; nil for none.
        package var transform: Ramps<PictureTransform>?
        /// Whether the transform takes the picture as stored (``PicturePlacement/isOfStored``).
        package var isOfStored = false
        /// The opacity of its picture, 0…1; nil for 1.
        package var opacity: Ramps<Double>?
        /// Its loudness, 0…1, instead of ``Clip/volume``; nil if it does not change.
        package var volume: Ramps<Double>?

        package init() {}

        /// Whether the picture is drawn as it is.
        package var isPlain: Bool { transform == nil && opacity == nil }
    }

    /// A clip over the others: a picture in the picture.
    package struct Inset: Hashable, Sendable {
        package var clip: Clip
        /// The time in the film at which it begins.
        package var start: MediaTime

        package init(_ clip: Clip, start: MediaTime) { (self.clip, self.start) = (clip, start) }
    }

    /// `[music]`: a sound track under the whole film.
    package struct Music: Hashable, Sendable {
        /// An absolute path, or a URL.
        package var source: String
        /// The start position in the track.
        package var start = MediaTime.zero
        /// Loudness, 0…100.
        package var volume = 100
        /// How the music and the clips' own sound combine.
        package var mode = MusicMode.duck
        /// Whether the music repeats if it is shorter than the film; otherwise silence follows.
        package var isRepeated = true
        /// How long the music fades in at the film's start, and out at its end.
        package var fadeIn = MediaTime.zero, fadeOut = MediaTime.seconds(2)
        /// Loudness over the time of the film, 0…1, instead of ``volume``; nil if it does not change. For applications.
        package var volumes: Ramps<Double>?

        package init(source: String) { self.source = source }
    }

    package var output = Output()
    package var film = Film()
    package var clips: [Clip] = []
    /// Clips over those, the rearmost first. For applications.
    package var insets: [Inset] = []
    /// `[music]`; nil for none.
    package var music: Music?

    package init() {}
}

/// How the music and the clips' own sound combine.
package enum MusicMode: String, Hashable, Sendable, CaseIterable {
    /// Both are heard; the music is lowered while a clip has sound.
    case duck
    /// Both are heard at their own loudness.
    case mix
    /// Only the music is heard.
    case replace
}

/// The video codec of a film.
package enum ExportCodec: String, Hashable, Sendable, CaseIterable {
    case h264, hevc, mpeg4
}

extension Arrangement {
    /// The film that `configuration` shows when it plays `clips` one after the other, with `music` under them. All are absolute paths.
    ///
    /// Settings for clips apply: fitting, background, duration of stills, transitions, deinterlacing and audio track. Settings for this
    /// machine do not, because the film plays elsewhere: `rotation`, `region`, `volume`, `muted` and the decoders.
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

    /// Returns the text of an arrangement file of `clips` with `music` under them, as ``load(_:)`` reads it.
    package static func file(of clips: [String], music: String?) -> String {
        clips.map { "[[clip]]\nsource = \(quoted($0))\n" }.joined() + (music.map { "[music]\nsource = \(quoted($0))\n" } ?? "")
    }
}

/// A picture size such as `1920x1080`; both numbers are even, from 16 to 8192.
package struct PictureSize: Hashable, Sendable, LosslessStringConvertible {
    /// Width and height in pixels.
    package let width: Int, height: Int

    /// Makes a size; nil if a number is odd, too small or too large.
    package init?(width: Int, height: Int) {
        let range = 16...8192
        guard range ~= width, range ~= height, width % 2 == 0, height % 2 == 0 else { return nil }
        (self.width, self.height) = (width, height)
    }

    /// Parses `1920x1080`; nil if `text` has another form.
    package init?(_ text: String) {
        guard let match = text.wholeMatch(of: /([0-9]{2,4})x([0-9]{2,4})/), let width = Int(match.1), let height = Int(match.2) else {
            return nil
        }
        self.init(width: width, height: height)
    }

    /// `1920x1080`.
    package var description: String { "\(width)x\(height)" }
}
