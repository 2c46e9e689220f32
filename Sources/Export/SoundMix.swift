import Configuration
import Glibc
import KioskMedia
import KioskPlatform

/// Puts music under the sound of a film.
///
/// What goes in comes out later, by as much as has to be known ahead: whether a clip is about to speak (``Ducking``), and where the film ends,
/// so that the music fades out just there.
struct SoundMix: ~Copyable {
    private var music: MusicTrack
    private let format: AudioFormat
    private let mode: MusicMode
    private let gain: Float
    private let fadeIn: Int, fadeOut: Int
    private var ducking = Ducking()
    /// Interleaved samples of the film that wait, and whether each block of them is loud.
    private var film: [Float] = []
    private var loud: [Bool] = []
    /// Samples of each channel that have come out.
    private var position = 0

    init(_ music: consuming MusicTrack, _ settings: Arrangement.Music, format: AudioFormat, gain: Double) {
        self.music = music
        (self.format, mode, self.gain) = (format, settings.mode, Float(gain))
        fadeIn = Int(settings.fadeIn.seconds * Double(format.sampleRate))
        fadeOut = Int(settings.fadeOut.seconds * Double(format.sampleRate))
    }

    /// Samples of each channel in a block.
    private var blockSize: Int { format.sampleRate / Ducking.blockRate }

    /// Takes in the film's next samples; what is mixed.
    mutating func add(_ samples: [Float]) throws(ExportError) -> [Float] {
        film += samples
        return try mix(keeping: max(fadeOut, (Ducking.lookAhead + 1) * blockSize), end: nil)
    }

    /// The film is over: the rest.
    mutating func finish() throws(ExportError) -> [Float] {
        try mix(keeping: 0, end: position + film.count / format.channelCount)
    }

    private mutating func mix(keeping kept: Int, end: Int?) throws(ExportError) -> [Float] {
        let (channels, size) = (format.channelCount, blockSize)
        let available = film.count / channels
        for block in loud.count..<max(loud.count, end == nil ? available / size : (available + size - 1) / size) {
            loud.append(Ducking.isLoud(film[block * size * channels..<min((block + 1) * size, available) * channels]))
        }
        let blocks = end == nil ? max(0, available - kept) / size : loud.count
        let count = min(blocks * size, available)
        var mixed = [Float](repeating: 0, count: count * channels)
        if count == 0 { return mixed }
        try music.read(into: &mixed)
        for block in 0..<blocks {
            let before = ducking.gain
            let isLoud = mode == .duck && loud[block..<min(block + 1 + Ducking.lookAhead, loud.count)].contains(true)
            let after = ducking.next(isLoud: isLoud)
            for frame in block * size..<min((block + 1) * size, count) {
                var factor = gain * (before + (after - before) * Float(frame - block * size) / Float(size))
                factor *= fade(at: position + frame, end: end)
                for index in frame * channels..<(frame + 1) * channels {
                    mixed[index] = min(max(mixed[index] * factor + film[index], -1), 1)
                }
            }
        }
        film.removeFirst(count * channels)
        loud.removeFirst(blocks)
        position += count
        return mixed
    }

    /// How much the music has faded in, or out, at a sample.
    private func fade(at sample: Int, end: Int?) -> Float {
        var factor: Float = 1
        if sample < fadeIn { factor = Float(sample) / Float(fadeIn) }
        if let end, end - sample < fadeOut { factor = min(factor, Float(end - sample) / Float(fadeOut)) }
        return factor
    }
}

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
