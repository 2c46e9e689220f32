import Glibc
import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// Mixes music under the sound of a film.
///
/// The output has a delay, because the mix needs to look ahead: for a clip that is about to speak (``Ducking``), and for the end of the
/// film, where the music must have faded out.
struct SoundMix: ~Copyable {
    private var music: MusicTrack
    private let format: AudioFormat
    private let mode: MusicMode
    private let volumes: Ramps<Double>
    private let fadeIn: Int, fadeOut: Int
    private var ducking = Ducking()
    /// Queued interleaved samples of the film, and whether each block of them is loud.
    private var film: [Float] = []
    private var loud: [Bool] = []
    /// The output samples so far, for each channel.
    private var position = 0

    init(_ music: consuming MusicTrack, _ settings: Arrangement.Music, format: AudioFormat) {
        self.music = music
        (self.format, mode, volumes) = (format, settings.mode, settings.volumes ?? Ramps(Double(settings.volume) / 100))
        fadeIn = Int(settings.fadeIn.seconds * Double(format.sampleRate))
        fadeOut = Int(settings.fadeOut.seconds * Double(format.sampleRate))
    }

    /// Samples in a block, for each channel.
    private var blockSize: Int { format.sampleRate / Ducking.blockRate }

    /// Takes the film's next samples; returns mixed ones.
    mutating func add(_ samples: [Float]) throws(ExportError) -> [Float] {
        film += samples
        return try mix(keeping: max(fadeOut, (Ducking.lookAhead + 1) * blockSize), end: nil)
    }

    /// Returns the rest of the mix at the end of the film.
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
            let (low, high) = (gain(at: position + block * size), gain(at: position + (block + 1) * size))
            for frame in block * size..<min((block + 1) * size, count) {
                let share = Float(frame - block * size) / Float(size)
                var factor = (low + (high - low) * share) * (before + (after - before) * share)
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

    /// Returns the gain of the music's volume at a sample.
    private func gain(at sample: Int) -> Float {
        let time = MediaTime.seconds(Double(sample) / Double(format.sampleRate))
        return Float(OfflinePlayback.gain(ofVolume: volumes.value(at: time)))
    }

    /// Returns the gain of the music's fades at a sample.
    private func fade(at sample: Int, end: Int?) -> Float {
        var factor: Float = 1
        if sample < fadeIn { factor = Float(sample) / Float(fadeIn) }
        if let end, end - sample < fadeOut { factor = min(factor, Float(end - sample) / Float(fadeOut)) }
        return factor
    }
}

/// The gain of music beneath other sound: lowered shortly before that sound begins, and raised a while after it has ended. A pure value: it
/// takes for each block whether there is sound, and returns a gain.
struct Ducking: Hashable, Sendable {
    /// Blocks a second.
    static let blockRate = 100
    /// The level of sound, as the root mean square of a block: −45 dB of full scale. Rooms are quieter, speech is louder.
    static let threshold: Float = 0.0056
    /// The lowered gain of the music: −14 dB.
    static let lowered: Float = 0.2
    /// Blocks by which the lowering precedes the sound.
    static let lookAhead = 25
    /// Blocks of the lowering, and of the raising.
    static let attack = 20, release = 80
    /// Blocks that the music stays low after the last sound: longer than the pauses between words.
    static let hold = 60

    private(set) var gain: Float = 1
    private var held = 0
    private static let down = powf(lowered, 1 / Float(attack)), up = powf(lowered, -1 / Float(release))

    /// Returns the gain at the end of the next block. `isLoud` means that the block, or the ``lookAhead`` after it, has sound.
    mutating func next(isLoud: Bool) -> Float {
        if isLoud {
            held = Self.hold
        } else {
            held = max(0, held - 1)
        }
        gain = held > 0 ? max(Self.lowered, gain * Self.down) : min(1, gain * Self.up)
        return gain
    }

    /// Returns whether interleaved samples are loud enough to count as sound.
    static func isLoud(_ samples: ArraySlice<Float>) -> Bool {
        guard !samples.isEmpty else { return false }
        return samples.reduce(0) { $0 + $1 * $1 } / Float(samples.count) > threshold * threshold
    }
}
