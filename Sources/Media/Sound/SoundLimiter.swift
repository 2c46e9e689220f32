/// Keeps mixed-down sound within full scale. A pure value.
///
/// Each channel of 5.1 goes into the mix as loud as in its own stereo version, as in other players. So all six together can exceed full
/// scale, but mostly do not. The limiter lowers only those moments; a quieter mix would lower everything.
///
/// It works in blocks of 2.7 ms at 48 kHz. In a block, the gain moves in a straight line from its last value. It ends at the gain that this
/// block and the next one need. So it is down before a peak, without a click. It rises again within a tenth of a second. The limiter
/// returns a block once the next is known. As many samples come out as go in. Sound that needs no limiting passes bit for bit.
struct SoundLimiter: Sendable {
    private let channelCount: Int
    /// The whole frames still inside; ``gain`` applies to the first.
    private var held: [Float] = []
    /// The gain; nil before the first block.
    private var gain: Float?

    private static let blockFrames = 128
    /// The largest rise of the gain in a block.
    private static let rise: Float = 1.0 / 32

    init(channelCount: Int) { self.channelCount = channelCount }

    /// The number of frames inside.
    var heldFrames: Int { held.count / channelCount }

    /// Takes the samples from index `begin` on out of `samples`, and appends the finished ones.
    mutating func limit(_ samples: inout [Float], from begin: Int) {
        held += samples[begin...]
        samples.removeSubrange(begin...)
        let block = Self.blockFrames * channelCount
        var place = 0
        while held.count - place >= 2 * block {
            give(held[place..<place + block], before: held[place + block..<place + 2 * block], to: &samples)
            place += block
        }
        held.removeSubrange(..<place)
    }

    /// Appends all samples inside; the next are another sound.
    mutating func drain(into samples: inout [Float]) {
        let block = Self.blockFrames * channelCount
        let middle = min(block, held.count)
        give(held[..<middle], before: held[middle...], to: &samples)
        if middle < held.count { give(held[middle...], before: [], to: &samples) }
        held = []
        gain = nil
    }

    private mutating func give(_ block: ArraySlice<Float>, before next: ArraySlice<Float>, to samples: inout [Float]) {
        let needed = Self.gain(for: block)
        let begin = gain ?? needed
        let end = min(needed, Self.gain(for: next), begin + Self.rise)
        gain = end
        if begin == 1, end == 1 {
            samples += block
            return
        }
        let frames = Float(max(1, block.count / channelCount))
        for (offset, sample) in block.enumerated() {
            let passed = Float(offset / channelCount) / frames
            samples.append(min(max(sample * (begin + (end - begin) * passed), -1), 1))
        }
    }

    /// Returns the gain that puts the loudest sample at full scale; 1 if it is below.
    private static func gain(for block: ArraySlice<Float>) -> Float {
        let peak = block.reduce(into: Float(0)) { $0 = max($0, abs($1)) }
        return peak > 1 ? 1 / peak : 1
    }
}
