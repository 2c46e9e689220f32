import Platform

/// What a source holds, as far as its headers tell.
public struct AssetDescription: Hashable, Sendable {
    /// A picture track.
    public struct Video: Hashable, Sendable {
        /// FFmpeg's short codec name: `h264`.
        public var codec: String
        /// Stored pixels across and down, before orientation.
        public var width: Int, height: Int
        /// Width of a stored pixel divided by its height.
        public var pixelAspectRatio: Double
        /// How the stored picture must be turned to stand upright.
        public var orientation: Orientation
        /// Average frames a second; nil for a still and where the container does not say.
        public var frameRate: Double?
        /// Whether the frames follow each other at one rate, as far as the container tells.
        public var isConstantFrameRate: Bool
        /// FFmpeg's name of the pixel format: `yuv420p10le`.
        public var pixelFormat: String
        /// Whether it consists of fields.
        public var isInterlaced: Bool
        /// When the track begins and how long it lasts by the container's word, in the container's own time.
        public var start: MediaTime?, duration: MediaTime?
    }

    /// A sound track.
    public struct Audio: Hashable, Sendable {
        /// FFmpeg's short codec name: `aac`.
        public var codec: String
        /// Samples a second for each channel.
        public var sampleRate: Int
        /// Number of channels.
        public var channelCount: Int
        /// When the track begins and how long it lasts by the container's word, in the container's own time.
        public var start: MediaTime?, duration: MediaTime?
    }

    /// The container's short name: `mov,mp4,m4a,3gp,3g2,mj2`.
    public var container: String
    /// Length by the container's word; nil for stills and live streams.
    public var duration: MediaTime?
    /// The picture track that is played.
    public var video: Video?
    /// The sound track that is played.
    public var audio: Audio?
    /// Whether it is a single image without a length of its own.
    public var isStill: Bool
    /// Whether one can move about in it.
    public var isSeekable: Bool
}
