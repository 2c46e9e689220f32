import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskPlayback

/// A finger on the slider, on a clip with a key frame every second.
@Suite(.blocking) struct ScrubTests {
    private func stage(playsWhileScrubbing: Bool = false, isPaused: Bool = false) throws -> Stage {
        try Stage([PlaylistItem(source: Reel.long())], isPaused: isPaused) { $0.playsWhileScrubbing = playsWhileScrubbing }
    }

    @Test func keyFramesWhileItIsHeldAndTheExactOneWhenItIsLetGo() throws {
        let stage = try stage()
        let player = stage.player
        #expect(stage.wait(for: 1010))
        var told: [MediaTime] = []
        for step in 1...40 {
            player.scrub(to: .milliseconds(Int64(2000 + step * 100)))
            told.append(player.snapshot.time)
            #expect(player.snapshot.isScrubbing)
            _ = stage.wait(0.01) { false }
        }
        #expect(told == (1...40).map { .milliseconds(Int64(2000 + $0 * 100)) }, "the time is the finger's")
        #expect(stage.wait { stage.numbers.last == 1181 }, "the key frame at 6 s: \(stage.numbers.suffix(5))")
        #expect(stage.waitUntilStill(for: .milliseconds(400)), "it stands")
        #expect(player.snapshot.time == .seconds(6) && player.timeControlStatus != .paused)
        let count = stage.numbers.count
        player.endScrub(at: .seconds(4.5))
        #expect(player.snapshot.time >= .seconds(4.5) && !player.snapshot.isScrubbing)
        #expect(stage.wait { stage.numbers.count > count + 10 })
        let next = stage.numbers.dropFirst(count).prefix(3)
        #expect(next.first == Reel.number(at: 4.5), "the next one seen: \(next)")
        #expect(stage.wait { player.timeControlStatus == .playing })
    }

    @Test func itPlaysOnFromTheKeyFrameWhereThatIsWished() throws {
        let stage = try stage(playsWhileScrubbing: true)
        #expect(stage.wait(for: 1010))
        stage.player.scrub(to: .seconds(5.5))
        #expect(stage.wait(for: 1170))
        #expect(stage.numbers.contains(1151) && stage.player.snapshot.time == .seconds(5.5))
        stage.player.endScrub(at: .seconds(2.5))
        #expect(stage.wait(for: 1080))
    }

    @Test func inAPauseItStaysPaused() throws {
        let stage = try stage(isPaused: true)
        #expect(stage.wait(for: 1001) && stage.waitUntilStill())
        stage.player.scrub(to: .seconds(5.5))
        #expect(stage.wait { stage.numbers.last == 1151 })
        stage.player.endScrub(at: .seconds(5.5))
        #expect(stage.wait { stage.numbers.last == Reel.number(at: 5.5) } && stage.waitUntilStill())
        #expect(stage.player.timeControlStatus == .paused && stage.player.snapshot.time == .seconds(5.5))
    }

    /// A skip or another seek ends the scrubbing.
    @Test func whatElseIsAskedForEndsIt() throws {
        let stage = Stage([PlaylistItem(source: try Reel.long()), PlaylistItem(source: try Reel.fifty())])
        #expect(stage.wait(for: 1010))
        stage.player.scrub(to: .seconds(5))
        stage.player.perform(.seekTo(.seconds(3)))
        #expect(!stage.player.snapshot.isScrubbing)
        #expect(stage.wait(for: Reel.number(at: 3.5)), "it plays on")
        stage.player.scrub(to: .seconds(5))
        stage.player.perform(.nextItem)
        #expect(!stage.player.snapshot.isScrubbing && stage.wait(for: 110))
    }

    /// The time on the screen never goes back behind the finger's place.
    @Test func theTimeDoesNotJumpBack() throws {
        let stage = try stage()
        #expect(stage.wait(for: 1010))
        for target in [7.3, 2.6, 8.9, 4.2] {
            stage.player.scrub(to: .seconds(target))
            _ = stage.wait(0.05) { false }
            stage.player.endScrub(at: .seconds(target))
            var earliest = MediaTime.seconds(99)
            let begin = HostTime.now
            _ = stage.wait {
                earliest = min(earliest, stage.player.snapshot.time)
                return HostTime.now - begin > .milliseconds(250)
            }
            #expect(earliest >= .seconds(target), "\(earliest)")
        }
    }
}
