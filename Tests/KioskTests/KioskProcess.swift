import Foundation
import Glibc
import Testing

/// The built binary, running.
final class KioskProcess {
    /// It lies beside the test bundle.
    static let binary: String = {
        let test = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: test).deletingLastPathComponent().appendingPathComponent("kiosk").path
    }()

    private let process = Process()
    private let own: TestFolder
    var pid: pid_t { process.processIdentifier }

    /// Starts it in a folder of its own, or in `folder`.
    ///
    /// - Parameters:
    ///   - standardError: where that goes; else it is kept for ``errors``.
    ///   - wrapper: a program and its arguments, which is to run kiosk.
    init(_ arguments: [String], in folder: String? = nil, standardError: FileHandle? = nil, wrapper: [String] = []) throws {
        own = try TestFolder()
        let command = wrapper + [Self.binary] + arguments
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.currentDirectoryURL = URL(fileURLWithPath: folder ?? own.path)
        var environment = ProcessInfo.processInfo.environment
        // What would change the output: the width of help texts, the form of log lines, the language of the C library.
        environment["COLUMNS"] = "80"
        environment["LC_ALL"] = "C.UTF-8"
        environment["JOURNAL_STREAM"] = nil
        environment["TMPDIR"] = own.path
        // A control socket of its own, too.
        environment["XDG_RUNTIME_DIR"] = own.path
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try Self.file(own.path + "/stdout")
        process.standardError = try standardError ?? Self.file(own.path + "/stderr")
        try process.run()
    }

    deinit { if process.isRunning { kill(pid, SIGKILL) } }

    private static func file(_ path: String) throws -> FileHandle {
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        return try #require(FileHandle(forWritingAtPath: path))
    }

    private func text(_ name: String) -> String {
        String(decoding: FileManager.default.contents(atPath: own.path + "/" + name) ?? Data(), as: UTF8.self)
    }

    /// What it has written so far.
    var output: String { text("stdout") }
    /// The same on standard error.
    var errors: String { text("stderr") }
    /// Log lines without their time.
    var log: [String] { errors.split(separator: "\n").map { String($0.trimmingPrefix(#/[0-9:]{8}\s/#)) } }
    /// Whether it has not ended.
    var isRunning: Bool { process.isRunning }

    /// Waits until it has logged a line that contains `text`.
    func waits(for text: String, seconds: Double = 120) -> Bool { eventually(seconds) { self.errors.contains(text) } }

    /// Its exit status; nil when it runs on for longer than `seconds`, or was killed by a signal.
    func status(within seconds: Double = 120) -> Int32? {
        guard eventually(seconds, { !self.process.isRunning }) else { return nil }
        return process.terminationReason == .exit ? process.terminationStatus : nil
    }

    /// Sends it `signal`; the exit status, as ``status(within:)``.
    func end(_ signal: Int32 = SIGTERM, within seconds: Double = 120) -> Int32? {
        kill(pid, signal)
        return status(within: seconds)
    }
}

/// Whether `condition` becomes true before so many seconds have passed.
func eventually(_ seconds: Double, _ condition: () -> Bool) -> Bool {
    let end = Date() + seconds
    while !condition() {
        if Date() > end { return false }
        usleep(20_000)
    }
    return true
}

/// A folder that goes with the value.
final class TestFolder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "kiosk-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file into it; its path.
    func file(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        return "\(path)/\(name)"
    }
}

/// Compares `text` with what stands in the file `name` of Expected. With KIOSK_RECORD=1 in the environment the file is written instead.
func expect(_ text: String, isAsIn name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let path = #filePath.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/Expected/\(name)"
    if ProcessInfo.processInfo.environment["KIOSK_RECORD"] == "1" {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        Issue.record("\(name) was recorded anew", sourceLocation: sourceLocation)
    } else {
        let expected = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text == expected, sourceLocation: sourceLocation)
    }
}
