import Glibc
import KioskPlatform

/// The time that counts against a reader: the time in which it ran, and the time in which it did not run at all because it waited for a
/// disk or hung. If it ran only now and then, or was ready but did not run (proc_pid_stat(5): state R), others had the processor. That is
/// not its fault.
///
/// It samples the processor time of the reader's process or thread. The corresponding C function is `clock_gettime`, with a clock of
/// clock_getcpuclockid(3) or pthread_getcpuclockid(3). If that cannot be read, all time counts.
struct FairTime: Sendable {
    private let clock: clockid_t?
    private let interval: MediaTime
    private var last: (time: HostTime, ran: MediaTime?)
    private var counted = MediaTime.zero

    /// Starts at `time`, with a sample per `interval`.
    init(_ clock: clockid_t?, every interval: MediaTime, from time: HostTime) {
        (self.clock, self.interval) = (clock, interval)
        last = (time, clock.flatMap { Self.ran($0) })
    }

    /// Returns the clock of a process.
    static func clock(ofProcess pid: pid_t) -> clockid_t { clockid_t(truncatingIfNeeded: ~UInt32(bitPattern: pid) << 3 | 2) }

    /// Returns the total until `time`; the time since the last sample counts in full.
    mutating func total(at time: HostTime) -> MediaTime {
        let passed = time - last.time
        if passed < interval { return counted + passed }
        let ran = clock.flatMap { Self.ran($0) }
        let share = last.ran.flatMap { before in ran.map { $0 - before } }
        counted = counted + Self.share(of: passed, ran: share, isReady: { clock.map { Self.isReady($0) } ?? false })
        last = (time, ran)
        return counted
    }

    /// Returns the part of the passed time that counts, if a reader ran for `ran` of it. Calls `isReady` if it did not run: whether it
    /// would run on a free processor.
    static func share(of passed: MediaTime, ran: MediaTime?, isReady: () -> Bool) -> MediaTime {
        guard let ran else { return passed }
        if ran > .zero { return min(passed, ran) }
        return isReady() ? .zero : passed
    }

    /// Whether one of a clock's threads waits for a processor, or has one.
    static func isReady(_ clock: clockid_t) -> Bool {
        let number = Int32(bitPattern: ~UInt32(bitPattern: clock >> 3))
        let isThread = clock & 4 != 0
        let folder = isThread ? "/proc/self/task" : "/proc/\(number)/task"
        let threads = isThread ? ["\(number)"] : Folder.names(in: folder)
        // NUMBER (NAME) STATE …; a name may contain anything.
        return threads.contains { thread in
            let text = SmallFile.text("\(folder)/\(thread)/stat") ?? ""
            return text.lastIndex(of: ")").map { text[$0...].hasPrefix(") R") } ?? false
        }
    }

    private static func ran(_ clock: clockid_t) -> MediaTime? {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return nil }
        return MediaTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
