// A film of clips that somebody has chosen, as the player would show them.
import KioskVocabulary

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
