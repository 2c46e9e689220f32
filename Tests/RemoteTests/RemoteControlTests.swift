import Cache
import Foundation
import KioskAudioCore
import KioskCommands
import KioskDisplayCore
import KioskPlatform
import KioskPlayback
import KioskReaders
import KioskVocabulary
import RemoteClient
import TestSupport
import Testing

@testable import Remote

/// A player on an offscreen display, and its control socket.
final class Box {
    let display: DisplayOutput
    let player: PlaybackEngine
    let control: RemoteControl
    let socket: ControlSocket
    let path = NSTemporaryDirectory() + "kiosk-\(UUID().uuidString)/s"

    /// Opens the display and starts the player. `isPaused` pauses it before the first picture.
    init(_ clips: [String], sources: [String] = [], cache: AssetCache? = nil, isPaused: Bool = false) throws {
        var settings = DisplaySettings()
        settings.connector = .offscreen
        settings.mode = .size(width: 320, height: 180, refresh: 60)
        let display = DisplayOutput.open(settings)
        let audio = SilentOutput()
        let player = PlaybackEngine(
            items: try (clips.map { try Clips.named($0) } + sources).map { PlaylistItem(source: $0) }, video: display, audio: audio,
            readers: .shared)
        let control = RemoteControl(
            player,
            RemoteSurroundings(
                display: { display.mode }, rotation: { display.rotation }, rotationAfter: { display.rotation(after: $0) },
                audio: { audio.name }, underruns: { audio.underruns }, perform: { if case .rotate(let turn) = $0 { display.rotate(turn) } },
                screenshot: { () throws(ControlRefusal) in throw ControlRefusal(code: "no-picture", message: "") },
                items: { $0.map { PlaylistItem(source: $0) } }, cache: cache, reload: {}))
        (self.display, self.player, self.control) = (display, player, control)
        socket = try ControlSocket.open(path) { request throws(ControlRefusal) in try control.handle(request) }
        control.publish { [socket] in socket }
        if isPaused { player.pause() }
        player.start()
    }

    func ask(_ line: String) throws -> JSONValue { try ControlClient.answer(path, to: line) }

    deinit {
        socket.close()
        rmdir((path as NSString).deletingLastPathComponent)
        player.stop()
        display.close()
    }
}

@Suite(.blocking) struct RemoteControlTests {
    @Test func `a seek is answered with its frame, a pause when it stands`() throws {
        let box = try Box(["a60.mp4"])
        #expect(try box.ask(#"{"command":"play"}"#)["ok"] == .bool(true))
        #expect(try box.ask(#"{"command":"rotate","to":90}"#)["rotation"] == .number(90))
        #expect(box.display.rotation == .clockwise90)
        #expect(try box.ask(#"{"command":"pause"}"#)["ok"] == .bool(true))
        #expect(box.player.timeControlStatus == .paused)
        let shown = box.player.snapshot.statistics.framesShown
        let answer = try box.ask(#"{"id":7,"command":"seek","to":0.5}"#)
        #expect(answer["ok"] == .bool(true) && answer["id"] == .number(7))
        #expect(box.player.snapshot.statistics.framesShown == shown + 1)
        #expect(abs((answer["time"]?.number ?? 9) - 0.5) < 0.05)
        #expect(answer["shown"] == .bool(true))
    }

    @Test func `the status tells since when the state stands`() throws {
        let box = try Box(["a60.mp4"])
        #expect(try box.ask(#"{"command":"play"}"#)["ok"] == .bool(true))
        let before = try box.ask(#"{"command":"status"}"#)["uptime"]?.number ?? 1e9
        #expect(try box.ask(#"{"command":"pause"}"#)["ok"] == .bool(true))
        var status = JSONValue.null
        let end = HostTime.now + .seconds(60)
        var hasChanged = false
        while !hasChanged, HostTime.now < end {
            status = try box.ask(#"{"command":"status"}"#)
            let (uptime, age) = (status["uptime"]?.number ?? 0, status["stateAge"]?.number ?? 1e9)
            hasChanged = status["state"]?.text == "paused" && age >= 0 && age <= uptime - before
        }
        #expect(hasChanged, "\(status.line)")
        guard case .object(var members) = status else { return }
        (members["stateAge"], members["uptime"]) = (.number(1.2), .number(7200))
        let page = AnswerPage.text(.status, .object(members))
        #expect(page.hasPrefix("State    paused for 1 s\n") && page.contains(", running for 2 h"), "\(page)")
    }

    @Test func `people read no JSON`() throws {
        let box = try Box(["a60.mp4", "still.png"])
        #expect(try box.ask(#"{"command":"play"}"#)["ok"] == .bool(true))
        for name in ["playlist", "tracks", "statistics", "status"] {
            let line = "{\"command\":\"\(name)\"}"
            let text = AnswerPage.text(try ControlRequest(line: line).request, try box.ask(line))
            #expect(!text.contains { "{}[]\"".contains($0) } && text.contains("a60"), "\(text)")
        }
        #expect(AnswerPage.text(.playlist(.list), try box.ask(#"{"command":"playlist"}"#)).hasPrefix("Playlist  2 items\n\n"))
        let cache = JSONValue(
            #"{"ok":true,"folder":"/c","limit":100000000,"bytes":1500000,"items":[{"source":"http://h/a.mp4","size":3000000,"bytes":1500000,"#
                + #""complete":false,"problem":null}]}"#)
        #expect(
            AnswerPage.text(.cache, try #require(cache))
                == """
                Folder  /c
                Kept    1.5 MB of at most 100 MB

                source          size  kept    problem
                http://h/a.mp4  3 MB  1.5 MB
                """)
    }

    @Test func `items, the list, and what is not there`() throws {
        let box = try Box(["a60.mp4", "still.png"])
        #expect(try box.ask(#"{"command":"play"}"#)["ok"] == .bool(true))
        #expect(try box.ask(#"{"command":"play","item":"still.png"}"#)["item"]?["place"] == .number(2))
        #expect(try box.ask(#"{"command":"item","item":9}"#)["error"]?["code"] == .string("no-such-item"))
        #expect(try box.ask(#"{"command":"quit"}"#)["error"]?["code"] == .string("not-allowed"))
        #expect(try box.ask(#"{"command":"gravity","to":"fill"}"#)["gravity"] == .string("fill"))
        #expect(box.player.items.allSatisfy { $0.entry.gravity == .resizeAspectFill })
        // New items from kiosk.conf get the same gravity. The playlist still belongs to the file.
        #expect(box.control.adapted([PlaylistItem(source: "/a.mp4")])[0].gravity == .resizeAspectFill && !box.control.ownsPlaylist)
        #expect(try box.ask(#"{"command":"playlist remove","item":1}"#)["count"] == .number(1))
        #expect(box.control.ownsPlaylist)
        let clip = JSONValue.string(try Clips.named("a60.mp4")).line
        #expect(try box.ask("{\"command\":\"playlist set\",\"sources\":[\(clip),\(clip)],\"at\":\"now\"}")["count"] == .number(2))
        #expect(try box.ask(#"{"command":"playlist append","sources":["a.mp4"]}"#)["error"]?["code"] == .string("invalid-parameter"))
        #expect(try box.ask(#"{"command":"volume","by":-30}"#)["volume"] == .number(70))
        let status = try box.ask(#"{"command":"status"}"#)
        #expect(status["volume"] == .number(70) && status["count"] == .number(2))
        #expect(AnswerPage.text(.status, status).contains("320x180"))
        func answer(_ name: String) throws -> Set<String> {
            Set(try #require(CommandTable.named(name)).answer.members.map(\.name) + ["ok", "id"])
        }
        #expect(try Set(status.members.map(\.name)) == answer("status"))
        let statistics = try box.ask(#"{"command":"statistics"}"#)
        #expect(try Set(statistics.members.map(\.name)) == answer("statistics"))
    }

    @Test func `the metrics have the text format's form, and the last failure`() throws {
        let box = try Box(["a60.mp4"])
        let clip = JSONValue.string(try Clips.named("a60.mp4")).line
        _ = try box.ask("{\"command\":\"playlist set\",\"sources\":[\(clip),\"/nothing/\\\"there\\\".mp4\"],\"at\":\"now\"}")
        let end = HostTime.now + .seconds(20)
        while !box.control.metrics.contains("kiosk_last_failure_info"), HostTime.now < end { usleep(10_000) }
        var types: [String: String] = [:], figures: [String: Double] = [:]
        for line in box.control.metrics.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            if words[0] == "#" {
                #expect(types[words[2]] == nil && figures[words[2]] == nil, "\(words[2]) twice")
                if words[1] == "TYPE" { types[words[2]] = words[3] }
            } else {
                let name = String(line.prefix { $0 != "{" && $0 != " " })
                #expect(types[name] == (name.hasSuffix("_total") ? "counter" : "gauge"), "\(line)")
                figures[name] = line.split(separator: " ").last.flatMap { Double($0) }
            }
        }
        #expect(Set(figures.keys) == Set(types.keys))
        #expect(figures["kiosk_failures_total"].map { $0 >= 1 } == true && figures["kiosk_sound_underruns_total"] == 0)
        #expect(box.control.metrics.contains(#"kiosk_last_failure_info{message="/nothing/\"there\".mp4: no such file: "#))
    }

    @Test func `who observes is told`() throws {
        let box = try Box(["a60.mp4"])
        _ = try box.ask(#"{"command":"play"}"#)
        var seen: [String] = []
        try ControlClient.watch(box.path, #"{"command":"observe","events":["status","time"]}"#) { line in
            let event = JSONValue(line)
            if event?["ok"] != nil { box.player.pause() } else { seen.append(event?["event"]?.text ?? "?") }
            if event?["state"] == .string("paused") { return false }
            return seen.count < 50
        }
        #expect(seen.contains("status") && Set(seen).isSubset(of: ["status", "time"]))
    }
}
