import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskPlayback

@Suite struct PlaylistCursorTests {
    private func cursor(_ repeats: [Int], _ loop: LoopMode) -> PlaylistCursor {
        PlaylistCursor(repeats.map { PlaylistItem(source: "/a", repeatCount: $0) }, loop: loop)
    }

    /// Returns the items of the first `count` playthroughs.
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

    /// A clip of 4 s in a slot of 10 s: two whole playthroughs, then half of one.
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

    @Test func anItemThatWaitsIsRepeated() {
        let cursor = PlaylistCursor([PlaylistItem(source: "/a", waitsForTap: true), PlaylistItem(source: "/b")], loop: .off)
        #expect(cursor.following(.init(item: 0)) == .init(item: 0))
        #expect(cursor.nextItem(after: .init(item: 0)) == .init(item: 1), "a viewer may go on")
        #expect(cursor.afterWaiting(.init(item: 0)) == .init(item: 1) && cursor.afterWaiting(.init(item: 1)) == nil)
    }

    @Test func anItemByItsNumber() {
        let cursor = PlaylistCursor([PlaylistItem(source: "/a"), PlaylistItem(source: "/b")], loop: .off)
        #expect(cursor.item(number: 2) == .init(item: 1))
        #expect([0, 3, -1].allSatisfy { cursor.item(number: $0) == nil })
    }

    /// An interlude returns to the item's time at the request; so does another interlude requested meanwhile.
    @Test func anInterludeReturns() {
        var cursor = PlaylistCursor([PlaylistItem(source: "/a"), PlaylistItem(source: "/b")], loop: .off)
        let (id, _) = cursor.list.addInterlude(PlaylistItem(source: "/x"), at: 0)
        #expect(cursor.list.isInterlude(id) && cursor.list.place(of: id) == nil && cursor.list[id]?.source == "/x")
        let present = PlaylistCursor.Position(item: 0, remaining: .seconds(8))
        let resumption = cursor.resumption(of: present, at: .seconds(3), isPaused: true)
        let interlude = PlaylistCursor.Position(item: id, resumption: resumption)
        let back = PlaylistCursor.Position(item: 0, remaining: .seconds(5), begin: .seconds(3), isPaused: true)
        #expect(cursor.following(interlude) == back && cursor.nextItem(after: interlude) == back, "five seconds of its slot are left")
        #expect(cursor.resumption(of: interlude, at: .seconds(1), isPaused: false) == resumption)
        #expect(cursor.following(.init(item: id)) == .init(item: 1), "without a return what follows comes next")
        #expect(cursor.restarted(interlude) == interlude && cursor.following(back) == .init(item: 1))
        _ = cursor.list.remove([0])
        #expect(cursor.following(interlude) == .init(item: 1), "what has left the list is not returned to")
    }

    @Test func whatIsDueComesBetweenTwoItems() {
        var cursor = cursor([2, 1], .playlist)
        let (id, _) = cursor.list.enqueueInterlude(PlaylistItem(source: "/x"), at: 0)
        let revision = cursor.list.revision
        #expect(cursor.list.enqueueInterlude(PlaylistItem(source: "/x"), at: 1).id == id && cursor.list.revision == revision)
        #expect(cursor.list.due == [id])
        let interlude = cursor.following(.init(item: 0))!
        #expect(interlude.item == id && cursor.following(interlude) == .init(item: 0, repetition: 1), "it returns to what would have come")
        #expect(cursor.nextItem(after: .init(item: 0)) == .init(item: 1), "a viewer goes on without it")
        cursor.list.interludeIsOver(id)
        #expect(cursor.following(.init(item: 0)) == .init(item: 0, repetition: 1) && cursor.list.revision == revision + 1)
        // Between two interludes comes an item.
        let two = ["/y", "/z"].map { cursor.list.enqueueInterlude(PlaylistItem(source: $0), at: 0).id }
        #expect(cursor.following(.init(item: 1))?.item == two[0])
        cursor.list.interludeIsOver(two[0])
        #expect(cursor.following(cursor.following(.init(item: 1))!) == .init(item: 0))
        #expect(cursor.following(.init(item: 0, repetition: 1))?.item == two[1])
        // At the end of a list that does not loop, no interlude follows.
        cursor.rules.loop = .off
        #expect(cursor.following(.init(item: 1)) == nil)
        cursor.list.interludeIsOver(99)
    }

    @Test func interludesInARowReturnAfterTheLastOne() {
        var cursor = PlaylistCursor([PlaylistItem(source: "/a"), PlaylistItem(source: "/b")], loop: .playlist)
        let (x, y) = (
            cursor.list.addInterlude(PlaylistItem(source: "/x"), at: 0).id, cursor.list.addInterlude(PlaylistItem(source: "/y"), at: 0).id
        )
        var left = cursor.resumption(of: .init(item: 0), at: .seconds(3), isPaused: false)
        (left.interludes, left.offset, left.limit) = ([y, y], .seconds(2), .seconds(8))
        let first = PlaylistCursor.Position(item: x, resumption: left)
        let second = cursor.following(first), third = second.flatMap { cursor.following($0) }
        #expect(second?.item == y && third?.item == y && second != third, "the same one twice")
        #expect(third.flatMap { cursor.following($0) } == .init(item: 0, begin: .seconds(5)))
        #expect(cursor.nextItem(after: first) == second, "a skip goes to the next one")
        #expect(cursor.resumed(from: first, offset: nil) == .init(item: 0, begin: .seconds(5)), "cancelled")
        for (offset, begin) in [(-1, 2), (-9, 0), (99, 8), (0, 3)] as [(Double, Double)] {
            #expect(cursor.resumed(from: first, offset: .seconds(offset)) == .init(item: 0, begin: .seconds(begin)))
        }
        #expect(cursor.resumed(from: first, offset: MediaTime(nanoseconds: .max))?.begin == .seconds(8))
        #expect(cursor.resumed(from: .init(item: 0), offset: nil) == nil)
    }

    @Test func anInterludeThatIsAskedForAgainIsTheSameItem() {
        var list = Playlist([PlaylistItem(source: "/a"), PlaylistItem(source: "/b")])
        let first = list.addInterlude(PlaylistItem(source: "/x"), at: 0)
        let revision = list.revision
        #expect(list.addInterlude(PlaylistItem(source: "/x"), at: 0).id == first.id && list.revision == revision)
        #expect(list.addInterlude(PlaylistItem(source: "/x"), at: 1).id != first.id, "what follows it is another")
        let many = (0..<1000).map { list.addInterlude(PlaylistItem(source: "/\($0)"), at: 0) }
        #expect(many.reduce(0) { $0 + $1.forgotten.count } == 1002 - Playlist.memory)
        #expect(list[first.id] == nil && !list.isInterlude(first.id))
    }
}
