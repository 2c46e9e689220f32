/// How loud the sound is, as a viewer has set it.
struct Loudness: Hashable, Sendable {
    /// 0…1 of full scale; what is not a number changes nothing.
    var volume: Double {
        didSet { volume = volume.isFinite ? min(max(volume, 0), 1) : oldValue }
    }
    var isMuted: Bool
    /// What an interruption leaves of the amplitude.
    var interruptionGain = 1.0

    init(volume: Double = 1, isMuted: Bool = false) {
        self.volume = volume.isFinite ? min(max(volume, 0), 1) : 0
        self.isMuted = isMuted
    }

    /// Amplitude as a factor.
    var gain: Double { isMuted ? 0 : AudioQueue.gain(ofVolume: volume) * interruptionGain }
}
