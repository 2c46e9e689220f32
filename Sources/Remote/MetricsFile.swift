import Glibc
import KioskPlatform

/// Writes the metrics to a file for node_exporter's textfile collector: every ``interval``, whole each time, by a thread that gives way to all
/// others. The file goes when the player ends, so that nobody takes old figures for new ones.
package final class MetricsFile: Sendable {
    private let path: String
    private let isStopping = Monitor(false)
    private let thread: Thread

    /// Shorter than Prometheus' usual minute between two looks.
    static let interval = MediaTime.seconds(15)

    /// Begins to write to `path`; `complain` is told once, in a line, when that cannot be done, and when it can be again.
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

    /// Ends, and removes the file; two seconds at most, where its disk does not answer.
    package func stop() {
        isStopping.signal { $0 = true }
        if thread.join(until: .now + .seconds(2)) { unlink(path) } else { thread.detach() }
    }
}
