import CSandbox
import CTestSupport
import Foundation
import TestSupport
import Testing

/// Tests of the calls that the sandbox allows and refuses to a reader. Each trial runs in a child of its own.
@Suite(.blocking, .needs("a build without sanitizers, which make calls of their own", !test_is_sanitized())) struct SandboxTests {
    private static let profiles = [KIOSK_SANDBOX_FILE, KIOSK_SANDBOX_NETWORK, KIOSK_SANDBOX_HARDWARE, KIOSK_SANDBOX_BOTH]

    @Test("What a reader does works, and nothing of it is counted", arguments: profiles.indices) func work(profile: Int) {
        let done = Trial(profile: Self.profiles[profile]).run(TEST_WORK)
        #expect(done.isAlive && done.result == 0 && done.text == "hello\n", "\(done)")
        #expect(done.refusals.count == 0 && done.refusals.last == -1 && done.refusals.worst == -1, "\(done)")
        // `lack` gives a reason exactly if a layer is not in force.
        let isComplete = done.state.has_filter && done.state.landlock > 0
        #expect(withUnsafeBytes(of: done.state.lack) { $0[0] == 0 } == isComplete, "\(done)")
    }

    @Test("What the kernel offers is in force") func offer() {
        let offer = kiosk_sandbox_offer()
        #expect(offer.landlock == Trial.inForce.landlock && (!offer.has_filter || Trial.hasFilter))
    }

    @Test("The worst calls end the reader, and are told", .needs("seccomp", Trial.hasFilter), arguments: profiles.indices) func worst(
        profile: Int
    ) {
        let calls = Row.calls(KIOSK_WORST, in: Self.profiles[profile])
        #expect(calls.count > 50)
        for (name, number) in calls {
            let done = Trial(profile: Self.profiles[profile]).run(TEST_CALL, number: number)
            #expect(done.signal == SIGSYS && done.refusals.worst == number, "\(name): \(done)")
        }
    }

    @Test("Others are refused, and counted", .needs("seccomp", Trial.hasFilter), arguments: profiles.indices) func counted(profile: Int) {
        // Add calls that the table does not name.
        let others = (0..<4).map { (name: "no. \($0) that is not in it", number: test_unlisted_call($0)) }
        #expect(others.allSatisfy { $0.number >= 0 } && test_unlisted_call(4) < 0)
        for (name, number) in Row.calls(KIOSK_COUNTED, in: Self.profiles[profile]) + others {
            let done = Trial(profile: Self.profiles[profile]).run(TEST_CALL, number: number)
            #expect(done.isAlive && done.result == -1 && done.error == EPERM, "\(name): \(done)")
            #expect(done.refusals.count == 1 && done.refusals.last == number && done.refusals.worst == -1, "\(name): \(done)")
        }
    }

    @Test(
        "Some are refused without a word", .needs("seccomp", Trial.hasFilter),
        arguments: [(KIOSK_REFUSED.rawValue, EPERM), (KIOSK_NOT_THERE.rawValue, ENOSYS), (KIOSK_NO_DEVICE.rawValue, ENOTTY)])
    func silent(rule: UInt32, error: Int32) {
        let calls = Row.calls(kiosk_sandbox_rule(rule), in: KIOSK_SANDBOX_FILE)
        #expect(!calls.isEmpty)
        for (name, number) in calls {
            let done = Trial().run(TEST_CALL, number: number)
            #expect(done.isAlive && done.result == -1 && done.error == error && done.refusals.count == 0, "\(name): \(done)")
        }
    }

    // MARK: Calls that depend on an argument

    private enum End: Equatable { case answer, refusal(Int32, isCounted: Bool = true), death(isTold: Bool = true) }

    private static let (path, empty) = (pointer("/etc/passwd"), pointer(""))
    private static let room = Int(bitPattern: calloc(1, 4096))

    /// Returns the address of text that is never freed.
    private static func pointer(_ text: String) -> Int { Int(bitPattern: strdup(text)) }

    private func expect(_ trial: Trial, _ name: String, _ arguments: [Int], _ end: End, _ comment: Comment) {
        let done = trial.call(name, arguments), number = Row.number(name)
        switch end {
        case .answer: #expect(done.isAlive && done.result >= 0 && done.refusals.count == 0, "\(comment): \(done)")
        case .refusal(let error, let isCounted):
            #expect(done.isAlive && done.result == -1 && done.error == error, "\(comment): \(done)")
            #expect(done.refusals.count == (isCounted ? 1 : 0) && done.refusals.last == (isCounted ? number : -1), "\(comment): \(done)")
        case .death(let isTold): #expect(done.signal == SIGSYS && done.refusals.worst == (isTold ? number : -1), "\(comment): \(done)")
        }
    }

    @Test("A reader of files has its descriptors, its memory and itself", .needs("seccomp", Trial.hasFilter)) func files() {
        let anonymous = Int(MAP_PRIVATE | MAP_ANONYMOUS), parent = Int(getpid())
        let rows: [(Comment, String, [Int], End)] = [
            ("its source", "pread64", [6, Self.room, 4, 0], .answer),
            ("the arena", "pread64", [5, Self.room, 4, 0], .refusal(EPERM)),
            ("its source, by another call", "read", [6, Self.room, 4], .refusal(EPERM)),
            ("where the source ends", "lseek", [6, 0, Int(SEEK_END)], .answer),
            ("a word to the log", "write", [2, Self.path, 1], .answer),
            ("a word to the socket", "write", [3, Self.path, 1], .refusal(EPERM)),
            ("a message", "sendto", [3, Self.path, 1, 0, 0, 0], .answer),
            ("a message to something else", "sendto", [2, Self.path, 1, 0, 0, 0], .refusal(EPERM)),
            ("memory", "mmap", [0, 4096, Int(PROT_READ | PROT_WRITE), anonymous, -1, 0], .answer),
            ("memory for code", "mmap", [0, 4096, Int(PROT_READ | PROT_EXEC), anonymous, -1, 0], .refusal(EPERM)),
            ("code of what is memory", "mprotect", [0, 4096, Int(PROT_EXEC)], .refusal(EPERM)),
            ("the size of the source", "newfstatat", [6, Self.empty, Self.room, Int(kTestEmptyPath)], .answer),
            ("the size of a file", "newfstatat", [Int(AT_FDCWD), Self.path, Self.room, 0], .refusal(EPERM)),
            ("and with the flag", "newfstatat", [6, Self.path, Self.room, Int(kTestEmptyPath)], .refusal(EPERM)),
            ("a file", "openat", [Int(AT_FDCWD), Self.path, Int(O_RDONLY)], .refusal(EPERM)),
            ("a name", "prctl", [Int(kTestSetName), Self.path], .answer),
            ("to be dumped", "prctl", [Int(kTestSetDumpable), 1], .refusal(EPERM)),
            ("a process", "clone", [Int(SIGCHLD)], .death()),
            ("a process with our memory", "clone", [Int(kTestCloneMemory | SIGCHLD)], .death()),
            ("a thread that is elsewhere", "clone", [Int(kTestCloneThread | kTestCloneNewUser)], .death()),
            ("the player", "kill", [parent, 0], .death()),
            ("a thread of the player", "tgkill", [parent, parent, 0], .death()),
            ("everybody", "kill", [-1, 0], .death()),
            ("another signal", "rt_sigaction", [Int(SIGUSR1), 0, 0, 8], .answer),
            ("the sandbox's own signal", "rt_sigaction", [Int(SIGSYS), 0, 0, 8], .death(isTold: false)),
            ("a socket", "socket", [Int(AF_INET), 1, 0], .death()),
        ]
        for (comment, name, arguments, end) in rows { expect(Trial(), name, arguments, end, comment) }
    }

    @Test("A reader of the network has sockets of the internet", .needs("seccomp", Trial.hasFilter)) func network() {
        let rows: [(Comment, String, [Int], End)] = [
            ("IPv4", "socket", [Int(AF_INET), 1, 0], .answer),
            ("a local one", "socket", [Int(AF_UNIX), 1, 0], .refusal(EAFNOSUPPORT, isCounted: false)),
            ("a kernel's", "socket", [Int(AF_NETLINK), 3, 0], .refusal(EAFNOSUPPORT, isCounted: false)),
            ("what has come", "ioctl", [3, Int(FIONREAD), Self.room], .answer),
            ("whose it is", "ioctl", [3, Int(kTestSocketOwner), Self.room], .refusal(ENOTTY, isCounted: false)),
            ("flags", "fcntl", [3, Int(F_GETFL)], .answer),
            ("a seal", "fcntl", [5, Int(kTestAddSeals), 0], .refusal(EPERM)),
            ("to write a file", "openat", [Int(AT_FDCWD), Self.path, Int(O_WRONLY)], .refusal(EPERM)),
            ("to make a file", "openat", [Int(AT_FDCWD), Self.path, Int(O_CREAT)], .refusal(EPERM)),
            ("to be connected to", "listen", [3, 1], .refusal(EPERM)),
        ]
        for (comment, name, arguments, end) in rows {
            expect(Trial(profile: KIOSK_SANDBOX_NETWORK, grants: 8), name, arguments, end, comment)
        }
    }

    @Test("A stream for a device has sockets of the internet, and requests to devices", .needs("seccomp", Trial.hasFilter)) func both() {
        let rows: [(Comment, String, [Int], End)] = [
            ("IPv6", "socket", [Int(AF_INET6), 1, 0], .answer),
            ("a local one", "socket", [Int(AF_UNIX), 1, 0], .refusal(EAFNOSUPPORT, isCounted: false)),
            ("what has come", "ioctl", [3, Int(FIONREAD), Self.room], .answer),
            ("not to wait", "ioctl", [3, Int(kTestNonBlocking), Self.room], .answer),
            ("whose it is", "ioctl", [3, Int(kTestSocketOwner), Self.room], .refusal(ENOTTY, isCounted: false)),
            // The file is no such device: the kernel itself refuses the request, with the same error.
            ("a device's name", "ioctl", [5, Int(kTestDeviceName), Self.room], .refusal(ENOTTY, isCounted: false)),
            // The kernel refuses it: this memory takes no seals.
            ("a seal", "fcntl", [5, Int(kTestAddSeals), 0], .refusal(EPERM, isCounted: false)),
            ("to be connected to", "listen", [3, 1], .refusal(EPERM)),
            ("a process", "clone", [Int(SIGCHLD)], .death()),
        ]
        for (comment, name, arguments, end) in rows {
            expect(Trial(profile: KIOSK_SANDBOX_BOTH, grants: 8), name, arguments, end, comment)
        }
    }

    @Test("Of files a reader of the network opens only what it needs", .needs("Landlock", Trial.hasLandlock)) func networkFiles() throws {
        let trial = Trial(profile: KIOSK_SANDBOX_NETWORK, grants: 8)
        #expect(trial.call("openat", [Int(AT_FDCWD), Self.path, Int(O_RDONLY)]).error == EACCES)
        try #require(FileManager.default.fileExists(atPath: "/etc/hosts"))
        #expect(trial.call("openat", [Int(AT_FDCWD), Self.pointer("/etc/hosts"), Int(O_RDONLY)]).result >= 0)
    }

    @Test("Another interface of the kernel ends it", .needs("seccomp on x86_64", Trial.hasFilter && Row.number("fork") >= 0)) func x32() {
        let done = Trial().run(TEST_CALL, number: 0x4000_0000 | Row.number("getpid"))
        #expect(done.signal == SIGSYS && done.refusals.worst == -1, "\(done)")
    }

    // MARK: Each layer by itself

    @Test("Without seccomp no file is opened", .needs("Landlock", Trial.hasLandlock)) func landlock() {
        let trial = Trial(grants: 8, isFiltered: false)
        for path in ["/etc/passwd", "/etc/hosts", "/", "/tmp"] {
            let done = trial.call("openat", [Int(AT_FDCWD), Self.pointer(path), Int(O_RDONLY)])
            #expect(done.isAlive && done.error == EACCES, "\(path): \(done)")
        }
    }

    @Test("A reader receives as many descriptors as it may have", arguments: [0, 1]) func descriptors(grants: Int) {
        for isFiltered in [true, false] {
            let done = Trial(grants: UInt32(grants), isFiltered: isFiltered).run(TEST_RECEIVE)
            #expect(done.isAlive && done.result == grants, "\(done)")
            #expect(done.refusals.count == 0, "\(done)")
        }
    }

    @Test("Memory ends before the machine's does") func memory() {
        let done = Trial().run(TEST_ALLOCATE)
        #expect(done.isAlive && done.error == ENOMEM && 1..<1000 ~= done.result, "\(done)")
    }

    // MARK: Ends

    @Test("A crash has the signal and the words that it has outside") func crashes() {
        #expect(Trial().run(TEST_ABORT).signal == SIGABRT)
        #expect(Trial().run(TEST_WRITE_NOWHERE).signal == SIGSEGV)
        let trap = Trial().run(TEST_TRAP)
        #expect(trap.signal == SIGILL || trap.signal == SIGTRAP, "\(trap)")
        let freed = Trial().run(TEST_FREE_TWICE)
        #expect(freed.signal == SIGABRT && freed.text.contains("free"), "\(freed)")
        for done in [trap, freed] { #expect(done.refusals.count == 0 && done.refusals.worst == -1, "\(done)") }
    }

    /// In that case the kernel does not run the handler.
    @Test("With all signals blocked the worst calls are not told, and end the reader", .needs("seccomp", Trial.hasFilter)) func blocked() {
        let done = Trial().run(TEST_FORK)
        #expect(done.signal == SIGSYS && done.refusals.worst == -1, "\(done)")
    }
}
