import Foundation

/// The clips that Tests/Clips/make draws, in the folder that all tests share. A clip is drawn when it is first asked for.
public enum Gallery {
    /// A numbered clip such as "a": its numbers begin at `first`.
    public static func clip(_ name: String, frames: Int, from first: Int = 1, frameRate: Double) throws -> NumberedClip {
        NumberedClip(try path("\(name).mp4"), frames: frames, from: first, frameRate: frameRate)
    }

    /// The file called `name`.
    public static func path(_ name: String) throws -> String {
        let folder = try folder.get()
        let path = folder + "/" + name
        if !FileManager.default.fileExists(atPath: path) { _ = try make([folder, name]) }
        return path
    }

    /// Half a second of 320x180 at 29.97 fps, numbered 1 to 15, with a tone in whole periods: for runs of many loops on a display of 640x480,
    /// whose 60 Hz are 59.94.
    public static func halfSecond() throws -> NumberedClip {
        let path = try folder.get() + "/half-second.mp4"
        let clip = NumberedClip(path, frames: 15, frameRate: 30000 / 1001)
        if FileManager.default.fileExists(atPath: path) { return clip }
        let cells = try make(["--cells"]).trimmingCharacters(in: .whitespacesAndNewlines)
        let draft = path + ".\(getpid()).mp4"
        let command =
            [
                "ffmpeg", "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i",
                "color=0x406080:s=320x180:r=30000/1001,trim=end_frame=15,\(cells)",
            ]
            + [
                "-f", "lavfi", "-i", "sine=f=\(220 * 48000.0 / 24024):r=48000,atrim=end_sample=24024", "-c:v", "libx264", "-pix_fmt",
                "yuv420p", "-c:a", "aac",
            ]
        let outcome = try Outcome.of(["/usr/bin/env"] + command + ["-y", draft])
        guard outcome.status == 0, rename(draft, path) == 0 else { throw BedError.failed("ffmpeg: \(outcome.errors)") }
        return clip
    }

    private static let folder = Result { try make(["--folder"]).trimmingCharacters(in: .whitespacesAndNewlines) }

    private static func make(_ arguments: [String]) throws -> String {
        let outcome = try Outcome.of([Bed.package + "/Tests/Clips/make"] + arguments)
        guard outcome.status == 0 else {
            throw BedError.failed("Tests/Clips/make \(arguments.joined(separator: " ")): \(outcome.errors)")
        }
        return outcome.output
    }
}
