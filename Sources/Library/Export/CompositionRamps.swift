import KioskConfiguration
import KioskPlatform
public import KioskPlayer
import KioskVocabulary

// Places, opacities and volumes over time: AVMutableVideoCompositionLayerInstruction and AVMutableAudioMixInputParameters. A value set at a
// time holds until the next one. Times count from the beginning of each showing of a clip, and for music from the beginning of the film.

/// A change of a value over time.
struct Ramp<Value: Hashable & Sendable>: Hashable, Sendable {
    var from: Value, to: Value
    /// An empty range is a change at its start.
    var timeRange: CMTimeRange
}

extension Composition.Clip {
    /// Sets the transform from a time on. Before it, ``transform`` holds.
    public mutating func setTransform(_ transform: Composition.Transform, at time: CMTime) {
        setTransformRamp(fromStart: transform, toEnd: transform, timeRange: CMTimeRange(start: time, duration: .zero))
    }

    /// Moves the picture from one transform to another. Its middle moves in a straight line, and it turns the short way.
    public mutating func setTransformRamp(
        fromStart start: Composition.Transform, toEnd end: Composition.Transform, timeRange: CMTimeRange
    ) {
        transforms.append(Ramp(from: start, to: end, timeRange: timeRange))
    }

    /// Sets the opacity from a time on. Before it, ``opacity`` holds.
    public mutating func setOpacity(_ opacity: Float, at time: CMTime) {
        setOpacityRamp(fromStartOpacity: opacity, toEndOpacity: opacity, timeRange: CMTimeRange(start: time, duration: .zero))
    }

    /// Changes the opacity evenly.
    public mutating func setOpacityRamp(fromStartOpacity start: Float, toEndOpacity end: Float, timeRange: CMTimeRange) {
        opacities.append(Ramp(from: start, to: end, timeRange: timeRange))
    }

    /// Sets the loudness from a time on. Before it, ``volume`` holds.
    public mutating func setVolume(_ volume: Float, at time: CMTime) {
        setVolumeRamp(fromStartVolume: volume, toEndVolume: volume, timeRange: CMTimeRange(start: time, duration: .zero))
    }

    /// Changes the loudness evenly, on the scale of ``volume``.
    public mutating func setVolumeRamp(fromStartVolume start: Float, toEndVolume end: Float, timeRange: CMTimeRange) {
        volumes.append(Ramp(from: start, to: end, timeRange: timeRange))
    }
}

extension Composition.Music {
    /// Sets the loudness from a time of the film on. Before it, ``volume`` holds.
    public mutating func setVolume(_ volume: Float, at time: CMTime) {
        setVolumeRamp(fromStartVolume: volume, toEndVolume: volume, timeRange: CMTimeRange(start: time, duration: .zero))
    }

    /// Changes the loudness evenly, on the scale of ``volume``.
    public mutating func setVolumeRamp(fromStartVolume start: Float, toEndVolume end: Float, timeRange: CMTimeRange) {
        volumes.append(Ramp(from: start, to: end, timeRange: timeRange))
    }
}

extension Composition {
    /// Returns a clip's changes for the engine.
    static func changes(of clip: Clip, _ name: String) throws(AssetExportError) -> Arrangement.Changes {
        var changes = Arrangement.Changes()
        if !clip.transforms.isEmpty || !clip.transform.isIdentity {
            changes.transform = try ramps(clip.transforms, clip.transform, "transform of \(name)") { $0.engine }
            changes.isOfStored = clip.transformsStoredPicture
        }
        if !clip.opacities.isEmpty || clip.opacity != 1 {
            changes.opacity = try ramps(clip.opacities, clip.opacity, "opacity of \(name)", share)
        }
        changes.volume = try volumes(clip.volumes, clip.volume, "volume of \(name)")
        return changes
    }

    /// Returns the engine's loudness over time; nil if it does not change.
    static func volumes(_ ramps: [Ramp<Float>], _ base: Float, _ name: String) throws(AssetExportError) -> Ramps<Double>? {
        ramps.isEmpty ? nil : try Self.ramps(ramps, base, name, share)
    }

    private static func ramps<Value, Engine>(
        _ all: [Ramp<Value>], _ base: Value, _ name: String, _ convert: (Value) -> Engine
    ) throws(AssetExportError) -> Ramps<Engine> {
        var ramps = Ramps(convert(base))
        for ramp in all {
            let start = try time(ramp.timeRange.start, name)
            ramps.add(
                from: convert(ramp.from), to: convert(ramp.to), start: start,
                end: ramp.timeRange.duration == .zero ? start : try time(ramp.timeRange.end, name))
        }
        return ramps
    }

    /// Returns a number clamped to 0…1; 1 for one that is none.
    private static func share(_ number: Float) -> Double { number.isNaN ? 1 : Double(min(max(number, 0), 1)) }
}
