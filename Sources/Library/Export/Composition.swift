import KioskConfiguration
import KioskPlatform
public import KioskPlayer
import KioskVocabulary

/// Clips one after the other, with others over them and music under them: the content of a film. AVMutableComposition, its audio mix and its
/// video composition in one value.
public struct Composition: Hashable, Sendable {
    /// How a clip follows the one before.
    public enum Transition: Hashable, Sendable {
        /// The first frame follows the last one.
        case cut
        /// The clip fades in over the end of the one before, picture and sound, for this time, at most half of either.
        case fade(CMTime)
    }

    /// A clip of a film, or a still.
    public struct Clip: Hashable, Sendable {
        /// The file. Options of the network do not apply.
        public var asset: Asset
        /// The part of the asset; nil is all of it.
        public var timeRange: CMTimeRange?
        /// The duration of one showing: a still stands for it, a longer clip is cut, a shorter one repeats. nil is the clip's own, and
        /// ``Composition/stillDuration`` for a still.
        public var duration: CMTime?
        /// The number of showings in a row.
        public var repeatCount = 1
        /// How to fit its picture into the film.
        public var videoGravity = VideoGravity.resizeAspect
        /// Loudness, 0…1.
        public var volume: Float = 1
        /// Whether to drop its sound.
        public var isMuted = false
        /// How it follows the clip before.
        public var transition = Transition.cut
        /// Where its picture stands: a transform of the picture that ``videoGravity`` has placed upright in the film, in pixels of the film. The
        /// background is beside it. A picture that is scaled to nothing is not seen.
        public var transform = Transform.identity
        /// Whether ``transform`` and its ramps take the picture as stored instead, as AVFoundation does: in its own pixels, before it is
        /// upright and without ``videoGravity``.
        public var transformsStoredPicture = false
        /// The opacity of its picture, 0…1: the background of the film shows through, and below an ``Overlay`` the clips.
        public var opacity: Float = 1
        var transforms: [Ramp<Transform>] = []
        var opacities: [Ramp<Float>] = [], volumes: [Ramp<Float>] = []

        /// Whether it shows only the background of the film.
        var isEmpty = false

        /// Returns a clip without a picture and sound: the background of the film, for ``Overlay``s or as a pause.
        public static func empty(_ duration: CMTime) -> Clip {
            var clip = Clip(Asset(""))
            (clip.duration, clip.isEmpty) = (duration, true)
            return clip
        }

        /// Creates a clip of an asset, or of a part of it.
        public init(_ asset: Asset, timeRange: CMTimeRange? = nil) { (self.asset, self.timeRange) = (asset, timeRange) }
    }

    /// A clip over the others: a picture in the picture, like a second track of AVMutableComposition.
    public struct Overlay: Hashable, Sendable {
        /// The clip. ``Clip/transform`` places its picture, which covers the film otherwise; ``Clip/transition`` does not apply. Its sound is
        /// added to that of the others.
        public var clip: Clip
        /// The time in the film at which it begins. It ends by itself, or with the film.
        public var start: CMTime

        /// Creates an overlay.
        public init(_ clip: Clip, at start: CMTime = .zero) { (self.clip, self.start) = (clip, start) }
    }

    /// Sound under the whole film.
    public struct Music: Hashable, Sendable {
        /// How the music and the sound of the clips combine.
        public enum Mix: Hashable, Sendable {
            /// The music is quieter while a clip has sound.
            case duck
            /// Both have their own loudness.
            case mix
            /// Only the music is heard.
            case replace
        }

        /// The file.
        public var asset: Asset
        /// The time in the asset to begin at.
        public var start = CMTime.zero
        /// Loudness, 0…1.
        public var volume: Float = 1
        /// How it combines with the sound of the clips.
        public var mix = Mix.duck
        /// Whether it begins again if it is shorter than the film.
        public var isRepeated = true
        /// How long it fades in at the beginning of the film, and out at its end.
        public var fadeIn = CMTime.zero, fadeOut = CMTime.seconds(2)
        var volumes: [Ramp<Float>] = []

        /// Creates music of an asset.
        public init(_ asset: Asset) { self.asset = asset }
    }

    /// The clips, in order.
    public var clips: [Clip]
    /// The clips over those, the rearmost first. The film is as long as ``clips``.
    public var overlays: [Overlay] = []
    /// The music; nil for none.
    public var music: Music?
    /// Pixels across and down of the film, both even, 16 to 8192; nil is the size of the first clip that moves.
    public var renderSize: PixelSize?
    /// The duration of a frame; nil is that of the lowest rate that shows every frame of the clips, at most 60 a second.
    public var frameDuration: CMTime?
    /// How long a still stands.
    public var stillDuration = CMTime.seconds(5)

    /// Creates a composition of clips.
    public init(_ clips: [Clip] = []) { self.clips = clips }

    /// Appends a part of an asset.
    public mutating func append(_ asset: Asset, timeRange: CMTimeRange? = nil) { clips.append(Clip(asset, timeRange: timeRange)) }

    /// Returns the engine's arrangement.
    ///
    /// - Throws: ``AssetExportError`` with the first value that no film can have.
    func arrangement() throws(AssetExportError) -> Arrangement {
        var arrangement = Arrangement()
        if let renderSize {
            guard let size = PictureSize(width: renderSize.width, height: renderSize.height) else {
                throw AssetExportError(
                    .invalidComposition, "renderSize \(renderSize.width)×\(renderSize.height): use even numbers of 16 to 8192")
            }
            arrangement.output.size = size
        }
        if let frameDuration {
            guard frameDuration.isNumeric, frameDuration > .zero, let denominator = Int(exactly: frameDuration.value),
                let rate = FrameRate(Int(frameDuration.timescale), denominator)
            else { throw AssetExportError(.invalidComposition, "frameDuration \(frameDuration): use a duration such as 1001/30000 s") }
            arrangement.output.rate = rate
        }
        arrangement.film.imageDuration = try Self.time(stillDuration, "stillDuration")
        for (index, clip) in clips.enumerated() { arrangement.clips.append(try Self.clip(clip, "clip \(index + 1)")) }
        for (index, overlay) in overlays.enumerated() {
            let name = "overlay \(index + 1)"
            let start = try Self.time(overlay.start, "start of \(name)")
            arrangement.insets.append(.init(try Self.clip(overlay.clip, name), start: start))
        }
        if let music {
            var engine = Arrangement.Music(source: music.asset.location)
            engine.start = try Self.time(music.start, "start of the music")
            engine.volume = Self.percent(music.volume)
            engine.volumes = try Self.volumes(music.volumes, music.volume, "volume of the music")
            engine.mode =
                switch music.mix {
                case .duck: .duck
                case .mix: .mix
                case .replace: .replace
                }
            engine.isRepeated = music.isRepeated
            engine.fadeIn = try Self.time(music.fadeIn, "fadeIn of the music")
            engine.fadeOut = try Self.time(music.fadeOut, "fadeOut of the music")
            arrangement.music = engine
        }
        return arrangement
    }

    private static func clip(_ clip: Clip, _ name: String) throws(AssetExportError) -> Arrangement.Clip {
        var engine = Arrangement.Clip(
            clip.isEmpty ? .card(text: "", subtitle: nil, background: nil, foreground: .white) : .file(clip.asset.location))
        if let range = clip.timeRange {
            engine.start = try time(range.start, "timeRange of \(name)")
            if !range.duration.isPositiveInfinity { engine.end = try time(range.end, "timeRange of \(name)") }
            if range.isEmpty { throw AssetExportError(.invalidComposition, "timeRange of \(name): is empty") }
        }
        if let duration = clip.duration {
            engine.duration = try time(duration, "duration of \(name)")
            if duration <= .zero { throw AssetExportError(.invalidComposition, "duration of \(name): use a time above zero") }
        }
        engine.repeatCount = min(max(clip.repeatCount, 1), 10_000)
        engine.gravity = clip.videoGravity
        engine.volume = percent(clip.volume)
        engine.isMuted = clip.isMuted
        if case .fade(let duration) = clip.transition {
            (engine.transition, engine.transitionDuration) = (.fade, try time(duration, "transition of \(name)"))
        }
        engine.changes = try changes(of: clip, name)
        return engine
    }

    static func time(_ time: CMTime, _ name: String) throws(AssetExportError) -> MediaTime {
        guard time.isNumeric, time >= .zero, time < .seconds(864_000), let engine = time.mediaTime else {
            throw AssetExportError(.invalidComposition, "\(name): \(time) is no time of zero to ten days")
        }
        return engine
    }

    private static func percent(_ volume: Float) -> Int { volume.isFinite ? Int((min(max(volume, 0), 1) * 100).rounded()) : 100 }
}
