public import Foundation
public import KioskExport
public import KioskPlayer

/// How the tracks of a composition become pictures.
public final class AVMutableVideoComposition {
    /// Pixels across and down of the film, rounded to even numbers; zero is the size of the first clip.
    public var renderSize = CGSize.zero
    /// The duration of a frame; invalid is that of the clips.
    public var frameDuration = CMTime.invalid
    /// The instructions, in order of their times. A time without one shows the background.
    public var instructions: [AVMutableVideoCompositionInstruction] = []

    /// Creates a video composition without instructions.
    public init() {}
}

/// What a film shows for some time.
public final class AVMutableVideoCompositionInstruction {
    /// The time.
    public var timeRange = CMTimeRange.invalid
    /// The tracks that are seen, the front one first. Others are not.
    public var layerInstructions: [AVMutableVideoCompositionLayerInstruction] = []

    /// Creates an instruction without a time and a track.
    public init() {}
}

/// The transform and the opacity of a track. Transforms take pictures as they are stored, in their own pixels: use `preferredTransform` to bring
/// them upright. Times are those of the composition.
public final class AVMutableVideoCompositionLayerInstruction {
    /// The track.
    public var trackID: CMPersistentTrackID
    var transforms: [Change<CGAffineTransform>] = []
    var opacities: [Change<Float>] = []

    /// Creates an instruction that shows a track as it is.
    public init(assetTrack track: AVCompositionTrack) { trackID = track.trackID }

    /// Sets the transform from a time on.
    public func setTransform(_ transform: CGAffineTransform, at time: CMTime) {
        transforms.append(Change(from: transform, to: transform, start: time, end: time))
    }

    /// Moves the picture from one transform to another.
    public func setTransformRamp(fromStart start: CGAffineTransform, toEnd end: CGAffineTransform, timeRange: CMTimeRange) {
        transforms.append(Change(from: start, to: end, start: timeRange.start, end: timeRange.end))
    }

    /// Sets the opacity from a time on.
    public func setOpacity(_ opacity: Float, at time: CMTime) {
        opacities.append(Change(from: opacity, to: opacity, start: time, end: time))
    }

    /// Changes the opacity evenly.
    public func setOpacityRamp(fromStartOpacity start: Float, toEndOpacity end: Float, timeRange: CMTimeRange) {
        opacities.append(Change(from: start, to: end, start: timeRange.start, end: timeRange.end))
    }
}

/// The loudness of the tracks of a composition.
public final class AVMutableAudioMix {
    /// One for each track whose loudness is not its own.
    public var inputParameters: [AVMutableAudioMixInputParameters] = []

    /// Creates a mix of all tracks as they are.
    public init() {}
}

/// The loudness of a track over time. Times are those of the composition; a volume is a factor of the amplitude.
public final class AVMutableAudioMixInputParameters {
    /// The track.
    public var trackID: CMPersistentTrackID
    var volumes: [Change<Float>] = []

    /// Creates parameters that leave a track as it is.
    public init(track: AVCompositionTrack?) { trackID = track?.trackID ?? kCMPersistentTrackID_Invalid }

    /// Sets the loudness from a time on.
    public func setVolume(_ volume: Float, at time: CMTime) {
        volumes.append(Change(from: volume, to: volume, start: time, end: time))
    }

    /// Changes the loudness evenly between two times.
    public func setVolumeRamp(fromStartVolume start: Float, toEndVolume end: Float, timeRange: CMTimeRange) {
        volumes.append(Change(from: start, to: end, start: timeRange.start, end: timeRange.end))
    }
}

/// A value that is set at a time, or changes evenly between two.
struct Change<Value: Hashable>: Hashable {
    var from: Value, to: Value
    var start: CMTime, end: CMTime
}
