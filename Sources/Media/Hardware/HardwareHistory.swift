import KioskPlatform
import Logging
import Synchronization

/// The history of hardware decoders in this process: the sources that they failed at, and the announcements.
package enum HardwareHistory {
    private struct State {
        var failures: [Path: (reason: String, until: HostTime)] = [:]
        var announced: Set<String> = []
    }

    private static let state = Mutex(State())
    /// The time for which kiosk decodes a source in software after a hardware failure. Otherwise it would freeze for a moment at each
    /// showing.
    static let pause = MediaTime.seconds(600)
    private static let mostFailures = 256
    static let log = Logger(label: "decoder")

    /// Notes that the hardware has failed at `source` in mid-item.
    package static func failed(_ source: String, _ reason: String) {
        state.withLock { state in
            if state.failures.count >= mostFailures { state.failures = [:] }
            state.failures[Path(source)] = (reason, .now + pause)
        }
    }

    /// Returns the reason not to try hardware for `source` now; nil if there is none.
    package static func failure(_ source: String) -> String? {
        state.withLock { state in
            guard let failure = state.failures[Path(source)] else { return nil }
            if failure.until > .now { return failure.reason }
            state.failures[Path(source)] = nil
            return nil
        }
    }

    /// Forgets the failures, the experience with displays, and the missing devices.
    static func forgive() {
        state.withLock { $0.failures = [:] }
        SurfaceUse.forget()
        DecoderPlan.forgetMissing()
    }

    /// Logs a device's own name, once.
    package static func announce(device: String) {
        if state.withLock({ $0.announced.insert(device).inserted }) { log.info("\(device)") }
    }

    /// Logs the decoder of an item: the first of a codec on a device at `info`, the others at `debug`.
    package static func announce(_ source: String, _ title: String, codec: String, by decoder: String) {
        let isNews = state.withLock { $0.announced.insert("\(codec) \(decoder)").inserted }
        let line = "\(source.withoutCredentials): \(title), decoded by \(decoder)"
        if isNews { log.info("\(line)") } else { log.debug("\(line)") }
    }
}

/// Whether hardware decoders pay off on this display. If it cannot show their memory directly, kiosk copies each picture out of memory that
/// is slow to read. That costs more than decoding. `decoder = "auto"` then avoids them for a while.
package struct SurfaceUse: Hashable, Sendable {
    /// The number of copied pictures that proves the rule.
    static let proof = 100
    /// The time without hardware after the proof. Then kiosk retries: displays change.
    static let pause = MediaTime.seconds(600)

    private var copied = 0, shown = 0
    private var until: HostTime?

    /// Counts a picture shown directly.
    mutating func show() { shown += 1 }

    /// Counts a picture copied at `now`; returns true if copying has become the rule.
    mutating func copy(at now: HostTime) -> Bool {
        copied += 1
        guard copied - shown >= Self.proof else { return false }
        (copied, shown, until) = (0, 0, now + Self.pause)
        return true
    }

    /// Whether to avoid the hardware at `now`.
    func isPointless(at now: HostTime) -> Bool { until.map { now < $0 } ?? false }

    // MARK: This process

    private static let use = Mutex(SurfaceUse())

    /// Notes that a display shows a hardware decoder's memory directly. Any thread.
    package static func noteShown() { use.withLock { $0.show() } }

    /// Notes that kiosk has copied a picture out of a hardware decoder's memory.
    static func noteCopied() {
        guard use.withLock({ $0.copy(at: .now) }) else { return }
        HardwareHistory.log.notice(
            "this display shows the pictures of hardware decoders only as copies: kiosk decodes in software from now on"
        )
    }

    /// Whether `decoder = "auto"` avoids the hardware now.
    static var isPointless: Bool { use.withLock { $0.isPointless(at: .now) } }

    static func forget() { use.withLock { $0 = SurfaceUse() } }
}
