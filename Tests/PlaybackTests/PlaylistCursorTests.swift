import Platform
import Testing

@testable import Playback

@Suite struct PlaylistCursorTests {
    private func cursor(_ repeats: [Int], _ loop: LoopMode) -> PlaylistCursor {
        PlaylistCursor(repeats.map { PlaylistItem(source: "/a", repeatCount: $0) }, loop: loop)
    }

    /// The items of the first `count` playthroughs.
    private func order(_ cursor: PlaylistCursor, _ count: Int) -> [Int] {
        var order: [Int] = []
        var position: PlaylistCursor.Position? = .init(item: 0)
        while let here = position, order.count < count {
            order.append(here.item.number)
            position = cursor.following(here)
        }
        return order
    }

    @Test func loopsThePlaylist() { #expect(order(cursor([1, 1, 1], .playlist), 7) == [0, 1, 2, 0, 1, 2, 0]) }
    @Test func repeatsItems() { #expect(order(cursor([2, 1, 3], .playlist), 9) == [0, 0, 1, 2, 2, 2, 0, 0, 1]) }
    @Test func loopsOneItem() { #expect(order(cursor([1, 1], .item), 4) == [0, 0, 0, 0]) }
    @Test func endsWithoutLoop() { #expect(order(cursor([1, 2], .off), 9) == [0, 1, 1]) }
    @Test func aPlaylistOfOne() { #expect(order(cursor([1], .playlist), 3) == [0, 0, 0]) }

    @Test func skipping() {
        let looping = cursor([2, 1], .playlist)
        #expect(looping.nextItem(after: .init(item: 0))?.item == 1)
        #expect(looping.nextItem(after: .init(item: 1))?.item == 0)
        #expect(looping.previousItem(before: .init(item: 0))?.item == 1)
        let once = cursor([2, 1], .off)
        #expect(once.nextItem(after: .init(item: 1)) == nil)
        #expect(once.previousItem(before: .init(item: 0))?.item == 0)
    }

    /// A clip of 4 s in a slot of 10 s: twice whole, then half of it.
    @Test func aClipBeginsAgainWhereItsSlotIsLonger() {
        let cursor = cursor([1, 1], .playlist)
        func playthrough(_ position: PlaylistCursor.Position, _ length: MediaTime, isStill: Bool = false) -> Playthrough {
            Playthrough(
                serial: 0, position: position, item: PlaylistItem(source: "/a", duration: .seconds(10)), itemEnd: length, isStill: isStill,
                isSeekable: true, isWhole: true, isSeam: true)
        }
        let first = PlaylistCursor.Position(item: 0)
        let second = PlaylistCursor.Position(item: 0, remaining: .seconds(6))
        let third = PlaylistCursor.Position(item: 0, remaining: .seconds(2))
        #expect(cursor.following(playthrough(first, .seconds(4))) == second)
        #expect(cursor.following(playthrough(second, .seconds(4))) == third)
        #expect(cursor.following(playthrough(third, .seconds(2))) == .init(item: 1))
        #expect(cursor.following(playthrough(first, .milliseconds(9990))) == .init(item: 1))
        #expect(cursor.following(playthrough(first, .seconds(4), isStill: true)) == .init(item: 1))
    }
}
