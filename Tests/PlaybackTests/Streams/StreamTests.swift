import Foundation
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

/// Streams from servers on this machine, over failing networks. They run in real time, so the machine must be idle otherwise.
@Suite(.blocking, .serialized, .enabled(if: StreamTool.isThere, StreamTool.whyNot), .enabled(if: StreamTool.isWanted, StreamTool.howTo))
struct StreamTests {
    private func item(_ source: String, _ change: (inout StreamSettings) -> Void = { _ in }) -> PlaylistItem {
        var settings = StreamSettings()
        change(&settings)
        return PlaylistItem(source: source, stream: settings)
    }

    /// Returns whether the numbers stand or count up, by at most `steps` at a time.
    private func countUp(_ numbers: [Int], steps: Int = 3) -> Bool {
        zip(numbers, numbers.dropFirst()).allSatisfy { $0 == $1 || 1...steps ~= $1 - $0 }
    }

    private func latency(_ stage: Stage) -> Double { stage.statistics.streamLatency?.seconds ?? -1 }

    // MARK: RTSP

    @Test func aCameraIsPlayedOverTCP() throws {
        let port = try StreamTool.port()
        let camera = try StreamTool("rtsp-server", ["\(port)", StreamTool.camera()])
        let stage = Stage([item("rtsp://127.0.0.1:\(port)/a")])
        #expect(stage.wait(for: 1090))
        let shown = stage.pictures
        #expect(countUp(shown), "\(shown)")
        #expect(camera.output.count { $0.hasPrefix("session") } == 1)
        #expect(stage.wait { (0.5...3).contains(latency(stage)) }, "\(latency(stage)) s")
    }

    @Test func aCameraThatRefusesTCPIsPlayedOverUDP() throws {
        let port = try StreamTool.port()
        let camera = try StreamTool("rtsp-server", ["\(port)", StreamTool.camera(), "--no-tcp"])
        let stage = Stage([item("rtsp://127.0.0.1:\(port)/a")])
        #expect(stage.wait(for: 1060), "\(stage.complaints)")
        #expect(camera.output.contains("session 1"))
    }

    /// The player closes the old session before it requests the next one.
    @Test func aCameraWithOneSessionComesBackAfterItsConnectionBroke() throws {
        let (port, outside) = (try StreamTool.port(), try StreamTool.port())
        let camera = try StreamTool("rtsp-server", ["\(port)", StreamTool.camera(), "--sessions", "1"])
        let relay = try StreamTool("relay", ["tcp", "\(outside)", "127.0.0.1:\(port)"])
        let stage = Stage([item("rtsp://127.0.0.1:\(outside)/a")])
        #expect(stage.wait(for: 1060))
        relay.tell("reset")
        #expect(stage.wait { stage.player.timeControlStatus == .waitingToPlay })
        _ = stage.wait(1) { false }
        let (count, last) = (stage.numbers.count, stage.numbers.last)
        relay.tell("join")
        let begin = HostTime.now
        #expect(stage.wait { stage.numbers.count > count })
        #expect(HostTime.now - begin < .seconds(8))
        #expect(last != 0 && !stage.pictures.contains(0), "the last picture stood")
        #expect(stage.wait(for: 1040, since: count))
        #expect(camera.output.count { $0.hasPrefix("session") } == 2)
    }

    /// The player never opens a second session: not at the seam between two turns, with or without a file between them, and not on a
    /// reconnect.
    @Test func aCameraWithOneSessionIsNeverAskedForTwo() throws {
        let (port, outside) = (try StreamTool.port(), try StreamTool.port())
        let camera = try StreamTool("rtsp-server", ["\(port)", StreamTool.camera(), "--sessions", "1"])
        let relay = try StreamTool("relay", ["tcp", "\(outside)", "127.0.0.1:\(port)"])
        var turn = item("rtsp://127.0.0.1:\(outside)/a")
        turn.duration = .seconds(2)
        let stage = Stage([turn, turn, PlaylistItem(source: try Reel.three())])
        #expect(stage.wait { stage.numbers.count { $0 == 303 } >= 2 }, "\(stage.complaints)")
        relay.tell("reset")
        _ = stage.wait(2) { false }
        relay.tell("join")
        let count = stage.numbers.count
        #expect(stage.wait { stage.numbers.dropFirst(count).count { $0 > 1000 } > 60 }, "\(stage.complaints)")
        #expect(camera.output.count { $0.hasPrefix("session") } >= 5, "\(camera.output)")
        #expect(!camera.output.contains("refused"), "\(camera.output)")
        #expect(!stage.pictures.contains(0))
    }

    /// A cable is out for ten seconds. The connection stays, and the data sent meanwhile arrives afterwards.
    @Test func tenSecondsWithoutANetworkLeaveNoLatencyBehind() throws {
        let (port, outside) = (try StreamTool.port(), try StreamTool.port())
        let camera = try StreamTool("rtsp-server", ["\(port)", StreamTool.camera()])
        let relay = try StreamTool("relay", ["tcp", "\(outside)", "127.0.0.1:\(port)"])
        let stage = Stage([item("rtsp://127.0.0.1:\(outside)/a") { $0.timeout = .seconds(20) }])
        #expect(stage.wait(for: 1090))
        #expect(stage.wait { latency(stage) > 0 })
        let before = latency(stage)
        relay.tell("cut")
        #expect(stage.wait { stage.player.timeControlStatus == .waitingToPlay })
        _ = stage.wait(10) { false }
        let count = stage.numbers.count
        #expect(stage.waitUntilStill())
        relay.tell("join")
        #expect(stage.wait { stage.numbers.count > count + 30 })
        #expect(stage.wait { latency(stage) < before + 0.6 && latency(stage) > 0 }, "\(before) s, then \(latency(stage)) s")
        #expect(camera.output.count { $0.hasPrefix("session") } == 1, "the same session")
        #expect(!stage.pictures.contains(0))
    }

    @Test func delayAndJitterOfTheNetworkAreNotSeen() throws {
        let (port, outside) = (try StreamTool.port(), try StreamTool.port())
        let camera = try StreamTool("rtsp-server", ["\(port)", StreamTool.camera()])
        let relay = try StreamTool("relay", ["tcp", "\(outside)", "127.0.0.1:\(port)"])
        relay.tell("delay 150")
        relay.tell("jitter 300")
        let stage = Stage([item("rtsp://127.0.0.1:\(outside)/a")])
        #expect(stage.wait(for: 1030))
        let stalls = stage.statistics.stalls
        #expect(stage.wait(for: 1240))
        #expect(stage.statistics.stalls == stalls, "\(stage.statistics.stalls)")
        #expect(countUp(stage.pictures))
        _ = camera
    }

    // MARK: Fallback and return

    /// The player leaves the stream after its reconnect time, and returns to it when a file ends.
    @Test func aFileStandsInForAStreamUntilItIsBack() throws {
        let (port, outside) = (try StreamTool.port(), try StreamTool.port())
        let camera = try StreamTool("rtsp-server", ["\(port)", StreamTool.camera()])
        let relay = try StreamTool("relay", ["tcp", "\(outside)", "127.0.0.1:\(port)"])
        let stage = Stage([
            item("rtsp://127.0.0.1:\(outside)/a") { $0.reconnect = .seconds(2) }, PlaylistItem(source: try Reel.thirty()),
            PlaylistItem(source: try Reel.three()),
        ])
        #expect(stage.wait(for: 1040))
        relay.tell("reset")
        let begin = HostTime.now
        #expect(stage.wait { stage.numbers.last == 1 || stage.numbers.last == 2 })
        let waited = (HostTime.now - begin).seconds
        #expect(1.5...4.5 ~= waited, "\(waited) s")
        let count = stage.numbers.count
        // The rest of the list loops without a gap.
        _ = stage.wait(6) { false }
        let meanwhile = Array(stage.numbers.dropFirst(count))
        #expect(meanwhile.contains(303) && !meanwhile.contains(0) && meanwhile.allSatisfy { $0 < 1000 }, "\(meanwhile)")
        relay.tell("join")
        #expect(stage.wait { stage.numbers.last ?? 0 > 1000 })
        // The stream begins at the end of a file.
        let numbers = stage.numbers
        let join = numbers.lastIndex { $0 < 1000 } ?? 0
        #expect([30, 303].contains(numbers[join]), "\(numbers[max(0, join - 3)...join])")
        #expect(!stage.pictures.contains(0))
        _ = camera
    }

    /// A stream between two files has the same seams as a file.
    @Test func aStreamBetweenTwoFilesHasSeams() throws {
        let port = try StreamTool.port()
        let folder = Clips.folder
        _ = try Clips.make("between.ts", ["-i", Reel.long(), "-c", "copy", "-f", "mpegts"])
        let server = try StreamTool("http-server", ["\(port)", folder])
        let stage = Stage([
            PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: "http://127.0.0.1:\(port)/between.ts"),
            PlaylistItem(source: try Reel.three()),
        ])
        stage.expectPlays(Array(1...30) + Array(1001...1300) + [301, 302, 303], count: 700)
        #expect(stage.statistics.stalls == 0, "\(stage.statistics.stalledTime)")
        #expect(stage.statistics.worstSeamLateness <= 1)
        _ = server
    }

    // MARK: HTTP

    private func hls(_ name: String, variants: [(size: String, rate: Int)], from: Int = 1001) throws -> String {
        let folder = Clips.folder + "/" + name
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var master = "#EXTM3U\n"
        for (size, rate) in variants {
            let clip = try Clips.numbered("hls-\(size).mp4", frames: 240, from: from, size: size, extra: ["-g", "30", "-bf", "0"])
            _ = try Clips.make(
                "\(name)/\(size).m3u8",
                ["-i", clip, "-c", "copy", "-f", "hls", "-hls_time", "2", "-hls_list_size", "0", "-hls_playlist_type", "vod"])
            master += "#EXT-X-STREAM-INF:BANDWIDTH=\(rate),RESOLUTION=\(size)\n\(size).m3u8\n"
        }
        try Data(master.utf8).write(to: URL(fileURLWithPath: folder + "/master.m3u8"))
        return folder
    }

    @Test func theVariantThatFitsTheDisplayIsTheOnlyOneFetched() throws {
        let port = try StreamTool.port()
        let folder = try hls("size", variants: [("3200x1800", 900_000), ("640x360", 500_000), ("320x180", 300_000)])
        let server = try StreamTool("http-server", ["\(port)", folder, "--require", "X-Screen: lobby"])
        let stage = Stage([
            item("http://127.0.0.1:\(port)/master.m3u8") {
                $0.headers = ["X-Screen: lobby"]
                $0.userAgent = "sign/7"
            }
        ])
        stage.expectPlays(Array(1001...1240), count: 300)
        let asked = server.output.filter { $0.hasPrefix("GET") }
        #expect(!asked.contains { $0.contains("3200x1800") } && !asked.contains { $0.contains("320x180") }, "\(asked)")
        #expect(
            asked.contains { $0.contains("640x360") } && asked.contains { $0.hasSuffix("sign/7") }
                && !asked.contains { $0.hasSuffix("kiosk") }, "\(asked)")
    }

    /// The line becomes too slow. When the player reopens the stream, the measured rate chooses the variant.
    @Test func aLineThatIsTooSlowGetsASmallerVariant() throws {
        let (port, outside) = (try StreamTool.port(), try StreamTool.port())
        let folder = Clips.folder + "/slow"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var master = "#EXTM3U\n"
        for (size, rate) in [("640x360", 3_000_000), ("320x180", 400_000)] {
            let clip = try Clips.numbered(
                "slow-\(size).mp4", frames: 900, from: 1001, size: size,
                extra: ["-g", "30", "-bf", "0", "-preset", "ultrafast", "-b:v", "\(rate)", "-minrate", "\(rate)", "-maxrate", "\(rate)"]
                    + ["-bufsize", "\(rate)", "-nal-hrd", "cbr"])
            _ = try Clips.make(
                "slow/\(size).m3u8",
                ["-i", clip, "-c", "copy", "-f", "hls", "-hls_time", "2", "-hls_list_size", "0", "-hls_playlist_type", "vod"])
            master += "#EXT-X-STREAM-INF:BANDWIDTH=\(rate + 100_000),RESOLUTION=\(size)\n\(size).m3u8\n"
        }
        try Data(master.utf8).write(to: URL(fileURLWithPath: folder + "/master.m3u8"))
        let server = try StreamTool("http-server", ["\(port)", folder])
        let relay = try StreamTool("relay", ["tcp", "\(outside)", "127.0.0.1:\(port)"])
        relay.tell("rate 6000")
        let stage = Stage([item("http://127.0.0.1:\(outside)/master.m3u8")])
        #expect(stage.wait(for: 1030))
        #expect(server.output.contains { $0.contains("640x360") } && !server.output.contains { $0.contains("320x180") })
        relay.tell("rate 1200")
        #expect(stage.wait { server.output.contains { $0.contains("320x1800.ts") || $0.contains("320x180") } }, "\(server.output)")
        let count = stage.numbers.count
        #expect(stage.wait { stage.numbers.count > count + 60 })
    }

    /// The player fetches a file ahead, so a restart of the server does not show.
    @Test func aServerThatIsRestartedIsNotSeenInAFile() throws {
        let (port, outside) = (try StreamTool.port(), try StreamTool.port())
        _ = try StreamTool.camera()
        let server = try StreamTool("http-server", ["\(port)", Clips.folder])
        let relay = try StreamTool("relay", ["tcp", "\(outside)", "127.0.0.1:\(port)"])
        relay.tell("rate 4000")
        let stage = Stage([item("http://127.0.0.1:\(outside)/camera.mp4")])
        #expect(stage.wait(for: 1150))
        relay.tell("reset")
        _ = stage.wait(3) { false }
        relay.tell("join")
        #expect(stage.wait(for: 1500))
        #expect(countUp(stage.pictures) && stage.statistics.stalls == 0, "\(stage.statistics.stalledTime)")
        _ = server
    }

    // MARK: UDP and SRT

    private func send(_ target: [String]) throws -> StreamTool {
        try StreamTool(
            "ffmpeg", ["-v", "error", "-nostdin", "-re", "-stream_loop", "-1", "-i", StreamTool.camera(), "-c", "copy"] + target)
    }

    @Test func aMulticastIsPlayed() throws {
        let port = try StreamTool.port()
        let sender = try send(["-f", "mpegts", "udp://239.255.77.1:\(port)?localaddr=127.0.0.1&pkt_size=1316&ttl=0"])
        let stage = Stage([item("udp://239.255.77.1:\(port)?localaddr=127.0.0.1")])
        #expect(stage.wait { stage.pictures.count > 60 }, "\(stage.complaints)")
        #expect(countUp(stage.pictures), "\(stage.pictures)")
        _ = sender
    }

    @Test func lossesOfDatagramsAreSurvived() throws {
        let (port, outside) = (try StreamTool.port(), try StreamTool.port())
        let relay = try StreamTool("relay", ["udp", "\(outside)", "127.0.0.1:\(port)"])
        let sender = try send(["-f", "mpegts", "udp://127.0.0.1:\(outside)?pkt_size=1316"])
        relay.tell("loss 1")
        relay.tell("jitter 40")
        let stage = Stage([item("udp://127.0.0.1:\(port)")])
        #expect(stage.wait { stage.pictures.count > 200 }, "\(stage.complaints)")
        #expect(!stage.pictures.contains(0) || stage.pictures.count { $0 == 0 } < 20, "\(stage.pictures)")
        _ = sender
    }

    @Test func aSessionDescriptionIsPlayed() throws {
        let port = try StreamTool.port() / 2 * 2
        let path = Clips.folder + "/session-\(port).sdp"
        let sender = try send(["-an", "-f", "rtp", "-sdp_file", path, "rtp://127.0.0.1:\(port)"])
        try #require(Stage.waits { FileManager.default.fileExists(atPath: path) })
        usleep(200_000)
        let stage = Stage([item(path)])
        #expect(stage.wait { stage.pictures.count > 60 }, "\(stage.complaints)")
        _ = sender
    }

    @Test func aCallerOfSRTIsServed() throws {
        let port = try StreamTool.port()
        let sender = try send(["-f", "mpegts", "srt://127.0.0.1:\(port)?mode=listener&pkt_size=1316"])
        usleep(500_000)
        let stage = Stage([item("srt://127.0.0.1:\(port)")])
        #expect(stage.wait { stage.pictures.count > 60 }, "\(stage.complaints)")
        #expect(countUp(stage.pictures), "\(stage.pictures)")
        _ = sender
    }
}

extension Stage {
    static func waits(_ seconds: Double = 10, until condition: () -> Bool) -> Bool {
        let deadline = HostTime.now + .seconds(seconds)
        while HostTime.now < deadline, !condition() { usleep(10_000) }
        return condition()
    }
}
