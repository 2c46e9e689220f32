import Doctor
import Glibc
import KioskCommands
import KioskConfiguration
import KioskPlatform
import KioskVocabulary
import Remote
import RemoteClient

/// The output of `kiosk doctor --report`: one file with all that a stranger needs to judge a machine, without the owner's identity
/// (``Redaction``).
///
/// Each part is the output of a command that the owner could also run: kiosk itself, and dmesg.
struct BoxReport {
    /// Videos for the test of the decoders; if empty, the test does not run, and the display stays free.
    let clips: [String]
    /// Options for the commands: the configuration file.
    let options: [String]
    private let redaction: Redaction

    private static let kiosk = SmallFile.link("/proc/self/exe") ?? "kiosk"
    /// How long to observe the player.
    private static let watch = MediaTime.seconds(60)

    init(clips: [String], config: String?, sources: [PlaylistItem]) {
        self.clips = clips
        options = config.map { ["--config", $0] } ?? []
        redaction = Redaction(names: Self.names + (sources.flatMap { [$0.source, $0.title ?? ""] } + clips).flatMap(Self.forms))
    }

    /// Returns the whole text. Blocks as long as the commands: some seconds, a minute with a running player, some minutes with clips. Calls
    /// `tell` with the next step.
    func text(_ tell: (String) -> Void) -> String {
        var parts: [(String, String)] = []
        tell("looks at the box")
        parts.append(("Machine", "  kiosk \(kioskVersion)\n\(HardwareReport.machine)"))
        parts.append(("Doctor", output([Self.kiosk, "doctor"] + options, .seconds(120))))
        parts.append(("Player", player(tell)))
        if clips.isEmpty {
            parts.append(("Devices", output([Self.kiosk, "devices"] + options, .seconds(60))))
        } else {
            tell("tries display and decoders, for some minutes: watch the screen")
            parts.append(("Test", output([Self.kiosk, "devices", "--test"] + options + ["--"] + clips, .seconds(1800))))
        }
        parts.append(("Kernel", Self.kernel(output(["dmesg"], .seconds(10)))))
        let body = parts.map { "== \($0)\n\n\(redaction.applied(to: $1))\n" }.joined(separator: "\n")
        return """
            A report of kiosk doctor. kiosk has taken out the names, addresses, titles and paths that it knows. Read the report before you send it.

            \(body)
            """
    }

    private func output(_ words: [String], _ limit: MediaTime) -> String {
        switch BoundedCommand.run(words, limit: limit) {
        case .ended(let status, let output):
            String(output.trimmingPrefix { $0.isNewline }) + (status == 0 ? "" : "\n(exit status \(status))")
        case .killed: "(the command did not end in time)"
        case .refused(let code): "(the command does not start: \(SystemError(code)))"
        }
    }

    // MARK: The player

    /// Returns figures of a running player, now and a minute later.
    private func player(_ tell: (String) -> Void) -> String {
        guard let first = status() else { return "No player answers." }
        tell("watches the player for a minute")
        usleep(UInt32(Self.watch.nanoseconds / 1000))
        return "\(first)\na minute later\n\(status() ?? "The player no longer answers.")"
    }

    private func status() -> String? {
        guard case .ended(0, let output) = BoundedCommand.run([Self.kiosk, "status", "--json"] + options, limit: .seconds(10)),
            let status = JSONValue(output)
        else { return nil }
        return Self.shown.compactMap { key in status[key].map { "  \(key): \($0.line)" } }.joined(separator: "\n")
    }

    /// Members that do not name what plays.
    private static let shown = [
        "state", "uptime", "framesShown", "framesLate", "framesDropped", "seams", "count", "display", "audio", "presentationSize", "rate",
        "rotation",
        "volume", "muted", "live", "latency", "likelyToKeepUp",
    ]

    // MARK: The kernel

    /// Returns the last lines about displays, decoders, sound, input, power and memory.
    static func kernel(_ log: String) -> String {
        let lines = log.split(separator: "\n").filter { line in
            let text = line.lowercased()
            return subjects.contains { text.contains($0) }
        }
        return lines.isEmpty ? "(no lines: \(String(log.prefix(200)).printable))" : lines.suffix(300).joined(separator: "\n")
    }

    private static let subjects = [
        "drm", "vc4", "v3d", "i915", "amdgpu", "radeon", "nouveau", "panfrost", "lima", "rockchip", "meson", "simpledrm", "framebuffer",
        "fbcon", "hdmi",
        "cec", "edid", "v4l2", "video", "codec", "hevc", "snd", "alsa", "audio", "touch", "hid", "input:", "undervoltage", "under-voltage",
        "throttl",
        "thermal", "out of memory", "oom", "i/o error", "ext4", "mmc", "kiosk", "linux version", "machine model", "dmi:",
    ]

    // MARK: Names

    /// The names of the machine and of its users.
    private static var names: [String] {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        let host = name.text
        let people = (SmallFile.text("/etc/passwd", atMost: 1 << 20) ?? "").split(separator: "\n").compactMap { line -> String? in
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count > 4, let number = Int(fields[2]), 1000..<60_000 ~= number else { return nil }
            return String(fields[0])
        }
        return [host, String(host.prefix { $0 != "." })] + people
    }

    /// Returns a path or a title, and the file's name in it.
    private static func forms(_ text: String) -> [String] {
        let name = text.split(separator: "/").last.map(String.init) ?? ""
        return [text, name, name.lastIndex(of: ".").map { String(name[..<$0]) } ?? ""]
    }
}
