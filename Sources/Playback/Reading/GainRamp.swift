import KioskMedia
import KioskPlatform

/// How loud an item's sound is enqueued: by its volume, which is reached over ``duration`` where sound of another volume went before, and
/// down to nothing where the rest of it is not to be heard. A step in a tone is a click; a ramp of some milliseconds is not heard.
struct GainRamp {
    /// How long a gain takes from nothing to one, and the end of a sound that is cut off.
    static let duration = MediaTime.milliseconds(5)

    /// What the sound enqueued last was multiplied by; nil where that is silence, and any gain may follow.
    private var last: Float?

    /// Multiplies the first `count` frames by `gain`.
    mutating func apply(_ gain: Float, to samples: inout [Float], count: Int, format: AudioFormat) {
        var present = last ?? gain
        defer { last = count > 0 ? present : nil }
        guard present != 1 || gain != 1 else { return }
        let step = Float(1 / (Self.duration.seconds * Double(format.sampleRate)))
        for frame in 0..<count {
            present = present < gain ? min(gain, present + step) : max(gain, present - step)
            for index in Self.samples(of: frame, format) { samples[index] *= present }
        }
    }

    /// What is enqueued next follows on silence, or fades in.
    mutating func reset() { last = nil }

    /// Has the last of `count` frames come down to nothing.
    static func fadeOut(_ samples: inout [Float], count: Int, format: AudioFormat) {
        let length = min(count, Int((duration.seconds * Double(format.sampleRate)).rounded()))
        for frame in 0..<length {
            let gain = Float(length - frame) / Float(length + 1)
            for index in Self.samples(of: count - length + frame, format) { samples[index] *= gain }
        }
    }

    private static func samples(of frame: Int, _ format: AudioFormat) -> Range<Int> {
        frame * format.channelCount..<(frame + 1) * format.channelCount
    }
}
