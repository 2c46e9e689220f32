import Foundation
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

/// Endless streams, from a server that counts its connections.
@Suite(.blocking) struct LiveStreamTests {
    /// Five seconds, frames 1001…1150, as a transport stream.
    private func stream() throws -> [UInt8] {
        let source = try Clips.numbered("live-source.mp4", frames: 150, from: 1001, extra: ["-g", "30", "-bf", "2"])
        return try Clips.bytes(Clips.make("live-150.ts", ["-i", source, "-c:v", "copy", "-c:a", "mp2", "-f", "mpegts"]))
    }

    /// Returns an item that the player does not give up within a test, even if it stalls.
    private func held(_ server: FileServer) -> PlaylistItem {
        var settings = StreamSettings()
        settings.timeout = .seconds(60)
        return PlaylistItem(source: server.url("live"), stream: settings)
    }

    /// A camera often allows one session.
    @Test func aLiveStreamIsOpenedOnce() throws {
        let server = try FileServer(.init(live: stream()))
        let stage = Stage([held(server)])
        #expect(stage.wait(for: 1060))
        #expect(server.requests.count == 1, "\(server.requests)")
        #expect(stage.player.snapshot.duration == nil, "it is live")
    }

    /// The player does not hold another stream open until the first ends; it would play data sent hours ago.
    @Test func anotherStreamIsOpenedWhenTheFirstEnds() throws {
        let first = try FileServer(.init(live: stream(), isHeld: false))
        let second = try FileServer(.init(live: stream()))
        let stage = Stage([held(first), held(second)])
        #expect(stage.wait(for: 1060))
        #expect(first.requests.count == 1 && second.requests.isEmpty, "\(first.requests) \(second.requests)")
        #expect(stage.wait { second.requests.count == 1 })
        #expect(stage.numbers.last ?? 0 > 1130, "\(stage.numbers.last ?? 0)")
        let count = stage.numbers.count
        #expect(stage.wait(for: 1003, since: count))
        #expect(first.requests.count == 1 && !stage.pictures.contains(0))
    }

    /// A file does not go stale.
    @Test func aFileIsOpenedWhileTheStreamPlays() throws {
        let server = try FileServer(.init(live: stream(), isHeld: false))
        let missing = "/nowhere/clip.mp4"
        let stage = Stage([held(server), PlaylistItem(source: missing), PlaylistItem(source: try Reel.three())])
        #expect(stage.wait(for: 1003))
        #expect(stage.wait { !stage.complaints.isEmpty } && stage.numbers.last ?? 0 < 1125, "known while the stream plays")
        #expect(stage.wait(for: 303))
    }

    @Test func aStreamThatEndsIsOpenedAgainOverItsLastFrame() throws {
        let server = try FileServer(.init(live: stream(), isHeld: false))
        let stage = Stage([held(server)])
        #expect(stage.wait { server.requests.count == 3 })
        #expect(!stage.pictures.contains(0), "\(stage.pictures)")
        #expect(stage.plays(Array(1001...1150)))
        // Twice five seconds; a late request makes the next gap shorter.
        let times = server.requests.map(\.time)
        #expect(times[2] - times[0] > .seconds(8), "\(times)")
    }

    @Test func aServerThatIsRestartedIsFoundAgainWithTheLastFrameUp() throws {
        let bytes = try stream()
        let server = try FileServer(.init(live: bytes))
        let stage = Stage([held(server)])
        #expect(stage.wait(for: 1010))
        server.stop()
        #expect(stage.wait { !stage.complaints.isEmpty })
        _ = stage.wait(2.5) { false }
        let last = stage.numbers.last
        #expect(last != 0, "the last frame stays")
        let count = stage.numbers.count
        try server.restart()
        #expect(stage.wait(for: 1003, since: count))
        #expect(server.requests.count == 2)
        // The break and the missing server: each is reported once.
        #expect(stage.complaints.count <= 2 && Set(stage.complaints.map(\.message)).count == stage.complaints.count, "\(stage.complaints)")
        #expect(!stage.pictures.contains(0), "\(stage.pictures)")
    }
}
