import Foundation
import Glibc
import KioskReaders

/// Readers with Tests/HostileDecoder in place of libavcodec's decoder, and clips that tell it its deeds.
package enum Hostile {
    /// The folder of the tests' programs.
    private static let programs = URL(fileURLWithPath: Readers.shared.executable).deletingLastPathComponent().path

    /// Readers whose decoder does the deed that a packet of the file names.
    package static let readers = readers(with: "HostileDecoder")

    /// Returns readers that preload one of the tests' libraries.
    package static func readers(with library: String, _ environment: String = "") -> Readers {
        let script = try? Clips.file(
            "reader-with-\(library)\(environment)",
            Array("#!/bin/sh\n\(environment) LD_PRELOAD='\(programs)/lib\(library).so' exec '\(programs)/kiosk-reader' \"$@\"\n".utf8))
        if let script { chmod(script, 0o755) }
        return Readers(executable: script ?? "/nowhere")
    }

    /// Makes a clip whose first key frame has its decoder do `deed`.
    package static func clip(_ deed: String) throws -> String {
        let path = Clips.folder + "/hostile-\(deed).mp4"
        if FileManager.default.fileExists(atPath: path) { return path }
        _ = try Clips.run(
            ["ffmpeg", "-v", "error", "-y", "-i", Clips.named("a.mp4"), "-c", "copy"] + mark(deed) + ["-movflags", "+faststart", path])
        return path
    }

    /// Makes a clip of 150 harmless pictures with the hostile clip behind them.
    package static func clipThatBeginsWell(_ deed: String) throws -> String {
        let path = Clips.folder + "/well-\(deed).mp4"
        if FileManager.default.fileExists(atPath: path) { return path }
        let list = try Clips.file("well-\(deed).txt", Array("file '\(try Clips.named("a.mp4"))'\nfile '\(try clip(deed))'\n".utf8))
        _ = try Clips.run(
            ["ffmpeg", "-v", "error", "-y", "-f", "concat", "-safe", "0", "-i", list, "-c", "copy", "-movflags", "+faststart", path])
        return path
    }

    /// Makes a silent clip of pieces, at 30 pictures a second, numbered from 1 on. Each piece begins with a key frame that has the decoder
    /// do `deed`, or nothing.
    package static func clip(_ pieces: [(frames: Int, deed: String?)]) throws -> String {
        var (files, first) = ([String](), 1)
        for (frames, deed) in pieces {
            let piece = try Clips.numbered("piece-\(first)-\(frames).mp4", frames: frames, from: first, sound: false)
            files.append(
                try deed.map { try Clips.make("\($0)-piece-\(first)-\(frames).mp4", ["-i", piece, "-c", "copy"] + mark($0)) } ?? piece)
            first += frames
        }
        let name = pieces.map { "\($0.frames)\($0.deed ?? "")" }.joined(separator: "-")
        let list = try Clips.file("pieces-\(name).txt", Array(files.map { "file '\($0)'\n" }.joined().utf8))
        return try Clips.make("pieces-\(name).mp4", ["-f", "concat", "-safe", "0", "-i", list, "-c", "copy"])
    }

    private static func mark(_ deed: String) -> [String] {
        ["-bsf:v", "h264_metadata=sei_user_data=086f3693b7b34f2c965321492feee5b8+kiosk-hostile/\(deed)/"]
    }
}
