import Glibc
import KioskConfiguration
import KioskContent
import KioskInputCore
import KioskPlatform
import KioskVocabulary
import Logging

/// Reads kiosk.conf again when it has been saved, or on request (SIGHUP), and applies the changes to the player.
///
/// It watches the file like content (``PlaylistExpansion``): through links, on shares, without its folder, and without a kernel watch. The
/// file counts once it is complete. A thread of its own reads it, because its disk may hang. If the file has an error, kiosk logs it and
/// keeps the old settings. If the file no longer names anything to play, kiosk reads it once more before it applies the file: somebody may
/// be writing it.
final class Reload: Sendable {
    private let state = Monitor((isWanted: false, isStopping: false))
    private let watch: PlaylistExpansion?
    private let log = Logger(label: "kiosk")

    /// How long to doubt a file that names nothing to play.
    private static let doubt = MediaTime.seconds(2)

    private let path: String?
    private let load: @Sendable () throws -> (Configuration, KeyMap)

    /// Makes a reloader for the file at `path`, if there is one. `load` reads it, and throws its errors (``ConfigurationError``).
    init(_ path: String?, load: @escaping @Sendable () throws -> (Configuration, KeyMap)) {
        (self.path, self.load) = (path, load)
        watch = path.map { PlaylistExpansion(file: $0) }
    }

    /// Starts to watch the file; `configuration` is its current content. `apply` replaces the old configuration by the new one. Thread
    /// `reload` calls both `apply` and `load`.
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
                // This includes the first look: the file may have been saved since it was read.
                if before == file { return }
                if file.version == nil { log.warning("\(path) is gone: kiosk keeps the old settings") }
                if file.version != nil { state.signal { $0.isWanted = true } }
            case .problem(let problem): log.warning("\(problem)")
            case .note, .inBetween: break  // these concern content
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

    /// Stops; does not wait.
    func stop() {
        state.signal { $0.isStopping = true }
        watch?.stop()
    }

    /// Whether SIGHUP requests a reload, as for services, and not the end of a terminal. That is so if the process has no terminal, or
    /// leads its session, which a shell's commands never do.
    static let isAskedBySIGHUP: Bool = {
        if getsid(0) == getpid() { return true }
        return Descriptor(opening: "/dev/tty", O_RDONLY | O_NOCTTY) == nil
    }()
}
