import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

@Suite(.blocking) struct SeekTests {
    /// Returns a player that plays the ten-second clip.
    private func stage(_ item: (inout PlaylistItem) -> Void = { _ in }) throws -> Stage {
        var playing = PlaylistItem(source: try Reel.long())
        item(&playing)
        let stage = Stage([playing])
        #expect(stage.wait { stage.numbers.count > 3 })
        return stage
    }

    @Test(arguments: [0.0, 0.1, 1.999, 2.0, 5.55, 9.9])
    func theFrameOfTheMomentIsTheNextOneShown(seconds: Double) throws {
        let stage = try stage()
        _ = stage.pause()
        let count = stage.numbers.count
        stage.player.seek(to: .seconds(seconds))
        #expect(stage.wait { stage.numbers.count > count } && stage.waitUntilStill())
        #expect(Array(stage.numbers.dropFirst(count)) == [Reel.number(at: seconds)], "paused, one frame and no other")
        #expect(abs(stage.player.currentTime.seconds - seconds) < 0.04)
        // From there on, one after the other.
        stage.player.play()
        let first = Reel.number(at: seconds)
        #expect(stage.wait { stage.numbers.count > count + 3 })
        if stage.statistics.framesDropped == 0, first <= 1296 {
            #expect(Array(stage.numbers.dropFirst(count).prefix(4)) == Array(first...first + 3))
        }
    }

    @Test func whilePlayingThePictureStandsUntilTheNewOneIsThere() throws {
        let stage = try stage()
        stage.player.seek(to: .seconds(6))
        #expect(stage.wait(for: Reel.number(at: 6)))
        let numbers = stage.pictures
        let index = try #require(numbers.firstIndex { $0 >= Reel.number(at: 6) })
        #expect(numbers[..<index].allSatisfy { (1001..<1100).contains($0) })
        #expect(!numbers.contains(0))
    }

    @Test func relativeSeeksAddUpBeforeTheFirstIsShown() throws {
        let stage = try stage()
        _ = stage.pause()
        stage.player.seek(to: .seconds(1))
        for _ in 0..<4 { stage.player.seek(by: .seconds(1)) }
        stage.player.seek(by: -.milliseconds(500))
        #expect(stage.wait(for: Reel.number(at: 4.5)) && stage.waitUntilStill())
        #expect(stage.numbers.last == Reel.number(at: 4.5))
    }

    @Test func aKeyThatIsHeldDownShowsWhereItIsAndEndsExactly() throws {
        let display = RecordingDisplay(composeTime: .milliseconds(40))
        let stage = Stage([PlaylistItem(source: try Reel.long())], display: display)
        #expect(stage.wait { stage.numbers.count > 3 })
        _ = stage.pause()
        var counts: [Int] = []
        // Retry if the machine was too busy to show any in so short a time.
        while counts.count < 3, counts.last ?? 0 <= 2 {
            stage.player.seek(to: .zero)
            #expect(stage.wait { stage.numbers.last == 1001 } && stage.waitUntilStill())
            let count = stage.numbers.count
            // Faster than any picture can follow: each seek comes before the last one's picture.
            for _ in 0..<80 {
                stage.player.perform(.seekBy(.milliseconds(100)))
                usleep(10_000)
            }
            #expect(stage.wait(for: Reel.number(at: 8), since: count) && stage.waitUntilStill())
            let shown = Array(stage.numbers.dropFirst(count))
            #expect(shown.last == Reel.number(at: 8), "the last seek is exact")
            #expect(zip(shown, shown.dropFirst()).allSatisfy { $0 <= $1 }, "and none went back: \(shown)")
            counts.append(shown.count)
        }
        #expect(counts.last! > 2, "some pictures were shown on the way: \(counts)")
    }

    @Test func seeksAreClampedToTheItem() throws {
        let stage = try stage()
        _ = stage.pause()
        stage.player.seek(by: .seconds(1000))
        #expect(stage.wait(for: 1300) && stage.waitUntilStill())
        #expect(stage.numbers.last == 1300)
        stage.player.seek(by: -.seconds(1000))
        #expect(stage.wait { stage.numbers.last == 1001 } && stage.waitUntilStill())
        #expect(stage.numbers.last == 1001)
        // Absurd spans are clamped like any other.
        stage.player.seek(by: MediaTime(nanoseconds: .max))
        stage.player.seek(by: MediaTime(nanoseconds: .max))
        #expect(stage.wait { stage.numbers.last == 1300 })
        stage.player.seek(to: MediaTime(nanoseconds: .min))
        #expect(stage.wait { stage.numbers.last == 1001 })
        stage.player.perform(.seekSteps(.max))
        #expect(stage.wait { stage.numbers.last == 1300 })
    }

    @Test func seeksAreClampedToTheTrimming() throws {
        let stage = try stage { ($0.start, $0.end) = (.seconds(2), .seconds(3)) }
        _ = stage.pause()
        stage.player.seek(by: .seconds(1000))
        #expect(stage.wait { stage.numbers.last == Reel.number(at: 2.99) } && stage.waitUntilStill())
        #expect(stage.numbers.last == Reel.number(at: 2.99), "the last frame before the end, and not the first behind it")
        stage.player.seek(to: .zero)
        #expect(stage.wait { stage.numbers.last == Reel.number(at: 2) } && stage.waitUntilStill())
        #expect(stage.numbers.last == Reel.number(at: 2))
        #expect(stage.pictures.allSatisfy { (1061...1090).contains($0) })
    }

    @Test func keyFrameSeeksLandOnKeyFrames() throws {
        let stage = try stage()
        _ = stage.pause()
        let count = stage.numbers.count
        stage.player.seek(to: .seconds(7.7), precision: .keyFrame())
        #expect(stage.wait { stage.numbers.count > count } && stage.waitUntilStill())
        #expect(stage.numbers.last == Reel.number(at: 7))
        #expect(stage.player.currentTime == .seconds(7))
    }

    @Test func playingOnFromTheEndBeginsTheNextPlaythrough() throws {
        let stage = try stage()
        stage.player.seek(to: .seconds(100))
        #expect(stage.wait(for: 1300))
        #expect(stage.wait(for: 1003, since: stage.numbers.firstIndex(of: 1300) ?? 0))
    }

    @Test func aSeekIntoTheNextItemWhileItOpens() throws {
        // Retry if this thread came too late: the next item's first picture was on its way before the seek.
        var firsts: [Int] = []
        while firsts.count < 5, firsts.last != Reel.number(at: 3) {
            let stage = Stage([PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: try Reel.long())])
            #expect(stage.wait { stage.numbers.count > 3 })
            stage.player.advanceToNextItem()
            stage.player.seek(by: .seconds(3))
            #expect(stage.wait { stage.numbers.contains { $0 > 1000 } })
            firsts.append(stage.numbers.first { $0 > 1000 } ?? 0)
        }
        #expect(firsts.last == Reel.number(at: 3), "\(firsts)")
    }

    @Test func aSeekInASoundKeepsItsCover() throws {
        let stage = Stage([PlaylistItem(source: try Reel.covered())])
        #expect(stage.wait(for: 401))
        let count = stage.numbers.count
        stage.player.seek(to: .milliseconds(300))
        #expect(stage.wait { stage.numbers.count > count + 1 })
        #expect(stage.pictures.allSatisfy { $0 == 401 })
    }

    @Test func aSeekInAStillShortensIt() throws {
        let stage = Stage([PlaylistItem(source: try Reel.still()), PlaylistItem(source: try Reel.three())]) {
            $0.imageDuration = .seconds(60)
        }
        #expect(stage.wait(for: 401))
        stage.player.seek(to: .seconds(59.5))
        #expect(stage.wait { stage.numbers.contains { (301...303).contains($0) } })
    }
}
