import KioskCommands
import KioskPlatform

/// Whether the player can play a file: `kiosk check` opens it, in a process of its own whose readers are in a sandbox.
enum Probe {
    private static let limit = MediaTime.seconds(60)

    /// - Throws: the refusal of a file that cannot be played, with a command that converts it.
    static func check(_ path: String, name: MediaName, by kiosk: KioskProgram) throws(APIError) {
        let (status, output) = try kiosk.run(
            ["check", "--config", "/dev/null", "--display", "offscreen", "--refresh", "60", path], limit: limit)
        if status == 0 { return }
        let mark = "cannot be played: "
        let reason = output.split(separator: "\n").compactMap { line in line.firstRange(of: mark).map { String(line[$0.upperBound...]) } }
            .first
        throw APIError(
            422, "not-playable", "\(name.text) cannot be played: \(reason ?? "kiosk check refuses it")", ["recipe": recipe(name).json])
    }

    /// Returns the command that makes a playable file of another one.
    static func recipe(_ name: MediaName) -> String {
        let stem = name.text.split(separator: ".").dropLast().joined(separator: ".")
        func quoted(_ text: String) -> String {
            "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
        }
        return "ffmpeg -i \(quoted(name.text)) -c:v libx264 -crf 20 -preset slow -pix_fmt yuv420p -c:a aac -b:a 192k -movflags +faststart "
            + quoted(stem + "-kiosk.mp4")
    }
}
