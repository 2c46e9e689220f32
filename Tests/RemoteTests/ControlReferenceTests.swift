import Foundation
import KioskCommands
import KioskVocabulary
import Testing

@testable import Remote

@Suite struct ControlReferenceTests {
    @Test func `the reference page is that of the table`() throws {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../docs/control-commands.md").path
        if ProcessInfo.processInfo.environment["KIOSK_RECORD"] != nil {
            try ControlReference.page.write(toFile: path, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == ControlReference.page)
    }

    private func line(_ words: String) throws(ControlWordsFault) -> String {
        try ControlRequest.line(words: words.split(separator: " ").map(String.init)) { $0.hasPrefix("/") ? $0 : "/here/\($0)" }
    }

    @Test func `words become requests`() throws {
        #expect(try line("seek +10") == #"{"by":10,"command":"seek"}"#)
        #expect(try line("seek -1:30") == #"{"by":"-1:30","command":"seek"}"#)
        #expect(try line("seek 12.5") == #"{"command":"seek","to":12.5}"#)
        #expect(try line("volume -5") == #"{"by":-5,"command":"volume"}"#)
        #expect(try line("mute true") == #"{"command":"mute","on":true}"#)
        #expect(try line("play --source a.mp4 --then next") == #"{"command":"play","source":"/here/a.mp4","then":"next"}"#)
        #expect(try line("playlist") == #"{"command":"playlist list"}"# && line("playlist list") == line("playlist"))
        #expect(
            try line("playlist set a.mp4 /b.mp4 --at now") == #"{"at":"now","command":"playlist set","sources":["/here/a.mp4","/b.mp4"]}"#)
        #expect(try line("playlist move one.mp4 3") == #"{"command":"playlist move","item":"one.mp4","to":3}"#)
    }

    @Test(arguments: [
        "", "dance", "seek", "seek 1 2", "seek x", "volume 101", "rate 3", "pause now", "playlist append", "rotate 45", "play --speed 3",
    ])
    func `what is no command is refused`(_ words: String) throws {
        #expect(throws: ControlWordsFault.self) { try line(words) }
    }

    @Test(arguments: [
        (#"{"command":"seek"}"#, "missing-parameter"), (#"{"command":"seek","to":1,"by":1}"#, "missing-parameter"),
        (#"{"command":"seek","to":-1}"#, "invalid-parameter"), (#"{"command":"seek","to":1e300}"#, "invalid-parameter"),
        (#"{"command":"volume","to":40.5}"#, "invalid-parameter"), (#"{"command":"pause","now":true}"#, "unknown-parameter"),
        (#"{"command":"item","item":0}"#, "invalid-parameter"), (#"{"command":"play","source":"a\u0000b"}"#, "invalid-parameter"),
        (#"{"command":"observe","events":["weather"]}"#, "invalid-parameter"), (#"{"command":"rate"}"#, "missing-parameter"),
    ]) func `what a request says is checked`(_ line: String, _ code: String) throws {
        do throws(ControlRefusal) {
            _ = try ControlRequest(line: line)
            Issue.record("it is taken")
        } catch { #expect(error.code == code) }
    }

    @Test func `the help has a line for each command`() throws {
        let lines = try #require(ControlReference.help([])).split(separator: "\n")
        #expect(
            lines.count == CommandTable.ofPrograms.count + 1
                && lines.contains { $0.hasPrefix("seek ") && $0.hasSuffix("Seek within the item.") })
        #expect(try #require(ControlReference.help(["seek"])).hasPrefix("kiosk ctl seek TO | ±BY\nSeek within the item.\n  to: "))
        #expect(ControlReference.help(["dance"]) == nil)
        do throws(ControlWordsFault) {
            _ = try ControlRequest.line(words: ["dance"]) { $0 }
        } catch { #expect(error.description == "there is no command “dance”; kiosk ctl help lists them") }
    }

    @Test func `completion knows commands, options and choices`() {
        #expect(CommandTable.completions(after: []).contains("seek"))
        #expect(CommandTable.completions(after: ["playlist"]) == ["list", "set", "append", "insert", "remove", "move"])
        #expect(CommandTable.completions(after: ["playlist", "set", "a", "--at"]) == ["boundary", "now"])
        #expect(CommandTable.completions(after: ["rotate"]) == ["0", "90", "180", "270"])
        #expect(CommandTable.completions(after: ["observe"]).contains("display"))
    }

    @Test(arguments: ["audio-session.md", "cache.md", "remote.md", "shelf.md"]) func `what the guides have somebody type is a command`(
        _ page: String
    ) throws {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../docs/\(page)").path
        let lines = try String(contentsOfFile: path, encoding: .utf8).matches(of: /\n {4}kiosk ctl ([^#\n]*)/).map(\.output.1)
        #expect(!lines.isEmpty)
        for line in lines {
            // A quoted name is one word.
            var words = line.replacing(/"[^"]*"/, with: "name").split(separator: " ").map(String.init)
            if words.first == "watch" { words[0] = "observe" }
            #expect(throws: Never.self, "\(line)") { try ControlRequest.line(words: words) { $0 } }
        }
    }

    /// A command of the player's that is not answered with the place is answered with members of the status.
    @Test func `answers of the player's commands are in the status`() throws {
        let status = Set(try #require(CommandTable.named("status")).answer.members.map(\.name))
        for entry in CommandTable.ofPrograms where !entry.parameters.contains(where: \.isRequired) {
            guard case .command(.player)? = entry.request?([:]), case .members(let members) = entry.answer else { continue }
            #expect(!members.isEmpty && members.allSatisfy { status.contains($0.name) }, "\(entry.name)")
        }
    }

    @Test func `every command has a name of its own, and somebody who may ask for it`() {
        #expect(Set(CommandTable.all.map(\.name)).count == CommandTable.all.count)
        for entry in CommandTable.all { #expect(entry.request != nil || !entry.forms.isEmpty, "\(entry.name)") }
        for entry in CommandTable.ofPrograms { #expect(entry.summary.hasSuffix("."), "\(entry.name)") }
    }
}
