import Foundation

/// Clips with another tone in each channel, and the tones in given samples.
package enum SurroundTones {
    /// The tones in Hz, in FFmpeg's order: front left and right, centre, low frequencies, back left and right, sides. 0.1 s holds whole
    /// periods of each.
    package static let frequencies = [400.0, 500, 600, 80, 700, 900, 1000, 1100]

    /// Makes a clip of a second with sound of this layout of FFmpeg's and the first `count` tones; `arguments` encode it.
    package static func clip(_ name: String, layout: String, count: Int, _ arguments: [String], picture: Bool = false) throws -> String {
        let tones = frequencies.prefix(count).map { "0.3*sin(2*PI*\($0)*t)" }.joined(separator: "|")
        let video = picture ? ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=1", "-c:v", "mpeg4"] : []
        let sound = ["-f", "lavfi", "-i", "aevalsrc=\(tones):s=48000:d=1:c=\(layout)"]
        let videoInput = Array(video.prefix(4)), videoCodec = Array(video.dropFirst(4))
        return try Clips.make(name, videoInput + sound + videoCodec + arguments)
    }

    /// Returns the amplitude of each tone in each channel of interleaved samples at 48 kHz, over whole tenths of a second.
    package static func strengths(_ samples: some RandomAccessCollection<Float>, channelCount: Int) -> [[Double]] {
        let samples = Array(samples)
        let frames = samples.count / channelCount / 4800 * 4800
        return (0..<channelCount).map { channel in
            frequencies.map { frequency in
                var (sine, cosine) = (0.0, 0.0)
                for frame in 0..<frames {
                    let angle = 2 * Double.pi * frequency * Double(frame) / 48_000
                    let sample = Double(samples[frame * channelCount + channel])
                    sine += sample * sin(angle)
                    cosine += sample * cos(angle)
                }
                return frames == 0 ? 0 : 2 * (sine * sine + cosine * cosine).squareRoot() / Double(frames)
            }
        }
    }

    /// Returns the tones of each channel, by their numbers.
    package static func tones(_ samples: some RandomAccessCollection<Float>, channelCount: Int) -> [[Int]] {
        strengths(samples, channelCount: channelCount).map { strengths in strengths.indices.filter { strengths[$0] > 0.05 } }
    }
}
