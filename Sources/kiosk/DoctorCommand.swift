import ArgumentParser
import Doctor
import Glibc
import KioskCommands
import KioskConfiguration
import KioskContent
import KioskPlatform
import KioskReaders
import KioskVocabulary
import Logging
import Remote

/// `kiosk doctor`: reports the machine's problems.
struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Diagnose the box, and print the fixes.",
        usage: "kiosk doctor [<options>] [--fix] [--json] [--report <file> [<clip> ...]]",
        discussion: """
            kiosk checks permissions, displays and the programs that hold them, console blanking, the kernel's command line and the \
            service. It also checks sound, decoders, the clock, storage and temperature. It changes nothing and disturbs no player; each \
            check takes three seconds at most. Run doctor as root to see what other users' programs hold. As root it reads \
            /etc/kiosk/kiosk.conf, or the file named with --config. It then opens no clip, and measures only how fast the bytes come. \
            Exit status: 0 without an error (warnings are none), 1 with one, 64 for a wrong command line, or for --fix without root.
            """)

    @OptionGroup var settings: Settings

    @Flag(
        help: """
            Apply the fixes that you can take back, and report them: groups, settings in files of their own, enabling kiosk.path. Needs \
            root. Never changes the boot loader.
            """)
    var fix = false

    @Flag(help: "Print one line of JSON.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "Write all of this, the devices, a minute of the player's figures and the kernel's log into a new file. Send it with an issue.",
            discussion: "kiosk takes out names, addresses, titles and paths. As root the file has more.", valueName: "file"))
    var report: String?

    @Argument(
        help: ArgumentHelp(
            "With --report: videos to try the display and the decoders with, as kiosk devices --test does.", valueName: "clip"),
        completion: .file())
    var clips: [String] = []

    func validate() throws {
        if report == nil, !clips.isEmpty { throw ValidationError("clips are for --report") }
        if report != nil, fix || json { throw ValidationError("--report goes with neither --fix nor --json") }
        if fix, geteuid() != 0 { throw ValidationError("--fix is for root: sudo kiosk doctor --fix") }
    }

    func run() throws {
        startLog(.critical)
        if let report { return try writeReport(to: report) }
        let (question, mistakes) = question()
        var findings = mistakes + BoxCheck.diagnose(.read(question: question))
        var deeds: [Repair.Deed] = []
        if fix {
            deeds = Repair.run(findings)
            // The checks run again after a fix.
            if deeds.contains(where: { $0.failure == nil }) { findings = mistakes + BoxCheck.diagnose(.read(question: question)) }
        }
        if json { Swift.print(line(findings, deeds)) } else { show(findings, deeds) }
        if findings.contains(where: { $0.severity == .error }) { throw ExitCode(1) }
    }

    private func writeReport(to path: String) throws {
        // The owner reads the report before anybody else.
        let file = try NewFile(path, mode: 0o600)
        let items = (try? settings.load(orDefaults: true))?.expandPlaylist(limit: .seconds(3)).items ?? []
        let text = BoxReport(clips: clips, config: settings.config, sources: items).text { printError("kiosk \($0) …") }
        try file.write(text)
        print("\(path.printable): read it, then send it with your issue")
    }

    /// Returns the facts from kiosk.conf; also a finding if the file cannot be used.
    private func question() -> (BoxFacts.Question, [Finding]) {
        var settings = settings
        // Root's current folder may belong to anybody.
        if settings.config == nil, geteuid() == 0 {
            if access(Settings.installedFile, F_OK) != 0 { return (BoxFacts.Question(), []) }
            settings.config = Settings.installedFile
        }
        let configuration: Configuration
        do { configuration = try settings.load(orDefaults: true) } catch {
            printError("\(error)")
            if let file = Settings.file(settings.config), Settings.isUnreadable(file) {
                let text = "not checked: \(file), as this user may not read it; kiosk assumes the defaults"
                return (BoxFacts.Question(), [Finding("configuration", .unknown, text, advice: ["sudo kiosk doctor"])])
            }
            let finding = Finding("configuration", .error, "kiosk.conf cannot be used, as said above", advice: ["kiosk check"])
            return (BoxFacts.Question(), [finding])
        }
        let file = configuration.expandPlaylist(limit: .seconds(3)).items.first { !isURL($0.source) }?.source
        return (
            BoxFacts.Question(
                file: file, wantsSound: configuration.audio.device != .off, wantsReaders: configuration.readers.isolation == .process), []
        )
    }

    private func show(_ findings: [Finding], _ deeds: [Repair.Deed]) {
        for finding in findings {
            print("\(mark(finding.severity))  \(finding.text.printable)")
            for line in finding.advice where finding.severity != .ok { print("         → \(line.printable)") }
            if !finding.remedies.isEmpty, !fix { print("         → or: sudo kiosk doctor --fix") }
        }
        for deed in deeds { print((deed.failure.map { "not done (\($0)): " } ?? "done: ").printable + deed.remedy.description.printable) }
        let counts = [Finding.Severity.error, .warning].map { severity in findings.count { $0.severity == severity } }
        print("\(counts[0]) error\(counts[0] == 1 ? "" : "s"), \(counts[1]) warning\(counts[1] == 1 ? "" : "s")")
    }

    /// Returns the word for a severity, padded to the longest one.
    private func mark(_ severity: Finding.Severity) -> String {
        switch severity {
        case .ok: "ok     "
        case .unknown: "—      "
        case .warning: "warning"
        case .error: "ERROR  "
        }
    }

    private func line(_ findings: [Finding], _ deeds: [Repair.Deed]) -> String {
        let list = findings.map { finding in
            JSONValue.object([
                "code": finding.code.json, "severity": finding.severity.rawValue.json, "text": finding.text.json,
                "advice": finding.advice.json, "fixable": .bool(!finding.remedies.isEmpty),
            ])
        }
        let done = deeds.map { deed in
            JSONValue.object(["remedy": deed.remedy.description.json, "failure": deed.failure.json])
        }
        return JSONValue.object(["findings": .array(list), "fixes": .array(done)]).line
    }
}
