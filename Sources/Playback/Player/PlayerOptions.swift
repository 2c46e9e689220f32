import Platform

extension Player {
    /// What to play with.
    public struct Options: Hashable, Sendable {
        /// What to do at the end.
        public var loop = LoopMode.playlist
        /// How long a still without a duration of its own stands.
        public var imageDuration = MediaTime.seconds(10)
        /// How one item gives way to the next.
        public var transition = Transition.cut
        /// How long a fade lasts.
        public var transitionDuration = MediaTime.seconds(1)
        /// How far one seek step moves.
        public var seekStep = MediaTime.seconds(10)
        /// Loudness, 0…1 of full scale.
        public var volume = 1.0
        /// Whether the sound is off.
        public var isMuted = false
        /// Threads libavcodec may use for an item's pictures.
        public var decoderThreads = 1
        /// Whether playing goes on from each key frame while a finger holds the slider; else the picture stands there until it is let go.
        package var playsWhileScrubbing = false
        /// Whether ``Command/quit`` is passed on.
        public var allowsQuit = false

        /// The defaults.
        public init() {}
    }
}
