import KioskPlatform
import Logging
import Synchronization

/// What hardware decoders have done in the life of the process: sources that they failed at, and what has been said.
enum HardwareHistory {
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
    static func failed(_ source: String, _ reason: String) {
        state.withLock { state in
            if state.failures.count >= mostFailures { state.failures = [:] }
            state.failures[Path(source)] = (reason, .now + pause)
        }
    }

    /// Why the hardware is not tried for `source` now; nil where it is.
    static func failure(_ source: String) -> String? {
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

    /// Says what decodes an item: a codec's first on a device at `info`, the others at `debug`.
    static func announce(_ source: String, _ title: String, codec: String, by decoder: String) {
        let isNews = state.withLock { $0.announced.insert("\(codec) \(decoder)").inserted }
        let line = "\(source.withoutCredentials): \(title), decoded by \(decoder)"
        if isNews { log.info("\(line)") } else { log.debug("\(line)") }
    }
}
