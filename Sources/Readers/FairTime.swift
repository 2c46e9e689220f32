import Glibc
import KioskPlatform

/// How much time a reader has had: that in which it ran, and that in which it did not run at all, as it waited for a disk, or hung. While it ran now
/// and then only, or did not run though it could (proc_pid_stat(5): state R), others had the processor, and that is not its fault.
///
/// By the processor time of its process or thread, which is looked at from time to time. The corresponding C function is `clock_gettime`, with the
/// clock of a process or thread as clock_getcpuclockid(3) and pthread_getcpuclockid(3) make it. Where that cannot be read all time counts.
struct FairTime: Sendable {
    private let clock: clockid_t?
    private let interval: MediaTime
    private var last: (time: HostTime, ran: MediaTime?)
    private var counted = MediaTime.zero

    /// From `time` on, looked at once in `interval`.
    init(_ clock: clockid_t?, every interval: MediaTime, from time: HostTime) {
        (self.clock, self.interval) = (clock, interval)
        last = (time, clock.flatMap { Self.ran($0) })
    }

    /// The clock of a process.
    static func clock(ofProcess pid: pid_t) -> clockid_t { clockid_t(truncatingIfNeeded: ~UInt32(bitPattern: pid) << 3 | 2) }

    /// How much there has been in all until `time`; what is not looked at yet counts.
    mutating func total(at time: HostTime) -> MediaTime {
        let passed = time - last.time
        if passed < interval { return counted + passed }
        let ran = clock.flatMap { Self.ran($0) }
        let share = last.ran.flatMap { before in ran.map { $0 - before } }
        counted = counted + Self.share(of: passed, ran: share, isReady: { clock.map { Self.isReady($0) } ?? false })
        last = (time, ran)
        return counted
    }

    /// How much of the time that has passed counts where a reader ran for `ran` of it. `isReady` is asked where it did not run: whether it would, if it
    /// had a processor.
    static func share(of passed: MediaTime, ran: MediaTime?, isReady: () -> Bool) -> MediaTime {
        guard let ran else { return passed }
        if ran > .zero { return min(passed, ran) }
        return isReady() ? .zero : passed
    }

    /// Whether one of the threads that a clock belongs to waits for a processor, or has one.
    static func isReady(_ clock: clockid_t) -> Bool {
        let number = Int32(bitPattern: ~UInt32(bitPattern: clock >> 3))
        let isThread = clock & 4 != 0
        let folder = isThread ? "/proc/self/task" : "/proc/\(number)/task"
        let threads = isThread ? ["\(number)"] : Folder.names(in: folder)
        // NUMBER (NAME) STATE …, and a name may hold anything.
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
