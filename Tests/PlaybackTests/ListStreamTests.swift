import Foundation
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

/// HLS on demand and live, and HTTP files that break off, from a server in this process with a slow line.
@Suite(.blocking) struct ListStreamTests {
    /// Returns the content of a folder of the clips, for a server.
    private static func files(_ folder: String) -> @Sendable (String) -> [UInt8]? {
        { path in FileManager.default.contents(atPath: folder + path).map { [UInt8]($0) } }
    }

    /// Makes frames 1001… in parts of one second, at `rate` bits a second, as `NAME.m3u8`. The parts are `NAME0.ts` and so on.
    private static func parts(_ folder: String, _ name: String, frames: Int, size: String, rate: Int) throws {
        try FileManager.default.createDirectory(atPath: Clips.folder + "/" + folder, withIntermediateDirectories: true)
        let rates = ["-b:v", "\(rate)", "-minrate", "\(rate)", "-maxrate", "\(rate)", "-bufsize", "\(rate)", "-nal-hrd", "cbr"]
        let clip = try Clips.numbered(
            "\(folder)-\(name).mp4", frames: frames, from: 1001, size: size,
            extra: ["-g", "30", "-bf", "0", "-preset", "ultrafast"] + rates)
        let list = ["-f", "hls", "-hls_time", "1", "-hls_list_size", "0", "-hls_playlist_type", "vod"]
        _ = try Clips.make("\(folder)/\(name).m3u8", ["-i", clip, "-c", "copy"] + list)
    }

    private func item(_ source: String, _ change: (inout StreamSettings) -> Void = { _ in }) -> PlaylistItem {
        var settings = StreamSettings()
        change(&settings)
        return PlaylistItem(source: source, stream: settings)
    }

    /// Returns whether the numbers count up and none comes twice; frames may be missing.
    private func countUp(_ numbers: [Int]) -> Bool { zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 } }

    // MARK: On demand

    @Test func aSmallerVariantGoesOnWhereTheLargerOneWas() throws {
        try Self.parts("shrink", "large", frames: 600, size: "640x360", rate: 1_600_000)
        try Self.parts("shrink", "small", frames: 600, size: "320x180", rate: 250_000)
        let master = """
            #EXTM3U
            #EXT-X-STREAM-INF:BANDWIDTH=1700000,RESOLUTION=640x360
            large.m3u8
            #EXT-X-STREAM-INF:BANDWIDTH=350000,RESOLUTION=320x180
            small.m3u8

            """
        try Data(master.utf8).write(to: URL(fileURLWithPath: Clips.folder + "/shrink/master.m3u8"))
        let server = try FileServer(.init(files: Self.files(Clips.folder + "/shrink")))
        server.change { $0.rate = 400_000 }
        // The reconnect time is shorter than an opening on the slow line.
        let stage = Stage([item(server.url("master.m3u8")) { $0.reconnect = .seconds(1) }])
        stage.player.measure()
        #expect(stage.wait(for: 1030), "\(stage.complaints)")
        #expect(server.requests.contains { $0.path == "/large0.ts" } && !server.requests.contains { $0.path == "/small0.ts" })
        server.change { $0.rate = 70_000 }
        #expect(stage.wait { server.requests.contains { $0.path == "/small.m3u8" } }, "\(server.requests.map(\.path))")
        let before = stage.numbers.filter { $0 > 0 }
        #expect(stage.wait { stage.numbers.filter { $0 > 0 }.count > before.count + 60 }, "\(stage.complaints)")
        #expect(countUp(stage.numbers.filter { $0 > 0 }), "nothing begins anew: \(stage.numbers) \(stage.complaints)")
        let large = AssetDescription.Variant(bandwidth: 1_700_000, width: 640, height: 360)
        let small = AssetDescription.Variant(bandwidth: 350_000, width: 320, height: 180)
        let choices = stage.events.filter { if case .measured(.variantChosen) = $0 { true } else { false } }
        #expect(
            choices.prefix(2) == [
                .measured(.variantChosen(item: 0, large, former: nil)), .measured(.variantChosen(item: 0, small, former: large)),
            ])
    }

    /// The download resumes at the break, even if the server was away for longer than the last picture stands.
    @Test func aFileGoesOnWhereItBrokeOffWhenItsServerWasAwayForLong() throws {
        let clip = try Clips.numbered(
            "away.mp4", frames: 600, from: 1001, extra: ["-g", "30", "-bf", "0", "-preset", "ultrafast", "-movflags", "+faststart"])
        let bytes = try Clips.bytes(clip)
        let server = try FileServer(.init(bytes))
        server.change { $0.rate = bytes.count / 15 }
        let stage = Stage([
            item(server.url("away.mp4")) {
                $0.reconnect = .seconds(1)
                $0.timeout = .seconds(1)
            }
        ])
        #expect(stage.wait(for: 1040), "\(stage.complaints)")
        server.stop()
        #expect(stage.wait { stage.events.contains { if case .nothingPlayable = $0 { true } else { false } } }, "\(stage.complaints)")
        let last = stage.numbers.last { $0 > 0 } ?? 0
        #expect(last < 1590, "it broke off before its end")
        try server.restart()
        #expect(stage.wait { stage.numbers.last ?? 0 > last }, "\(stage.complaints)")
        #expect(countUp(stage.numbers.filter { $0 > 0 }), "nothing begins anew: \(stage.numbers)")
    }

    /// If a server can send a file only from its beginning, the player starts over: better than nothing.
    @Test func aServerWithoutRangesIsPlayedFromTheBeginningAgain() throws {
        let clip = try Clips.numbered(
            "away.mp4", frames: 600, from: 1001, extra: ["-g", "30", "-bf", "0", "-preset", "ultrafast", "-movflags", "+faststart"])
        let bytes = try Clips.bytes(clip)
        let server = try FileServer(.init(bytes))
        server.change {
            $0.rate = bytes.count / 15
            $0.understandsRanges = false
        }
        let stage = Stage([
            item(server.url("away.mp4")) {
                $0.reconnect = .seconds(1)
                $0.timeout = .seconds(1)
            }
        ])
        #expect(stage.wait(for: 1040), "\(stage.complaints)")
        server.stop()
        #expect(stage.wait { stage.events.contains { if case .nothingPlayable = $0 { true } else { false } } }, "\(stage.complaints)")
        let count = stage.numbers.count
        try server.restart()
        server.change { $0.rate = nil }
        #expect(stage.wait { stage.numbers.dropFirst(count).count > 30 }, "\(stage.complaints)")
    }

    /// The player fetches each part of a list from its beginning, so the server needs no ranges.
    @Test("A list on demand can be sought in by its parts", arguments: ["list.m3u8", "master.m3u8", "list.mpd"], [true, false])
    func aListOnDemandCanBeSoughtIn(name: String, hasRanges: Bool) throws {
        try Self.parts("places", "list", frames: 600, size: "320x180", rate: 250_000)
        let master = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=350000,RESOLUTION=320x180\nlist.m3u8\n"
        try Data(master.utf8).write(to: URL(fileURLWithPath: Clips.folder + "/places/master.m3u8"))
        let dash = ["-f", "dash", "-seg_duration", "1", "-use_template", "1", "-use_timeline", "0"]
        _ = try Clips.make("places/list.mpd", ["-i", Clips.folder + "/places-list.mp4", "-c", "copy"] + dash)
        let server = try FileServer(.init(files: Self.files(Clips.folder + "/places")))
        server.change { $0.understandsRanges = hasRanges }
        let stage = Stage([item(server.url(name))])
        try #require(stage.wait(for: 1003), "\(stage.complaints)")
        try #require(stage.player.snapshot.isSeekable && stage.player.currentFacts?.seekableTimeRanges == [.zero..<(.seconds(20))])
        for (seconds, number) in [(15.0, 1451), (4.5, 1136), (0, 1001)] {
            _ = stage.pause()
            let count = stage.numbers.count
            stage.player.seek(to: .seconds(seconds))
            try #require(stage.wait { stage.numbers.count > count } && stage.waitUntilStill(), "\(stage.complaints)")
            #expect(Array(stage.numbers.dropFirst(count)) == [number], "\(stage.complaints)")
            stage.player.play()
            try #require(stage.wait { stage.numbers.count > count + 5 }, "\(stage.complaints)")
        }
        #expect(stage.complaints.isEmpty && countUp(Array(stage.pictures.suffix(5))), "\(stage.complaints) \(stage.pictures)")
    }

    /// HLS with parts of MP4 cannot be sought. An item with a start time plays from its beginning, and says so.
    @Test func aStartThatCannotBeSoughtIsItsBeginning() throws {
        let folder = Clips.folder + "/pieces"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let clip = try Clips.numbered("pieces.mp4", frames: 120, from: 1001, size: "320x180", extra: ["-g", "30", "-bf", "0"])
        let list = ["-f", "hls", "-hls_time", "1", "-hls_playlist_type", "vod", "-hls_segment_type", "fmp4"]
        _ = try Clips.make("pieces/list.m3u8", ["-i", clip, "-c", "copy"] + list + ["-hls_segment_filename", folder + "/%d.m4s"])
        let server = try FileServer(.init(files: Self.files(folder)))
        var item = item(server.url("list.m3u8"))
        item.start = .seconds(2)
        let stage = Stage([item])
        #expect(stage.wait(for: 1110), "\(stage.complaints)")
        #expect(stage.pictures.first == 1001 && countUp(stage.pictures.prefix { $0 < 1110 }), "\(stage.pictures)")
        #expect(stage.complaints.contains { $0.message.contains("plays from its beginning instead of 2 s") }, "\(stage.complaints)")
    }

    // MARK: Live

    /// A broadcast in parts of one second, the last six of them in the list. It begins with the object.
    private final class Broadcast: Sendable {
        let server: FileServer
        private let state: Monitor<State>

        private struct State {
            let begin = HostTime.now
            /// The time at which the encoder paused, and the sum of the earlier pauses.
            var pausedAt: HostTime?
            var paused = MediaTime.zero
            var newest: Int {
                let time = (pausedAt ?? .now) - begin - paused
                return Int(time.seconds) + 6
            }
        }

        init(_ name: String, parts count: Int) throws {
            try ListStreamTests.parts(name, "part", frames: 30 * count, size: "320x180", rate: 400_000)
            let files = ListStreamTests.files(Clips.folder + "/" + name)
            let state = Monitor(State())
            self.state = state
            server = try FileServer(
                .init(files: { path in
                    guard path == "/live.m3u8" else { return files(path) }
                    let newest = min(state.withLock { $0.newest }, count - 1)
                    var list = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(newest - 5)\n"
                    for part in newest - 5...newest { list += "#EXTINF:1.000000,\npart\(part).ts\n" }
                    return Array(list.utf8)
                }))
        }

        /// The number of the newest part in the list.
        var newest: Int { state.withLock { $0.newest } }

        /// Pauses the encoder, or lets it go on.
        func setPaused(_ isPaused: Bool) {
            state.withLock { state in
                if isPaused {
                    state.pausedAt = state.pausedAt ?? .now
                } else if let since = state.pausedAt.take() {
                    state.paused = state.paused + (.now - since)
                }
            }
        }
    }

    @Test func aLiveListIsPlayedAsItGrows() throws {
        let broadcast = try Broadcast("broadcast", parts: 40)
        let stage = Stage([item(broadcast.server.url("live.m3u8"))])
        #expect(stage.wait { stage.pictures.count > 3 }, "\(stage.complaints)")
        // Play begins with the third part before the end of the list, not with the first part.
        let first = stage.pictures[0]
        let part = try #require(broadcast.server.requests.first { $0.path.hasSuffix(".ts") }?.path.dropFirst(5).dropLast(3))
        #expect(Int(part).map { $0 >= 4 && (1001 + 30 * $0..<1031 + 30 * $0).contains(first) } ?? false, "\(part), \(first)")
        let item = try #require(stage.player.snapshot.item)
        let facts = try #require(stage.player.facts(of: item))
        #expect(facts.duration == .indefinite && facts.seekableTimeRanges.isEmpty && stage.player.snapshot.duration == nil)
        // Until the list has no part of the first list any more.
        #expect(stage.wait { stage.numbers.last ?? 0 > first + 30 * 10 }, "\(stage.numbers.last ?? 0) \(stage.complaints)")
        #expect(countUp(stage.pictures), "\(stage.pictures)")
        #expect(stage.complaints.isEmpty, "\(stage.complaints)")
        let names = broadcast.server.requests.map(\.path).filter { $0.hasSuffix(".ts") }
        #expect(Set(names).count == names.count, "each part is fetched once: \(names)")
        #expect(stage.statistics.streamLatency.map { (0.2...6).contains($0.seconds) } ?? false, "\(stage.statistics.streamLatency as Any)")
    }

    @Test func aLiveListThatStandsStillIsWaitedForAndGoneOnWith() throws {
        let broadcast = try Broadcast("pauses", parts: 60)
        let stage = Stage([item(broadcast.server.url("live.m3u8"))])
        #expect(stage.wait { stage.pictures.count > 30 }, "\(stage.complaints)")
        broadcast.setPaused(true)
        // On a busy machine the player sometimes waits before it has played all parts.
        let end = 1000 + 30 * (broadcast.newest + 1)
        #expect(stage.wait { stage.numbers.last ?? 0 > end - 3 }, "\(stage.numbers.last ?? 0) of \(end)")
        #expect(stage.wait { stage.player.timeControlStatus == .waitingToPlay }, "\(stage.numbers.last ?? 0)")
        let last = stage.numbers.last ?? 0
        _ = stage.wait(2) { false }
        #expect(stage.numbers.last == last && last > 1000, "its last picture stands")
        broadcast.setPaused(false)
        #expect(stage.wait { stage.numbers.last ?? 0 > last + 60 }, "\(stage.complaints)")
        #expect(countUp(stage.pictures), "\(stage.pictures)")
    }

    /// The server's encoder is dead but its web server lives: the list is there, and never changes.
    @Test func aLiveListThatNeverGrowsAgainIsLeft() throws {
        let broadcast = try Broadcast("dead", parts: 40)
        let stage = Stage([
            item(broadcast.server.url("live.m3u8")) {
                $0.timeout = .seconds(2)
                $0.reconnect = .seconds(1)
            },
            PlaylistItem(source: try Reel.three()),
        ])
        #expect(stage.wait { stage.pictures.count > 30 }, "\(stage.complaints)")
        broadcast.setPaused(true)
        #expect(stage.wait { stage.numbers.contains(303) }, "\(stage.complaints)")
        #expect(!stage.pictures.contains(0))
    }

    @Test func aLiveListWhoseServerIsRestartedIsFoundAgain() throws {
        let broadcast = try Broadcast("restart", parts: 60)
        let stage = Stage([
            item(broadcast.server.url("live.m3u8")) {
                $0.timeout = .seconds(2)
                $0.reconnect = .seconds(20)
            }
        ])
        #expect(stage.wait { stage.pictures.count > 30 }, "\(stage.complaints)")
        broadcast.server.stop()
        #expect(stage.wait { stage.player.timeControlStatus == .waitingToPlay }, "\(stage.numbers.last ?? 0)")
        _ = stage.wait(4) { false }
        let last = stage.numbers.last ?? 0
        try broadcast.server.restart()
        #expect(stage.wait { stage.numbers.last ?? 0 > last + 30 }, "\(stage.complaints)")
        #expect(countUp(stage.pictures), "\(stage.pictures)")
    }
}
