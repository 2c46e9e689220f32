internal import KioskPlatform
package import KioskPlayback

/// A sound card, or silence in real time. Each product that can play sound makes such outputs; KioskAudio by ALSA.
///
/// An output mixes all its players, and its clock is the clock of each: they stay in step for ever.
public final class AudioOutput: Sendable {
    private let sound: SharedSound

    /// How its sound shares the machine with other programs.
    public let session: AudioSession

    /// Creates the output of an engine.
    package init(_ engine: any PCMOutput, session: AudioSession = AudioSession()) {
        (sound, self.session) = (SharedSound(engine), session)
    }

    /// Creates an output without sound: playback follows the monotonic clock. Of `session`, only ``AudioSession/interruption`` counts.
    public static func silent(session: AudioSession = AudioSession()) -> AudioOutput { AudioOutput(SilentOutput(), session: session) }

    /// The name of the sound card, or the reason for silence.
    public var name: String { sound.output.name }

    /// The number of underruns of the sound card.
    public var underruns: Int { sound.output.underruns }

    /// Returns a player's own connection to the output.
    func connect() -> any PCMOutput { sound.connect() }
}

/// Interruptions of the sound, like AVAudioSession's. The application begins and ends them, for itself or for another program.
extension Player {
    /// Begins an interruption, with the effect in its output's ``AudioSession/interruption``. Within a quarter of a second the sound is
    /// quieter, muted or paused.
    ///
    /// Several interruptions may overlap, each with its own name; the effect ends with the last. From any thread; returns at once.
    ///
    /// - Parameters:
    /// - name: the name of the interruption; a second call with the same name renews it.
    /// - duration: the time limit of the interruption: an hour at most.
    public func beginInterruption(by name: String = "", for duration: Duration = .seconds(3600)) {
        engine.beginInterruption(name, for: MediaTime(duration))
    }

    /// Ends the interruption of this name. After the last one the sound returns within 0.8 s, or paused playback resumes. Ignores a name
    /// without an interruption.
    public func endInterruption(by name: String = "") { engine.endInterruption(name) }

    /// Whether there is an interruption.
    public var isInterrupted: Bool { engine.isInterrupted }
}
