import Foundation
import Glibc
import Synchronization

/// One process of the test program, with its list of tests.
///
/// The runner watches it through Swift Testing's event stream, and kills it after ``patience`` without a sign of life. Output to its file
/// counts as a sign, but without an event only for ``mostPatience`` times ``patience``. So a test may take an hour if it reports its
/// progress every few minutes.
struct TestProcess {
    var program: String, tests: [String], environment: [String: String]
    /// `folder` holds the FIFO for events; `output` receives stdout and stderr.
    var folder: String, output: String
    /// The longest silence of a test.
    var patience: Duration

    private static let mostPatience = 12

    private static let running = Mutex(Set<pid_t>())

    /// Kills all processes with their children, which a signal to this process does not reach.
    static func endAll() { for process in running.withLock({ $0 }) { end(process) } }

    /// Kills a process and its descendants, youngest first. A test may have started some in a group of their own.
    private static func end(_ process: pid_t) {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let parents = all.compactMap { pid_t($0) }.map { ($0, parent(of: $0)) }
        var family = [process], next = 0
        while next < family.count {
            family += parents.filter { $0.1 == family[next] }.map(\.0)
            next += 1
        }
        for member in family.reversed() { kill(member, SIGKILL) }
    }

    /// Returns field 4 of /proc/PID/stat.
    private static func parent(of process: pid_t) -> pid_t? {
        let fields = stat(of: process)
        return fields.count > 2 ? pid_t(fields[2]) : nil
    }

    /// Returns the fields of /proc/PID/stat from the closing bracket of the name on. The name may have spaces.
    private static func stat(of process: pid_t) -> [Substring] {
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        return text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
    }

    /// Returns the regular expression that names these tests and no others.
    static func filter(_ tests: [String]) -> String {
        "^(" + tests.map { escaped($0) }.joined(separator: "|") + ")" + "(/[^/]*\\.swift:[0-9]+:[0-9]+)?$"
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            if "\\^$.|?*+()[]{}/".contains(character) { result.append("\\") }
            result.append(character)
        }
    }

    /// Runs the process to its end; blocks this thread.
    func perform() throws -> TestEvents {
        let fifo = folder + "/events"
        unlink(fifo)
        guard mkfifo(fifo, 0o600) == 0 else { throw RunnerError("cannot make \(fifo): \(String(cString: strerror(errno)))") }
        defer { unlink(fifo) }
        // With O_RDWR the FIFO is open before the process opens it, and has no end of file while the process runs.
        let events = open(fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard events >= 0 else { throw RunnerError("cannot open \(fifo): \(String(cString: strerror(errno)))") }
        defer { close(events) }

        let process = try spawn(fifo)
        Self.running.withLock { _ = $0.insert(process) }
        defer { Self.running.withLock { _ = $0.remove(process) } }
        var (value, unread) = (TestEvents(), Data())
        var (event, heard) = (ContinuousClock.now, ContinuousClock.now)
        var written = Self.size(of: output)
        var status: Int32?
        while true {
            var waited = pollfd(fd: events, events: Int16(POLLIN), revents: 0)
            poll(&waited, 1, status == nil ? (value.isComplete ? 2 : 100) : 0)
            let spent = Self.spent(by: process)
            if read(events, into: &unread) { (event, heard) = (.now, .now) }
            let size = Self.size(of: output)
            if size != written { (written, heard) = (size, .now) }
            while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                value.take(unread[unread.startIndex..<end], at: spent)
                unread.removeSubrange(unread.startIndex...end)
            }
            if let status {
                if status != 0 { value.processEnded(Self.description(status), at: spent) }
                return value
            }
            if ContinuousClock.now - heard > patience || ContinuousClock.now - event > patience * Self.mostPatience {
                Self.end(process)
                waitpid(process, nil, 0)
                value.processEnded("nothing was heard of it for \(patience): it hangs", at: spent)
                return value
            }
            var ended: Int32 = 0
            if waitpid(process, &ended, WNOHANG) == process { status = ended }
        }
    }

    private static func size(of path: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? Int ?? 0
    }

    /// Starts the process in a group of its own.
    private func spawn(_ fifo: String) throws -> pid_t {
        var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o644)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        posix_spawnattr_setpgroup(&attributes, 0)
        // This thread may block signals, and a test's children would inherit its mask.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        let arguments = [
            program, "--testing-library", "swift-testing", "--no-parallel", "--event-stream-output-path", fifo, "--filter",
            Self.filter(tests),
        ]
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
        var argv: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
        defer { for text in argv + envp { free(text) } }
        var process = pid_t()
        let error = posix_spawn(&process, program, &actions, &attributes, &argv, &envp)
        guard error == 0 else { throw RunnerError("cannot start \(program): \(String(cString: strerror(error)))") }
        return process
    }

    /// Reads all available bytes; returns whether there were any.
    private func read(_ events: Int32, into bytes: inout Data) -> Bool {
        var (buffer, hasRead) = ([UInt8](repeating: 0, count: 1 << 16), false)
        while case let count = Glibc.read(events, &buffer, buffer.count), count > 0 {
            bytes.append(contentsOf: buffer[..<count])
            hasRead = true
        }
        return hasRead
    }

    /// Returns the times by the process's own clock, and for its children by /proc/PID/stat (fields 16 and 17 of proc(5), in ticks).
    /// Processor time is zero once the process is gone.
    private static func spent(by process: pid_t) -> TestEvents.Spent {
        var (now, clock, own) = (timespec(), clockid_t(), timespec())
        clock_gettime(CLOCK_MONOTONIC, &now)
        if clock_getcpuclockid(process, &clock) == 0 { clock_gettime(clock, &own) }
        let fields = stat(of: process)
        let ticks = fields.count > 15 ? (Double(fields[14]) ?? 0) + (Double(fields[15]) ?? 0) : 0
        return TestEvents.Spent(elapsed: seconds(now), processor: seconds(own) + ticks / Double(sysconf(Int32(_SC_CLK_TCK))))
    }

    private static func seconds(_ time: timespec) -> Double { Double(time.tv_sec) + Double(time.tv_nsec) / 1e9 }

    /// Describes a status of waitpid(2).
    private static func description(_ status: Int32) -> String {
        let signal = status & 0x7f
        guard signal != 0 else { return "the test process ended with status \(status >> 8 & 0xff)" }
        return "the test process crashed in it: signal \(signal), \(String(cString: strsignal(signal)))"
    }
}

/// The reason why the runner could not run anything.
struct RunnerError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
