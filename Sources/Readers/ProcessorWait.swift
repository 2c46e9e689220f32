import Glibc
import KioskPlatform

/// How long a task has waited for a processor that others had: it was to run, and did not. What runs only when nothing else does can wait for as
/// long as a busy box likes, and is not to blame for that.
///
/// By /proc/PID/stat (proc(5)): the state, and the processor time in ticks of 10 ms as a rule, looked at once a second. Where that cannot be read
/// the task has waited for nothing.
struct ProcessorWait: Sendable {
    private let path: String?
    private var last: (time: HostTime, ran: Int64?)
    private var waited = MediaTime.zero

    private static let interval = MediaTime.seconds(1)

    /// From `time` on, of a task by its path beneath /proc: `PID`, or `PID/task/TID`; nil: of one that nothing is known of.
    init(of task: String?, at time: HostTime) {
        path = task.map { "/proc/\($0)/stat" }
        last = (time, nil)
        last.ran = look()?.ran
    }

    /// How long it has in all until `time`.
    mutating func total(at time: HostTime) -> MediaTime {
        let passed = time - last.time
        if passed < Self.interval { return waited }
        let now = look()
        if let now, let before = last.ran, now.isToRun {
            waited = waited + max(.zero, passed - MediaTime(nanoseconds: max(0, now.ran - before)))
        }
        last = (time, now?.ran)
        return waited
    }

    private func look() -> (isToRun: Bool, ran: Int64)? { path.flatMap { SmallFile.text($0) }.flatMap(Self.parse) }

    /// Whether a task is to run, and how long it has run, in nanoseconds, by its stat file. The name in that may have anything in it.
    static func parse(_ stat: String) -> (isToRun: Bool, ran: Int64)? {
        guard let behindName = stat.lastIndex(of: ")") else { return nil }
        let fields = stat[stat.index(after: behindName)...].split(separator: " ")
        guard fields.count > 12, let user = Int64(fields[11]), let system = Int64(fields[12]) else { return nil }
        let (ticks, isTooMany) = max(0, user).addingReportingOverflow(max(0, system))
        let (ran, isTooLong) = ticks.multipliedReportingOverflow(by: 1_000_000_000 / Int64(max(1, sysconf(Int32(_SC_CLK_TCK)))))
        return isTooMany || isTooLong ? nil : (fields[0] == "R", ran)
    }
}
