import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

@Suite(.blocking) struct DisplayLossTests {
    @Test func timeGoesOnInTheDark() throws {
        let stage = Stage([PlaylistItem(source: try Reel.long())])
        #expect(stage.wait { stage.numbers.count > 10 })
        stage.display.setConnected(false)
        let last = try #require(stage.numbers.last)
        let time = stage.player.currentTime
        #expect(stage.wait { stage.player.currentTime - time > .seconds(1) })
        let count = stage.numbers.count
        stage.display.setConnected(true)
        #expect(stage.wait { stage.numbers.count > count + 10 })
        let next = try #require(stage.numbers.dropFirst(count).first)
        #expect(next > last + 15 && next < last + 90, "\(last), a second later \(next)")
        #expect(Stage.missing(from: Array(stage.numbers.dropFirst(count)), cycle: Array(1001...1300)) != nil)
    }

    @Test func aPausedPictureComesBack() throws {
        let stage = Stage([PlaylistItem(source: try Reel.long())])
        #expect(stage.wait(for: 1005))
        let held = try #require(stage.pause())
        for _ in 0..<5 {
            stage.display.setConnected(false)
            _ = stage.wait(0.05) { false }
            let count = stage.numbers.count
            stage.display.setConnected(true)
            #expect(stage.wait { stage.numbers.count > count } && stage.waitUntilStill(for: .milliseconds(100)))
            #expect(stage.numbers.last == held)
        }
        stage.player.play()
        #expect(stage.wait(for: held + 3))
    }

    /// Otherwise the compositor would prepare the picture for the overlay again and again without success, at the cost of a processor.
    @Test func nothingIsPreparedInTheDarkForWhatLiesOverAPausedPicture() throws {
        let display = RecordingDisplay()
        let stage = Stage([PlaylistItem(source: try Reel.long())], display: display)
        #expect(stage.wait(for: 1005))
        let held = try #require(stage.pause())
        let surface = Surface(width: 4, height: 4, pixels: Array(repeating: 0xff00_ff00, count: 16))
        stage.player.setOverlay(Overlay(pictures: [.init(surface: surface, x: 0, y: 0)]))
        #expect(stage.waitUntilStill(for: .milliseconds(200)))
        stage.display.setConnected(false)
        _ = stage.wait(0.3) { false }
        let count = display.prepareCount
        _ = stage.wait(0.3) { false }
        #expect(display.prepareCount - count < 3, "\(display.prepareCount - count)")
        stage.display.setConnected(true)
        let shown = stage.numbers.count
        #expect(stage.wait { stage.numbers.count > shown } && stage.numbers.last == held)
    }

    @Test func aStillComesBack() throws {
        let stage = Stage([PlaylistItem(source: try Reel.still())]) { $0.imageDuration = .seconds(60) }
        #expect(stage.wait(for: 401))
        for _ in 0..<20 {
            stage.display.setConnected(false)
            _ = stage.wait(0.01) { false }
            let count = stage.numbers.count
            stage.display.setConnected(true)
            #expect(stage.wait { stage.numbers.count > count })
        }
        #expect(stage.pictures.allSatisfy { $0 == 401 })
        #expect(stage.display.buffersOut <= 2)
    }

    /// The display changes at any moment of a conversion; each time the picture must come back.
    @Test func comesBackWhateverWasUnderWay() throws {
        let display = RecordingDisplay(composeTime: .milliseconds(7))
        let stage = Stage([PlaylistItem(source: try Reel.still()), PlaylistItem(source: try Reel.long())], display: display) {
            $0.imageDuration = .milliseconds(60)
        }
        #expect(stage.wait(for: 401))
        var random = SeededRandom(seed: 5)
        for round in 0..<40 {
            if round % 3 == 0 { stage.player.seek(to: .milliseconds(30)) }
            if round % 4 == 0 { stage.player.perform(.togglePlayback) }
            display.setConnected(false)
            usleep(UInt32(9000 * abs(random.unit())))
            display.setConnected(true)
            usleep(UInt32(30_000 * abs(random.unit())))
            if round % 5 == 0 { stage.player.advanceToNextItem() }
        }
        stage.player.pause()
        display.setConnected(false)
        let count = stage.numbers.count
        display.setConnected(true)
        #expect(stage.wait { stage.numbers.count > count })
        #expect(stage.waitUntilStill())
        stage.player.play()
        #expect(stage.wait { stage.numbers.count > count + 20 })
    }

    @Test func darkFromTheBeginning() throws {
        let display = RecordingDisplay()
        display.setConnected(false)
        let stage = Stage([PlaylistItem(source: try Reel.long())], display: display)
        #expect(stage.wait { stage.player.currentTime > .milliseconds(150) })
        #expect(stage.numbers.isEmpty)
        display.setConnected(true)
        #expect(stage.wait { stage.numbers.count > 10 })
        #expect(try #require(stage.numbers.first) > 1003)
    }

    @Test func seekingInTheDark() throws {
        let stage = Stage([PlaylistItem(source: try Reel.long())])
        #expect(stage.wait(for: 1003))
        stage.player.pause()
        stage.display.setConnected(false)
        stage.player.seek(to: .seconds(4))
        #expect(stage.wait { abs(stage.player.currentTime.seconds - 4) < 0.01 })
        stage.display.setConnected(true)
        #expect(stage.wait { stage.numbers.last == Reel.number(at: 4) })
    }

    @Test func aSlowDisplayShowsTheLastFrameBeforeTheEnd() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())], display: RecordingDisplay(composeTime: .milliseconds(120))) {
            $0.loop = .off
        }
        #expect(stage.wait { stage.events.contains(.playlistEnded) })
        #expect(stage.waitUntilStill(for: .milliseconds(400)))
        #expect(stage.numbers.last == 30, "\(stage.numbers)")
        #expect(stage.numbers == stage.numbers.sorted())
    }

    @Test func twoBuffersAreEnough() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())], display: RecordingDisplay(buffers: 2))
        stage.expectPlays(Array(1...30), count: 70)
    }

    /// During the snapshot the compositor waits for the second buffer, and no flip reports the end of the snapshot.
    @Test func aSnapshotOfOneOfTwoBuffersHoldsNothingUp() throws {
        let display = RecordingDisplay(buffers: 2)
        let stage = Stage([PlaylistItem(source: try Reel.thirty())], display: display)
        for _ in 0..<3 {
            let seen = display.flips.count
            #expect(stage.wait { display.flips.count > seen + 5 })
            display.beginReading()
            #expect(stage.wait { display.isReadingAlone } && stage.waitUntilStill())
            let before = display.flips.count
            display.endReading()
            #expect(stage.wait { display.flips.count > before + 5 })
        }
        stage.stop()
        #expect(display.violations == [])
    }

    @Test(arguments: [24.0, 50, 75])
    func otherRefreshRates(rate: Double) throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())], display: RecordingDisplay(refreshRate: rate))
        #expect(stage.wait { stage.numbers.count > 60 })
        #expect(stage.plays(Array(1...30)), "\(stage.numbers)")
    }

    @Test func withoutVblanksOfItsOwn() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())], display: RecordingDisplay(reportsVblank: false))
        stage.expectPlays(Array(1...30), count: 70)
    }
}
