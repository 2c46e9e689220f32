import Cache
import Glibc
import KioskAudioCore
import KioskCommands
import KioskConfiguration
import KioskContent
import KioskDisplayCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Remote
import RemoteClient
import Synchronization

/// The control socket, the metrics and the proof of play of a player, with their connections to the program.
final class RemoteWiring: Sendable {
    /// The services of the current configuration.
    private struct State {
        var configuration: Configuration
        var metrics: (any Evidence)?
        var proof: (any Evidence)?
        var isClosed = false
    }

    /// Carries out the requests of programs.
    let control: RemoteControl
    private let player: PlaybackEngine
    private let service: ServiceNotifier?
    /// Whether systemd listens to the player's state, and so restarts it after its end.
    var isService: Bool { service != nil }
    private let present: Monitor<Configuration>
    private let socket = Mutex<ControlSocket?>(nil)
    private let state: Mutex<State>

    /// Starts the services of the configuration; logs the failures. `reload` reads the file again and plays its playlist.
    init(
        _ configuration: Configuration, player: PlaybackEngine, display: DisplayOutput, audio: any PCMOutput, interaction: Interaction,
        shelf: ShelfWiring, cache: AssetCache?, recording: RecordWiring, power: PowerWiring, overlays: OverlayWiring, zones: ZoneWiring,
        reload: @escaping @Sendable () -> Void
    ) {
        let present = Monitor(configuration)
        var surroundings = RemoteSurroundings(
            display: { [display] in display.mode }, rotation: { [display] in display.rotation },
            rotationAfter: { [display] in display.rotation(after: $0) }, audio: { [audio] in audio.name },
            underruns: { [audio] in audio.underruns },
            perform: { [interaction] in interaction.perform($0, at: .now) },
            screenshot: { [display] () throws(ControlRefusal) in try screenshot(of: display) },
            items: { [present] in Self.items($0, present.withLock { $0 }) }, cache: cache, reload: reload)
        surroundings.shelf = { [shelf] request throws(ControlRefusal) in try shelf.handle(request) }
        surroundings.mayQuit = { [present] in present.withLock { $0.input.allowsQuit } }
        surroundings.power = { [power] order in
            if let order { power.ask(order) }
            return (power.order, power.isDark)
        }
        surroundings.zone = { [zones] name, order throws(ControlRefusal) in try zones.handle(name, order) }
        surroundings.overlay = { [overlays] name, text, time throws(ControlRefusal) in try overlays.handle(name, text, for: time) }
        surroundings.record = { [recording] in recording.record($0) }
        let control = RemoteControl(player, surroundings)
        (self.control, self.player, self.present) = (control, player, present)
        service = ServiceNotifier.start(control)
        state = Mutex(State(configuration: configuration))
        state.withLock { open(&$0, configuration, instead: nil) }
        control.publish { [weak self] in self?.socket.withLock { $0 } }
        shelf.attach(control) { [weak self] members in self?.socket.withLock { $0 }?.publish(.export, members) }
        recording.attach { [weak self] members in self?.socket.withLock { $0 }?.publish(.record, members) }
    }

    /// Applies another configuration: restarts the services that have moved. Disconnects the clients of a moved socket.
    func setConfiguration(_ configuration: Configuration) {
        present.withLock { $0 = configuration }
        state.withLock { state in
            if state.isClosed { return }
            let former = state.configuration
            state.configuration = configuration
            open(&state, configuration, instead: former)
        }
    }

    /// Starts the services that differ from `former`, after it has closed the old ones.
    private func open(_ state: inout State, _ configuration: Configuration, instead former: Configuration?) {
        if configuration.control.socket != former?.control.socket {
            socket.withLock { $0.take() }?.close()
            let opened = Self.listen(configuration.control.socket, control)
            socket.withLock { $0 = opened }
        }
        if configuration.control.metrics != former?.control.metrics {
            state.metrics?.stop()
            state.metrics = Self.openMetrics(configuration.control.metrics, control)
        }
        if configuration.log.proofOfPlay != former?.log.proofOfPlay {
            state.proof?.stop()
            state.proof = nil
            if let path = configuration.log.proofOfPlay {
                state.proof = ProofOfPlay(path, player) { Logger(label: "kiosk").warning("\($0)") }
            }
        }
    }

    func close() {
        service?.stop()
        state.withLock { state in
            state.metrics?.stop()
            state.proof?.stop()
            state.isClosed = true
        }
        socket.withLock { $0.take() }?.close()
    }

    private static func listen(_ choice: ControlSocketChoice, _ control: RemoteControl) -> ControlSocket? {
        guard let path = choice.listeningPath else {
            if let obstacle = choice.obstacle { Logger(label: "kiosk").notice("no control socket: \(obstacle)") }
            return nil
        }
        do throws(ControlError) {
            return try ControlSocket.open(path, changes: { control.deviceChanges }) { request throws(ControlRefusal) in
                try control.handle(request)
            }
        } catch {
            Logger(label: "kiosk").warning("no control socket: \(error)")
            return nil
        }
    }

    private static func openMetrics(_ choice: MetricsChoice, _ control: RemoteControl) -> (any Evidence)? {
        let log = Logger(label: "kiosk")
        switch choice {
        case .off: return nil
        case .file(let path): return MetricsFile(path, { control.metrics }) { log.warning("\($0)") }
        case .address(let host, let port):
            do throws(ControlError) { return try MetricsServer.open(host, port) { control.metrics } } catch {
                log.warning("no metrics: \(error)")
                return nil
            }
        }
    }

    /// Returns the items of sources, with the settings of the configuration's playlist.
    private static func items(_ sources: [String], _ configuration: Configuration) -> [PlaylistItem] {
        var configuration = configuration
        configuration.playlist = sources.map { PlaylistEntry(source: PlaylistSource($0, relativeTo: "/")) }
        configuration.programs = []
        return configuration.expandPlaylist().items
    }
}

/// Takes a screenshot: copies the screen at once, and encodes the PNG on a thread of the lowest priority.
private func screenshot(of display: DisplayOutput) throws(ControlRefusal) -> ControlReply {
    let capture: Capture
    do throws(SnapshotError) { capture = try display.capture() } catch { throw ControlRefusal(error) }
    let late = ControlRefusal(.encoder("the machine is too busy"))
    return .made(by: "screenshot", within: .seconds(8), orElse: late) { () throws(ControlRefusal) in
        Thread.giveWay()
        do throws(SnapshotError) { return ControlAnswer(["format": "png".json], attachment: try capture.png(isUpright: true)) } catch {
            throw ControlRefusal(error)
        }
    }
}

/// A service that reports about the player until it is stopped.
private protocol Evidence: Sendable { func stop() }

extension MetricsServer: Evidence {}
extension MetricsFile: Evidence {}
extension ProofOfPlay: Evidence {}

extension ControlRefusal {
    /// Makes the refusal of a failed screenshot.
    fileprivate init(_ error: SnapshotError) {
        let code = if case .noDisplay = error { "no-display" } else { "no-picture" }
        self.init(code: code, message: "\(error)")
    }
}
