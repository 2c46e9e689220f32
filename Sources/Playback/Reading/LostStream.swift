import KioskMedia
import KioskPlatform
import KioskVocabulary

/// A stream that the playlist has gone on without: it is opened again on threads of its own, while something else is played, and kept open
/// until an item ends. Used by the feeder's thread alone.
final class LostStream {
    let item: PlaylistItem
    private(set) var recovery: StreamRecovery
    /// It is there again.
    private(set) var opened: ItemOpener.Opened?
    private let opener: ItemOpener
    private var serial: UInt64 = 0

    init(_ recovery: StreamRecovery, _ item: PlaylistItem, opener: ItemOpener) {
        (self.recovery, self.item, self.opener) = (recovery, item, opener)
    }

    /// When it is to be opened next; nil while that is under way, and once it is there.
    var attemptAt: HostTime? { opened == nil ? recovery.attemptAt : nil }

    /// Whether ``take(at:)`` has something to do.
    var hasOutcome: Bool { opener.hasOutcome(of: serial) }

    /// Opens it as request `serial`.
    func attempt(serial: UInt64) {
        self.serial = serial
        recovery.began()
        opener.request(.init(serial: serial, item: item, time: recovery.position.begin ?? item.start, precision: .exact))
    }

    /// Takes what the attempt has come to.
    func take(at now: HostTime) {
        switch opener.takeOutcome(of: serial) {
        case .success(let opened): self.opened = opened
        case .failure: recovery.failed(at: now)
        case nil: break
        }
    }

    /// Gives up what is open, or being opened.
    func abandon() { opener.cancel() }

    /// Gives out what is open.
    func takeOpened() -> ItemOpener.Opened? { opened.take() }
}
