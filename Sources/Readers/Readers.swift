import CKioskPlatform
import CReader
import CSandbox
import Glibc
import KioskPlatform
import KioskReaderProtocol
import KioskReaderServer
import Logging
import Synchronization

/// The reason why there is no reader process.
package enum ReaderStartError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The program does not exist.
    case missing(path: String)
    /// The program is of another build than this one.
    case otherBuild(path: String)
    /// kiosk could not start it or fork from it: the system's error text, or the program's own.
    case failed(path: String, reason: String)
    /// It did not answer in time.
    case silent(path: String)
    /// The number of processes, or threads, that kiosk has ended and that are still there. Each hangs in an uninterruptible system call, on
    /// a disk or a share that does not answer.
    case stuck(Int)

    /// The attempt, the cause of its failure and the remedy.
    package var description: String {
        switch self {
        case .missing(let path): "there is no \(path) to read media: install it"
        case .otherBuild(let path): "\(path), which reads media, is of another build than this program: install both again"
        case .failed(let path, let reason): "\(path), which reads media, cannot be started: \(reason)"
        case .silent(let path): "\(path), which reads media, does not answer"
        case .stuck(let count):
            """
            nothing more is read while \(count) process\(count == 1 ? " waits" : "es wait") for a disk or a share that does not answer: see \
            that it does, or take it off the list
            """
        }
    }
}

/// The processes that read media, forked from a zygote: `kiosk-reader` with FFmpeg loaded (creader.h). The first request starts the zygote,
/// and the next one restarts it after its end. One thread (`readers`) reads the zygote's answers, so no caller waits for a process that is
/// gone.
///
/// A reader is not a child of this process. Only its messages, its end and its processor time are known.
package final class Readers: Sendable {
    /// The readers of this process, from the program that was built or installed with this one.
    ///
    /// Sanitizers have threads, so nothing can fork: all readers are threads of this process then.
    package static let shared = Readers(executable: own, isolation: kiosk_is_sanitized() ? .thread : .process)

    /// Readers on threads of this process: for debuggers, and for code that has to share a process with its display.
    package static let inProcess = Readers(executable: own, isolation: .thread)

    private struct Zygote {
        var socket: SharedDescriptor
        var isReady = false
    }

    private enum Fork {
        case asked
        case started(pid_t, pidfd: SharedDescriptor?)
        case failed(Int32)
    }

    private struct State {
        var hasThread = false
        /// Whether a caller wants a zygote that is not there.
        var isWanted = false
        var zygote: Zygote?
        /// How many zygotes have ended; how many of the last ones ended before they were ready, and why the last one did.
        var ends = 0, failures = 0
        var startError: ReaderStartError?
        /// The earliest time of the next start.
        var nextStart = HostTime(nanoseconds: 0)
        var lastNumber: UInt32 = 0
        var forks: [UInt32: Fork] = [:]
        /// The processes that have an owner, by number, and how each has ended.
        var processes: [UInt32: ReaderExit?] = [:]
        /// The numbers of the processes that have not ended.
        var numbers: [pid_t: UInt32] = [:]
        /// Threads without an owner that have not ended: each is in a call that does not return.
        var threads: Set<UInt32> = []
        /// The number of processes and threads without an owner that have not ended.
        var ending: Int { numbers.values.count { !processes.keys.contains($0) } + threads.count }
    }

    /// Where a source is read.
    package enum Isolation: Sendable {
        /// In a process of its own.
        case process
        /// On a thread of this process, which the reader's faults end, too.
        case thread
    }

    /// The path of the program.
    package let executable: String
    package let isolation: Isolation
    /// Looks up a host in `.local` for a process that has the network; returns its addresses as numbers. Blocks; from any thread.
    let lookUp: @Sendable (String) -> [String]
    private let state = Monitor(State())
    /// The page that readers with devices share, once there is one; and its places in use.
    private let devices = Mutex<(page: DevicePage, file: SharedDescriptor, taken: Set<Int>)?>(nil)
    private let mostEnding: Int, endLimit: MediaTime
    /// The readers that these fork from, if these run only when the processor is idle.
    private let origin: Readers?

    /// Readers forked from the program at `executable`. Starts none while `mostEnding` ended ones stay for longer than `endLimit`.
    package init(
        executable: String, isolation: Isolation = .process, mostEnding: Int = 8, endLimit: MediaTime = .seconds(10),
        lookUp: @escaping @Sendable (String) -> [String] = HostNames.addresses
    ) {
        (self.executable, self.isolation, self.mostEnding, self.endLimit) = (executable, isolation, mostEnding, endLimit)
        (self.lookUp, origin) = (lookUp, nil)
    }

    private static let answerLimit = MediaTime.seconds(20)
    private static let firstDelay = MediaTime.milliseconds(100), longestDelay = MediaTime.seconds(10)
    private static let log = Logger(label: "readers")

    /// The environment variables that a reader keeps. A name that ends in `_` is a prefix.
    private static let environment = [
        "LD_PRELOAD", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LIBVA_DRIVERS_PATH", "LIBVA_DRIVER_NAME",
        "FAULTY_", "KIOSK_TEST_", "TZ",
        // libavformat and the C library use these to connect.
        "http_proxy", "no_proxy", "LOCALDOMAIN", "RES_OPTIONS",
    ]

    /// `kiosk-reader` in the folder of the running program, or in `../lib/kiosk`, its installed place.
    private static var own: String {
        var text = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &text, text.count - 1)
        let program = Path(String(decoding: text.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self))
        let folder = program.parts?.folder ?? "/usr/bin"
        let beside = folder.appending("kiosk-reader").string
        if access(beside, X_OK) == 0 { return beside }
        return (folder.parts?.folder ?? "/").appending("lib/kiosk/kiosk-reader").string
    }

    /// The same readers, but each runs only when nothing else wants the processor.
    package var whenIdle: Readers { Readers(whenIdle: self) }

    private init(whenIdle origin: Readers) {
        (executable, isolation, lookUp, self.origin) = (origin.executable, origin.isolation, origin.lookUp, origin)
        (mostEnding, endLimit) = (origin.mostEnding, origin.endLimit)
    }

    /// Returns another reader, which waits for its descriptors and its order.
    func reader(priority: ReaderPriority, _ handed: HandedFrames? = nil) throws(ReaderStartError) -> Reader {
        if let origin { return try origin.reader(priority: .runsWhenIdle, handed) }
        if isolation == .process { return Reader(try fork(priority: priority)) }
        try waitForRoom()
        let (own, its) = try socketPair()
        let clock = Monitor<clockid_t?>(nil)
        let life = ThreadLife(of: self)
        Thread("reader") {
            defer { life.hasEnded() }
            clock.signal { clock in
                var own = clockid_t()
                clock = pthread_getcpuclockid(pthread_self(), &own) == 0 ? own : CLOCK_PROCESS_CPUTIME_ID
            }
            switch priority {
            case .normal: break
            case .givesWay: Thread.giveWay()
            case .runsWhenIdle: Thread.runWhenIdle()
            }
            ReaderServer.serveThread(its, handed)
        }.detach()
        return Reader(clock.wait { $0 }, thread: own, life)
    }

    /// Returns a place in the page of readers with devices, and the page's file; nil if all are taken, or without memory.
    func takeDevicePlace() -> (place: Int, file: SharedDescriptor)? {
        if let origin { return origin.takeDevicePlace() }
        return devices.withLock { devices in
            if devices == nil, let file = DevicePage.makeFile(), let page = DevicePage(mapping: file.raw) {
                devices = (page, SharedDescriptor(file), [])
            }
            guard let place = (0..<DevicePage.mostReaders).first(where: { devices?.taken.contains($0) == false }) else { return nil }
            devices?.taken.insert(place)
            return devices.map { (place, $0.file) }
        }
    }

    /// Gives a place back after its reader has ended.
    func giveBackDevicePlace(_ place: Int) {
        if let origin { return origin.giveBackDevicePlace(place) }
        devices.withLock { devices in
            devices?.page.clear(place)
            devices?.taken.remove(place)
        }
    }

    /// Starts a process and ends it. Blocks for that.
    ///
    /// - Returns: the kernel features that are missing to confine it; empty if none is. The corresponding C function is
    ///   `kiosk_sandbox_offer`.
    /// - Throws: ``ReaderStartError`` if no process can be started.
    package func trial() throws(ReaderStartError) -> String {
        _ = try reader(priority: .normal)
        var offer = kiosk_sandbox_offer()
        return withUnsafeBytes(of: &offer.lack) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    private func socketPair() throws(ReaderStartError) -> (SharedDescriptor, SharedDescriptor) {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw .failed(path: executable, reason: "\(SystemError())") }
        return (SharedDescriptor(Descriptor(ends[0])), SharedDescriptor(Descriptor(ends[1])))
    }

    /// Waits until few enough readers without an owner hang in system calls.
    private func waitForRoom() throws(ReaderStartError) {
        let hasRoom = state.wait(until: .now + endLimit) { $0.ending < mostEnding ? true : nil }
        guard hasRoom == true else { throw .stuck(state.withLock { $0.ending }) }
    }

    // MARK: Threads

    /// A thread that reads, and whether it has an owner.
    final class ThreadLife: Sendable {
        private let readers: Readers, number: UInt32
        private let isOver = Mutex(false)

        init(of readers: Readers) {
            self.readers = readers
            number = readers.state.withLock { state in
                state.lastNumber &+= 1
                return state.lastNumber
            }
        }

        /// The owner has let it go.
        func isLeft() {
            isOver.withLock { isOver in
                if !isOver { readers.state.signal { _ = $0.threads.insert(number) } }
            }
        }

        func hasEnded() {
            isOver.withLock { isOver in
                isOver = true
                readers.state.signal { _ = $0.threads.remove(number) }
            }
        }
    }

    // MARK: Processes

    /// Forks a process, which waits for its orders. Blocks until it is there, at most some 30 s. As a rule that takes some milliseconds,
    /// and a tenth of a second if the zygote has to start.
    private func fork(priority: ReaderPriority) throws(ReaderStartError) -> ReaderProcess {
        let zygote = try startedZygote()
        try waitForRoom()
        let (own, its) = try socketPair()
        let number = state.withLock { state in
            state.lastNumber &+= 1
            state.forks[state.lastNumber] = .asked
            return state.lastNumber
        }
        defer { state.withLock { $0.forks[number] = nil } }
        var request = kiosk_fork_request(number: number, priority: priority.rawValue)
        let sent = kiosk_send(zygote.raw, &request, MemoryLayout.size(ofValue: request), its.raw)
        guard sent == MemoryLayout.size(ofValue: request) else { throw .failed(path: executable, reason: "\(SystemError())") }
        let answer = state.wait(until: .now + Self.answerLimit) { state -> Fork? in
            switch state.forks[number] {
            case .asked: state.zygote?.socket === zygote ? nil : .failed(ECHILD)
            case let answer: answer
            }
        }
        switch answer {
        case .started(let pid, let pidfd): return ReaderProcess(number, pid: pid, pidfd: pidfd, socket: own, of: self)
        case .failed(let code): throw .failed(path: executable, reason: "\(SystemError(code))")
        case .asked, nil: throw .silent(path: executable)
        }
    }

    /// Returns how a process has ended; nil if it has not by `deadline`.
    fileprivate func exit(of number: UInt32, until deadline: HostTime) -> ReaderExit? {
        state.wait(until: deadline) { $0.processes[number] ?? .lost }
    }

    /// Drops the record of a process; no caller asks for its end any more.
    fileprivate func forget(_ number: UInt32) { state.withLock { _ = $0.processes.removeValue(forKey: number) } }

    // MARK: The zygote

    /// Starts the zygote early, so the first process is there sooner; returns at once. The zygote takes the priority of the first thread
    /// that calls this, or that forks: that must be an ordinary one.
    package func prepare() {
        if let origin { return origin.prepare() }
        state.signal { state in
            state.isWanted = state.zygote == nil
            if state.hasThread || isolation == .thread { return }
            state.hasThread = true
            Thread("readers") { [self] in run() }.detach()
        }
    }

    /// Returns the socket of a zygote that is ready.
    private func startedZygote() throws(ReaderStartError) -> SharedDescriptor {
        let before = state.withLock { state -> Result<Int, ReaderStartError> in
            if let error = state.startError, HostTime.now < state.nextStart { return .failure(error) }
            return .success(state.ends)
        }
        let ends = try before.get()
        prepare()
        let started = state.wait(until: .now + Self.answerLimit) { state -> Result<SharedDescriptor, ReaderStartError>? in
            if let zygote = state.zygote, zygote.isReady { return .success(zygote.socket) }
            return state.ends == ends ? nil : .failure(state.startError ?? .failed(path: executable, reason: "it was ended"))
        }
        return try (started ?? .failure(.silent(path: executable))).get()
    }

    /// The body of `readers`: starts a zygote on request, and reads its answers.
    private func run() {
        while true {
            let due = state.wait { $0.isWanted ? $0.nextStart : nil } ?? .now
            _ = state.wait(until: due) { _ -> Bool? in nil }
            var error: ReaderStartError?
            do throws(ReaderStartError) {
                let zygote = try start()
                state.withLock { $0.zygote = Zygote(socket: zygote.socket) }
                error = listen(to: zygote.socket)
                shutdown(zygote.socket.raw, Int32(SHUT_RDWR))
                var status: Int32 = 0
                while waitpid(zygote.pid, &status, 0) < 0, errno == EINTR {}
            } catch let failure { error = failure }
            state.signal { state in
                state.ends += 1
                if state.zygote?.isReady == true {
                    (state.failures, state.startError) = (0, nil)
                } else {
                    state.failures += 1
                    state.startError = error ?? .failed(path: executable, reason: "it ended while it was loaded")
                    state.nextStart = .now + min(Self.firstDelay * Int64(1 << min(state.failures - 1, 7)), Self.longestDelay)
                }
                (state.zygote, state.isWanted) = (nil, false)
                for number in state.numbers.values where state.processes.keys.contains(number) { state.processes[number] = .lost }
                state.numbers = [:]
            }
        }
    }

    private func start() throws(ReaderStartError) -> (socket: SharedDescriptor, pid: pid_t) {
        var (raw, pid): (Int32, pid_t) = (-1, 0)
        var kept = Self.environment.map { UnsafePointer(strdup($0)) as UnsafePointer<CChar>? } + [nil]
        defer { for name in kept { free(UnsafeMutablePointer(mutating: name)) } }
        let code = kiosk_zygote_start(executable, &kept, &raw, &pid)
        if code == ENOENT { throw .missing(path: executable) }
        if code != 0 { throw .failed(path: executable, reason: "\(SystemError(code))") }
        return (SharedDescriptor(Descriptor(raw)), pid)
    }

    /// Takes the zygote's answers until it ends; returns why it has to end, if that is known.
    private func listen(to socket: SharedDescriptor) -> ReaderStartError? {
        while true {
            var answer = kiosk_fork_answer()
            var descriptor: Int32 = -1
            let count = kiosk_receive(socket.raw, &answer, MemoryLayout.size(ofValue: answer), &descriptor)
            if count < 0, errno == EINTR { continue }
            let pidfd = descriptor >= 0 ? SharedDescriptor(Descriptor(descriptor)) : nil
            guard count == MemoryLayout.size(ofValue: answer) else { return nil }
            if answer.kind == KIOSK_ZYGOTE_READY.rawValue, answer.number != KIOSK_READER_PROTOCOL { return .otherBuild(path: executable) }
            take(answer, pidfd)
        }
    }

    /// Records an answer of the zygote.
    private func take(_ answer: kiosk_fork_answer, _ pidfd: SharedDescriptor?) {
        state.signal { state in
            switch kiosk_fork_answer_kind(answer.kind) {
            case KIOSK_ZYGOTE_READY: state.zygote?.isReady = true
            case KIOSK_FORK_STARTED:
                guard state.forks[answer.number] != nil else { break }
                state.forks[answer.number] = .started(answer.pid, pidfd: pidfd)
                state.processes[answer.number] = .some(nil)
                state.numbers[answer.pid] = answer.number
            case KIOSK_FORK_FAILED: state.forks[answer.number] = .failed(answer.status)
            case KIOSK_FORK_ENDED:
                guard let number = state.numbers.removeValue(forKey: answer.pid), state.processes.keys.contains(number) else { break }
                let status = answer.status, signal = status & 0x7F
                state.processes[number] = signal == 0 ? .exited(status >> 8 & 0xFF) : .signalled(signal)
            default: break
            }
        }
    }
}

/// How a process shares the processor and the disk with others, from its start on.
package enum ReaderPriority: UInt32, Sendable {
    case normal
    /// As ``Thread/giveWay()``.
    case givesWay
    /// As ``Thread/runWhenIdle()``.
    case runsWhenIdle
}

/// A process that reads, and the socket for its orders. Its `deinit` kills the process.
final class ReaderProcess: Sendable {
    let pid: pid_t
    /// A SEQPACKET socket.
    let socket: SharedDescriptor
    private let pidfd: SharedDescriptor?
    private let number: UInt32
    private let readers: Readers

    fileprivate init(_ number: UInt32, pid: pid_t, pidfd: SharedDescriptor?, socket: SharedDescriptor, of readers: Readers) {
        (self.number, self.pid, self.pidfd, self.readers) = (number, pid, pidfd, readers)
        self.socket = socket
    }

    deinit {
        kill()
        readers.forget(number)
    }

    /// Kills it. From any thread; its messages can still be received. The corresponding C function is `pidfd_send_signal`.
    func kill() {
        if let pidfd { _ = kiosk_signal_process(pidfd.raw, SIGKILL) } else { shutdown(socket.raw, Int32(SHUT_RDWR)) }
    }

    /// Returns how it has ended; nil if it has not by `deadline`. From any thread.
    func exit(until deadline: HostTime) -> ReaderExit? { readers.exit(of: number, until: deadline) }
}
