import KioskPlatform
import KioskVocabulary

extension PlaybackEngine {
    /// The options of a player.
    package struct Options: Hashable, Sendable {
        /// What to do at the end.
        package var loop = LoopMode.playlist
        /// Whether each round has an order of its own.
        package var shuffles = false
        /// How long a still without its own duration stands.
        package var imageDuration = MediaTime.seconds(10)
        /// The transition from one item to the next.
        package var transition = Transition.cut
        /// How long a fade lasts.
        package var transitionDuration = MediaTime.seconds(1)
        /// How far one seek step moves.
        package var seekStep = MediaTime.seconds(10)
        /// Loudness, 0…1 of full scale.
        package var volume = 1.0
        /// Whether the sound is off.
        package var isMuted = false
        /// How much later than the picture the sound is heard, for a display that delays pictures; negative is earlier. Half a second at
        /// most.
        package var audioDelay = MediaTime.zero
        /// How its sound coexists with that of other programs.
        package var audioSession = AudioSession()
        /// The number of threads that libavcodec may use for an item's pictures.
        package var decoderThreads = 1
        /// The node of the hardware decoder's device; nil for any.
        package var decoderDevice: String?
        /// Whether playback goes on from each key frame while a finger holds the slider; otherwise the picture stands there until the
        /// finger lets go.
        package var playsWhileScrubbing = false
        /// The region of the display that the picture fills.
        package var region = Region.full
        /// The style of text subtitles.
        package var subtitles = SubtitleStyle()
        /// The stream settings of sources that are not on the list and are played by a command.
        package var stream = StreamSettings()

        /// Creates the default options.
        package init() {}
    }

    /// Applies new options during playback. The end of the playlist, its order, and the lengths of stills, fades and seek steps change with
    /// the next item. The slider, commands for sources that are not on the list, and the style of subtitles change at once. Loudness and
    /// region change if they differ from `former`. All other options apply from the start only.
    package func setOptions(_ new: Options, instead former: Options) {
        pipeline.signal { pipeline in
            var rules = PlaylistRules(new)
            // A list that is already shuffled keeps its order.
            if rules.shuffle != nil, let present = pipeline.cursor.rules.shuffle { rules.shuffle = present }
            guard rules != pipeline.cursor.rules else { return }
            pipeline.cursor.rules = rules
            pipeline.cursor.list.noteRules()
        }
        subtitleStyle.withLock { $0 = new.subtitles }
        if new.volume != former.volume { volume = new.volume }
        if new.isMuted != former.isMuted { isMuted = new.isMuted }
        if new.region != former.region { setRegion(new.region) }
    }
}
