import KioskCommands
import KioskConfiguration
import KioskControlsCore
import KioskDisplayCore
import KioskInputCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Remote
import Synchronization

/// The recording of a player, by the current configuration.
final class RecordWiring: Sendable {
    private let player: PlaybackEngine
    private let display: DisplayOutput
    private let state: Mutex<(screen: RecordingScreen?, settings: Configuration.Record, theme: Theme)>
    private let observer = Observer()

    /// Holds the function that publishes events about the recording.
    private final class Observer: Sendable {
        let publish = Mutex<@Sendable ([String: JSONValue]) -> Void>({ _ in })
    }

    init(_ configuration: Configuration, player: PlaybackEngine, display: DisplayOutput) {
        (self.player, self.display) = (player, display)
        let screen = Self.screen(configuration, player, display, observer)
        state = Mutex((screen, configuration.record, configuration.theme))
    }

    private static func screen(
        _ configuration: Configuration, _ player: PlaybackEngine, _ display: DisplayOutput, _ observer: Observer
    ) -> RecordingScreen? {
        RecordingScreen(
            configuration.record, device: configuration.playback.decoderDevice, theme: configuration.theme, player: player, screen: display
        ) { [observer] facts in
            let publish = observer.publish.withLock { $0 }
            publish(members(of: facts))
        }
    }

    private var screen: RecordingScreen? { state.withLock { $0.screen } }

    /// Sets the function that publishes changes of state, kept films and failures to programs.
    func attach(publish: @escaping @Sendable ([String: JSONValue]) -> Void) { observer.publish.withLock { $0 = publish } }

    /// Applies another configuration; a running recording is kept.
    func setConfiguration(_ configuration: Configuration) {
        let old = state.withLock { state -> RecordingScreen?? in
            if state.settings == configuration.record, state.theme == configuration.theme { return .none }
            return .some(state.screen)
        }
        guard let old else { return }
        old?.close()
        let new = Self.screen(configuration, player, display, observer)
        state.withLock { $0 = (new, configuration.record, configuration.theme) }
    }

    /// Takes an event of a device for the recording, which lies above the rest.
    func takes(_ event: InputEvent) -> Bool { screen?.takes(event) ?? false }

    /// Whether somebody is recording, or reviewing a recording.
    var isInUse: Bool { screen?.isInUse ?? false }

    /// Carries out a viewer's command. Any thread; returns at once.
    func order(_ order: RecordingOrder) {
        if let screen { return screen.order(order) }
        Logger(label: "kiosk").warning("“record \(order.rawValue)”: cannot record: set [record] folder in kiosk.conf")
    }

    /// Carries out a program's command, if any, and returns the state; nil if recording is not configured.
    func record(_ order: RecordingOrder?) -> [String: JSONValue]? {
        screen.map { screen in
            if let order { screen.order(order) }
            return Self.members(of: screen.facts)
        }
    }

    private static func members(of facts: RecordingScreen.Facts) -> [String: JSONValue] {
        [
            "state": facts.state.json, "elapsed": .number(facts.elapsed.seconds), "remaining": (facts.remaining?.seconds).json,
            "dropped": facts.droppedCount.json, "level": facts.level.json, "film": facts.film.json, "failure": facts.failure.json,
        ]
    }

    /// Ends the recording, and keeps it.
    func close() { state.withLock { $0.screen.take() }?.close() }
}
