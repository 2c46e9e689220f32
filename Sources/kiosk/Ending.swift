import KioskPlatform

/// The end of the program: what has to be done, all of it at once, and the time for it.
///
/// systemd kills a service that takes longer than its TimeoutStopSec=, five seconds. So everything together has ``budget``: a disk, a network or a
/// driver that hangs takes no time from the others, and is left behind when that is over.
struct Ending: ~Copyable {
    /// How long all of it may take.
    static let budget = MediaTime.seconds(4)

    /// When that is over.
    let deadline: HostTime
    private var steps: [(name: String, thread: Thread)] = []

    init(at time: HostTime = .now) { deadline = time + Self.budget }

    /// Begins a step on a thread of its own; here, where the system has none left.
    mutating func begin(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread("end", body)
        if thread.cancel() { body() } else { steps.append((name, thread)) }
    }

    /// Waits for all steps; the names of those that had not ended by ``deadline``.
    func wait() -> [String] { steps.filter { !$0.thread.join(until: deadline) }.map(\.name) }
}
