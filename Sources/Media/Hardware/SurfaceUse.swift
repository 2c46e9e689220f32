import KioskPlatform
import Logging
import Synchronization

/// Whether hardware decoders are worth it on this display. Where it cannot show their memory as it is, each picture has to be copied out of memory that is slow to
/// read, which costs more than to decode it: `decoder = "auto"` then leaves them alone for a while.
package struct SurfaceUse: Hashable, Sendable {
    /// So many pictures are copied before that is taken for a rule.
    static let proof = 100
    /// Then the hardware is left alone for so long. After that it is tried again: displays change.
    static let pause = MediaTime.seconds(600)

    private var copied = 0, shown = 0
    private var until: HostTime?

    /// A picture was shown as it is.
    mutating func show() { shown += 1 }

    /// A picture was copied out at `now`; true where that has become the rule.
    mutating func copy(at now: HostTime) -> Bool {
        copied += 1
        guard copied - shown >= Self.proof else { return false }
        (copied, shown, until) = (0, 0, now + Self.pause)
        return true
    }

    /// Whether the hardware is to be left alone at `now`.
    func isPointless(at now: HostTime) -> Bool { until.map { now < $0 } ?? false }

    // MARK: Of this process

    private static let use = Mutex(SurfaceUse())

    /// A display shows a hardware decoder's memory as it is. Any thread.
    package static func noteShown() { use.withLock { $0.show() } }

    /// A picture has been copied out of a hardware decoder's memory.
    static func noteCopied() {
        guard use.withLock({ $0.copy(at: .now) }) else { return }
        HardwareHistory.log.notice(
            "this display cannot show what hardware decoders give out, and each picture is copied: items are decoded in software from now on"
        )
    }

    /// Whether `decoder = "auto"` leaves the hardware alone now.
    static var isPointless: Bool { use.withLock { $0.isPointless(at: .now) } }

    /// Forgets what it has seen.
    static func forget() { use.withLock { $0 = SurfaceUse() } }
}
