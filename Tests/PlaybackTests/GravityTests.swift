import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskPlayback

/// The gravity of pictures, changed while they are shown.
@Suite(.blocking) struct GravityTests {
    @Test func `the gravity of what plays changes at once, and no frame is missing`() throws {
        let stage = Stage([PlaylistItem(source: try Reel.long())])
        #expect(stage.wait(for: 1005))
        #expect(stage.display.gravity == .resizeAspect)
        stage.player.setGravity(.resizeAspectFill, of: 0)
        #expect(stage.wait { stage.display.gravity == .resizeAspectFill })
        // Frames of the same showing, long before its end.
        #expect(stage.numbers.allSatisfy { $0 < 1250 })
        let count = stage.numbers.count
        #expect(stage.wait { stage.numbers.count > count + 20 })
        #expect(stage.display.gravity == .resizeAspectFill)
        let shown = stage.pictures.reduce(into: [Int]()) { if $0.last != $1 { $0.append($1) } }
        let missing = Stage.missing(from: shown, cycle: Array(1001...1300))
        #expect(missing.map { $0 <= stage.statistics.framesDropped } == true, "\(shown)")
    }

    @Test func `the gravity of a picture that stands changes at once`() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())])
        #expect(stage.wait(for: 5))
        let number = stage.pause()
        stage.player.setGravity(.resize, of: 0)
        #expect(stage.wait { stage.display.gravity == .resize })
        #expect(stage.numbers.last == number && stage.player.timeControlStatus == .paused)
        stage.player.play()
        #expect(stage.wait { stage.statistics.seams > 1 })
        #expect(stage.display.gravity == .resize)
    }

    @Test func `an entry that is fitted another way is the same item`() {
        var list = Playlist([PlaylistItem(source: "/a"), PlaylistItem(source: "/b")])
        let before = list
        #expect(list.replace(with: [PlaylistItem(source: "/b"), PlaylistItem(source: "/a", gravity: .resize)]) == [])
        #expect(list.items.map(\.id) == [1, 0])
        #expect(list.gravities(changedSince: before) == [0: .resize])
        #expect(!list.setGravity(.resize, of: 0) && list.setGravity(.resizeAspectFill, of: 1) && !list.setGravity(.resize, of: 7))
        #expect(list.gravities(changedSince: before) == [0: .resize, 1: .resizeAspectFill])
    }
}
