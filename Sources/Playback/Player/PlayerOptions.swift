import KioskPlatform
import KioskVocabulary

extension PlaybackEngine {
    /// What to play with.
    package struct Options: Hashable, Sendable {
        /// What to do at the end.
        package var loop = LoopMode.playlist
        /// Whether each round has an order of its own.
        package var shuffles = false
        /// How long a still without a duration of its own stands.
        package var imageDuration = MediaTime.seconds(10)
        /// How one item gives way to the next.
        package var transition = Transition.cut
        /// How long a fade lasts.
        package var transitionDuration = MediaTime.seconds(1)
        /// How far one seek step moves.
        package var seekStep = MediaTime.seconds(10)
        /// Loudness, 0…1 of full scale.
        package var volume = 1.0
        /// Whether the sound is off.
        package var isMuted = false
        /// By how much the sound is heard later than the picture is seen, where the display takes so long for pictures; negative: earlier. Half a second at
        /// most.
        package var audioDelay = MediaTime.zero
        /// How its sound gets along with other programs.
        package var audioSession = AudioSession()
        /// Threads libavcodec may use for an item's pictures.
        package var decoderThreads = 1
        /// The node of the hardware decoder's device; nil is whichever there is.
        package var decoderDevice: String?
        /// Whether playing goes on from each key frame while a finger holds the slider; else the picture stands there until it is let go.
        package var playsWhileScrubbing = false
        /// Where on the display the picture is.
        package var region = Region.full
        /// How subtitles look that are text.
        package var subtitles = SubtitleStyle()
        /// How what is not on the list is fetched, which a command plays.
        package var stream = StreamSettings()

        /// The defaults.
        package init() {}
    }

    /// Plays by other options from now on: what happens at the end, the order, and the lengths of stills, fades and seek steps, from the next
    /// item on; what the slider and commands for what is not on
    /// the list do, at once, and the look of subtitles; loudness and region where they are others than `former` said. The others hold
    /// from the start on.
    package func setOptions(_ new: Options, instead former: Options) {
        pipeline.signal { pipeline in
            var rules = PlaylistRules(new)
            // A list that is shuffled already keeps its order.
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
