import Foundation
import KioskCommands
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskConfiguration

/// The kiosk.conf at the top of the repository, generated from the keys (``Configuration/keys``). It is also the manual.
struct Manual {
    let path = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/kiosk.conf"

    /// The introduction and the last entries of the file. The keys generate everything in between.
    private static let head = """
        # kiosk.conf: the playlist and the settings of kiosk. This file is also the manual.
        #
        # The format is TOML: put texts in quotes, and begin a comment with #. Every key is here. A key that
        # is commented out shows its default, which holds until you remove the #. The few keys without a
        # default show an example, and say so. Options on the command line override this file. kiosk reports
        # every mistake with its line and column, and starts only with a file without mistakes. If you save
        # a mistake while kiosk runs, kiosk keeps the settings that it read before.
        #
        # Pages such as docs/streams.md are in /usr/share/doc/kiosk if you installed the Debian package.


        """
    private static let tail = """

        [[playlist]]
        source = "demo/two.mp4"

        [[playlist]]
        source = "demo/still.png"

        """

    /// Returns the text of the file. `uncommented` activates every key that has a default.
    /// With `examples` it also activates all other keys, with their examples.
    static func text(uncommented: Bool = false, examples: Bool = false) -> String {
        func sign(_ key: KeyFacts, _ isLeftOut: Bool) -> String {
            !isLeftOut && (key.missing != nil || uncommented && (key.hasDefault || examples)) ? "" : "#"
        }
        func comment(_ text: String) -> String {
            text.isEmpty ? "" : text.split(separator: "\n", omittingEmptySubsequences: false).map { "# \($0)\n" }.joined()
        }
        func table(_ facts: KeyFacts, isExample: Bool = false) -> String {
            let isExample = isExample || facts.isExample
            let isLeftOut = isExample && !(uncommented && examples)
            let heading = (isLeftOut ? "#" : "") + (facts.heading ?? "")
            if !facts.isTable {
                let lines = facts.sample().split(separator: "\n").map { sign(facts, isLeftOut) + $0 + "\n" }
                return "\(heading)\n" + comment(facts.paragraph) + lines.joined()
            }
            var blocks: [String] = []
            let values = facts.keys().filter { $0.heading == nil && (facts.explainedIn == nil || $0.missing != nil) }
            for (index, key) in values.enumerated() {
                let line = "\(sign(key, isLeftOut))\(key.name) = \(key.sample())\n"
                let isFirst = index == 0 || values[index - 1].origin != key.origin
                switch key.origin {
                case nil where facts.explainedIn != nil: blocks.append(line)
                case nil where key.paragraph.isEmpty: blocks[blocks.count - 1] += line
                case nil: blocks.append(comment(key.paragraph) + line)
                case let origin? where isFirst:
                    let isOne = values.count { $0.origin == origin } == 1
                    let are = isOne ? "The default is that" : "The defaults are those"
                    blocks.append("# As in [\(origin)], for this entry alone. \(are) of [\(origin)].\n\(line)")
                case _?: blocks[blocks.count - 1] += line
                }
            }
            let inner = facts.keys().filter { $0.heading != nil }.map { table($0, isExample: isExample) }
            return comment(facts.paragraph) + ([heading + "\n" + blocks.joined(separator: "\n")] + inner).joined(separator: "\n")
        }
        let tables = Configuration.keys.map(\.facts)
        // The playlist comes last, because `tail` continues it.
        let order = tables.filter { !$0.isList } + tables.filter(\.isExample) + tables.filter { $0.isList && !$0.isExample }
        return head + order.map { table($0) }.joined(separator: "\n") + tail
    }
}

@Suite struct ManualTests {
    @Test("It is what the keys say; with KIOSK_RECORD=1 in the environment it is written anew") func madeOfTheKeys() throws {
        let path = Manual().path
        if ProcessInfo.processInfo.environment["KIOSK_RECORD"] == "1" {
            try Data(Manual.text().utf8).write(to: URL(fileURLWithPath: path))
            Issue.record("kiosk.conf was recorded anew")
            return
        }
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
        let made = Manual.text().split(separator: "\n", omittingEmptySubsequences: false)
        for (index, (line, other)) in zip(lines, made).enumerated() where line != other {
            Issue.record("kiosk.conf:\(index + 1): “\(line)” is “\(other)” in the keys; KIOSK_RECORD=1 writes the file anew")
            return
        }
        #expect(lines.count == made.count)
    }

    @Test("As it is, the manual plays the demo with every default") func asCommitted() throws {
        let path = Manual().path
        var configuration = try Configuration.load(path)
        let folder = path.dropLast("kiosk.conf".count)
        #expect(configuration.path == path)
        #expect(configuration.playlist.map(\.source.location) == ["one.mp4", "two.mp4", "still.png"].map { "\(folder)demo/\($0)" })
        for entry in configuration.playlist { #expect(entry == PlaylistEntry(source: entry.source)) }
        configuration.playlist = []
        configuration.path = nil
        #expect(configuration == Configuration())
    }

    @Test("The defaults it documents are the defaults of the code") func documentedDefaults() throws {
        var configuration = try Configuration.parse(Array(Manual.text(uncommented: true).utf8), path: "kiosk.conf", folder: "/srv")
        var entry = try #require(configuration.playlist.first)
        #expect(entry.imageDuration == Configuration().playback.imageDuration)
        entry.imageDuration = nil
        #expect(entry.resolved(source: "/srv/demo/one.mp4", in: Configuration()) == PlaylistItem(source: "/srv/demo/one.mp4"))

        func plain(_ bindings: [KeyBinding]) -> [KeyBinding] { bindings.map { KeyBinding(trigger: $0.trigger, command: $0.command) } }
        #expect(configuration.input.bindings.allSatisfy { $0.position != nil })
        #expect(plain(configuration.input.bindings) == KeyBinding.defaults)
        configuration.input.bindings = KeyBinding.defaults
        #expect(configuration.input.ownGestures.commands.count == GestureName.allCases.count)
        #expect(configuration.input.gestures == Configuration.Input.defaultGestures)
        configuration.input.ownGestures.commands = [:]
        configuration.playlist = []
        configuration.path = nil
        #expect(configuration == Configuration())
    }

    @Test("What it shows of keys without a default is read, and is none") func examples() throws {
        let configuration = try Configuration.parse(
            Array(Manual.text(uncommented: true, examples: true).utf8), path: "kiosk.conf", folder: "/srv")
        let named = Set(Configuration.keys.flatMap { $0.differences(Configuration(), configuration) }.map(\.name))
        for table in Configuration.keys.map(\.facts) where table.name != "playlist" {
            for key in table.keys() where !key.hasDefault && !key.isTable {
                let heading = table.heading ?? ""
                #expect(named.contains("\(heading) \(key.name)") || named.contains(heading), "\(heading) \(key.name)")
            }
        }
        let entry = try #require(configuration.playlist.first)
        #expect(entry.end == .seconds(90) && entry.duration == .seconds(20) && entry.title == "The making of")
        #expect(entry.onTap == .player(.playSource("/srv/demo/details.mp4", resumes: true)))
        #expect(configuration.network.headers == ["Authorization: Bearer 0123"] && entry.stream.headers == configuration.network.headers)
        #expect(configuration.network.furtherFormats == ["xm"] && configuration.network.furtherCodecs == ["cinepak"])
    }

    @Test("kiosk.conf(5) has every table and every key, under its own heading") func manualPage() throws {
        let root = Manual().path.dropLast("kiosk.conf".count)
        let (script, output) = (Process(), Pipe())
        script.executableURL = URL(fileURLWithPath: root + "deploy/conf-manual")
        script.arguments = [Manual().path, "2026-01-01"]
        script.standardOutput = output
        try script.run()
        let page = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).replacing("\\-", with: "-")
        script.waitUntilExit()
        #expect(script.terminationStatus == 0)
        let sections = page.split(separator: "\n.Sh ").map { $0.split(separator: "\n").map(String.init) }
        func check(_ table: KeyFacts) {
            let section = sections.first { $0[0] == "\"\(table.heading ?? "")\"" }
            #expect(section != nil, "\(table.name)")
            for key in table.keys() where table.explainedIn == nil || key.missing != nil {
                if key.heading != nil {
                    check(key)
                } else {
                    #expect(section?.contains { $0.hasPrefix(".It Li \"\(key.name) = ") } == true, "\(key.name)")
                }
            }
        }
        for table in Configuration.keys { check(table.facts) }
    }

    @Test("Every gesture and every part of the controls has its key") func complete() {
        #expect(Configuration.Gestures.keys.map(\.name) == GestureName.allCases.map(\.rawValue))
        #expect(Theme.keys.suffix(ControlsPart.allCases.count).map(\.name) == ControlsPart.allCases.map(\.rawValue))
    }

    @Test("It names every command") func commands() throws {
        let text = Manual.text()
        for command in CommandTable.ofViewers {
            if command.isWord { #expect(text.contains("\"\(command.name)\""), "\(command.name)") }
            if command.argument != nil { #expect(text.contains("\"\(command.name) "), "\(command.name)") }
        }
    }
}

@Suite struct ConfigurationChangeTests {
    @Test(
        "A reload names what differs, and what needs a restart",
        arguments: [
            ("", [], [], false), ("[audio]\nvolume = 100", [], [], false), ("[audio]\nvolume = 10", ["[audio] volume"], [], false),
            ("[audio]\nmix = true\ndevice = \"off\"", [], ["[audio] device", "[audio] mix"], false),
            ("[input]\ntouch = false\n[input.gestures]\ntap = \"none\"\n[input.keys]\nf1 = \"mute\"", ["[input]"], [], true),
            ("[input.gestures]\ntap = \"none\"", ["[input]"], [], true), ("[input]\nscrub-plays = true", ["[input]"], [], true),
            ("[input.keys]\nspace = \"mute\"", ["[input]"], [], true), ("[idle]\ndo = \"next\"", ["[idle]"], [], true),
            ("[input.keys]\nspace = \"toggle\"", ["[input]"], [], true),
            ("[theme]\ntoast = false\nopacity = 0.5\n[idle]\nafter = 5", ["[theme]", "[idle]"], [], true),
            ("[shelf]\nclose-after = 1", ["[shelf]"], [], true), ("[playback]\nseek-step = 5", ["[playback] seek-step"], [], true),
            (
                "[display]\nmode = \"640x480\"\ngravity = \"fill\"\n[[playlist]]\nsource = \"a\"", ["[display] gravity", "[[playlist]]"],
                ["[display] mode"], false
            ),
            ("[network]\ntimeout = 5\nlatency = 2\n[record]\nduration = 5", ["[network]", "[record]"], [], false),
        ] as [(String, [String], [String], Bool)]) func names(
            _ text: String, _ applied: [String], _ postponed: [String], _ concernsViewers: Bool
        ) throws
    {
        let change = ConfigurationChange(from: try parsed(""), to: try parsed(text))
        #expect(change.applied == applied && change.postponed == postponed && change.concernsViewers == concernsViewers, "\(change)")
        #expect(change.isEmpty == (applied + postponed).isEmpty)
    }

    @Test("A key that has moved to another line is the same") func lines() throws {
        let (old, new) = try (parsed("[input.keys]\nf1 = \"mute\""), parsed("\n\n[input.keys]\nf1 = \"mute\""))
        #expect(old.input.bindings != new.input.bindings && ConfigurationChange(from: old, to: new).isEmpty)
    }
}
