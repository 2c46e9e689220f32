import Configuration
import Glibc
import KioskAudio
import KioskDisplay
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Remote

/// The control socket of a player, and what it needs of the program.
struct RemoteWiring {
    /// Carries out what programs ask for.
    let control: RemoteControl
    private let socket: ControlSocket?
    private let service: ServiceNotifier?
    private let metrics: MetricsServer?
    private let metricsFile: MetricsFile?
    private let proof: ProofOfPlay?

    /// Begins to listen where the configuration says so; where that cannot be done a line of the log says why.
    /// `reload` reads the file again, and plays its playlist.
    init(
        _ configuration: Configuration, player: Player, display: DisplayOutput, audio: any AudioOutput, interaction: Interaction,
        reload: @escaping @Sendable () -> Void
    ) {
        let control = RemoteControl(
            player,
            RemoteSurroundings(
                display: { [display] in display.mode }, rotation: { [display] in display.rotation },
                rotationAfter: { [display] in display.rotation(after: $0) }, audio: { [audio] in audio.name },
                underruns: { [audio] in audio.underruns },
                perform: { [interaction] in interaction.perform($0, .now) },
                screenshot: { [display] () throws(ControlRefusal) in try screenshot(of: display) },
                items: { Self.items($0, configuration) }, allowsQuit: configuration.input.allowsQuit,
                seekStep: configuration.playback.seekStep, reload: reload))
        self.control = control
        socket = Self.listen(configuration.control.socket, control)
        control.publish(on: socket)
        service = ServiceNotifier.start(control)
        metrics = Self.openMetrics(configuration.control.metrics, control)
        if case .file(let path) = configuration.control.metrics {
            metricsFile = MetricsFile(path, { control.metrics }) { Logger(label: "kiosk").warning("\($0)") }
        } else {
            metricsFile = nil
        }
        if case .file(let path) = configuration.log.proofOfPlay {
            proof = ProofOfPlay(path, player) { Logger(label: "kiosk").warning("\($0)") }
        } else {
            proof = nil
        }
    }

    /// Ends all conversations.
    func close() {
        service?.stop()
        metrics?.stop()
        metricsFile?.stop()
        proof?.stop()
        socket?.close()
    }

    private static func listen(_ choice: ControlSocketChoice, _ control: RemoteControl) -> ControlSocket? {
        guard let path = choice.listeningPath else { return nil }
        do throws(ControlError) {
            return try ControlSocket.open(path) { request throws(ControlRefusal) in try control.handle(request) }
        } catch {
            Logger(label: "kiosk").warning("no control socket: \(error)")
            return nil
        }
    }

    private static func openMetrics(_ choice: MetricsChoice, _ control: RemoteControl) -> MetricsServer? {
        guard case .address(let host, let port) = choice else { return nil }
        do throws(ControlError) {
            return try MetricsServer.open(host, port) { control.metrics }
        } catch {
            Logger(label: "kiosk").warning("no metrics: \(error)")
            return nil
        }
    }

    /// What sources stand for, as the playlist of the configuration would show them.
    private static func items(_ sources: [String], _ configuration: Configuration) -> [PlaylistItem] {
        var configuration = configuration
        configuration.playlist = sources.map { PlaylistEntry(source: PlaylistSource($0, relativeTo: "/")) }
        return configuration.expandPlaylist().items
    }
}

/// What is on the display, for who asked. It is copied at once, and made a PNG of by a thread that gives way to all others.
private func screenshot(of display: DisplayOutput) throws(ControlRefusal) -> ControlReply {
    let capture: Capture
    do throws(SnapshotError) { capture = try display.capture() } catch { throw ControlRefusal(error) }
    let made = Monitor<Result<[UInt8], SnapshotError>?>(nil)
    Thread("screenshot") {
        Thread.giveWay()
        let result = Result { () throws(SnapshotError) in try capture.png(isUpright: true) }
        made.signal { $0 = result }
    }.detach()
    let deadline = HostTime.now + .seconds(8)
    return .later {
        let result = made.withLock { $0 } ?? (HostTime.now < deadline ? nil : .failure(.encoder("the machine is too busy")))
        return result.map { $0.map { ControlAnswer(["format": .string("png")], attachment: $0) }.mapError(ControlRefusal.init) }
    }
}

extension ControlRefusal {
    /// Why there is no picture.
    fileprivate init(_ error: SnapshotError) {
        let code = if case .noDisplay = error { "no-display" } else { "no-picture" }
        self.init(code: code, message: "\(error)")
    }
}
