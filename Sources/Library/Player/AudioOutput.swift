internal import KioskPlatform
package import KioskPlayback

/// A sound card, or silence that passes as fast. Each product that can play sound makes such outputs; KioskAudio by ALSA.
///
/// All players of an output are mixed, and the output's clock is the clock of each: they stay in step with each other for ever.
public final class AudioOutput: Sendable {
    private let sound: SharedSound

    /// How it gets along with the rest of the machine.
    public let session: AudioSession

    /// The output of an engine's.
    package init(_ engine: any PCMOutput, session: AudioSession = AudioSession()) {
        (sound, self.session) = (SharedSound(engine), session)
    }

    /// No sound: what is played passes in time by the monotonic clock. Of `session`, ``AudioSession/interruption`` counts.
    public static func silent(session: AudioSession = AudioSession()) -> AudioOutput { AudioOutput(SilentOutput(), session: session) }

    /// What is played to, or why nothing is heard.
    public var name: String { sound.output.name }

    /// How often the sound card ran dry.
    public var underruns: Int { sound.output.underruns }

    /// A player's own way to the output.
    func connect() -> any PCMOutput { sound.connect() }
}

/// Interruptions of the sound: AVAudioSession's, which the application begins and ends itself, or on behalf of another program.
extension Player {
    /// Has the player give way, as ``AudioSession/interruption`` of its output says: the sound is quieter within a quarter of a second, or is held.
    ///
    /// Several may interrupt at once, each by a name of its own; it ends when the last of them has ended. From any thread; returns at once.
    ///
    /// - Parameters:
    ///   - name: whose interruption it is; one that has begun under this name already is renewed.
    ///   - duration: how long it lasts where nobody ends it: an hour at most.
    public func beginInterruption(by name: String = "", for duration: Duration = .seconds(3600)) {
        engine.beginInterruption(name, for: MediaTime(duration))
    }

    /// Ends the interruption of this name; where it was the last one, the sound comes back within 0.8 s, or what was held goes on. Of a name that
    /// does not interrupt it does nothing.
    public func endInterruption(by name: String = "") { engine.endInterruption(name) }

    /// Whether there is an interruption.
    public var isInterrupted: Bool { engine.isInterrupted }
}
