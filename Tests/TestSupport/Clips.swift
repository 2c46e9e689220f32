import Foundation
import Testing

/// Clips for tests: the gallery that `Tests/Clips/make` draws, and clips of single tests. The number of each frame is burned in;
/// ``burnedInNumber`` reads it.
package enum Clips {
    private static let lock = NSLock()

    // MARK: The gallery

    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../Clips/make"

    /// The folder of the gallery, in the cache. All test runs share a drawn clip until the script or ffmpeg changes.
    private static let galleryFolder = Result { try run([script, "--folder"]).trimmingCharacters(in: .newlines) }

    /// Returns the path of a gallery clip (docs/testing-clips.md), and draws the clip if it is missing.
    package static func named(_ name: String) throws -> String {
        let folder = try galleryFolder.get()
        if !FileManager.default.fileExists(atPath: "\(folder)/\(name)") { _ = try run([script, folder, name]) }
        return "\(folder)/\(name)"
    }

    /// Draws all missing clips of the gallery, on all processors.
    package static func all() throws { _ = try run([script, galleryFolder.get()]) }

    /// Every name in the gallery.
    package static func names() throws -> [String] { try run([script, "--list"]).split(separator: "\n").map(String.init) }

    // MARK: Clips of one test

    /// The folder of these clips, for the life of the test process.
    package static let folder: String = {
        let path = NSTemporaryDirectory() + "kiosk-clips-\(getpid())"
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(atPath: NSTemporaryDirectory() + "kiosk-clips-\(getpid())") }
        return path
    }()

    /// Makes a clip of `frames` frames, numbered from `first`, at `rate` a second; once for each name.
    package static func numbered(
        _ name: String, frames: Int, from first: Int = 1, rate: Int = 30, size: String = "320x180", sound: Bool = true,
        extra: [String] = []
    ) throws -> String {
        let seconds = Double(frames) / Double(rate)
        let tone = sound ? ["-f", "lavfi", "-i", "sine=f=440:r=48000:d=\(seconds)", "-c:a", "aac"] : []
        let cells = try run([script, "--cells", "\(first)"]).trimmingCharacters(in: .newlines)
        let picture = ["-f", "lavfi", "-i", "testsrc2=s=\(size):r=\(rate):d=\(seconds),\(cells)"]
        return try make(name, picture + tone + ["-pix_fmt", "yuv420p", "-c:v", "libx264"] + extra)
    }

    /// Makes a clip of `fields` fields at 50 a second, two a frame, once for each name. Each field has a number of its own; `encode` holds
    /// the encoder's arguments.
    package static func interlaced(
        _ name: String, fields: Int, from first: Int = 1, bottomFirst: Bool = false, size: String = "320x180", encode: [String]
    ) throws -> String {
        let cells = try run([script, "--cells", "\(first)", "gray"]).trimmingCharacters(in: .newlines)
        let source = ["-f", "lavfi", "-i", "testsrc2=s=\(size):r=50,format=yuv444p,trim=end_frame=\(fields),\(cells)"]
        return try make(name, source + ["-vf", "tinterlace=interleave_\(bottomFirst ? "bottom" : "top")"] + encode)
    }

    /// Makes 560 interlaced frames of 1280x720, 500 a second. They need a picture every millisecond, more than any machine makes.
    package static func moreFieldsThanCanBeMade() throws -> String {
        let some = try interlaced(
            "some.h264", fields: 40, size: "1280x720",
            encode: ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", "-g", "20", "-bf", "0", "-flags", "+ilme+ildct"])
        let frames = try bytes(some)
        let stream = try file("fast.h264", Array((0..<28).map { _ in frames }.joined()))
        return try make("fast.mp4", ["-r", "500", "-i", stream, "-c", "copy"])
    }

    /// Makes a file by ffmpeg with these arguments, once for each name. If the arguments name no existing file, a folder beside the gallery
    /// keeps the result for other processes. Each process gets a copy of its own.
    package static func make(_ name: String, _ arguments: [String]) throws -> String {
        let path = folder + "/" + name
        try lock.withLock {
            if FileManager.default.fileExists(atPath: path) { return }
            guard !arguments.contains(where: { $0.contains("/") && FileManager.default.fileExists(atPath: $0) }) else {
                return try encode(arguments, to: path)
            }
            let kept = try galleryFolder.get() + "/made"
            let (file, own) = (kept + "/\(hash(arguments))-\(name)", kept + "/\(getpid())-\(name)")
            if !FileManager.default.fileExists(atPath: file) {
                try FileManager.default.createDirectory(atPath: kept, withIntermediateDirectories: true)
                try encode(arguments, to: own)
                guard rename(own, file) == 0 else { throw CocoaError(.fileWriteUnknown) }
            }
            try FileManager.default.copyItem(atPath: file, toPath: path)
        }
        return path
    }

    private static func encode(_ arguments: [String], to path: String) throws {
        _ = try run(["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y"] + arguments + [path])
    }

    /// Returns FNV-1a of all arguments.
    private static func hash(_ arguments: [String]) -> String {
        let hash = arguments.joined(separator: "\n").utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }

    /// Returns the content of a file.
    package static func bytes(_ path: String) throws -> [UInt8] { try [UInt8](Data(contentsOf: URL(fileURLWithPath: path))) }

    /// Writes a file with these bytes and returns its path.
    package static func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = folder + "/" + name
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Runs a program to its end and returns its standard output.
    package static func run(_ command: [String]) throws -> String {
        let program = Process()
        let output = Pipe()
        program.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        program.arguments = command
        program.standardOutput = output
        try program.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        program.waitUntilExit()
        try #require(program.terminationStatus == 0, "\(command.joined(separator: " "))")
        return text
    }
}
