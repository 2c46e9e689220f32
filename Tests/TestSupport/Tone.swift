import Foundation

/// Returns how many samples late a tone of 440 Hz at 48 kHz is, within half a period; and its share of the sound, 0…1. The delay is by
/// correlation with the sine that begins at the first sample.
package func tonePhase(_ samples: ArraySlice<Float>) -> (samples: Double, strength: Double) {
    let step = 2 * Double.pi * 440 / 48000
    var (sine, cosine, power) = (0.0, 0.0, 0.0)
    for index in 0..<samples.count {
        let sample = Double(samples[samples.startIndex + index])
        sine += sample * sin(step * Double(index))
        cosine += sample * cos(step * Double(index))
        power += sample * sample
    }
    let strength = (sine * sine + cosine * cosine) * 2 / (power * Double(max(1, samples.count)))
    return (-atan2(cosine, sine) / step, strength)
}
