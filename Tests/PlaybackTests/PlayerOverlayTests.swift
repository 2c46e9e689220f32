import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

/// Overlays, with the player's own threads.
@Suite(.blocking) struct PlayerOverlayTests {
    private let surface = Surface(width: 2, height: 2, pixels: [0, 0, 0, 0])
    private func overlay(_ x: Int) -> Overlay { Overlay(pictures: [.init(surface: surface, x: x, y: 0)]) }

    @Test(arguments: [true, false]) func isSeenPlayingAndPaused(hasPlane: Bool) throws {
        let display = RecordingDisplay(hasOverlayPlane: hasPlane)
        let stage = Stage([PlaylistItem(source: try Reel.long())], display: display)
        #expect(stage.wait(for: 1005))
        for value in 1...20 {
            stage.player.setOverlay(overlay(value), at: .now)
            #expect(stage.wait { display.overlay == value })
        }
        #expect(stage.wait { stage.statistics.inputLatency.total == 20 })
        #expect(stage.pause() != nil)
        let held = stage.numbers.last
        for value in 21...40 {
            stage.player.setOverlay(overlay(value), at: .now)
            #expect(stage.wait { display.overlay == value })
        }
        stage.player.setOverlay(overlay(40), at: .now)
        stage.player.setOverlay(Overlay(), at: .now)
        #expect(stage.wait { display.overlay == 0 && stage.statistics.inputLatency.total == 41 }, "the same again changes nothing")
        #expect(stage.numbers.last == held)
        stage.player.play()
        stage.player.setOverlay(overlay(50))
        #expect(stage.wait(for: 1100) && display.overlay == 50)
        // A picture comes again if its overlay has changed.
        let pictures = zip([0] + stage.pictures, stage.pictures).filter { $0 != $1 }.map(\.1)
        let missing = Stage.missing(from: pictures, cycle: Array(1001...1300))
        #expect(missing.map { $0 <= stage.statistics.framesDropped } == true, "\(pictures)")
    }

    @Test(arguments: [true, false]) func comesBackWithTheDisplay(hasPlane: Bool) throws {
        let display = RecordingDisplay(hasOverlayPlane: hasPlane)
        let stage = Stage([PlaylistItem(source: try Reel.long())], display: display)
        #expect(stage.wait(for: 1005))
        stage.player.setOverlay(overlay(7))
        #expect(stage.wait { display.overlay == 7 })
        for isPaused in [false, true] {
            if isPaused { stage.player.pause() }
            display.setConnected(false)
            #expect(stage.wait(until: { stage.player.timeControlStatus == (isPaused ? .paused : .playing) }))
            _ = stage.wait(0.1) { false }
            display.setConnected(true)
            #expect(stage.wait { display.overlay == 7 })
        }
    }

    /// Even without a picture, the overlay shows.
    @Test(arguments: [true, false]) func liesOverTheBareBackground(hasPlane: Bool) throws {
        let display = RecordingDisplay(hasOverlayPlane: hasPlane)
        let stage = Stage([PlaylistItem(source: "/nowhere.mp4")], display: display)
        stage.player.setOverlay(overlay(3))
        #expect(stage.wait { display.overlay == 3 })
        stage.player.setOverlay(overlay(4))
        #expect(stage.wait { display.overlay == 4 })
    }

    /// The player clamps all numbers to a range with which an output can calculate.
    @Test func numbersFromOutsideAreClamped() throws {
        let display = RecordingDisplay(hasOverlayPlane: true)
        let stage = Stage([PlaylistItem(source: try Reel.still())], display: display)
        for (given, seen) in [(Int.max, 1_000_000), (.min, -1_000_000)] {
            stage.player.setOverlay(Overlay(pictures: [.init(surface: surface, x: given, y: given, alpha: .nan)]))
            #expect(stage.wait { display.overlay == seen })
        }
        stage.player.expectOverlay()
    }
}
