import Foundation
import Glibc
import TestSupport
import Testing

/// A running instance of the built binary.
final class KioskProcess {
    /// The path of the binary, which lies beside the test bundle.
    static let binary: String = {
        let test = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: test).deletingLastPathComponent().appendingPathComponent("kiosk").path
    }()

    private let process = Process()
    private let own: TestFolder
    var pid: pid_t { process.processIdentifier }

    /// Starts kiosk in a folder of its own, or in `folder`.
    ///
    /// - Parameters:
    ///   - standardError: the target of standard error; without one, ``errors`` has the text.
    ///   - wrapper: a program that runs kiosk, and its arguments.
    init(_ arguments: [String], in folder: String? = nil, standardError: FileHandle? = nil, wrapper: [String] = []) throws {
        own = try TestFolder()
        let command = wrapper + [Self.binary] + arguments
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.currentDirectoryURL = URL(fileURLWithPath: folder ?? own.path)
        var environment = ProcessInfo.processInfo.environment
        // These would change the output: the width of help texts, the form of log lines, the language of the C library.
        environment["COLUMNS"] = "80"
        environment["LC_ALL"] = "C.UTF-8"
        environment["JOURNAL_STREAM"] = nil
        environment["TMPDIR"] = own.path
        // Each process has a control socket of its own, too.
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

    /// The standard output so far.
    var output: String { text("stdout") }
    /// The standard error so far.
    var errors: String { text("stderr") }
    /// The log lines without their time.
    var log: [String] { errors.split(separator: "\n").map { String($0.trimmingPrefix(#/[0-9:]{8}\s/#)) } }
    /// Whether the process still runs.
    var isRunning: Bool { process.isRunning }

    /// Waits until the log contains `text`; returns false after `seconds`.
    func waits(for text: String, seconds: Double = 120) -> Bool { eventually(seconds) { self.errors.contains(text) } }

    /// Returns the exit status; nil if the process runs for longer than `seconds`, or if a signal killed it.
    func status(within seconds: Double = 120) -> Int32? {
        guard eventually(seconds, { !self.process.isRunning }) else { return nil }
        return process.terminationReason == .exit ? process.terminationStatus : nil
    }

    /// Sends `signal` and returns the exit status, as ``status(within:)`` does.
    func end(_ signal: Int32 = SIGTERM, within seconds: Double = 120) -> Int32? {
        kill(pid, signal)
        return status(within: seconds)
    }
}

/// Returns whether `condition` becomes true within `seconds`.
func eventually(_ seconds: Double, _ condition: () -> Bool) -> Bool {
    let end = Date.steady + seconds
    while !condition() {
        if Date.steady > end { return false }
        usleep(20_000)
    }
    return true
}

/// A temporary folder that is deleted with the value.
final class TestFolder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "kiosk-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes a file into the folder and returns its path.
    func file(_ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
        return "\(path)/\(name)"
    }
}

/// Compares `text` with the file `name` of Expected. With KIOSK_RECORD=1 in the environment, writes the file instead.
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
