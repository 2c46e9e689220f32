import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskPlayback

@Suite(.blocking) struct SeekAfterFailureTests {
    /// A seek just after an unplayable item applies to the item that plays in its place.
    @Test func `a seek right after an unplayable item lands in the next`() throws {
        let stage = Stage([PlaylistItem(source: "/nowhere/at/all.mp4"), PlaylistItem(source: try Reel.long())])
        let effect = Monitor<PlayerEffect?>(nil)
        stage.player.addObserver { [player = stage.player] event in
            guard case .itemFailed(0, _) = event else { return }
            let asked = player.seekEffect(to: .seconds(6), precision: .exact)
            effect.signal { $0 = $0 ?? asked }
        }
        #expect(stage.wait { effect.withLock { $0 } != nil || stage.numbers.contains(1001) })
        let asked = effect.withLock { $0 } ?? stage.player.seekEffect(to: .seconds(6), precision: .exact)
        #expect(stage.wait { stage.player.state(of: asked) != .awaited })
        #expect(stage.player.state(of: asked) == .seen)
        #expect(stage.wait(for: Reel.number(at: 6)))
        #expect(stage.player.currentItem == 1)
    }

    @Test func `what is gone to is the current item before its first picture`() throws {
        let stage = Stage([PlaylistItem(source: try Reel.long()), PlaylistItem(source: try Reel.fifty())])
        #expect(stage.player.currentItem == 0)
        #expect(stage.wait(for: 1005))
        stage.player.perform(.selectItem(2))
        #expect(stage.player.currentItem == 1)
        #expect(stage.player.wantsPlay)
        stage.player.pause()
        #expect(!stage.player.wantsPlay)
    }
}
