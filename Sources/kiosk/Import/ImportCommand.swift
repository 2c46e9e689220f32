import ArgumentParser
import Glibc
import KioskPlatform

/// `kiosk import`: makes a kiosk.conf of another player's settings.
struct ImportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Write a kiosk.conf from the settings of another player.",
        usage: "kiosk import <file> [<source> ...] [--output <file>]",
        discussion: """
            kiosk reads these files, and tells them apart by their content: video_looper.ini of pi_video_looper; mpv.conf; a script, a unit or a crontab \
            that starts omxplayer, mpv or vlc; the assets of Anthias as its API lists them (/api/v2/assets). Name the playlist or the clips behind \
            mpv.conf. Settings without an equal become comments. It plays nothing, and reads only the file that you name.
            """)

    @Argument(help: ArgumentHelp("The file with the settings; - reads standard input.", valueName: "file"))
    var file: String

    @Argument(help: ArgumentHelp("More files, folders, lists and URLs to play.", valueName: "source"))
    var sources: [String] = []

    @Option(name: [.short, .long], help: ArgumentHelp("Write into this new file, not to standard output.", valueName: "file"))
    var output: String?

    private static let longest = 4 << 20

    func run() throws {
        guard let bytes = SmallFile.bytes(file == "-" ? "/dev/stdin" : file, atMost: Self.longest + 1) else {
            throw ValidationError("\(file) cannot be read: \(SystemError())")
        }
        guard bytes.count <= Self.longest else {
            throw ValidationError("\(file) is larger than \(Self.longest >> 20) MB: these are no settings")
        }
        var draft = ConfigurationDraft()
        guard Self.read(String(decoding: bytes, as: UTF8.self), into: &draft) else {
            throw ValidationError(
                "\(file) has no settings that kiosk knows: name a video_looper.ini, an mpv.conf, a script that starts omxplayer, mpv or vlc, or the "
                    + "assets of Anthias")
        }
        draft.entries += sources.map { .init(source: $0) }
        draft.finish()
        let text = draft.text(from: file == "-" ? "standard input" : file.split(separator: "/").last.map(String.init) ?? file)
        guard let output else { return Swift.print(text, terminator: "") }
        try NewFile(output, mode: 0o644).write(text)
    }

    /// Reads settings; false if the text has none.
    static func read(_ text: String, into draft: inout ConfigurationDraft) -> Bool {
        if let assets = AnthiasAssets(text) {
            assets.write(to: &draft)
        } else if let settings = LooperSettings(text) {
            settings.write(to: &draft)
        } else if let line = StartLine(in: text) {
            line.write(to: &draft)
        } else if MPVOptions.isFile(text) {
            MPVOptions.write(file: text, to: &draft)
        } else {
            return false
        }
        return true
    }
}
