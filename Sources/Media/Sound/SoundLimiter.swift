/// Keeps sound that has been mixed down within full scale. A pure value.
///
/// A channel of 5.1 goes into the mix as loud as its own stereo version would be, as other players do it; so all six together can be louder
/// than full scale, and mostly are not. The limiter lowers the moments that are, instead of the mix lowering everything.
///
/// It works in blocks of 2.7 ms at 48 kHz. In a block the gain moves in a straight line, from what it was to what this block and the next one
/// need: so it is down before a peak, without a click. It rises again within a tenth of a second. So a block is given out when the next one
/// is known, and as many samples come out as go in. What needs no limiting is passed on bit for bit.
struct SoundLimiter: Sendable {
    private let channelCount: Int
    /// Whole frames that are still to be given out; the gain is ``gain`` at the first of them.
    private var held: [Float] = []
    /// nil before the first block.
    private var gain: Float?

    private static let blockFrames = 128
    /// How far the gain rises in a block.
    private static let rise: Float = 1.0 / 32

    init(channelCount: Int) { self.channelCount = channelCount }

    /// Frames that have gone in and not come out.
    var heldFrames: Int { held.count / channelCount }

    /// Takes the samples from index `begin` on out of `samples`, and appends what is ready.
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

    /// Appends all that is held; what follows is another sound.
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

    /// The gain at which the loudest sample is at full scale; 1 where it is below.
    private static func gain(for block: ArraySlice<Float>) -> Float {
        let peak = block.reduce(into: Float(0)) { $0 = max($0, abs($1)) }
        return peak > 1 ? 1 / peak : 1
    }
}
