import Foundation
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

@Suite(.blocking) struct FailureTests {
    @Test func whatCannotPlayIsLeftOutWithOneComplaint() throws {
        let sources = try [
            Reel.three(), "/nowhere/clip.mp4", Clips.named("empty.mp4"), Clips.named("text.mp4"),
            Reel.fifty(), Clips.folder, Clips.named("no-moov.mp4"), Clips.named("header-only.mp4"),
        ]
        let stage = Stage(sources.map { PlaylistItem(source: $0) })
        stage.expectPlays([301, 302, 303] + Array(101...120), count: 75)
        #expect(stage.complaints.map(\.index).sorted() == [1, 2, 3, 5, 6, 7])
        #expect(stage.complaints.allSatisfy { $0.message.contains(sources[$0.index]) })
        #expect(stage.player.timeControlStatus != .paused)
    }

    @Test func nothingPlayableIsABackgroundUntilSomethingIs() throws {
        let path = Clips.folder + "/comes-later-\(UInt32.random(in: 0 ... .max)).mp4"
        let stage = Stage([PlaylistItem(source: path), PlaylistItem(source: "/nowhere/clip.mp4")])
        #expect(stage.wait { stage.events.contains { if case .nothingPlayable = $0 { true } else { false } } })
        #expect(stage.wait(for: 0))
        // After some retries the player has still reported each failure once, and has shown nothing new.
        _ = stage.wait(3.2) { false }
        #expect(stage.numbers == [0])
        #expect(stage.complaints.count == 2)
        #expect(stage.player.snapshot.item == nil)
        let three = try Reel.three()
        /// Copies the file there, and returns the time until it has played.
        func copy() throws -> MediaTime {
            let (count, begin) = (stage.numbers.count, HostTime.now)
            try FileManager.default.copyItem(atPath: three, toPath: path)
            #expect(stage.wait(for: 303, since: count))
            return HostTime.now - begin
        }
        var delay = try copy()
        stage.expectPlays([301, 302, 303], count: 20)
        for _ in 0..<2 where delay >= .seconds(3.5) {
            try FileManager.default.removeItem(atPath: path)
            #expect(stage.wait { stage.numbers.last == 0 })
            delay = try copy()
        }
        #expect(delay < .seconds(3.5), "at most two seconds, and some for a busy machine; of three times, once")
    }

    @Test func inAPauseTheFirstPictureStillReplacesTheBackground() throws {
        let path = Clips.folder + "/comes-later-\(UInt32.random(in: 0 ... .max)).mp4"
        let stage = Stage([PlaylistItem(source: path)])
        #expect(stage.wait(for: 0))
        stage.player.pause()
        #expect(stage.waitUntilStill())
        try FileManager.default.copyItem(atPath: Reel.three(), toPath: path)
        #expect(stage.wait { stage.numbers.last == 301 } && stage.waitUntilStill())
        #expect(stage.pictures == [301], "\(stage.numbers)")
        #expect(stage.player.timeControlStatus == .paused)
        stage.player.play()
        stage.expectPlays([301, 302, 303], count: 10)
    }

    @Test func aFileThatVanishesAndComesBack() throws {
        let path = Clips.folder + "/vanishes-\(UInt32.random(in: 0 ... .max)).mp4"
        try FileManager.default.copyItem(atPath: Reel.thirty(), toPath: path)
        let stage = Stage([PlaylistItem(source: path)])
        #expect(stage.wait(for: 5))
        try FileManager.default.removeItem(atPath: path)
        #expect(stage.wait { stage.numbers.last == 0 && !stage.complaints.isEmpty })
        #expect(stage.complaints.count == 1)
        // Every playthrough that began has ended.
        #expect(
            stage.wait {
                let begun = stage.events.count { if case .itemStarted = $0 { true } else { false } }
                return stage.events.count { $0 == .itemEnded(item: 0) } == begun
            })
        try FileManager.default.copyItem(atPath: Reel.three(), toPath: path)
        #expect(stage.wait(for: 303))
    }

    @Test func theLastItemFailsWithoutLoop() throws {
        let stage = Stage([PlaylistItem(source: try Reel.three()), PlaylistItem(source: "/nowhere/clip.mp4")]) { $0.loop = .off }
        #expect(stage.wait { stage.events.contains(.playlistEnded) })
        #expect(stage.plays([301, 302, 303]) && stage.numbers.last == 303 && stage.pictures.count <= 3, "\(stage.numbers)")
    }

    @Test func aSkipToWhatCannotPlayGoesToTheNext() throws {
        let stage = Stage([
            PlaylistItem(source: try Reel.long()), PlaylistItem(source: "/nowhere/clip.mp4"), PlaylistItem(source: try Reel.fifty()),
        ])
        #expect(stage.wait(for: 1003))
        stage.player.advanceToNextItem()
        #expect(stage.wait(for: 103))
        #expect(!stage.pictures.contains(0))
    }

    @Test func soundWithoutASingleSampleDoesNotSpin() throws {
        let empty = try Clips.make("no-samples.wav", ["-f", "lavfi", "-i", "sine=f=440:r=48000", "-t", "0"])
        let stage = Stage([PlaylistItem(source: empty), PlaylistItem(source: try Reel.three())])
        #expect(stage.wait { stage.numbers.count { $0 == 303 } >= 5 })
        #expect(stage.complaints.map(\.index) == [0])
        let alone = Stage([PlaylistItem(source: empty)])
        #expect(alone.wait { alone.events.contains { if case .nothingPlayable = $0 { true } else { false } } })
    }

    @Test func whatFollowsAnItemThatFailsInASkipIsNoSeam() throws {
        let empty = try Clips.make("no-samples.wav", ["-f", "lavfi", "-i", "sine=f=440:r=48000", "-t", "0"])
        let stage = Stage([PlaylistItem(source: try Reel.long()), PlaylistItem(source: empty), PlaylistItem(source: try Reel.fifty())])
        #expect(stage.wait(for: 1003))
        stage.player.advanceToNextItem()
        func started() -> [Bool] {
            stage.events.compactMap { if case .itemStarted(2, let isSeam, _) = $0 { isSeam } else { nil } }
        }
        #expect(stage.wait { !started().isEmpty })
        #expect(started().first == false)
    }

    /// The player opens the item after an unplayable one while the item before it still has long to go.
    @Test func anItemKnownToFailIsSkippedAheadOfItsTurn() throws {
        let server = try SilentServer()
        let stage = Stage([
            PlaylistItem(source: try Reel.long()), PlaylistItem(source: "/nowhere/clip.mp4"), PlaylistItem(source: server.url),
        ])
        #expect(stage.wait { server.isAsked })
        #expect(stage.numbers.last ?? 0 < Reel.number(at: 9), "of 1300, \(stage.numbers.last ?? 0)")
        #expect(stage.wait { stage.complaints.map(\.index) == [1] })
    }

    @Test func skippingDoesNotBlameTheItemLeft() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: try Reel.long())])
        #expect(stage.wait(for: 3))
        for _ in 0..<40 {
            stage.player.advanceToNextItem()
            _ = stage.wait(0.02) { false }
        }
        #expect(stage.complaints.isEmpty, "\(stage.complaints)")
    }
}
