import Configuration
import Content
import Glibc
import KioskInputCore
import KioskPlatform
import KioskVocabulary
import Logging

/// Reads kiosk.conf again when it has been saved, and when it is asked to (SIGHUP), and has the player take over what has changed.
///
/// The file is watched as content is (``PlaylistExpansion``): through links, on shares, where its folder has gone or no watch is left, and it
/// counts when it is complete. Reading has a thread of its own: it may hang with its disk. A file with a mistake is complained about, and what was
/// read last goes on. A file that names nothing to play any more is read once more before that is taken over: somebody may be writing it.
final class Reload: Sendable {
    private let state = Monitor((isWanted: false, isStopping: false))
    private let watch: PlaylistExpansion?
    private let log = Logger(label: "kiosk")

    /// So long a file that names nothing to play is not believed.
    private static let doubt = MediaTime.seconds(2)

    private let path: String?
    private let load: @Sendable () throws -> (Configuration, KeyMap)

    /// Of the file at `path`, where there is one. `load` reads it again, and throws what is wrong with it (``ConfigurationError``).
    init(_ path: String?, load: @escaping @Sendable () throws -> (Configuration, KeyMap)) {
        (self.path, self.load) = (path, load)
        watch = path.map { PlaylistExpansion(file: $0) }
    }

    /// Starts watching the file, of which `configuration` has been read. `apply` takes over what is read, in place of the configuration before
    /// it. It is called on the thread `reload`, as `load` is.
    func start(
        _ configuration: Configuration, apply: @escaping @Sendable (_ old: Configuration, _ new: Configuration, KeyMap) -> Void
    ) {
        guard let path, let watch else { return }
        let known = Monitor<PlaylistItem?>(nil)
        watch.start { [state, log] news in
            switch news {
            case .items(let items, _):
                guard let file = items.first else { return }
                let before = known.withLock { before in
                    defer { before = file }
                    return before
                }
                // The first look, too: it may have been saved since it was read.
                if before == file { return }
                if file.version == nil { log.warning("\(path) is gone: kiosk keeps the old settings") }
                if file.version != nil { state.signal { $0.isWanted = true } }
            case .problem(let problem): log.warning("\(problem)")
            case .note, .inBetween: break  // said of content
            }
        }
        Thread("reload") { [state, log, load] in
            var present = configuration
            var isDoubted = false
            while true {
                let goesOn = state.wait { state -> Bool? in state.isStopping ? false : state.isWanted ? true : nil }
                guard goesOn == true else { return }
                state.withLock { $0.isWanted = false }
                let new: Configuration
                let keyMap: KeyMap
                do { (new, keyMap) = try load() } catch {
                    for mistake in (error as? ConfigurationError)?.complaints ?? [] { log.warning("\(mistake)") }
                    log.warning("\(path) is not applied: kiosk keeps the old settings")
                    continue
                }
                if new.entries.isEmpty, !present.entries.isEmpty, !isDoubted {
                    log.warning("\(path) no longer names anything to play: kiosk applies the file if it says the same in 2 s")
                    isDoubted = true
                    _ = state.wait(until: .now + Self.doubt) { $0.isStopping || $0.isWanted ? true : nil }
                    state.withLock { $0.isWanted = true }
                    continue
                }
                isDoubted = false
                let change = ConfigurationChange(from: present, to: new)
                if change.isEmpty { continue }
                if !change.applied.isEmpty { log.info("\(path) was read again: \(change.applied.joined(separator: ", "))") }
                if !change.postponed.isEmpty {
                    log.warning("\(path): restart kiosk to apply \(change.postponed.joined(separator: ", "))")
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
        watch?.stop()
    }

    /// Whether SIGHUP asks to read the file again, as services are asked, and does not say that a terminal was closed: where the process has
    /// none, or leads its session, which a shell's commands never do.
    static let isAskedBySIGHUP: Bool = {
        if getsid(0) == getpid() { return true }
        return Descriptor(opening: "/dev/tty", O_RDONLY | O_NOCTTY) == nil
    }()
}
