import KioskConfiguration
import KioskControlsCore
import KioskDisplayCore
import KioskInputCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Synchronization

/// The viewers' input and its results: input devices, controls, an accelerometer.
///
/// ``Controls`` receive all events of the devices, even if they draw nothing (`[input] controls = "none"`).
///
/// A new configuration replaces all of it (``Viewers``). Contacts are cancelled, the devices are reopened within some milliseconds, and
/// drawn controls disappear. Picture and sound continue unaffected.
final class Interaction: Sendable {
    /// The objects of one configuration.
    fileprivate struct Viewers {
        var input: InputReader
        var handler: InputHandler
        var controls: Controls
        /// The controls, if they draw.
        var drawn: Controls?
        var accelerometer: Accelerometer?
    }

    private struct State {
        var viewers: Viewers
        /// The last rotation that the display has reported.
        var rotation = Rotation.none
        var isActive = true
        var hasStopped = false
    }

    /// The objects that react to viewers.
    struct Surroundings: Sendable {
        var player: PlaybackEngine
        var display: DisplayOutput
        var shelf: ShelfWiring
        /// Receives events first, and must not be disturbed while it is in use.
        var recording: RecordWiring
        /// Receives events while the display is off.
        var power: PowerWiring
        var zones: ZoneWiring
        /// Ends the program, if viewers may.
        var quit: @Sendable () -> Void
        /// Restarts the program.
        var restart: @Sendable () -> Void
    }

    private let state: Mutex<State>
    private let around: Surroundings

    init(_ configuration: Configuration, _ keyMap: KeyMap, _ around: Surroundings) {
        self.around = around
        let viewers = Viewers(configuration, keyMap, isTouched: false, around)
        state = Mutex(State(viewers: viewers))
        around.shelf.attach(viewers.drawn)
    }

    func start() {
        let viewers = state.withLock { $0.viewers }
        around.display.observeRotation { [self] rotation in
            let viewers = state.withLock { state in
                state.rotation = rotation
                return state.viewers
            }
            viewers.input.setRotation(rotation)
            viewers.drawn?.noteScreen()
        }
        start(viewers)
        around.display.observeTerminal { [self] isActive in
            let viewers = state.withLock { state in
                state.isActive = isActive
                return state.viewers
            }
            viewers.input.setActive(isActive)
        }
    }

    private func start(_ viewers: Viewers) {
        viewers.drawn?.start { viewers.input.hasDevices }
        viewers.input.start(viewers.handler)
        viewers.accelerometer?.start { rotation, time in viewers.controls.perform(.rotate(rotation), at: time) }
    }

    /// Applies another configuration. Blocks until the former one sends no more commands. Do not call from two threads at once.
    func setConfiguration(_ configuration: Configuration, _ keyMap: KeyMap) {
        let old = state.withLock { $0.viewers }
        stop(old)
        around.player.setOverlay(Overlay())
        let new = Viewers(configuration, keyMap, isTouched: old.handler.awaitsIdle(), around)
        if let controls = old.drawn { new.drawn?.adoptShelf(of: controls) }
        around.shelf.attach(new.drawn)
        let isWanted = state.withLock { state in
            if state.hasStopped { return false }
            state.viewers = new
            // With the lock held: reports of the display come later.
            new.input.setRotation(state.rotation)
            new.input.setActive(state.isActive)
            return true
        }
        if isWanted { start(new) }
    }

    /// Carries out a command as if a viewer had sent it.
    func perform(_ command: Command, at time: HostTime) { state.withLock { $0.viewers }.controls.perform(command, at: time) }

    /// Shows the progress of a long task, 0…100, if there are controls; nil hides it.
    func show(progress percent: Int?) { state.withLock { $0.viewers }.controls.show(progress: percent) }

    /// Ends input and drawing. Blocks until no more commands can come.
    func stop() {
        stop(
            state.withLock { state in
                state.hasStopped = true
                return state.viewers
            })
    }

    private func stop(_ viewers: Viewers) {
        viewers.accelerometer?.stop()
        viewers.input.stop()
        viewers.controls.stop()
    }
}

extension Interaction.Viewers {
    /// `isTouched`: whether a viewer has touched something, and may still be there.
    init(_ configuration: Configuration, _ keyMap: KeyMap, isTouched: Bool, _ around: Interaction.Surroundings) {
        let (display, shelf, recording, power, zones) = (around.display, around.shelf, around.recording, around.power, around.zones)
        input = InputReader(InputReader.Options(configuration)) { [display] in
            display.waitUntilOpen()
            return display.connector
        }
        accelerometer = configuration.input.usesAccelerometer ? Accelerometer() : nil
        let (idle, allowsQuit) = (configuration.idle.command, configuration.input.allowsQuit)
        let controls = Controls(
            ControlsSettings(configuration), keys: keyMap, player: around.player, screen: display, shelf: shelf.surroundings
        ) { command in
            switch command {
            case .record(let order): recording.order(order)
            case .display(let order): power.ask(order)
            case .zone(let name, let order): zones.order(order, of: name)
            case .quit: if allowsQuit { around.quit() }
            case .restart: around.restart()
            }
        }
        (self.controls, drawn) = (controls, configuration.input.controls == .none ? nil : controls)
        let beIdle: @Sendable (HostTime) -> Void = { time in
            shelf.giveBackPlaylist()
            controls.beIdle(idle, at: time)
        }
        // Touches of the recording count as activity. A person before the camera may touch nothing, but is present.
        let all = controls.handler.without { event in
            // A key with a recording command keeps its meaning.
            if case .key(let key) = event, case .program(.record)? = keyMap.command(for: key.key) { return false }
            return recording.takes(event)
        }
        let answering =
            configuration.idle.after.map { all.whenIdle(after: $0, isTouched: isTouched, unless: { recording.isInUse }, perform: beIdle) }
            ?? all
        self.handler = answering.without { event in
            var isOrder = false
            if case .key(let key) = event, case .program(.display)? = keyMap.command(for: key.key) { isOrder = true }
            return power.takes(event, isOrder: isOrder)
        }
    }
}

extension DisplayOutput: ControlsScreen {}

extension ControlsSettings {
    /// Makes the controls' settings of the configuration.
    init(_ configuration: Configuration) {
        self.init()
        mode = configuration.input.controls
        theme = configuration.theme
        gestures = configuration.input.gestures
        seekStep = configuration.playback.seekStep
        zones = configuration.zones.map { TouchZone(name: $0.name, region: $0.region, takesTaps: $0.takesTaps) }
        shelf.isOffered = mode != .none && !configuration.shelf.folders.isEmpty
        (shelf.closeAfter, shelf.makesFilms) = (configuration.shelf.closeAfter, configuration.shelf.exportFolder != nil)
        apply(configuration.input.lock)
    }
}
