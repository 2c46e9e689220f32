import KioskPlatform
import KioskVocabulary
import Testing

@testable import Configuration

/// The kiosk.conf at the top of the repository.
struct Manual {
    var path: String
    var text: String

    init(file: String = #filePath) throws {
        path = file.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/kiosk.conf"
        text = String(decoding: try #require(SmallFile.bytes(path, atMost: 1 << 20)), as: UTF8.self)
    }

    /// With the `#` taken away from every key: `#key = value`. Prose has a blank behind it.
    var uncommented: String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.prefixMatch(of: #/\#[a-z0-9_\-]+ = /#) != nil ? String(line.dropFirst()) : String(line)
        }.joined(separator: "\n")
    }
}

@Suite struct ManualTests {
    @Test("As it is, the manual plays the demo with every default") func asCommitted() throws {
        let manual = try Manual()
        var configuration = try Configuration.load(manual.path)
        let folder = manual.path.dropLast("kiosk.conf".count)
        #expect(configuration.path == manual.path)
        #expect(configuration.playlist.map(\.source.location) == ["one.mp4", "two.mp4", "still.png"].map { "\(folder)demo/\($0)" })
        for entry in configuration.playlist { #expect(entry == PlaylistEntry(source: entry.source)) }
        configuration.playlist = []
        configuration.path = nil
        #expect(configuration == Configuration())
    }

    @Test("The defaults it documents are the defaults of the code") func documentedDefaults() throws {
        let manual = try Manual()
        #expect(manual.uncommented != manual.text)
        var configuration = try Configuration.parse(Array(manual.uncommented.utf8), path: "kiosk.conf", folder: "/srv")
        var entry = try #require(configuration.playlist.first)
        // These have no default; the manual says so and gives examples.
        #expect(entry.end == .seconds(90) && entry.duration == .seconds(20) && entry.title == "The making of")
        #expect(entry.imageDuration == .seconds(8))
        entry.imageDuration = nil
        #expect(entry.onTap == .playSource("/srv/demo/details.mp4", resumes: true))
        (entry.end, entry.duration, entry.title, entry.onTap) = (nil, nil, nil, nil)
        #expect(configuration.display.physicalSize == PhysicalSize("154x86"))
        configuration.display.physicalSize = nil
        #expect(configuration.playback.decoderDevice == "/dev/dri/renderD128")
        configuration.playback.decoderDevice = nil
        #expect(configuration.shelf.exportFolder == "/srv/films")
        configuration.shelf.exportFolder = nil
        #expect(configuration.playback.cacheFolder == "/srv/cache")
        configuration.playback.cacheFolder = nil
        let record = configuration.record
        #expect(record.folder == "/var/lib/kiosk/films" && record.mode == CameraMode("1280x720@30") && record.keptNumber == 100)
        #expect(record.keptAge == .seconds(30 * 86400) && record.keptSpace == ByteCount("2 GB"))
        (configuration.record.folder, configuration.record.mode, configuration.record.keptNumber) = (nil, CameraMode(), nil)
        (configuration.record.keptAge, configuration.record.keptSpace) = (nil, nil)
        let (latency, headers) = (MediaTime.seconds(0.5), ["Authorization: Bearer 0123"])
        #expect(configuration.network.latency == latency && configuration.network.headers == headers)
        (configuration.network.latency, configuration.network.headers) = (nil, [])
        #expect(entry.stream.latency == latency && entry.stream.headers == headers)
        (entry.stream.latency, entry.stream.headers) = (nil, nil)
        #expect(
            [configuration.network.certificateAuthorities, entry.stream.certificateAuthorities] == [
                "/etc/kiosk/ca.pem", "/etc/kiosk/ca.pem",
            ])
        (configuration.network.certificateAuthorities, entry.stream.certificateAuthorities) = (nil, nil)
        #expect(configuration.playback.moreFormats == ["xm"] && configuration.network.furtherFormats == ["xm"])
        #expect(configuration.playback.moreCodecs == ["cinepak"] && configuration.network.furtherCodecs == ["cinepak"])
        (configuration.playback.moreFormats, configuration.network.furtherFormats) = ([], [])
        (configuration.playback.moreCodecs, configuration.network.furtherCodecs) = ([], [])
        #expect(configuration.playback.fallback == "/srv/demo/still.png")
        configuration.playback.fallback = nil
        #expect(entry.resolved(source: "/srv/demo/one.mp4", in: Configuration()) == PlaylistItem(source: "/srv/demo/one.mp4"))

        func plain(_ bindings: [KeyBinding]) -> [KeyBinding] { bindings.map { KeyBinding(trigger: $0.trigger, command: $0.command) } }
        #expect(configuration.input.bindings.allSatisfy { $0.position != nil })
        #expect(plain(configuration.input.bindings) == KeyBinding.defaults)
        configuration.input.bindings = KeyBinding.defaults
        #expect(configuration.input.ownGestures.count == GestureName.allCases.count)
        #expect(configuration.input.gestures == Configuration.Input.defaultGestures)
        configuration.input.ownGestures = [:]
        configuration.playlist = []
        configuration.path = nil
        #expect(configuration == Configuration())
    }

    @Test("It has every key of every table, once", arguments: Grammar.tables.map(\.name) + ["gestures"]) func complete(
        _ name: String
    ) throws {
        let root = try TOMLDocument.parse(Array(try Manual().uncommented.utf8))
        guard case .table(let outer) = root.kind, let input = outer.first(where: { $0.key == "input" }),
            case .table(let inner) = input.value.kind,
            let found = (outer + inner).first(where: { $0.key == name }),
            let table = (Grammar.tables + [Grammar.gestures]).first(where: { $0.name == name })
        else {
            Issue.record("no [\(name)]")
            return
        }
        var value = found.value.kind
        if case .array(let items) = value, let first = items.first { value = first.kind }
        guard case .table(let entries) = value else {
            Issue.record("[\(name)] is not a table")
            return
        }
        #expect(entries.map(\.key) == table.keys)
    }

    @Test("It names every command") func commands() throws {
        let text = try Manual().text
        for command in CommandWords.plain { #expect(text.contains("\"\(command.word)\""), "\(command.word)") }
        for command in CommandWords.withArgument { #expect(text.contains("\"\(command.word) "), "\(command.word)") }
    }
}
