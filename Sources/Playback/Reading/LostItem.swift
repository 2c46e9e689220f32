import KioskMedia
import KioskPlatform
import KioskVocabulary

/// An item that the playlist goes on without: a stream that broke off and did not come back, or an item that took long to open, or to fail.
/// It is opened on threads of its own, while something else is played. Used by the feeder's thread alone.
final class LostItem {
    let item: PlaylistItem
    /// Whether it was played and broke off.
    let hasBrokenOff: Bool
    private(set) var recovery: StreamRecovery
    /// It is there again.
    private(set) var opened: ItemOpener.Opened?
    private let opener: ItemOpener
    private var serial: UInt64 = 0
    private var askedAt = HostTime(nanoseconds: 0)

    init(_ recovery: StreamRecovery, _ item: PlaylistItem, hasBrokenOff: Bool, opener: ItemOpener) {
        (self.recovery, self.item, self.hasBrokenOff, self.opener) = (recovery, item, hasBrokenOff, opener)
    }

    var id: QueueItem.ID { recovery.position.item }

    /// When it is to be opened next; nil while that is under way, and once it is there.
    var attemptAt: HostTime? { opened == nil ? recovery.attemptAt : nil }

    /// Whether it is being opened.
    var isOpening: Bool { opened == nil && recovery.attemptAt == nil }

    /// Whether ``take(at:)`` has something to do.
    var hasOutcome: Bool { isOpening && opener.hasOutcome(of: serial) }

    /// It is to be opened at `now`.
    func hasten(at now: HostTime) { if attemptAt != nil { recovery.hasten(at: now) } }

    /// Opens it as request `serial`.
    func attempt(serial: UInt64, at now: HostTime) {
        (self.serial, askedAt) = (serial, now)
        recovery.began()
        opener.request(.init(serial: serial, item: item, time: recovery.position.begin ?? item.start, precision: .exact))
    }

    /// Takes what the attempt has come to; how long that took, and what is wrong where it failed.
    func take(at now: HostTime) -> (took: MediaTime, error: MediaError?) {
        let took = (opener.outcomeTime(of: serial) ?? now) - askedAt
        switch opener.takeOutcome(of: serial) {
        case .success(let opened):
            self.opened = opened
            return (took, nil)
        case .failure(let error):
            recovery.failed(at: now)
            return (took, error)
        case nil: return (took, nil)
        }
    }

    /// Gives up what is open, or being opened.
    func abandon() { if isOpening { opener.cancel() } }

    /// Gives out what is open.
    func takeOpened() -> ItemOpener.Opened? { opened.take() }
}
