import ArgumentParser
import Glibc
import KioskCapture
import KioskMedia
import KioskPlatform
import KioskVocabulary
import Logging

/// `kiosk record out.mp4`: what a camera sees and a microphone hears, as a file.
struct RecordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Record a camera and a microphone.",
        usage: "kiosk record [<options>] <file>",
        discussion: """
            It records until the duration is over, or it is interrupted (Ctrl-C): the file is whole then. The space bar, and SIGUSR1, pause and \
            go on in the same file. A power cut costs less than a second: what was left is made a film when something is next recorded into \
            the folder. docs/record.md says more. The exit status is 0 when the file is there, 1 when it is not or ends early, 64 when the command line is wrong.
            """)

    @Option(
        help: ArgumentHelp("Record this camera: auto, front, rear, /dev/video0 or a part of its name. Default: auto.", valueName: "camera"),
        completion: .list(["auto", "front", "rear"]),
        transform: value("auto, front, rear, a device such as /dev/video0 or a name", CameraChoice.init))
    var camera = CameraChoice.automatic

    @Option(
        help: ArgumentHelp("Record this microphone: auto, off or an ALSA device. Default: auto.", valueName: "device"),
        completion: .list(["auto", "off"]), transform: value("auto, off or an ALSA device such as hw:1", AudioDevice.init))
    var microphone = AudioDevice.automatic

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Size and pictures a second. Default: up to 1280x720@30.", valueName: "size"),
        transform: value("a size such as 1280x720@30, 1280x720 or @25", CameraMode.init))
    var size = CameraMode()

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("End after this time.", valueName: "seconds"),
        transform: value("seconds from 0.1 to 86400") { Double($0).flatMap { 0.1...86400 ~= $0 ? $0 : nil } })
    var duration: Double?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Turn the picture clockwise by 0, 90, 180 or 270.", valueName: "degrees"),
        transform: value("0, 90, 180 or 270") { Int($0).flatMap(Rotation.init) })
    var rotation = Rotation.none

    @Flag(help: "Mirror the picture left to right.")
    var mirror = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Quality of the pictures, from 0 (nothing lost) to 51. Default: 23.", valueName: "factor"),
        transform: value("a whole number from 0 to 51") { Int($0).flatMap { 0...51 ~= $0 ? $0 : nil } })
    var quality: Int?

    @Option(
        help: ArgumentHelp("What encodes pictures: auto, software or hardware. Default: auto.", valueName: "encoder"),
        completion: .list(EncoderSetting.allCases.map(\.rawValue)), transform: word(EncoderSetting.self))
    var encoder = EncoderSetting.automatic

    @Flag(help: "Replace a file of that name.")
    var force = false

    @Flag(help: "Say nothing but what is wrong.")
    var quiet = false

    @Flag(help: "Print progress, four times a second, and what has come of it as lines of JSON.")
    var json = false

    @Argument(help: "The MP4 file to write.", completion: .file(extensions: ["mp4"]))
    var file: String

    func validate() throws {
        if let problem = FilmWriter.nameProblem(file) { throw ValidationError(problem) }
    }

    func run() throws {
        // Before any thread is started, that of the log, too: they inherit what is blocked.
        let signals = SignalWait([SIGINT, SIGTERM, SIGHUP, SIGUSR1])
        startLog(.error)
        var line = RecordLine(json ? .json : quiet ? .none : isatty(STDERR_FILENO) == 1 ? .terminal : .lines)
        for recovered in RecordingFile.recover(in: Folder.of(file), besides: file) {
            if let problem = recovered.problem {
                printError("\(recovered.path): an earlier recording that was cut off cannot be finished: \(problem)")
            } else {
                line.say("\(recovered.path): an earlier recording that was cut off, as far as it went")
            }
        }
        var request = RecordingRequest(path: file)
        (request.replaces, request.duration) = (force, duration.map { .seconds($0) })
        request.orientation = Orientation(rotation: rotation, isMirrored: mirror)
        if let quality { request.quality = quality }
        request.encoder = EncoderWish(encoder)
        let session: CaptureSession
        do throws(CaptureError) {
            do throws(FilmError) { try FilmWriter.checkPlace(file) } catch { throw CaptureError.film(error) }
            if access(file, F_OK) == 0, !force { throw CaptureError.outputExists(file) }
            session = try CaptureSession.open(camera: camera, microphone: microphone, mode: size)
        } catch { throw line.fail(error.description) }

        session.begin(request)
        let keys = TerminalKeys.open(session, quiet || json)
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
    /// Pauses, or goes on.
    func togglePause() { if status.phase == .paused { resume() } else { pause() } }
}

/// Keys that are pressed on the terminal while something is recorded: the space bar pauses and goes on, Return and q end. The corresponding C
/// functions are those of termios.
final class TerminalKeys: @unchecked Sendable {
    // Sendable because what is changed is restored on one thread, once.
    private var saved: termios?

    /// nil where nobody types.
    static func open(_ session: CaptureSession, _ isQuiet: Bool) -> TerminalKeys? {
        // A job in the background is stopped when it touches the terminal.
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

    /// Puts the terminal back.
    func close() {
        if var state = saved.take() { tcsetattr(STDIN_FILENO, TCSANOW, &state) }
    }
}
