internal import KioskMedia
internal import KioskPlatform
package import KioskPlayback
internal import Synchronization

/// A sound card, or silence that passes as fast. Each product that can play sound makes such outputs; KioskAudio by ALSA.
///
/// All players of an output are mixed, and the output's clock is the clock of each: they stay in step with each other for ever.
public final class AudioOutput: Sendable {
    private let engine: any PCMOutput
    private let mixer: PlayerMixer

    /// How it gets along with the rest of the machine.
    public let session: AudioSession

    /// The output of an engine's.
    package init(_ engine: any PCMOutput, session: AudioSession = AudioSession()) {
        (self.engine, self.session) = (engine, session)
        mixer = PlayerMixer(engine.format)
    }

    deinit { if mixer.hasStarted { engine.stop() } }

    /// No sound: what is played passes in time by the monotonic clock. Of `session`, ``AudioSession/interruption`` counts.
    public static func silent(session: AudioSession = AudioSession()) -> AudioOutput { AudioOutput(SilentOutput(), session: session) }

    /// What is played to, or why nothing is heard.
    public var name: String { engine.name }

    /// How often the sound card ran dry.
    public var underruns: Int { engine.underruns }

    /// A player's own way to the output.
    func connect() -> any PCMOutput { MixedOutput(self, engine, mixer) }
}

/// A player's way to an output that others may have, too.
private final class MixedOutput: PCMOutput {
    // Held, as the output ends with the last who has it.
    private let owner: AudioOutput
    private let engine: any PCMOutput
    private let mixer: PlayerMixer
    private let number = Mutex<Int?>(nil)

    init(_ owner: AudioOutput, _ engine: any PCMOutput, _ mixer: PlayerMixer) {
        (self.owner, self.engine, self.mixer) = (owner, engine, mixer)
    }

    var format: AudioFormat { engine.format }
    var name: String { engine.name }
    var underruns: Int { engine.underruns }

    func start(_ renderer: any AudioRenderer) {
        let (added, isFirst) = mixer.add(renderer)
        number.withLock { $0 = added }
        if isFirst { engine.start(mixer) }
    }

    func interrupt() { engine.interrupt() }
    func standIn() { engine.standIn() }

    func stop(by deadline: HostTime) -> Bool {
        guard let number = number.withLock({ $0.take() }) else { return true }
        mixer.remove(number)
        engine.interrupt()
        return true
    }
}
