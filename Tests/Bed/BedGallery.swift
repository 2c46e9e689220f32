import Foundation

/// The clips that Tests/Clips/make draws, in a folder that all tests share. Draws a clip on its first use, one clip at a time.
package enum BedGallery {
    private static let drawing = NSRecursiveLock()

    /// Returns a numbered clip such as "a", whose numbers begin at `first`.
    package static func clip(_ name: String, frames: Int, from first: Int = 1, frameRate: Double) throws -> NumberedClip {
        NumberedClip(try path("\(name).mp4"), frames: frames, from: first, frameRate: frameRate)
    }

    /// Returns the path of the file called `name`.
    package static func path(_ name: String) throws -> String {
        let folder = try folder.get()
        let path = folder + "/" + name
        drawing.lock()
        defer { drawing.unlock() }
        if !FileManager.default.fileExists(atPath: path) { _ = try make([folder, name]) }
        return path
    }

    /// Returns a clip of half a second, 320x180 at 29.97 fps, numbered 1 to 15, with a tone in whole periods. For runs of many loops on a
    /// 640x480 display, whose 60 Hz mode is 59.94 Hz.
    package static func halfSecond() throws -> NumberedClip { try plain("half-second", "0x406080", frames: 15) }

    /// Returns a clip at 29.97 fps in one colour (in ffmpeg's syntax) with numbers from `first` on. Its tone has whole periods in every
    /// half second. A key frame follows every `interval` frames, if given.
    package static func plain(
        _ name: String, _ color: String, size: String = "320x180", frames: Int, from first: Int = 1, keyFrameEvery interval: Int? = nil
    ) throws -> NumberedClip {
        let path = try folder.get() + "/\(name).mp4"
        let clip = NumberedClip(path, frames: frames, from: first, frameRate: 30000 / 1001)
        drawing.lock()
        defer { drawing.unlock() }
        if FileManager.default.fileExists(atPath: path) { return clip }
        let cells = try make(["--cells", "\(first)"]).trimmingCharacters(in: .whitespacesAndNewlines)
        let draft = path + ".\(getpid()).mp4"
        let command =
            [
                "ffmpeg", "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i",
                "color=\(color):s=\(size):r=30000/1001,trim=end_frame=\(frames),\(cells)",
            ]
            + [
                "-f", "lavfi", "-i", "sine=f=\(220 * 48000.0 / 24024):r=48000,atrim=end_sample=\(frames * 8008 / 5)", "-c:v", "libx264",
                "-pix_fmt", "yuv420p", "-c:a", "aac",
            ] + (interval.map { ["-g", "\($0)"] } ?? [])
        let outcome = try Outcome.of(["/usr/bin/env"] + command + ["-y", draft])
        guard outcome.status == 0, rename(draft, path) == 0 else { throw BedError.failed("ffmpeg: \(outcome.errors)") }
        return clip
    }

    /// Returns the path of a second of 880 Hz without a picture.
    package static func whistle() throws -> String {
        let path = try folder.get() + "/whistle.wav"
        drawing.lock()
        defer { drawing.unlock() }
        if FileManager.default.fileExists(atPath: path) { return path }
        let draft = path + ".\(getpid()).wav"
        let sine = ["-f", "lavfi", "-i", "sine=f=880:r=48000:d=1", "-ac", "2"]
        let outcome = try Outcome.of(["/usr/bin/env", "ffmpeg", "-nostdin", "-loglevel", "error"] + sine + ["-y", draft])
        guard outcome.status == 0, rename(draft, path) == 0 else { throw BedError.failed("ffmpeg: \(outcome.errors)") }
        return path
    }

    /// Returns the path of a second at 29.97 fps, 30 frames numbered from `first` on. The sixteenth frame makes its decoder do what
    /// Tests/HostileDecoder calls `deed`.
    package static func hostile(_ deed: String, from first: Int) throws -> String {
        let path = try folder.get() + "/hostile-\(deed)-from-\(first).mp4"
        let (begin, end) = try (
            plain("hostile-first-\(first)", "0x604040", size: "320x240", frames: 15, from: first),
            plain("hostile-second-\(first)", "0x604040", size: "320x240", frames: 15, from: first + 15)
        )
        drawing.lock()
        defer { drawing.unlock() }
        if FileManager.default.fileExists(atPath: path) { return path }
        let (draft, marked, list) = (path + ".\(getpid()).mp4", path + ".\(getpid()).marked.mp4", path + ".\(getpid()).txt")
        defer { for file in [marked, list] { unlink(file) } }
        func ffmpeg(_ arguments: [String], to output: String) throws {
            let outcome = try Outcome.of(["/usr/bin/env", "ffmpeg", "-nostdin", "-loglevel", "error"] + arguments + ["-y", output])
            guard outcome.status == 0 else { throw BedError.failed("ffmpeg: \(outcome.errors)") }
        }
        let mark = "h264_metadata=sei_user_data=086f3693b7b34f2c965321492feee5b8+kiosk-hostile/\(deed)/"
        try ffmpeg(["-i", end.path, "-c", "copy", "-bsf:v", mark], to: marked)
        try Data("file '\(begin.path)'\nfile '\(marked)'\n".utf8).write(to: URL(fileURLWithPath: list))
        try ffmpeg(["-f", "concat", "-safe", "0", "-i", list, "-c", "copy"], to: draft)
        guard rename(draft, path) == 0 else { throw BedError.failed("\(path) cannot be made") }
        return path
    }

    /// Returns the path of a test library for LD_PRELOAD.
    package static func library(_ name: String) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            .split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/lib\(name).so"
    }

    /// Returns a second of uncompressed video at 30 fps in one of libavutil's pixel formats such as "nv12", with a tone in whole periods.
    package static func raw(_ format: String, size: String = "320x180", from first: Int = 1) throws -> NumberedClip {
        let path = try folder.get() + "/raw-\(format)-\(size)-\(first).nut"
        let clip = NumberedClip(path, frames: 30, from: first, frameRate: 30)
        drawing.lock()
        defer { drawing.unlock() }
        if FileManager.default.fileExists(atPath: path) { return clip }
        let cells = try make(["--cells", "\(first)"]).trimmingCharacters(in: .whitespacesAndNewlines)
        let draft = path + ".\(getpid()).nut"
        let picture = "testsrc2=s=\(size):r=30,trim=end_frame=30,\(cells)"
        let command =
            ["ffmpeg", "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", picture, "-f", "lavfi"]
            + ["-i", "sine=f=440:r=48000,atrim=end_sample=48000", "-c:v", "rawvideo", "-pix_fmt", format, "-c:a", "pcm_s16le"]
        let outcome = try Outcome.of(["/usr/bin/env"] + command + ["-y", draft])
        guard outcome.status == 0, rename(draft, path) == 0 else { throw BedError.failed("ffmpeg: \(outcome.errors)") }
        return clip
    }

    /// Returns 36 frames at 30 fps in a transport stream. The right channel has a tone of 450 Hz; the left one beeps as the picture flashes
    /// in the middle, in frame number 19. The file can be sent repeatedly without a gap in its timestamps or its sound: 36 frames and 50
    /// packets of MP2 are equally long, there are no B-frames, and the packets are cut from the middle of a continuous sound.
    ///
    /// - Parameter isSlow: the timestamps run 200 parts per million too fast, the sound's in relation to its samples.
    package static func live(isSlow: Bool = false) throws -> NumberedClip {
        let path = try folder.get() + "/live\(isSlow ? "-slow" : "").ts"
        let clip = NumberedClip(path, frames: 36, frameRate: 30)
        drawing.lock()
        defer { drawing.unlock() }
        if FileManager.default.fileExists(atPath: path) { return clip }
        let draft = path + ".\(getpid()).ts", tone = path + ".\(getpid()).tone.ts"
        defer { unlink(tone) }
        func ffmpeg(_ arguments: [String], to output: String) throws {
            let outcome = try Outcome.of(["/usr/bin/env", "ffmpeg", "-nostdin", "-loglevel", "error"] + arguments + ["-y", output])
            guard outcome.status == 0 else { throw BedError.failed("ffmpeg: \(outcome.errors)") }
        }
        if isSlow {
            let times = "setts=ts=TS*1.0002"
            try ffmpeg(["-i", live().path, "-c", "copy", "-bsf:v", times, "-bsf:a", times], to: draft)
        } else {
            let cells = try make(["--cells"]).trimmingCharacters(in: .whitespacesAndNewlines)
            // MP2 is late by 481 samples, which a transport stream does not signal.
            let beep = "0.5*sin(2*PI*1000*(t+481/48000))*between(mod(t+481/48000,1.2),0.6,0.65)|0.3*sin(2*PI*450*t)"
            try ffmpeg(
                ["-f", "lavfi", "-i", "aevalsrc='\(beep)':s=48000,atrim=end=3.6", "-c:a", "mp2", "-b:a", "384k", "-muxdelay", "0"], to: tone
            )
            let flash = "drawbox=color=white:t=fill:enable='eq(n,18)'"
            try ffmpeg(
                [
                    "-f", "lavfi", "-i", "color=0x303030:s=320x180:r=30,trim=end_frame=36,\(flash),\(cells)", "-ss", "1.2", "-t", "1.2",
                    "-i", tone,
                    "-map", "0:v", "-map", "1:a", "-c:v", "libx264", "-preset", "veryfast", "-bf", "0", "-pix_fmt", "yuv420p", "-c:a",
                    "copy",
                ], to: draft)
        }
        guard rename(draft, path) == 0 else { throw BedError.failed("cannot move \(draft)") }
        return clip
    }

    /// Returns the demo's first clip, 1280x720 and eight seconds long, with a key frame every half second: for pictures that people look
    /// at.
    package static func demo() throws -> String {
        let path = try folder.get() + "/demo-keys.mp4", source = Bed.package + "/demo/one.mp4"
        drawing.lock()
        defer { drawing.unlock() }
        if FileManager.default.fileExists(atPath: path) { return path }
        if !FileManager.default.fileExists(atPath: source) {
            let drawn = try Outcome.of([Bed.package + "/Tools/demo-clips"])
            guard drawn.status == 0 else { throw BedError.failed("Tools/demo-clips: \(drawn.errors)") }
        }
        let draft = path + ".\(getpid()).mp4"
        let encode = ["-i", source, "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-g", "15", "-c:a", "copy", "-y", draft]
        let outcome = try Outcome.of(["/usr/bin/env", "ffmpeg", "-nostdin", "-loglevel", "error"] + encode)
        guard outcome.status == 0, rename(draft, path) == 0 else { throw BedError.failed("ffmpeg: \(outcome.errors)") }
        return path
    }

    /// Returns a copy of a clip in a file called `name`, processed by an ffmpeg filter that leaves the numbers readable.
    package static func filtered(_ clip: NumberedClip, by filter: String, called name: String) throws -> NumberedClip {
        var other = clip
        other.path = try folder.get() + "/" + name
        drawing.lock()
        defer { drawing.unlock() }
        if FileManager.default.fileExists(atPath: other.path) { return other }
        let draft = other.path + ".\(getpid()).mp4"
        let encode = ["-vf", filter, "-c:v", "libx264", "-preset", "veryfast", "-threads", "1", "-c:a", "copy", "-y", draft]
        let outcome = try Outcome.of(["/usr/bin/env", "ffmpeg", "-nostdin", "-loglevel", "error", "-i", clip.path] + encode)
        guard outcome.status == 0, rename(draft, other.path) == 0 else { throw BedError.failed("ffmpeg: \(outcome.errors)") }
        return other
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
