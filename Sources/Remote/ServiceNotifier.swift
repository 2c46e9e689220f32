import Glibc
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import RemoteClient

/// Notifies systemd of the player's state by datagrams to $NOTIFY_SOCKET (sd_notify(3)), without libsystemd. One thread observes the player
/// twice a second; ``ServiceState`` decides.
package final class ServiceNotifier: Sendable {
    private let control: RemoteControl
    private let socket: Descriptor
    private let address: String
    private let stopping = Monitor(false)
    private let log = Logger(label: "kiosk")

    /// Starts the notifications; nil if systemd does not listen. Removes the variable from the environment.
    package static func start(_ control: RemoteControl) -> ServiceNotifier? {
        guard let address = environment("NOTIFY_SOCKET"), address.count > 1, "/@".contains(address.prefix(1))
        else { return nil }
        unsetenv("NOTIFY_SOCKET")
        guard let socket = Descriptor(socket: AF_UNIX, SOCK_DGRAM) else { return nil }
        let notifier = ServiceNotifier(control, socket, address)
        Thread("service") { notifier.run() }.detach()
        return notifier
    }

    private init(_ control: RemoteControl, _ socket: consuming Descriptor, _ address: String) {
        (self.control, self.address) = (control, address)
        self.socket = socket
    }

    /// Notifies systemd that the service ends, and stops.
    package func stop() {
        stopping.signal { $0 = true }
        send(["STOPPING=1"])
    }

    private func run() {
        var state = ServiceState(at: .now)
        while stopping.wait(until: .now + .milliseconds(500), { $0 ? true : nil }) == nil {
            let before = state.hanging
            let lines = state.look(control.sight, at: .now)
            if before.isEmpty, !state.hanging.isEmpty {
                let names = state.hanging.map(\.rawValue).joined(separator: ", ")
                log.error("\(names) hangs: kiosk no longer feeds the watchdog of systemd, which ends kiosk soon")
            }
            if !lines.isEmpty { send(lines) }
        }
    }

    private func send(_ lines: [String]) {
        let bytes = Array(lines.joined(separator: "\n").utf8)
        guard var target = SocketAddress(address, isAbstract: address.hasPrefix("@")) else { return }
        _ = target.withPointer { pointer, length in
            bytes.withUnsafeBytes { sendto(socket.raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), pointer, length) }
        }
    }
}

extension RemoteControl {
    /// The observation for systemd.
    var sight: ServiceState.Sight {
        let now = player.snapshot
        let hasDisplay = surroundings.display() != nil
        let title = now.title.map { "\($0.withoutCredentials)\(now.itemNumber.map { " (\($0) of \(now.itemCount))" } ?? "")" }
        let state = now.hasEnded ? "ended" : now.status.word
        return ServiceState.Sight(
            framesShown: now.statistics.framesShown,
            text: "\(state): \(title ?? "nothing")\(hasDisplay ? "" : "; no display")".printable, liveness: player.liveness)
    }
}
