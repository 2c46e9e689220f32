import Platform
import Vocabulary

extension Player {
    /// What to play with.
    package struct Options: Hashable, Sendable {
        /// What to do at the end.
        package var loop = LoopMode.playlist
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
        /// Threads libavcodec may use for an item's pictures.
        package var decoderThreads = 1
        /// The node of the hardware decoder's device; nil is whichever there is.
        package var decoderDevice: String?
        /// Whether playing goes on from each key frame while a finger holds the slider; else the picture stands there until it is let go.
        package var playsWhileScrubbing = false
        /// Whether ``Command/quit`` is passed on.
        package var allowsQuit = false

        /// The defaults.
        package init() {}
    }
}
