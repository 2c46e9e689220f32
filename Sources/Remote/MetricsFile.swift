import Glibc
import KioskPlatform

/// Writes the metrics to a file for node_exporter's textfile collector: atomically every ``interval``, on a thread of the lowest priority.
/// The file is deleted at the player's end, so that nobody mistakes old figures for new ones.
package final class MetricsFile: Sendable {
    private let path: String
    private let isStopping = Monitor(false)
    private let thread: Thread

    /// The interval of writes: shorter than Prometheus' usual minute between scrapes.
    static let interval = MediaTime.seconds(15)

    /// Starts to write to `path`. Calls `complain` with a line when writing fails, and when it works again.
    package convenience init(_ path: String, _ metrics: @escaping @Sendable () -> String, complain: @escaping @Sendable (String) -> Void) {
        self.init(path, every: Self.interval, metrics, complain: complain)
    }

    init(
        _ path: String, every interval: MediaTime, _ metrics: @escaping @Sendable () -> String,
        complain: @escaping @Sendable (String) -> Void
    ) {
        self.path = path
        let isStopping = isStopping
        thread = Thread("metrics-file") {
            Thread.giveWay()
            var hasFailed = false
            repeat {
                let problem = AtomicFile.write(path, metrics(), mode: 0o644)
                if let problem, !hasFailed { complain("cannot write metrics: \(path): \(problem)") }
                if problem == nil, hasFailed { complain("metrics: writing again: \(path)") }
                hasFailed = problem != nil
            } while isStopping.wait(until: .now + interval, { $0 ? true : nil }) == nil
        }
    }

    /// Stops, and deletes the file. Waits at most two seconds for the disk; after that the file stays.
    package func stop() {
        isStopping.signal { $0 = true }
        if thread.join(until: .now + .seconds(2)) { unlink(path) } else { thread.detach() }
    }
}
