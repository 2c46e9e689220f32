import Foundation
import Glibc
import TestSupport
import Testing

/// The messages of `kiosk export`, `record` and `ctl` about a wrong command line.
@Suite(.blocking) struct ExportMistakesTests {
    @Test(
        "A mistake is named, with the usage of the subcommand",
        arguments: [
            (["export", "a.mp4", "-o", "b.mkv"], "--output: b.mkv: films are MP4 or MOV: name it b.mp4 or b.mov"),
            (["export", "a.mp4", "-o", ""], "--output: name the file to write"),
            (
                ["export", "film.toml", "-o", "film.toml", "--force"],
                "--output: film.toml: films are MP4 or MOV: name it film.mp4 or film.mov"
            ),
            (
                ["export", "a.mp4", "-o", "b.mp4", "--transition-duration", "2"],
                "--transition-duration: there is no fade: add --transition fade"
            ),
            (
                ["export", "a.mp4", "-o", "b.mp4", "--quality", "20", "--bit-rate", "4000"],
                "--bit-rate replaces --quality: leave one of the two out"
            ),
            (
                ["export", "a.mp4", "-o", "b.mp4", "--copy", "--encoder", "hardware"],
                "--encoder: --copy encodes nothing: leave one of the two out"
            ),
            (
                ["export", "a.mp4", "-o", "b.mp4", "--copy", "--quality", "20"],
                "--quality: --copy encodes nothing: leave one of the two out"
            ),
            (
                ["export", "a.mp4", "-o", "b.mp4", "--copy", "--bit-rate", "99"],
                "--bit-rate: --copy encodes nothing: leave one of the two out"
            ),
            (["export", "a.mp4", "-o", "b.mp4", "--music-once"], "there is no music: name it with --music"),
            (["export", "-o", "b.mp4"], "name the sources of the film, or an arrangement file"),
            (
                ["export", "a.mp4", "-o", "b.mp4", "--quality", "-3"],
                "The value '-3' is invalid for '--quality <factor>': expected a whole number from 0 to 51"
            ),
            (
                ["export", "a.mp4", "-o", "b.mp4", "--image-duration", "-1"],
                "The value '-1' is invalid for '--image-duration <seconds>': expected seconds from 0.1 to 86400"
            ),
            (
                ["export", "a.mp4", "-o", "b.mp4", "--rate", "-25"],
                "The value '-25' is invalid for '--rate <rate>': expected pictures a second from 10 to 240, such as 25, 29.97 or 30000/1001"
            ),
            (
                ["record", "b.mp4", "--duration", "-5"],
                "The value '-5' is invalid for '--duration <seconds>': expected seconds from 0.1 to 86400"
            ),
            (
                ["record", "b.mp4", "--rotation", "-90"],
                "The value '-90' is invalid for '--rotation <degrees>': expected 0, 90, 180 or 270"
            ),
            (["record", "b.webm"], "b.webm: films are MP4: name it b.mp4"),
            (["record", "b.mov"], "b.mov: films are MP4: name it b.mp4"),
            (["ctl", "seek"], "“seek” needs one of to and by"),
        ]) func mistakes(_ arguments: [String], _ message: String) throws
    {
        let kiosk = try KioskProcess(arguments)
        #expect(kiosk.status() == 64)
        if arguments[0] != "ctl" { #expect(kiosk.errors.split(separator: "\n").first.map(String.init) == "Error: \(message)") }
        #expect(kiosk.errors.contains("\nUsage: kiosk \(arguments[0]) "), "\(kiosk.errors)")
        #expect(kiosk.errors.hasSuffix("\n  See 'kiosk \(arguments[0]) --help' for more information.\n"), "\(kiosk.errors)")
        #expect(kiosk.output == "")
    }

    @Test func aFirstWordThatSeveralCommandsHave() throws {
        let kiosk = try KioskProcess(["ctl", "record", "nonsense"])
        #expect(kiosk.status() == 64)
        #expect(kiosk.errors.hasPrefix("Error: there is no command “record nonsense”; there are record preview, "), "\(kiosk.errors)")
        #expect(!kiosk.errors.contains("there are record preview, play"))
        for (words, meant) in [(["sek", "+10"], "seek"), (["record", "strat"], "record start"), (["wacth"], "watch")] {
            let kiosk = try KioskProcess(["ctl"] + words)
            #expect(kiosk.status() == 64)
            #expect(kiosk.errors.contains("; did you mean “\(meant)”?\n"), "\(kiosk.errors)")
        }
        let other = try KioskProcess(["ctl", "nonsense"])
        #expect(other.status() == 64 && other.errors.hasPrefix("Error: there is no command “nonsense”; kiosk ctl help lists them\n"))
    }

    @Test func aFilmThatWouldLieWhereNoFileIs() throws {
        let folder = try TestFolder()
        let pipe = folder.path + "/pipe.mp4"
        #expect(mkfifo(pipe, 0o600) == 0)
        let clip = try Clips.named("thirty.mp4")
        for (path, problem) in [
            (folder.path, "is a folder: name a file in it"),
            (pipe, "is a device, a pipe or a socket, which a film cannot replace: name a file to write"),
        ] {
            for arguments in [
                ["record", path], ["record", "--force", path], ["export", clip, "--force", "-o", path],
            ] {
                let kiosk = try KioskProcess(arguments)
                #expect(kiosk.status() == 1)
                #expect(kiosk.errors == "\(path): \(problem)\n")
            }
        }
        var status = stat()
        #expect(stat(pipe, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
    }

    @Test func anArrangementIsNotReplacedByItsFilm() throws {
        let folder = try TestFolder()
        let toml = try folder.file("film.toml", "[[clip]]\ncard = \"Hello\"\nduration = 0.5\n")
        let link = folder.path + "/film.mp4"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: toml)
        let kiosk = try KioskProcess(["export", toml, "-o", link, "--force", "--priority", "normal"])
        #expect(kiosk.status(within: 120) == 1)
        #expect(kiosk.errors == "\(link): is the arrangement that the film is made of: name another file to write\n")
        #expect(try String(contentsOfFile: toml, encoding: .utf8).hasPrefix("[[clip]]"))
    }

    @Test(.disabled(if: DevicesTests.hasDevices, "this machine has devices")) func devicesAreTriedWithoutADisplay() throws {
        let kiosk = try KioskProcess(["devices", "--test", try Clips.named("thirty.mp4")])
        #expect(kiosk.status(within: 120) == 0)
        #expect(kiosk.output.components(separatedBy: "no display").count == 2, "\(kiosk.output)")
        #expect(!kiosk.output.contains("0 shown"))
        #expect(kiosk.output.contains("\nDecoders\n") && kiosk.output.contains("thirty.mp4"))
    }
}
