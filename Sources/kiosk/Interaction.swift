import Configuration
import Controls
import KioskDisplay
import KioskInput
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// What viewers do and what answers them: input devices, controls, an accelerometer.
///
/// Where controls are drawn they take everything that happens on the devices. Where nothing is drawn (`[input] controls = "none"`) gestures and
/// keys become commands at once, and nothing of the controls is there.
final class Interaction: Sendable {
    private let input: InputReader
    private let handler: InputHandler
    private let display: DisplayOutput
    private let controls: Controls?
    private let accelerometer: Accelerometer?
    /// Carries out a command as if a viewer had asked for it.
    let perform: @Sendable (Command, HostTime) -> Void

    init(_ configuration: Configuration, _ keyMap: KeyMap, player: Player, display: DisplayOutput) {
        self.display = display
        input = InputReader(InputReader.Options(configuration)) { [display] in
            display.waitUntilOpen()
            return display.connector
        }
        accelerometer = configuration.input.usesAccelerometer ? Accelerometer() : nil
        let beIdle: @Sendable (HostTime) -> Void
        let idle = configuration.idle.command
        let handler: InputHandler
        if configuration.input.controls == .none {
            controls = nil
            let perform = Self.performer(player, display)
            self.perform = perform
            beIdle = { perform(idle, $0) }
            let mayTap = configuration.input.lock.allows(GestureName.tap)
            handler = CommandRecognizer.handler(
                keyMap, gestures: configuration.input.gestures,
                tap: { [player] in mayTap ? player.snapshot.item.flatMap { player.item($0) }?.entry.tap : nil }, perform: perform)
        } else {
            let controls = Controls(ControlsSettings(configuration), keys: keyMap, player: player, screen: display)
            self.controls = controls
            perform = { controls.perform($0, at: $1) }
            beIdle = { controls.beIdle(idle, at: $0) }
            handler = controls.handler
        }
        self.handler = configuration.idle.after.map { handler.whenIdle(after: $0, perform: beIdle) } ?? handler
    }

    /// Carries out commands where no controls do.
    private static func performer(_ player: Player, _ display: DisplayOutput) -> @Sendable (Command, HostTime) -> Void {
        { command, time in
            if case .rotate(let rotation) = command { display.rotate(rotation) } else { player.perform(command, at: time) }
        }
    }

    /// Begins to listen.
    func start() {
        display.observeRotation { [input, controls] rotation in
            input.setRotation(rotation)
            controls?.noteScreen()
        }
        controls?.start { [input] in input.hasDevices }
        input.start(handler)
        display.observeTerminal { [input] in input.setActive($0) }
        accelerometer?.start { [perform] rotation, time in perform(.rotate(rotation), time) }
    }

    /// Shows how much of something that takes a while is done, 0…100, where there are controls; nil ends that.
    func show(progress percent: Int?) { controls?.show(progress: percent) }

    /// Ends listening and drawing. Blocks until nothing more is asked for.
    func stop() {
        accelerometer?.stop()
        input.stop()
        controls?.stop()
    }
}

extension DisplayOutput: ControlsScreen {}

extension ControlsSettings {
    /// What the configuration says about the controls.
    init(_ configuration: Configuration) {
        self.init()
        mode = configuration.input.controls
        theme = configuration.theme
        gestures = configuration.input.gestures
        seekStep = configuration.playback.seekStep
        apply(configuration.input.lock)
    }
}
