import Glibc
import Logging
import Synchronization

/// A trace of the start. With `KIOSK_START_TRACE=1` in the environment, each stage logs a line with the time since the process began, and
/// its page faults. Without the variable it does nothing.
///
/// The process begins before its own code: the dynamic linker loads and binds the libraries first. The estimate of that time is the
/// process's processor time at the call of ``begin()``. It omits the wait for a disk, and includes work of the same process before exec(2).
package enum StartTrace {
    /// A stage of the start. Each is logged once, the first time.
    package enum Stage: String, CaseIterable, Sendable {
        /// ``StartTrace/begin()``.
        case loaded = "the libraries are loaded"
        /// Command line and kiosk.conf are read.
        case configured = "the configuration is read"
        /// The output looks for its display on a thread of its own.
        case displayActive = "the display is active, or there is none"
        case soundOpen = "the sound card is open, or there is none"
        case listed = "the playlist is known"
        case opening = "the first item begins to be opened"
        case opened = "the first item is open, its first picture decoded"
        case committed = "the first picture is prepared and committed"
        case shown = "the first picture is on the screen"
        case clockStarted = "enough is decoded to go on: the clock starts"
        case moved = "the second picture is on the screen"
        case listening = "input devices are read"
    }

    private struct Record: Sendable {
        let origin: HostTime
        var told: Set<Stage> = []
        /// Lines from before the start of the log.
        var early: [String]? = []
    }

    private static let record = Mutex<Record?>(nil)
    /// Read without the lock.
    private static let isOn = Atomic(false)

    /// Starts the trace; call it first in the program.
    package static func begin() {
        guard environment("KIOSK_START_TRACE") == "1" else { return }
        let loading = MediaTime(nanoseconds: nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID))
        record.withLock { $0 = Record(origin: .now - loading) }
        isOn.store(true, ordering: .releasing)
        reached(.loaded)
    }

    /// Logs the earlier lines, once the log has started.
    package static func startLog() {
        let early = record.withLock { $0?.early.take() } ?? []
        early.forEach(tell)
    }

    /// Notes that a stage has been reached. Any thread.
    package static func reached(_ stage: Stage) {
        guard isOn.load(ordering: .acquiring) else { return }
        let now = HostTime.now
        let line: String? = record.withLock { record -> String? in
            guard record?.told.insert(stage).inserted == true else { return nil }
            let line = Self.line(stage, after: now - record!.origin, faults: Self.pageFaults)
            guard record!.early == nil else {
                record!.early!.append(line)
                return nil
            }
            return line
        }
        if let line { tell(line) }
    }

    /// Page faults of the process without disk access.
    private static var pageFaults: Int {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return usage.ru_minflt
    }

    /// A line of the log: milliseconds to a tenth, page faults, and the stage.
    static func line(_ stage: Stage, after time: MediaTime, faults: Int) -> String {
        let tenths = (time.nanoseconds + 50_000) / 100_000
        let number = "\(tenths / 10).\(abs(tenths % 10))"
        return "\(padded(number, to: 7)) ms, \(padded("\(faults)", to: 5)) page faults: \(stage.rawValue)"
    }

    private static func padded(_ text: String, to width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    private static func tell(_ line: String) { Logger(label: "start").notice("\(line)") }
}
