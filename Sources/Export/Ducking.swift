import Glibc

/// How loud music is beneath other sound: lowered shortly before that begins, and back a while after it has ended. A pure value: block by
/// block, whether there is sound in; a gain out.
struct Ducking: Hashable, Sendable {
    /// Blocks a second.
    static let blockRate = 100
    /// What is louder than this, as the root mean square of a block, is sound: −45 dB of full scale. Rooms are quieter, speech is louder.
    static let threshold: Float = 0.0056
    /// What is left of the music: −14 dB.
    static let lowered: Float = 0.2
    /// Blocks that it is lowered ahead of the sound: it is down when that begins.
    static let lookAhead = 25
    /// Blocks it takes to go down, and to come back.
    static let attack = 20, release = 80
    /// Blocks it stays down after the last sound: pauses between words are shorter.
    static let hold = 60

    private(set) var gain: Float = 1
    private var held = 0
    private static let down = powf(lowered, 1 / Float(attack)), up = powf(lowered, -1 / Float(release))

    /// The gain at the end of the next block. `isLoud` is whether there is sound in it or in the ``lookAhead`` after it.
    mutating func next(isLoud: Bool) -> Float {
        if isLoud {
            held = Self.hold
        } else {
            held = max(0, held - 1)
        }
        gain = held > 0 ? max(Self.lowered, gain * Self.down) : min(1, gain * Self.up)
        return gain
    }

    /// Whether interleaved samples are sound.
    static func isLoud(_ samples: ArraySlice<Float>) -> Bool {
        guard !samples.isEmpty else { return false }
        return samples.reduce(0) { $0 + $1 * $1 } / Float(samples.count) > threshold * threshold
    }
}
