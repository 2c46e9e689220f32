import Configuration
import Glibc
import KioskInput
import KioskPlatform
import Logging

/// Reads kiosk.conf again when it has been saved, and when it is asked to (SIGHUP), and has the player take over what has changed.
///
/// The folder of the file is watched, since editors write a new file and rename it. Reading has a thread of its own: it may hang with its
/// disk. A file with a mistake is complained about, and what was read last goes on.
final class Reload: Sendable {
    private struct State {
        var isWanted = false
        var isStopping = false
    }

    private let state = Monitor(State())
    private let watch = FolderWatch()
    private let log = Logger(label: "kiosk")

    /// Editors write several times; so long nothing more has to come.
    private static let pause = MediaTime.milliseconds(200)

    private let path: String?
    private let load: @Sendable () throws -> (Configuration, KeyMap)

    /// Of the file at `path`, where there is one. `load` reads it again, and has complained where it throws.
    init(_ path: String?, load: @escaping @Sendable () throws -> (Configuration, KeyMap)) { (self.path, self.load) = (path, load) }

    /// Starts watching the file, of which `configuration` has been read. `apply` takes over what is read, in place of the configuration before
    /// it. It is called on the thread `reload`, as `load` is.
    func start(
        _ configuration: Configuration, apply: @escaping @Sendable (_ old: Configuration, _ new: Configuration, KeyMap) -> Void
    ) {
        guard let path else { return }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let (folder, name) = (parts.dropLast().joined(separator: "/"), String(parts.last ?? ""))
        let watched = folder.isEmpty ? (path.hasPrefix("/") ? "/" : ".") : folder
        watch.start { [state] changes in
            let isSaved = changes.contains { change in
                change.kind == .anything || change.name == name && [.completed, .appeared].contains(change.kind)
            }
            if isSaved { state.signal { $0.isWanted = true } }
        }
        Thread("reload") { [state, watch, log, load] in
            var present = configuration
            while true {
                _ = watch.watch(watched)
                let goesOn = state.wait { state -> Bool? in state.isStopping ? false : state.isWanted ? true : nil }
                guard goesOn == true else { return }
                _ = state.wait(until: .now + Self.pause) { $0.isStopping ? true : nil }
                state.withLock { $0.isWanted = false }
                guard let (new, keyMap) = try? load() else {
                    log.warning("\(path) is not taken over: what was read before goes on")
                    continue
                }
                let change = ConfigurationChange(from: present, to: new)
                if change.isEmpty { continue }
                if !change.applied.isEmpty { log.info("\(path) was read again: \(change.applied.joined(separator: ", "))") }
                if !change.postponed.isEmpty {
                    log.warning("\(path): a restart is needed for \(change.postponed.joined(separator: ", "))")
                }
                apply(present, new, keyMap)
                present = new
            }
        }.detach()
    }

    /// Reads the file again soon.
    func request() { state.signal { $0.isWanted = true } }

    /// Reads it no more; waits for nothing.
    func stop() {
        state.signal { $0.isStopping = true }
        watch.stop()
    }

    /// Whether SIGHUP asks to read the file again, as services are asked, and does not say that a terminal was closed: where the process has
    /// none, or leads its session, which a shell's commands never do.
    static let isAskedBySIGHUP: Bool = {
        if getsid(0) == getpid() { return true }
        let terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY)
        if terminal >= 0 { close(terminal) }
        return terminal < 0
    }()
}
