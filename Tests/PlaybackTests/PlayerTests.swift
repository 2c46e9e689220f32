import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

/// The whole engine on a display that records its pictures. These tests judge the frames and their order. The simulation
/// (``TimelineSimulationTests``) and the bed judge how long each frame stands.
@Suite(.blocking) struct PlayerTests {
    @Test func loopsEveryFrameInOrder() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())])
        stage.expectPlays(Array(1...30), count: 100)
        #expect(stage.statistics.seams >= 3)
        #expect(stage.events.contains(.itemStarted(item: 0, isSeam: false, late: 0)))
    }

    @Test func itemsOfDifferentRateAndSizeFollowEachOther() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: try Reel.fifty())])
        stage.expectPlays(Array(1...30) + Array(101...120), count: 110)
    }

    @Test func itemsAreRepeatedAsOftenAsTheySay() throws {
        let stage = Stage([
            PlaylistItem(source: try Reel.three(), repeatCount: 3), PlaylistItem(source: try Reel.fifty(), repeatCount: 1),
        ])
        stage.expectPlays([301, 302, 303, 301, 302, 303, 301, 302, 303] + Array(101...120), count: 60)
    }

    @Test func oneFrameItemsAndItemsShorterThanTheQueue() throws {
        let stage = Stage([PlaylistItem(source: try Reel.single()), PlaylistItem(source: try Reel.three())])
        stage.expectPlays([201, 301, 302, 303], count: 40)
    }

    @Test func oneFrameAgainAndAgain() throws {
        let stage = Stage([PlaylistItem(source: try Reel.single())])
        #expect(stage.wait { stage.statistics.seams > 20 })
        #expect(stage.pictures.allSatisfy { $0 == 201 })
    }

    @Test func aPlaylistThatEndsInSoundAloneEnds() throws {
        let stage = Stage([PlaylistItem(source: try Reel.tone())]) { $0.loop = .off }
        #expect(stage.wait { stage.events.contains(.playlistEnded) })
        #expect(stage.player.timeControlStatus == .paused)
    }

    @Test func loopOfOneItemNeverMovesOn() throws {
        let stage = Stage([PlaylistItem(source: try Reel.three()), PlaylistItem(source: try Reel.fifty())]) { $0.loop = .item }
        stage.expectPlays([301, 302, 303], count: 12)
        stage.player.perform(.nextItem)
        #expect(stage.wait(for: 120))
        #expect(stage.wait { stage.numbers.count { $0 == 101 } > 2 })
        #expect(stage.numbers.last != 301)
    }

    @Test func startAndEndAreTrimmed() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty(), start: .milliseconds(500), end: .milliseconds(800))])
        stage.expectPlays(Array(16...24), count: 30)
    }

    @Test func aSlotCutsALongerClip() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty(), start: .milliseconds(100), duration: .milliseconds(200))])
        stage.expectPlays(Array(4...9), count: 30)
    }

    @Test func aSlotRepeatsAShorterClip() throws {
        let stage = Stage([
            PlaylistItem(source: try Reel.thirty(), start: .milliseconds(800), duration: .milliseconds(500)),
            PlaylistItem(source: try Reel.three()),
        ])
        stage.expectPlays(Array(25...30) + Array(25...30) + Array(25...27) + [301, 302, 303], count: 50)
    }

    @Test func aSlotRepeatsAClipOfUnknownLength() throws {
        let raw = try Clips.make("raw.h264", ["-i", Reel.thirty(), "-an", "-c:v", "copy", "-bsf:v", "h264_mp4toannexb", "-f", "h264"])
        let stage = Stage([PlaylistItem(source: raw, duration: .milliseconds(1500)), PlaylistItem(source: try Reel.three())])
        #expect(stage.wait(for: 303))
        let numbers = stage.pictures.prefix { $0 < 301 }
        #expect(zip(numbers, numbers.dropFirst()).count { $1 < $0 } == 1, "\(numbers)")
    }

    @Test func aStartBehindTheEndShowsTheLastFrame() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty(), start: .seconds(60)), PlaylistItem(source: try Reel.three())])
        stage.expectPlays([30, 301, 302, 303], count: 12)
    }

    @Test func stillsStandForTheirTime() throws {
        let stage = Stage([
            PlaylistItem(source: try Reel.still(), duration: .milliseconds(400)), PlaylistItem(source: try Reel.three()),
            PlaylistItem(source: try Reel.still()), PlaylistItem(source: try Reel.single()),
        ]) { $0.imageDuration = .milliseconds(200) }
        stage.expectPlays([401, 301, 302, 303, 401, 201], count: 16)
        func stills() -> [Int] { stage.display.holds.filter { $0.number == 401 }.map(\.vblanks) }
        // 24 and 12 vblanks; the first also waits for the sound to begin. On a busy machine, any playthrough will do.
        let areRight = stage.wait(120) {
            let stills = stills().dropFirst()
            return zip(stills, stills.dropFirst()).contains { short, long in long > short + 4 && long > 15 && short > 7 }
        }
        #expect(areRight, "\(stills())")
    }

    @Test("A picture's own time leaves clips whole") func imageDurationOfAnEntry() throws {
        let rules = [try Reel.thirty(), try Reel.still()].map { PlaylistItem(source: $0, imageDuration: .milliseconds(300)) }
        let stage = Stage(rules) { $0.imageDuration = .seconds(600) }
        stage.expectPlays(Array(1...30) + [401], count: 70)
    }

    @Test func soundAloneIsShownAsBackgroundOrCover() throws {
        let stage = Stage([
            PlaylistItem(source: try Reel.tone()), PlaylistItem(source: try Reel.three()), PlaylistItem(source: try Reel.covered()),
        ])
        #expect(stage.wait { stage.numbers.count { $0 == 301 } >= 2 })
        #expect(stage.plays([301, 302, 303, 401, 0]), "\(stage.numbers)")
        // As long as their sound: 60 vblanks and 36. The first playthrough also waits for the sound to begin. On a busy machine, any
        // playthrough will do.
        for (number, vblanks) in [(401, 40...80), (0, 24...50)] {
            let isRight = stage.wait(120) {
                stage.display.holds.dropFirst().contains { $0.number == number && vblanks.contains($0.vblanks) }
            }
            #expect(isRight, "\(number): \(stage.display.holds)")
        }
    }

    @Test func mutedSoundAloneLastsAsLong() throws {
        let audio = RecordingOutput()
        let stage = Stage([PlaylistItem(source: try Reel.tone(), isMuted: true), PlaylistItem(source: try Reel.three())], audio: audio)
        #expect(stage.wait { stage.numbers.count { $0 == 303 } >= 2 })
        // On a busy machine, any playthrough will do.
        let isRight = stage.wait { stage.display.holds.dropFirst().contains { $0.number == 0 && $0.vblanks > 24 } }
        #expect(isRight, "\(stage.display.holds)")
    }

    @Test func withoutLoopTheLastFrameStaysUntilPlayedAgain() throws {
        let stage = Stage([PlaylistItem(source: try Reel.three()), PlaylistItem(source: try Reel.fifty())]) { $0.loop = .off }
        #expect(stage.wait { stage.events.contains(.playlistEnded) })
        #expect(stage.waitUntilStill())
        #expect(stage.plays([301, 302, 303] + Array(101...120)), "\(stage.numbers)")
        #expect(stage.numbers.last == 120)
        #expect(stage.player.timeControlStatus == .paused)
        stage.player.advanceToNextItem()  // there is none
        let count = stage.numbers.count
        stage.player.play()
        #expect(stage.wait(for: 120, since: count))
        #expect(stage.numbers.dropFirst(count).first == 301)
        // On a too busy machine the player also reports its waits.
        let events = stage.events.filter { event in
            switch event {
            case .itemStarted, .itemStatusChanged: false
            default: event != .statusChanged(.waitingToPlay)
            }
        }
        #expect(events.first == .statusChanged(.playing), "\(events)")
        let ends = events.filter { $0 != .statusChanged(.playing) }
        #expect(ends.prefix(3) == [.itemEnded(item: 0), .itemEnded(item: 1), .playlistEnded], "\(events)")
    }

    @Test func pausedOnTheLastFrameItGoesOnAndDoesNotReplay() throws {
        let stage = Stage([PlaylistItem(source: try Reel.three()), PlaylistItem(source: try Reel.still())]) {
            ($0.loop, $0.imageDuration) = (.off, .seconds(8))
        }
        #expect(stage.wait(for: 401))
        // Everything has been decoded by now, and nothing has ended.
        _ = stage.wait(2.2) { false }
        #expect(stage.pause() == 401)
        stage.player.play()
        #expect(stage.wait { stage.events.contains(.playlistEnded) })
        #expect(stage.plays([301, 302, 303, 401]) && stage.numbers.last == 401, "\(stage.numbers)")
    }

    @Test func anEmptyPlaylistShowsTheBackground() {
        let stage = Stage([])
        #expect(stage.wait(for: 0))
        for command: PlayerCommand in [.nextItem, .previousItem, .restartItem, .seekSteps(1), .pause, .play] {
            stage.player.perform(command)
        }
        #expect(stage.waitUntilStill())
        #expect(stage.numbers.allSatisfy { $0 == 0 })
    }
}
