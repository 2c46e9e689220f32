import Foundation
import TestSupport
import Testing

/// The command line and kiosk.conf, and the messages about mistakes in them.
@Suite(.blocking) struct CommandLineTests {
    static let hasSystemFile = FileManager.default.fileExists(atPath: "/etc/kiosk/kiosk.conf")

    @Test(arguments: [
        "", "play", "check", "schedule", "devices", "doctor", "screenshot", "ctl", "status", "calibrate", "export", "record", "import",
        "schema",
    ])
    func help(_ subcommand: String) throws {
        let kiosk = try KioskProcess(subcommand.isEmpty ? ["--help"] : [subcommand, "--help"])
        #expect(kiosk.status() == 0)
        try expect(kiosk.output, isAsIn: "help\(subcommand.isEmpty ? "" : "-" + subcommand).txt")
        #expect(kiosk.errors == "")
    }

    /// Root may be in any folder, and `./kiosk.conf` may be another user's there.
    @Test(.needs("root", geteuid() == 0)) func rootReadsNobodysFile() throws {
        let folder = try TestFolder()
        let path = try folder.file("kiosk.conf", "[playback]\nloop = \"nonsense\"\n")
        let doctor = try KioskProcess(["doctor", "--json"], in: folder.path)
        #expect(doctor.status(within: 120) != nil && !doctor.errors.contains("nonsense") && !doctor.output.contains("nonsense"))
        let named = try KioskProcess(["doctor", "--json", "--config", path], in: folder.path)
        #expect(named.status(within: 120) == 1 && named.errors.contains("nonsense"))
        // Commands that change nothing read a file of root's, but not another user's.
        let own = try KioskProcess(["check"], in: folder.path)
        #expect(own.status() == 78 && own.errors.contains("nonsense"))
        #expect(chown(path, 65534, 65534) == 0)
        let foreign = try KioskProcess(["check"], in: folder.path)
        #expect(foreign.status() != nil && !foreign.errors.contains("nonsense"))
        #expect(foreign.errors.contains("./kiosk.conf is left out: not only root may write it"))
    }

    @Test func theSchemaIsJSON() throws {
        let kiosk = try KioskProcess(["schema"])
        #expect(kiosk.status() == 0 && kiosk.errors == "")
        let schema = try #require(try JSONSerialization.jsonObject(with: Data(kiosk.output.utf8)) as? [String: Any])
        #expect((schema["properties"] as? [String: Any])?["playlist"] != nil)
    }

    @Test func version() throws {
        let kiosk = try KioskProcess(["--version"])
        #expect(kiosk.status() == 0)
        #expect(kiosk.output.wholeMatch(of: /[0-9]+\.[0-9]+\.[0-9]+\n/) != nil)
    }

    @Test(arguments: ["bash", "zsh", "fish"]) func completionScripts(_ shell: String) throws {
        let kiosk = try KioskProcess(["--generate-completion-script", shell])
        #expect(kiosk.status() == 0)
        for word in ["play", "check", "devices", "calibrate", "config", "rotation", "180", "preferred", "log-level"] {
            #expect(kiosk.output.contains(word), "\(word)")
        }
    }

    /// bash is on every machine that builds kiosk. The test is cancelled for another shell that is not installed.
    @Test(arguments: ["bash", "zsh", "fish"]) func completionScriptsCanBeReadByTheirShells(_ shell: String) throws {
        let isInstalled = ["/bin/\(shell)", "/usr/bin/\(shell)"].contains(where: FileManager.default.fileExists)
        if !isInstalled, shell != "bash" { try Test.cancel("\(shell) is not installed") }
        try #require(isInstalled)
        let kiosk = try KioskProcess(["--generate-completion-script", shell])
        #expect(kiosk.status() == 0)
        let folder = try TestFolder()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [shell, "-n", try folder.file("script", kiosk.output)]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    @Test(
        "A mistake on the command line is named with what is expected, and ends with 64",
        arguments: [
            (["--rotation", "45"], "The value '45' is invalid for '--rotation <degrees>': expected 0, 90, 180 or 270"),
            (["--rotation", "90x"], "The value '90x' is invalid for '--rotation <degrees>': expected 0, 90, 180 or 270"),
            (["--volume", "300"], "The value '300' is invalid for '--volume <percent>': expected a whole number from 0 to 100"),
            (["--volume", "loud"], "The value 'loud' is invalid for '--volume <percent>': expected a whole number from 0 to 100"),
            (
                ["--display", "nonsense"],
                "The value 'nonsense' is invalid for '--display <connector>': expected auto, a connector such as HDMI-A-1 or card1:HDMI-A-1, "
                    + "/dev/fb0 or offscreen"
            ),
            (["--mode", "12"], "The value '12' is invalid for '--mode <mode>': expected preferred, 1920x1080 or 1920x1080@50"),
            (["--gravity", "big"], "The value 'big' is invalid for '--gravity <gravity>': expected fit, fill or stretch"),
            (["--loop", ""], "The value '' is invalid for '--loop <loop>': expected playlist, item or off"),
            (
                ["--background", "red"],
                "The value 'red' is invalid for '--background <#rrggbb>': expected # and six hexadecimal digits, such as #00ff80"
            ),
            (["--audio", ""], "The value '' is invalid for '--audio <device>': expected auto, an ALSA device such as hw:0,0 or off"),
            (["--rate", "3"], "The value '3' is invalid for '--rate <factor>': expected a number from 0.5 to 2"),
            (["--rate", "nan"], "The value 'nan' is invalid for '--rate <factor>': expected a number from 0.5 to 2"),
            (
                ["--log-level", "loud"],
                "The value 'loud' is invalid for '--log-level <level>': expected trace, debug, info, notice, warning, error or critical"
            ),
            (["check", "--refresh", "0"], "The value '0' is invalid for '--refresh <hz>': expected a number from 1 to 1000"),
            (["--volume"], "Missing value for '--volume <percent>'"),
            (["--bogus"], "Unknown option '--bogus'"),
            (["--rotate", "90"], "Unknown option '--rotate'. Did you mean '--rotation'?"),
            (["check", "--refersh", "50"], "Unknown option '--refersh'. Did you mean '--refresh'?"),
            (["chekc"], "there is no file “chekc” and no such subcommand; did you mean “kiosk check”?"),
            (["chekc", "--strict", "a.mp4"], "there is no file “chekc” and no such subcommand; did you mean “kiosk check”?"),
            (["help", "statsu"], "there is no subcommand “statsu”; did you mean “status”?"),
            (
                ["help", "foo"],
                "there is no subcommand “foo”; there are play, check, schedule, devices, doctor, screenshot, ctl, status, calibrate, export, record, import, web, schema, help"
            ),
            (["devices", "x"], "files are for --test"),
            (
                ["--snapshots", "/proc/nothing/here", "a.mp4"],
                "--snapshots: cannot make the folder /proc/nothing/here: No such file or directory"
            ),
        ]) func usageErrors(_ arguments: [String], _ message: String) throws
    {
        let kiosk = try KioskProcess(arguments)
        #expect(kiosk.status() == 64)
        #expect(kiosk.errors.split(separator: "\n").first.map(String.init) == "Error: \(message)")
        #expect(kiosk.errors.contains("\nUsage: kiosk "))
        #expect(kiosk.output == "")
    }

    @Test("A file with the name of a slip is played") func aFileNamedLikeASlip() throws {
        let folder = try TestFolder()
        _ = try folder.file("chekc", "")
        let kiosk = try KioskProcess(["chekc", "--bogus"], in: folder.path)
        #expect(kiosk.status() == 64 && kiosk.errors.hasPrefix("Error: Unknown option '--bogus'\n"), "\(kiosk.errors)")
    }

    @Test("Without kiosk.conf there must be something to play", .disabled(if: hasSystemFile, "this machine has an /etc/kiosk/kiosk.conf"))
    func nothingGiven() throws {
        for arguments in [[], ["play"], ["check"]] {
            let kiosk = try KioskProcess(arguments)
            #expect(kiosk.status() == 64)
            #expect(
                kiosk.errors.hasPrefix("Error: there is no kiosk.conf here or in /etc/kiosk: name sources, or a file with --config\n"))
        }
    }

    @Test(
        "Mistakes in kiosk.conf come all at once, with line and column, and end with 78",
        arguments: ["play", "check", "devices", "calibrate"])
    func configurationErrors(_ subcommand: String) throws {
        let folder = try TestFolder()
        _ = try folder.file(
            "kiosk.conf",
            """
            [display]
            rotation = 45
            gravty = "fit"
              mode = "12"

            [audio]
            volume = 300
            [[playlist]]
            sorce = "a.mp4"

            """)
        let kiosk = try KioskProcess([subcommand], in: folder.path)
        #expect(kiosk.status() == 78)
        try expect(kiosk.errors, isAsIn: "configuration-errors.txt")
        #expect(kiosk.output == "")
    }

    @Test func keysThatDoNotExist() throws {
        let folder = try TestFolder()
        let path = try folder.file("keys.conf", "[input.keys]\nspace = \"play\"\nspaec = \"pause\"\nKEY_FOO = \"next\"\n")
        for subcommand in ["play", "check", "devices"] {
            let kiosk = try KioskProcess([subcommand, "-c", path])
            #expect(kiosk.status() == 78)
            #expect(
                kiosk.errors == """
                    \(path):3:1: [input.keys] KEY_SPAEC: there is no such key; evtest shows the names
                    \(path):4:1: [input.keys] KEY_FOO: there is no such key; evtest shows the names

                    """)
        }
    }

    @Test func keysAndCommandsThatAreWrong() throws {
        let folder = try TestFolder()
        let path = try folder.file(
            "keys.conf",
            """
            [input]
            locked = true
            allow = ["tap", "KEY_F9"]
            [input.keys]
            "ctrl+spaec" = "play"
            "hold KEY_POWER" = "quti"
            f5 = "play special.mp4 then resume"
            """)
        let kiosk = try KioskProcess(["devices", "-c", path])
        #expect(kiosk.status() == 78)
        #expect(
            kiosk.errors == """
                \(path):3:17: [input] allow: KEY_F9 is not bound to anything in [input.keys]
                \(path):6:20: [input.keys] "hold KEY_POWER": no command "quti", did you mean “quit”?

                """)
        let chord = try folder.file("chord.conf", "[input.keys]\n\"ctrl+spaec\" = \"play\"\n")
        let second = try KioskProcess(["devices", "-c", chord])
        #expect(second.status() == 78)
        #expect(second.errors == "\(chord):2:1: [input.keys] ctrl+KEY_SPAEC: there is no such key; evtest shows the names\n")
    }

    @Test(.disabled(if: FileManager.default.fileExists(atPath: "/dev/input"), "this machine has input devices"))
    func nothingToCalibrate() throws {
        let kiosk = try KioskProcess(["calibrate", "--display", "offscreen"])
        #expect(kiosk.status() == 1)
        #expect(kiosk.errors == "there is no readable touch screen; kiosk devices lists the input devices\n" && kiosk.output == "")
    }

    @Test func aFileThatIsNotThere() throws {
        let kiosk = try KioskProcess(["--config", "nowhere.conf"])
        #expect(kiosk.status() == 78)
        #expect(kiosk.errors == "nowhere.conf: cannot be read: there is no such file; give the path of another one, or create it\n")
    }
}
