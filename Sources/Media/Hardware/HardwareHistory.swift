import KioskPlatform
import Logging
import Synchronization

/// What hardware decoders have done in the life of the process: sources that they failed at, and what has been said.
package enum HardwareHistory {
    private struct State {
        var failures: [Path: (reason: String, until: HostTime)] = [:]
        var announced: Set<String> = []
    }

    private static let state = Mutex(State())
    /// A source that the hardware failed at is decoded in software for so long: it would stand still for a moment at each showing.
    static let pause = MediaTime.seconds(600)
    private static let mostFailures = 256
    static let log = Logger(label: "decoder")

    /// The hardware has failed at `source` in mid-item.
    package static func failed(_ source: String, _ reason: String) {
        state.withLock { state in
            if state.failures.count >= mostFailures { state.failures = [:] }
            state.failures[Path(source)] = (reason, .now + pause)
        }
    }

    /// Why the hardware is not tried for `source` now; nil where it is.
    package static func failure(_ source: String) -> String? {
        state.withLock { state in
            guard let failure = state.failures[Path(source)] else { return nil }
            if failure.until > .now { return failure.reason }
            state.failures[Path(source)] = nil
            return nil
        }
    }

    /// Forgets the failures, what displays have shown, and which devices are not there.
    static func forgive() {
        state.withLock { $0.failures = [:] }
        SurfaceUse.forget()
        DecoderPlan.forgetMissing()
    }

    /// Says what a device calls itself, once.
    package static func announce(device: String) {
        if state.withLock({ $0.announced.insert(device).inserted }) { log.info("\(device)") }
    }

    /// Says what decodes an item: a codec's first on a device at `info`, the others at `debug`.
    package static func announce(_ source: String, _ title: String, codec: String, by decoder: String) {
        let isNews = state.withLock { $0.announced.insert("\(codec) \(decoder)").inserted }
        let line = "\(source.withoutCredentials): \(title), decoded by \(decoder)"
        if isNews { log.info("\(line)") } else { log.debug("\(line)") }
    }
}

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
            "this display shows the pictures of hardware decoders only as copies: kiosk decodes in software from now on"
        )
    }

    /// Whether `decoder = "auto"` leaves the hardware alone now.
    static var isPointless: Bool { use.withLock { $0.isPointless(at: .now) } }

    static func forget() { use.withLock { $0 = SurfaceUse() } }
}
