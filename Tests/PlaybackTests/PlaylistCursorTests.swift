import Testing

@testable import Playback

@Suite struct PlaylistCursorTests {
    private func cursor(_ repeats: [Int], _ loop: LoopMode) -> PlaylistCursor {
        PlaylistCursor(repeats.map { PlaylistItem(source: "/a", repeatCount: $0) }, loop: loop)
    }

    /// The items of the first `count` turns.
    private func order(_ cursor: PlaylistCursor, _ count: Int) -> [Int] {
        var order: [Int] = []
        var position: PlaylistCursor.Position? = .init(index: 0)
        while let here = position, order.count < count {
            order.append(here.index)
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
        #expect(looping.nextItem(after: .init(index: 0))?.index == 1)
        #expect(looping.nextItem(after: .init(index: 1))?.index == 0)
        #expect(looping.previousItem(before: .init(index: 0)).index == 1)
        let once = cursor([2, 1], .off)
        #expect(once.nextItem(after: .init(index: 1)) == nil)
        #expect(once.previousItem(before: .init(index: 0)).index == 0)
    }
}
