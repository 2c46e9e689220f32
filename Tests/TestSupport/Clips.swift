import CFFmpeg
import Foundation
import Media
import Testing

/// Clips made with ffmpeg when a test first asks for them: test pictures with the frame's number (from 1) burned in, and a tone.
public enum Clips {
    /// Where they are kept for the life of the test process.
    public static let folder: String = {
        let path = NSTemporaryDirectory() + "kiosk-clips-\(getpid())"
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        atexit { try? FileManager.default.removeItem(atPath: NSTemporaryDirectory() + "kiosk-clips-\(getpid())") }
        return path
    }()
    private static let lock = NSLock()

    /// A clip of `frames` frames, numbered from `first`, at `rate` a second, named for what it is; made once.
    public static func numbered(
        _ name: String, frames: Int, from first: Int = 1, rate: String = "30", size: String = "320x240", sound: Bool = true,
        codec: [String] = ["-c:v", "libx264"],
        extra: [String] = []
    ) throws -> String {
        let height = Int(size.split(separator: "x")[1])!
        var filter = "drawbox=x=0:y=\(height - 16):w=256:h=16:color=black:t=fill"
        for bit in 0..<16 {
            filter +=
                ",drawbox=x=\(16 * (15 - bit)):y=\(height - 16):w=16:h=16:color=white:t=fill:enable='mod(floor((n+\(first))/\(1 << bit))\\,2)'"
        }
        let parts = rate.split(separator: "/").compactMap { Double($0) }
        let seconds = Double(frames) / (parts.count == 2 ? parts[0] / parts[1] : parts[0])
        let tone = sound ? ["-f", "lavfi", "-i", "sine=f=440:r=48000:d=\(seconds)"] : []
        let toneCodec = sound ? ["-c:a", "aac"] : []
        let arguments =
            ["-f", "lavfi", "-i", "testsrc2=s=\(size):r=\(rate)"] + tone + ["-t", "\(seconds)", "-vf", filter, "-pix_fmt", "yuv420p"]
            + codec + toneCodec + extra
        return try make(name, arguments)
    }

    /// A file made by ffmpeg with these arguments; made once for each name.
    public static func make(_ name: String, _ arguments: [String]) throws -> String {
        lock.lock()
        defer { lock.unlock() }
        let path = folder + "/" + name
        if FileManager.default.fileExists(atPath: path) { return path }
        let ffmpeg = Process()
        ffmpeg.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        ffmpeg.arguments = ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y"] + arguments + [path]
        try ffmpeg.run()
        ffmpeg.waitUntilExit()
        try #require(ffmpeg.terminationStatus == 0, "ffmpeg \(ffmpeg.arguments!.joined(separator: " "))")
        return path
    }

    /// What a file holds.
    public static func bytes(_ path: String) throws -> [UInt8] { try [UInt8](Data(contentsOf: URL(fileURLWithPath: path))) }

    /// A file with these bytes.
    public static func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = folder + "/" + name
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }
}

/// The number that ``Clips`` burns into a picture: 16 cells of 16×16 pixels at its bottom left, most significant first.
public let burnedInNumber: @Sendable (borrowing VideoFrame) -> Int = { frame in
    let height = Int(frame.av.pointee.height)
    guard frame.av.pointee.width >= 256, let luma = frame.av.pointee.data.0 else { return 0 }
    // Planes of more than 8 bits hold 16-bit little-endian numbers, of which the upper part decides.
    let depth = av_pix_fmt_desc_get(AVPixelFormat(rawValue: frame.av.pointee.format)).map { Int($0.pointee.comp.0.depth) } ?? 8
    let row = luma + (height - 8) * Int(frame.av.pointee.linesize.0)
    return (0..<16).reduce(0) { number, cell in
        let x = cell * 16 + 8
        let value = depth > 8 ? (Int(row[2 * x]) | Int(row[2 * x + 1]) << 8) >> (depth - 8) : Int(row[x])
        return number << 1 | (value > 128 ? 1 : 0)
    }
}
