import Foundation

/// The sound that the machine's sound card has played: 16-bit stereo at 48 kHz; only the left channel is examined.
struct SoundRecording {
    private static let rate = 48_000
    private let samples: [Int16]

    /// Reads QEMU's WAV file. Ignores the sizes in its header, which are right only after an orderly exit of QEMU.
    init(_ path: String) throws {
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path)).dropFirst(44)
        samples = bytes.withUnsafeBytes { raw in
            (0..<raw.count / 4).map { Int16(littleEndian: raw.loadUnaligned(fromByteOffset: 4 * $0, as: Int16.self)) }
        }
    }

    var seconds: Double { Double(samples.count) / Double(Self.rate) }

    /// A stretch of sound between silences.
    struct Tone {
        /// Its start in the recording, in seconds.
        let start: Double
        let seconds: Double
        /// The median frequency of its periods. A click does not change it.
        let frequency: Double
    }

    /// Returns the tones of at least `shortest` seconds. A new tone begins at each change of frequency.
    func tones(from start: Double = 0, shortest: Double = 0.4) -> [Tone] {
        var tones: [(range: Range<Int>, frequency: Double)] = []
        let block = Self.rate / 10
        for begin in stride(from: Int(start * Double(Self.rate)), to: samples.count - block, by: block) {
            let range = begin..<begin + block
            guard let frequency = frequency(range) else { continue }
            if let last = tones.last, last.range.upperBound == begin, abs(last.frequency - frequency) < 0.05 * frequency {
                tones[tones.count - 1].range = last.range.lowerBound..<range.upperBound
            } else {
                tones.append((range, frequency))
            }
        }
        return tones.compactMap { range, _ in
            let tone = Tone(
                start: Double(range.lowerBound) / Double(Self.rate), seconds: Double(range.count) / Double(Self.rate),
                frequency: frequency(range) ?? 0)
            return tone.seconds >= shortest ? tone : nil
        }
    }

    /// Returns the frequency of the median period between upward zero crossings; nil for silence.
    private func frequency(_ range: Range<Int>) -> Double? {
        var crossings: [Double] = []
        for index in range.dropLast() where samples[index] < 0 && samples[index + 1] >= 0 {
            let (before, after) = (Double(samples[index]), Double(samples[index + 1]))
            if after - before > 20 { crossings.append(Double(index) - before / (after - before)) }
        }
        let periods = zip(crossings, crossings.dropFirst()).map { $1 - $0 }.sorted()
        return periods.count < 10 ? nil : Double(Self.rate) / periods[periods.count / 2]
    }
}
