import Foundation
import Glibc
import KioskPlatform
import TestSupport
import Testing

/// A program of `Tests/Streams`, or ffmpeg: a stream server or a bad network on the loopback interface. It ends with this object.
final class StreamTool {
    private let process = Process()
    private let input = Pipe()
    private let lines = Monitor<[String]>([])

    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../Streams/"
    /// The tools are written in Python.
    static let isThere = onPath("python3")
    static let whyNot: Comment = "python3 is not installed, in which the servers of these tests are written"

    /// Whether to run these tests: they measure time.
    static let isWanted = getenv("KIOSK_TEST_STREAMS") != nil
    static let howTo: Comment = "in real time, on an idle machine: KIOSK_TEST_STREAMS=1 swift test --filter StreamTests"

    private static func onPath(_ name: String) -> Bool {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains { access("\($0)/\(name)", X_OK) == 0 }
    }

    /// Starts `name` of `Tests/Streams`, and waits until it is ready; does not wait for ffmpeg.
    init(_ name: String, _ arguments: [String]) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = name == "ffmpeg" ? [name] + arguments : ["python3", Self.folder + name] + arguments
        process.standardInput = input
        let output = Pipe()
        process.standardOutput = output
        output.fileHandleForReading.readabilityHandler = { [lines] handle in
            let text = String(decoding: handle.availableData, as: UTF8.self)
            lines.signal { $0 += text.split(separator: "\n").map(String.init) }
        }
        try process.run()
        if name == "ffmpeg" { return }
        try #require(wait { $0.contains("ready") }, "\(name) \(arguments)")
    }

    deinit { stop() }

    func stop() {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Sends a command to the program.
    func tell(_ command: String) { try? input.fileHandleForWriting.write(contentsOf: Data((command + "\n").utf8)) }

    /// The lines that the program has written.
    var output: [String] { lines.withLock { $0 } }

    func wait(_ seconds: Double = 20, until condition: ([String]) -> Bool) -> Bool {
        lines.wait(until: .now + .seconds(seconds)) { condition($0) ? true : nil } ?? false
    }

    /// Returns a port without a listener.
    static func port() throws -> Int {
        let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket, $0, length) | getsockname(socket, $0, &length) }
        }
        try #require(status == 0)
        return Int(in_port_t(bigEndian: address.sin_port))
    }

    /// Returns a camera's clip: 60 seconds, frames 1001…2800, a key frame every half second.
    static func camera() throws -> String {
        try Clips.numbered("camera.mp4", frames: 1800, from: 1001, extra: ["-g", "15", "-bf", "0", "-preset", "ultrafast"])
    }
}
