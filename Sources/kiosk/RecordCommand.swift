import ArgumentParser
import Glibc
import KioskCaptureCore
import KioskCommands
import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary
import Logging

/// `kiosk record out.mp4`: records a camera and a microphone into a file.
struct RecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Record a camera and a microphone.",
        usage: "kiosk record [<options>] <file>",
        discussion: """
            kiosk records for the duration, or until you press Ctrl-C; then the file is complete. The space bar and SIGUSR1 pause the \
            recording, and resume it in the same file. A power cut costs less than a second: the next recording into the folder makes a \
            film of the rest. docs/record.md says more. Exit status: 0 with a complete file, 1 without a file or if it ends early, 64 \
            for a wrong command line.
            """)

    @Option(
        "Record this camera: auto, front, rear, /dev/video0 or a part of its name. Default: auto.", value: "camera",
        .text("auto, front, rear, a device such as /dev/video0 or a name", words: ["auto", "front", "rear"]))
    var camera = CameraChoice.automatic

    @Option(
        "Record this microphone: auto, off or an ALSA device. Default: auto.", value: "device",
        .text("auto, off or an ALSA device such as hw:1", words: ["auto", "off"]))
    var microphone = AudioDevice.automatic

    @Option(
        "Size and pictures a second. Default: up to 1280x720@30.", value: "size", parsing: .unconditional,
        .text("a size such as 1280x720@30, 1280x720 or @25"))
    var size = CameraMode()

    @Option("End after this time.", value: "seconds", parsing: .unconditional, .number("seconds from 0.1 to 86400", in: 0.1...86400))
    var duration: Double?

    @Option("Rotate the picture clockwise by 0, 90, 180 or 270 degrees.", value: "degrees", parsing: .unconditional, .rotation())
    var rotation = Rotation.none

    @Flag(help: "Mirror the picture left to right.")
    var mirror = false

    @Option(
        "Quality of the pictures, from 0 (nothing lost) to 51. Default: 23.", value: "factor", parsing: .unconditional, .whole(0...51))
    var quality: Int?

    @Option("Encoder of the pictures: auto, software or hardware. Default: auto.", value: "encoder", .word(\.rawValue))
    var encoder = EncoderSetting.automatic

    @OptionGroup var progress: ProgressOptions

    @Argument(help: "The MP4 file to write.", completion: .file(extensions: ["mp4"]))
    var file: String

    func validate() throws {
        if let problem = FilmWriter.nameProblem(file, types: [.mp4]) { throw ValidationError(problem) }
    }

    func run() throws {
        // Before there are threads, including the log's: they inherit the signal mask.
        let signals = SignalWait([SIGINT, SIGTERM, SIGHUP, SIGUSR1])
        startLog(.error)
        var line = ProgressLine(progress)
        for recovered in RecordingFile.recover(in: Folder.of(file), besides: file) {
            if let problem = recovered.problem {
                printError("\(recovered.path): cannot finish an earlier recording that was cut off: \(problem)")
            } else {
                line.say("\(recovered.path): an earlier recording that was cut off, as far as it went")
            }
        }
        var request = RecordingRequest(path: file)
        (request.replaces, request.duration) = (progress.force, duration.map { .seconds($0) })
        request.orientation = Orientation(rotation: rotation, isMirrored: mirror)
        if let quality { request.quality = quality }
        request.encoder = EncoderWish(encoder)
        let session: CaptureSession
        do throws(CaptureError) {
            do throws(FilmError) { try FilmWriter.checkPlace(file) } catch { throw CaptureError.film(error) }
            if access(file, F_OK) == 0, !progress.force { throw CaptureError.outputExists(file) }
            session = try CaptureSession.open(camera: camera, microphone: microphone, mode: size)
        } catch {
            line.fail(error.description, error.description.printable)
            throw ExitCode(1)
        }

        session.begin(request)
        let keys = TerminalKeys.open(session, progress.quiet || progress.json)
        defer { keys?.close() }
        Thread("signals") {
            while let signal = signals.wait(for: nil) { if signal == SIGUSR1 { session.togglePause() } else { session.end() } }
        }.detach()
        line.begin(session)
        while true {
            if let report = session.report(until: .now + .milliseconds(250)) {
                keys?.close()
                session.close()
                line.end(report)
                if report.failure != nil { throw ExitCode(1) }
                return
            }
            line.show(session.status)
        }
    }
}

extension CaptureSession {
    func togglePause() { if status.phase == .paused { resume() } else { pause() } }
}

extension ProgressLine {
    fileprivate mutating func begin(_ session: CaptureSession) {
        let format = session.format
        say("\(session.camera.description), \(format.description); \(session.microphone.map { "sound from \($0)" } ?? "no sound")")
    }

    fileprivate mutating func show(_ status: CaptureSession.Status) {
        if style == .lines { return }
        show {
            let word = status.phase == .paused ? "paused, space resumes" : status.phase == .finishing ? "finishing" : "recording"
            let limit = status.duration.map { " of \($0)" } ?? ""
            let left = status.remaining.map { ", \($0) left" } ?? ""
            let dropped = status.droppedCount > 0 ? ", \(status.droppedCount) pictures dropped" : ""
            return "\(word) \(status.elapsed)\(limit), \(ByteCount(Int64(status.byteCount)))\(left)\(dropped) \(Self.meter(status.level))"
        } json: {
            [
                "state": status.phase.rawValue.json, "elapsed": status.elapsed.seconds.json, "duration": (status.duration?.seconds).json,
                "remaining": (status.remaining?.seconds).json, "bytes": status.byteCount.json, "dropped": status.droppedCount.json,
                "level": status.level.json,
            ]
        }
    }

    /// Returns `[######....]`, 5 dB a sign.
    private static func meter(_ level: Float) -> String {
        let decibels = level > 0 ? 20 * log10(Double(level)) : -100
        let filled = min(max(Int((decibels + 50) / 5), 0), 10)
        return "[\(String(repeating: "#", count: filled))\(String(repeating: ".", count: 10 - filled))]"
    }

    fileprivate mutating func end(_ report: RecordingReport) {
        let dropped = report.droppedCount > 0 ? ", \(report.droppedCount) dropped" : ""
        let text = report.path.map { path in
            "\(path): \(report.length), \(report.width)x\(report.height), \(report.pictureCount) pictures\(dropped) (\(report.encoder)), "
                + (report.hasSound ? "with sound" : "no sound")
        }
        end(text, notes: report.notes, failure: report.failure?.description) {
            [
                "file": report.path.json, "length": report.length.seconds.json,
                "begin": report.begin.map { Double($0.nanoseconds) / 1e9 }.json, "size": "\(report.width)x\(report.height)".json,
                "pictures": report.pictureCount.json, "dropped": report.droppedCount.json, "encoder": report.encoder.json,
                "notes": report.notes.json, "error": (report.failure?.description).json,
            ]
        }
    }
}

/// The terminal's keys during a recording: the space bar and p pause and resume, Return and q end. The corresponding C functions are those
/// of termios.
final class TerminalKeys: @unchecked Sendable {
    // Sendable because one thread restores the saved state, once.
    private var saved: termios?

    /// Starts to read keys; nil if nobody types.
    static func open(_ session: CaptureSession, _ isQuiet: Bool) -> TerminalKeys? {
        // The kernel stops a background job that touches the terminal.
        guard !isQuiet, isatty(STDIN_FILENO) == 1, tcgetpgrp(STDIN_FILENO) == getpgrp() else { return nil }
        var state = termios()
        guard tcgetattr(STDIN_FILENO, &state) == 0 else { return nil }
        let keys = TerminalKeys()
        keys.saved = state
        state.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &state)
        Thread("keys") {
            var byte: UInt8 = 0
            while read(STDIN_FILENO, &byte, 1) == 1 {
                switch byte {
                case UInt8(ascii: " "), UInt8(ascii: "p"): session.togglePause()
                case UInt8(ascii: "q"), UInt8(ascii: "\n"): session.end()
                default: break
                }
            }
        }.detach()
        return keys
    }

    func close() {
        if var state = saved.take() { tcsetattr(STDIN_FILENO, TCSANOW, &state) }
    }
}
