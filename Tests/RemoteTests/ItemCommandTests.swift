import Cache
import Foundation
import KioskCommands
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import RemoteClient
import TestSupport
import Testing

@testable import Remote

extension JSONValue {
    fileprivate var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }
}

/// Tests of the control socket's answers about an item, and of its track selection.
@Suite(.blocking) struct ItemCommandTests {
    private func wait(_ condition: () throws -> Bool) rethrows -> Bool {
        let end = HostTime.now + .seconds(120)
        while HostTime.now < end {
            if try condition() { return true }
            usleep(10_000)
        }
        return try condition()
    }

    @Test func `tracks are listed, and another one is selected`() throws {
        let film = try Clips.film("mkv")
        let box = try Box([], sources: [film, "/nowhere/at all.mp4"])
        #expect(wait { box.player.snapshot.item != nil })
        let answer = try box.ask(#"{"command":"tracks"}"#)
        #expect(answer["item"]?["place"] == .number(1))
        let tracks = answer["tracks"]?.array ?? []
        try #require(tracks.map { $0["kind"]?.text } == ["audio", "audio", "audio", "video"], "\(answer)")
        #expect(tracks.map { $0["number"] } == [.number(1), .number(2), .number(3), .number(1)])
        #expect(tracks.map { $0["language"] } == [.string("deu"), .string("eng"), .null, .null], "\(answer)")
        #expect(tracks[1]["title"] == .string("Commentary") && tracks[1]["codec"] == .string("aac"))
        #expect(tracks[1]["channels"] == .number(1) && tracks[1]["sampleRate"] == .number(48000))
        #expect(tracks[3]["width"] == .number(320) && tracks[3]["height"] != nil && tracks[3]["channels"] == nil)
        #expect(tracks.map { $0["selected"] } == [true, false, false, true].map(JSONValue.bool))

        func selected() throws -> [String] {
            (try box.ask(#"{"command":"tracks"}"#)["tracks"]?.array ?? []).filter { $0["selected"] == .bool(true) }.map {
                "\($0["kind"]?.text ?? "") \(Int($0["number"]?.number ?? 0))"
            }
        }
        #expect(try box.ask(#"{"command":"select","kind":"audio","track":2}"#)["track"] == .string("2"))
        #expect(try wait { try selected() == ["audio 2", "video 1"] })
        #expect(try box.ask(#"{"command":"select","kind":"audio","track":"de"}"#)["track"] == .string("de"))
        #expect(try wait { try selected() == ["audio 1", "video 1"] })
        #expect(try box.ask(#"{"command":"select","kind":"audio","track":"off"}"#)["track"] == .string("off"))
        #expect(try wait { try selected() == ["video 1"] })
        let refused = try box.ask(#"{"command":"select","kind":"audio","track":"fr"}"#)["error"]
        #expect(
            refused?["code"] == .string("no-such-track") && refused?["message"]?.text?.contains("Commentary") == true, "\(refused ?? .null)"
        )
        #expect(try box.ask(#"{"command":"select","kind":"audio","track":4}"#)["error"]?["code"] == .string("no-such-track"))
        #expect(try box.ask(#"{"command":"select","kind":"subtitle","track":1}"#)["error"]?["code"] == .string("no-such-track"))
        // An item that is not open, or cannot be opened, has no tracks to list.
        let code = try box.ask(#"{"command":"tracks","item":2}"#)["error"]?["code"]?.text
        #expect(code == "not-yet" || code == "item-failed", "\(code ?? "")")
        #expect(try box.ask(#"{"command":"tracks","item":3}"#)["error"]?["code"] == .string("no-such-item"))
    }

    @Test func `chapters are listed, and gone to`() throws {
        let box = try Box([], sources: [try Clips.film("mkv")], isPaused: true)
        #expect(wait { box.player.snapshot.item != nil })
        let chapters = try box.ask(#"{"command":"chapters"}"#)["chapters"]?.array ?? []
        #expect(chapters.map { $0["title"] } == [.string("First"), .string("Second"), .null], "\(chapters)")
        // The starts count from the item's first picture, which is some milliseconds into this file.
        let starts = chapters.map { $0["start"]?.number ?? -1 }
        #expect(zip(starts, [0, 0.5, 1.2]).allSatisfy { abs($0 - $1) < 0.03 }, "\(starts)")
        #expect(chapters.map { $0["number"] } == [.number(1), .number(2), .number(3)])
        #expect(chapters.map { $0["current"] } == [.bool(true), .bool(false), .bool(false)])
        let landed = try box.ask(#"{"command":"chapter","to":3}"#)
        #expect(landed["ok"] == .bool(true) && abs((landed["time"]?.number ?? 0) - 1.2) < 0.05, "\(landed)")
        let then = try box.ask(#"{"command":"chapters"}"#)["chapters"]?.array ?? []
        #expect(then.map { $0["current"] } == [.bool(false), .bool(false), .bool(true)])
        #expect(try box.ask(#"{"command":"chapter","to":4}"#)["ok"] != .bool(true))
    }

    @Test func `what a file says of itself, and its cover`() throws {
        let box = try Box([], sources: [try Clips.film("mkv"), try Clips.song()])
        _ = try box.ask(#"{"command":"play"}"#)
        let film = try box.ask(#"{"command":"metadata"}"#)
        #expect(film["title"] == .string("Two seconds") && film["artist"] == .string("Somebody"), "\(film)")
        #expect(film["album"] == .null && film["cover"] == .null)
        #expect(try box.ask(#"{"command":"cover"}"#)["error"]?["code"] == .string("no-picture"))
        _ = try box.ask(#"{"command":"play","item":2}"#)
        #expect(try box.ask(#"{"command":"metadata","item":2}"#)["cover"] == .string("mjpeg"))
        let (line, picture) = try ControlClient.ask(box.path, #"{"command":"cover","item":2}"#)
        let still = try Clips.bytes(Clips.named("still.jpg"))
        #expect(JSONValue(line)?["format"] == .string("mjpeg") && picture == still)
    }

    @Test func `how far behind a live stream is played`() throws {
        let file = try Box(["a60.mp4"])
        _ = try file.ask(#"{"command":"play"}"#)
        #expect(try file.ask(#"{"command":"status"}"#)["latency"] == .null && !file.control.metrics.contains("kiosk_stream_latency"))

        let stream = try Clips.bytes(
            Clips.make("latency.ts", ["-i", Clips.numbered("latency.mp4", frames: 300), "-c", "copy", "-f", "mpegts"]))
        let server = try FileServer(.init(live: stream))
        let box = try Box([], sources: [server.url("live")])
        #expect(try wait { try (box.ask(#"{"command":"status"}"#)["latency"]?.number ?? 0) > 0.05 })
        let status = try box.ask(#"{"command":"status"}"#)
        #expect(status["live"] == .bool(true) && status["duration"] == .null)
        #expect(AnswerPage.text(.status, status).contains("\nLatency "), "\(AnswerPage.text(.status, status))")
        #expect(try box.ask(#"{"command":"statistics"}"#)["latency"]?.number ?? 0 > 0)
        let metric = box.control.metrics.split(separator: "\n").first { $0.hasPrefix("kiosk_stream_latency_seconds ") }
        #expect(metric?.split(separator: " ").last.flatMap { Double($0) } ?? 0 > 0, "\(metric ?? "")")
    }

    @Test func `what is kept of what comes over the network`() throws {
        let none = try Box(["a60.mp4"])
        #expect(try none.ask(#"{"command":"cache"}"#)["error"]?["code"] == .string("no-effect"))

        let film = try Clips.bytes(Clips.film("mkv"))
        let server = try FileServer(.init(film))
        let folder = NSTemporaryDirectory() + "kiosk-cache-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let cache = AssetCache(folder: folder, limit: ByteCount(100_000_000)) { _ in }
        let url = server.url("film.mkv").replacingOccurrences(of: "http://", with: "http://viewer:secret@")
        cache.start { [PlaylistItem(source: url)] }
        defer { cache.stop() }
        let box = try Box([], sources: [url], cache: cache)
        #expect(try wait { try box.ask(#"{"command":"cache"}"#)["items"]?.array?.first?["complete"] == .bool(true) })
        let answer = try box.ask(#"{"command":"cache"}"#)
        #expect(answer["folder"] == .string(folder) && answer["limit"] == .number(100_000_000))
        #expect(answer["bytes"] == .number(Double(film.count)))
        let item = answer["items"]?.array?.first
        #expect(item?["size"] == .number(Double(film.count)) && item?["bytes"] == item?["size"] && item?["problem"] == .null)
        #expect(item?["source"]?.text?.hasSuffix("/film.mkv") == true && !answer.line.contains("secret"), "\(answer.line)")
    }
}
