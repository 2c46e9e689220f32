import CSandbox
import CTestSupport
import Foundation
import Glibc
import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskReaders

/// Thumbnails drawn by processes of their own, some of them hostile: Tests/HostileDecoder replaces libavcodec's decoder.
@Suite(.blocking, .needs("a build without sanitizers, whose threads keep it from forking", !test_is_sanitized()))
struct ThumbnailReaderTests {
    private func read(_ path: String, by readers: Readers = .shared) throws -> Thumbnail {
        try #require(Thumbnail.read(of: path, fitting: 320, 180, by: readers))
    }

    @Test(arguments: [Readers.Isolation.process, .thread]) func `a thumbnail is the same as without a reader`(
        _ isolation: Readers.Isolation
    )
        throws
    {
        let readers = isolation == .process ? Readers.shared : Readers(executable: "/nowhere", isolation: .thread)
        for name in ["a.mp4", "turned-90.mp4", "still.jpg", "empty.mp4", "truncated.mp4"] {
            let path = try Clips.named(name)
            #expect(try read(path, by: readers) == Thumbnail.make(of: path, fitting: 320, 180), "\(name)")
        }
        let missing = try read("/nowhere/a.mp4", by: readers)
        #expect(missing.facts.problem == MediaError.Reason.notFound.text)
    }

    @Test func `previews are the same as without a reader`() throws {
        let path = try Clips.named("a.mp4")
        guard var alone = try PreviewReader.open(path, fitting: 160, 90), var session = try PreviewSession.open(path, fitting: 160, 90)
        else {
            Issue.record("there are no previews")
            return
        }
        for seconds in [0, 1.5, 4.9, 100] as [Double] {
            let (mine, its) = (try alone.preview(at: .seconds(seconds)), try session.preview(at: .seconds(seconds)))
            #expect(mine?.picture == its?.picture && mine?.time == its?.time && mine?.span == its?.span, "\(seconds)")
        }
        let still: PreviewSession? = try PreviewSession.open(try Clips.named("still.jpg"), fitting: 160, 90)
        if still != nil { Issue.record("a still has none") }
    }

    @Test func `what is no longer wanted is not waited for`() throws {
        let interruption = Interruption()
        interruption.cancel()
        #expect(Thumbnail.read(of: try Clips.named("a.mp4"), fitting: 320, 180, interruption: interruption) == nil)
    }

    @Test func `without the program a problem says so`() throws {
        let thumbnail = try read(try Clips.named("a.mp4"), by: Readers(executable: "/nowhere/kiosk-reader"))
        #expect(
            thumbnail.facts.problem
                == "there is no /nowhere/kiosk-reader to read media: install it")
    }

    @Test func `a zygote that is ended is started again`() throws {
        let script = try Clips.file(
            "ending-reader", Array("#!/bin/sh\necho $$ >'\(Clips.folder)/zygote'\nexec '\(Readers.shared.executable)' \"$@\"\n".utf8))
        chmod(script, 0o755)
        let readers = Readers(executable: script), path = try Clips.named("a.mp4")
        for _ in 0..<3 {
            #expect(try read(path, by: readers).picture != nil)
            let pid = try #require(pid_t(try String(contentsOfFile: Clips.folder + "/zygote", encoding: .utf8).dropLast()))
            kill(pid, SIGKILL)
            // A request while it dies gets an error.
            let deadline = HostTime.now + .seconds(120)
            while try read(path, by: readers).picture == nil, HostTime.now < deadline { usleep(10_000) }
        }
    }

    /// A stopped zygote reports no exits, like one whose processes hang in an uninterruptible call.
    @Test func `nothing is forked while too many that were ended are still there`() throws {
        let folder = Clips.folder
        let script = try Clips.file(
            "stopped-reader", Array("#!/bin/sh\necho $$ >'\(folder)/stopped'\nexec '\(Readers.shared.executable)' \"$@\"\n".utf8))
        chmod(script, 0o755)
        let readers = Readers(executable: script, mostEnding: 1, endLimit: .milliseconds(300)), path = try Clips.named("a.mp4")
        #expect(try read(path, by: readers).picture != nil)
        let zygote = try #require(pid_t(try String(contentsOfFile: folder + "/stopped", encoding: .utf8).dropLast()))
        var reader: Reader? = try readers.reader(priority: .normal)
        #expect(reader?.clock != nil)
        kill(zygote, SIGSTOP)
        defer { kill(zygote, SIGCONT) }
        reader = nil
        #expect(throws: ReaderStartError.stuck(1)) { _ = try readers.reader(priority: .normal) }
        #expect(try read(path, by: readers).facts.problem?.contains("1 process waits for a disk or a share") == true)
        kill(zygote, SIGCONT)
        let deadline = HostTime.now + .seconds(120)
        while try read(path, by: readers).picture == nil, HostTime.now < deadline { usleep(10_000) }
        #expect(try read(path, by: readers).picture != nil)
    }

    /// Time in which other programs had the processor does not count.
    @Test func `a reader has the time in which it runs, or hangs`() {
        func share(_ ran: MediaTime?, isReady: Bool = false) -> MediaTime { FairTime.share(of: .seconds(5), ran: ran) { isReady } }
        #expect(share(nil) == .seconds(5))
        #expect(share(.zero) == .seconds(5), "it hangs")
        #expect(share(.zero, isReady: true) == .zero, "others have the processors")
        #expect(share(.milliseconds(3)) == .milliseconds(3), "it is starved")
        #expect(share(.seconds(9)) == .seconds(5), "it has two threads")
        let now = HostTime.now
        var own = FairTime(FairTime.clock(ofProcess: getpid()), every: .seconds(1), from: now)
        #expect(own.total(at: now + .milliseconds(500)) == .milliseconds(500))
        // This process runs during the call, and has not run for that hour.
        #expect(own.total(at: now + .seconds(3600)) < .seconds(60))
        var unknown = FairTime(FairTime.clock(ofProcess: 99_999_999), every: .seconds(1), from: now)
        #expect(unknown.total(at: now + .seconds(3600)) == .seconds(3600))
    }

    @Test func `a thread that runs is told from one that sleeps`() throws {
        // The calling thread is running, and its process with it.
        var own = clockid_t()
        #expect(pthread_getcpuclockid(pthread_self(), &own) == 0 && FairTime.isReady(own))
        #expect(FairTime.isReady(FairTime.clock(ofProcess: getpid())))
        #expect(!FairTime.isReady(FairTime.clock(ofProcess: 99_999_999)))
        // This name makes the line in /proc hard to parse.
        let sleeper = Process()
        sleeper.executableURL = URL(filePath: "/bin/sh")
        sleeper.arguments = ["-c", "printf ') R 1' >/proc/self/comm 2>/dev/null; read line"]
        let pipe = Pipe()
        (sleeper.standardInput, sleeper.standardOutput) = (pipe, FileHandle.nullDevice)
        try sleeper.run()
        defer { sleeper.terminate() }
        let clock = FairTime.clock(ofProcess: sleeper.processIdentifier)
        let deadline = HostTime.now + .seconds(120)
        while FairTime.isReady(clock), HostTime.now < deadline { usleep(10_000) }
        #expect(!FairTime.isReady(clock))
    }

    // MARK: Hostile decoders

    /// A decoder that ends its process.
    @Test(arguments: [
        ("abort", "its decoder crashed (SIGABRT)"), ("crash", "its decoder crashed (SIGSEGV)"), ("trap", "its decoder crashed (SIGILL)"),
        ("exit", "its decoder ended by itself (status 0)"), ("_exit", "its decoder ended by itself (status 7)"),
        ("scribble-crash", "its decoder crashed (SIGSEGV)"),
    ]) func `a decoder that dies costs a thumbnail`(_ deed: String, _ words: String) throws {
        let thumbnail = try read(try Hostile.clip(deed), by: Hostile.readers)
        #expect(thumbnail.picture == nil)
        #expect(thumbnail.facts.problem?.prefix(words.count) ?? "" == words)
    }

    /// A decoder makes a forbidden call; the call ends it, or fails.
    @Test(
        .needs("seccomp", hasFilter),
        arguments: [
            ("connect", "socket"), ("connect-local", "socket"), ("fork", nil), ("exec", "execve"), ("ptrace", "ptrace"), ("kill", "kill"),
            ("kill-all", "kill"), ("vm-write", "process_vm_writev"), ("open", nil), ("open-through", nil), ("create", nil), ("shrink", nil),
        ]) func `a decoder reaches nothing`(_ deed: String, _ call: String?) throws
    {
        let thumbnail = try read(try Hostile.clip(deed), by: Hostile.readers)
        if let call {
            #expect(thumbnail.facts.problem == "its decoder was ended: it called \(call), which it may not")
        } else {
            let problem = thumbnail.facts.problem
            // The table decides whether the call ends the process or fails. It must not succeed.
            #expect(problem == nil || problem!.hasPrefix("its decoder was ended: it called"), "\(problem!)")
        }
    }

    /// A decoder that sends impossible values.
    @Test(arguments: ["nonsense", "flood", "false-result"]) func `a decoder that lies is ended`(_ deed: String) throws {
        let thumbnail = try read(try Hostile.clip(deed), by: Hostile.readers)
        #expect(thumbnail.facts.problem?.hasPrefix("its decoder was ended: it sent") == true, "\(thumbnail.facts.problem ?? "")")
    }

    @Test func `a decoder that writes over everything draws a wrong picture at worst`() throws {
        let thumbnail = try read(try Hostile.clip("scribble"), by: Hostile.readers)
        #expect(thumbnail.picture == nil || (thumbnail.picture!.width, thumbnail.picture!.height) == (320, 180))
    }

    /// Three of these decoders only wait, and one only computes.
    @Test(arguments: ["hang-up", "sleep", "stand", "spin"]) func `a decoder that makes no progress is ended`(_ deed: String) throws {
        let thumbnail = Thumbnail.read(of: try Hostile.clip(deed), fitting: 320, 180, by: Hostile.readers, within: .seconds(2))
        #expect(thumbnail?.picture == nil && thumbnail?.facts.problem == "its decoder made no progress for 2 s")
    }

    @Test func `a decoder does not fill the player with descriptors`() throws {
        let path = try Hostile.clip("descriptors")
        let before = Self.descriptors
        let thumbnail = try read(path, by: Hostile.readers)
        #expect(thumbnail.facts.problem == nil && thumbnail.picture != nil, "\(thumbnail.facts.problem ?? "")")
        #expect(Self.descriptors <= before + 8)
    }

    private static var descriptors: Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }

    /// A hundred dead readers leave no descriptors.
    @Test func `a hundred deaths leave nothing behind`() throws {
        let path = try Hostile.clip("crash")
        _ = try read(path, by: Hostile.readers)
        let before = Self.descriptors
        for _ in 0..<100 { _ = try read(path, by: Hostile.readers) }
        let deadline = HostTime.now + .seconds(120)
        while Self.descriptors > before + 2, HostTime.now < deadline { usleep(20_000) }
        #expect(Self.descriptors <= before + 2)
    }

    /// kiosk opens a file named by a list only below the list's folder.
    @Test func `a list names files of its folder`() throws {
        let folder = Clips.folder + "/reader-list"
        let clip = try Clips.named("long.ts")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if !FileManager.default.fileExists(atPath: folder + "/part.ts") {
            try FileManager.default.copyItem(atPath: clip, toPath: folder + "/part.ts")
        }
        func list(_ name: String, _ part: String) throws -> String {
            let text = "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:4,\n\(part)\n#EXT-X-ENDLIST\n"
            try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
            return "\(folder)/\(name)"
        }
        for path in [try list("good.m3u8", "part.ts"), try list("outside.m3u8", clip), try list("up.m3u8", "../part.ts")] {
            let (its, mine) = (try read(path), Thumbnail.make(of: path, fitting: 320, 180))
            #expect(its.facts == mine?.facts && its.picture == mine?.picture, "\(path): \(its.facts)")
        }
        #expect(try read("\(folder)/good.m3u8").picture != nil)
    }
}

/// Whether the kernel filters system calls.
private let hasFilter: Bool = {
    var trial = test_sandbox_trial()
    (trial.profile, trial.deed, trial.is_filtered) = (KIOSK_SANDBOX_FILE, TEST_WORK, true)
    return test_in_sandbox(&trial).state.has_filter
}()
