import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskPlayback

/// A word is a list; each letter is an item.
@Suite struct PlaylistTests {
    private func numbers(_ list: Playlist) -> [Int] { list.items.map(\.id.number) }

    private func items(_ word: String) -> [PlaylistItem] { word.map { PlaylistItem(source: "/\($0)") } }

    @Test(arguments: [
        // An item that stays keeps its number, wherever it stands now.
        ("abc", "abc", [0, 1, 2]), ("abc", "cba", [2, 1, 0]), ("abc", "axbc", [0, 3, 1, 2]), ("abc", "ac", [0, 2]),
        // A file replaced by one of another name.
        ("abc", "axc", [0, 3, 2]), ("a", "x", [1]), ("", "ab", [0, 1]), ("abc", "", []),
        // Among equal items, the n-th stays the n-th.
        ("aab", "aab", [0, 1, 2]), ("aab", "baa", [2, 0, 1]), ("aab", "ab", [0, 2]), ("ab", "aaab", [0, 2, 3, 1]),
        ("aba", "bxaa", [1, 3, 0, 2]),
    ])
    func numbers(before: String, after: String, expected: [Int]) {
        var list = Playlist(items(before))
        let forgotten = list.replace(with: items(after))
        #expect(numbers(list) == expected)
        #expect((forgotten == nil) == (before == after))
        #expect(list.revision == (before == after ? 0 : 1))
        for (place, item) in list.items.enumerated() {
            #expect(list.place(of: item.id) == place && list[item.id] == items(after)[place] && item.entry == items(after)[place])
        }
    }

    /// The successor of each item of the first list, in a looping list and in one that plays once.
    @Test(arguments: [
        (["abc", "acb"], "cab", "c-b"),
        // A removed item is followed by the successor of the last item before it that stayed.
        (["abc", "ac"], "cca", "cc-"), (["abc", "axc"], "xxa", "xx-"), (["abc", "xc"], "xxx", "xx-"), (["abc", "c"], "ccc", "cc-"),
        (["abc", "xyz"], "xxx", "xxx"), (["abc", ""], "---", "---"), (["abcd", "adx"], "dddx", "dddx"),
        // The same, step by step.
        (["abc", "ab", "xa"], "xxx", "---"), (["abcd", "abd", "ad", "aed"], "eeea", "eee-"), (["abc", "", "abc"], "bca", "bc-"),
    ])
    func whatFollows(lists: [String], looping: String, once: String) {
        for (loop, expected) in [(LoopMode.playlist, looping), (.off, once)] {
            var cursor = PlaylistCursor(items(lists[0]), loop: loop)
            for list in lists.dropFirst() { _ = cursor.list.replace(with: items(list)) }
            let following = lists[0].indices.enumerated().map { number, _ in
                cursor.following(.init(item: .init(number))).map { String(cursor.list[$0.item]!.source.dropFirst()) } ?? "-"
            }
            // "xa" after "ab": b stood behind a, which is the last now.
            #expect(following.joined() == expected.map { String($0) }.joined(), "\(lists) \(loop)")
        }
    }

    @Test func whatComesBackGetsItsNumberBack() {
        var list = Playlist(items("abc"))
        for word in ["ab", "b", "", "bx", "cab"] { _ = list.replace(with: items(word)) }
        #expect(numbers(list) == [2, 0, 1])
        _ = list.replace(with: items("xabc"))
        #expect(numbers(list) == [3, 0, 1, 2])
    }

    /// A stick is pulled out and put in again. The missing file already plays by its name. Once found, it stays the same item; otherwise it
    /// would follow itself.
    @Test func aMissingFileThatHasComeStaysTheItem() {
        func items(_ version: FileVersion?) -> [PlaylistItem] {
            ["/a", "/b"].map { source in
                var item = PlaylistItem(source: source)
                item.version = source == "/b" ? version : nil
                return item
            }
        }
        let first = FileVersion(device: 1, inode: 2, size: 3, modified: 4), second = FileVersion(device: 1, inode: 3, size: 3, modified: 5)
        var cursor = PlaylistCursor(items(first), loop: .playlist)
        let isChosen = cursor.list.select(.number(2), of: .audio, in: .init(1))
        #expect(isChosen)
        _ = cursor.list.replace(with: items(nil))
        #expect(numbers(cursor.list) == [0, 2])
        _ = cursor.list.replace(with: items(first))
        #expect(numbers(cursor.list) == [0, 2] && cursor.list.items[1].entry.version == first)
        #expect(cursor.following(.init(item: 2))?.item == 0)
        #expect(cursor.list[.init(2)]?.audioTrack == .number(2))
        // The list may leave it out for a moment, while a program could still be writing it.
        for list in [items(nil), [items(nil)[0]], items(first)] { _ = cursor.list.replace(with: list) }
        #expect(numbers(cursor.list) == [0, 3] && cursor.following(.init(item: 3))?.item == 0)
        // A file that is there and changes becomes another item, as before.
        _ = cursor.list.replace(with: items(second))
        #expect(numbers(cursor.list) == [0, 4])
    }

    @Test func whatHasLeftIsNotRepeated() {
        let repeated = PlaylistItem(source: "/r", repeatCount: 5)
        for loop in [LoopMode.playlist, .item] {
            var cursor = PlaylistCursor([repeated] + items("a"), loop: loop)
            #expect(cursor.following(.init(item: 0))?.item == 0)
            _ = cursor.list.replace(with: items("a"))
            #expect(cursor.following(.init(item: 0))?.item == 1)
        }
    }

    @Test func movesFromWhatHasLeft() {
        var cursor = PlaylistCursor(items("abc"), loop: .playlist)
        _ = cursor.list.replace(with: items("axc"))
        #expect(cursor.nextItem(after: .init(item: 1))?.item == 3)
        #expect(cursor.previousItem(before: .init(item: 1))?.item == 0)
        _ = cursor.list.replace(with: [])
        #expect(
            cursor.first == nil && cursor.nextItem(after: .init(item: 1)) == nil && cursor.previousItem(before: .init(item: 1)) == nil)
        #expect(cursor.awaitsItems)
    }

    /// A folder whose files are replaced every day for years.
    @Test func whatLeftLongAgoIsForgotten() {
        var list = Playlist(items("a"))
        var forgotten: [QueueItem.ID] = []
        for day in 0..<4000 { forgotten += list.replace(with: [PlaylistItem(source: "/\(day)")] + items("a"))! }
        #expect(forgotten.count == 3999 - Playlist.memory && Set(forgotten).count == forgotten.count)
        #expect(forgotten.allSatisfy { list[$0] == nil } && list.place(after: forgotten[0]) == 0)
        #expect(numbers(list).last == 0)
    }

    /// After any sequence of lists, numbers are unique and keep their items, and the successor is on the list.
    @Test func anyChanges() {
        var random = Proof.Random()
        var cursor = PlaylistCursor(items("abc"), loop: .playlist)
        var named: [QueueItem.ID: PlaylistItem] = [:]
        for _ in 0..<2000 {
            for item in cursor.list.items { #expect(named.updateValue(item.entry, forKey: item.id) ?? item.entry == item.entry) }
            #expect(Set(cursor.list.items.map(\.id)).count == cursor.list.items.count)
            let ids = named.keys.sorted { $0.number < $1.number }
            for id in ids {
                let next = cursor.nextItem(after: .init(item: id))
                #expect(next.map { cursor.list.place(of: $0.item) != nil } ?? cursor.list.isEmpty)
            }
            let word = String((0..<Int.random(in: 0...6, using: &random)).map { _ in "abcdefgh".randomElement(using: &random)! })
            switch Int.random(in: 0..<5, using: &random) {
            case 0: _ = cursor.list.insert(items(word), at: Int.random(in: -1...7, using: &random))
            case 1: _ = cursor.list.remove(Set(ids.filter { _ in Bool.random(using: &random) }))
            case 2: _ = ids.randomElement(using: &random).map { cursor.list.move($0, to: Int.random(in: -1...7, using: &random)) }
            case 3: _ = cursor.list.arrange(cursor.list.items.shuffled(using: &random))
            default: _ = cursor.list.replace(with: items(word))
            }
        }
    }

    /// Expects a list after a change, as numbers, and whether it counted as a change.
    private func expect(_ expected: [Int], after change: (inout Playlist) -> [QueueItem.ID]?, isChange: Bool = true) {
        var list = Playlist(items("abc"))
        let forgotten = change(&list)
        #expect(numbers(list) == expected && (forgotten != nil) == isChange && list.revision == (isChange ? 1 : 0))
    }

    @Test func itemsAreInserted() {
        expect([0, 3, 4, 1, 2], after: { $0.insert(items("xa"), at: 1).forgotten })
        expect([0, 1, 2, 3], after: { $0.insert(items("a"), at: .max).forgotten })
        expect([3, 0, 1, 2], after: { $0.insert(items("x"), at: -1).forgotten })
        expect([0, 1, 2], after: { $0.insert([], at: 0).forgotten }, isChange: false)
        var list = Playlist(items("abc"))
        #expect(list.insert(items("xy"), at: 1).new == [3, 4])
        #expect(list[3] == items("x")[0] && list.place(of: 1) == 3)
    }

    @Test func itemsAreRemoved() {
        expect([0, 2], after: { $0.remove([1]) })
        expect([], after: { $0.remove([0, 1, 2]) })
        expect([0, 1, 2], after: { $0.remove([7]) }, isChange: false)
        var list = Playlist(items("abc"))
        _ = list.remove([1])
        #expect(list[1] == items("b")[0] && list.place(of: 1) == nil && list.place(after: 1) == 1)
    }

    @Test func itemsAreMoved() {
        expect([1, 2, 0], after: { $0.move(0, to: 2) })
        expect([1, 0, 2], after: { $0.move(0, to: 1) })
        expect([2, 0, 1], after: { $0.move(2, to: -5) })
        expect([1, 2, 0], after: { $0.move(0, to: .max) })
        expect([0, 1, 2], after: { $0.move(1, to: 1) }, isChange: false)
        expect([0, 1, 2], after: { $0.move(9, to: 0) }, isChange: false)
    }

    @Test func itemsAreArranged() {
        expect([2, 0, 1], after: { list in list.arrange([list.items[2], list.items[0], list.items[1]]) })
        expect([0, 1, 2], after: { $0.arrange($0.items) }, isChange: false)
        // One item twice, and one item of another player.
        expect([1, 3, 4], after: { $0.arrange([$0.items[1], $0.items[1], QueueItem(id: 70, items("x")[0])]) })
        // The same item with another volume.
        var list = Playlist(items("abc"))
        var changed = list.items
        changed[1].entry.volume = 0.5
        #expect(list.arrange(changed) == [] && numbers(list) == [0, 1, 2] && list[1]?.volume == 0.5)
        // Removed items come back as they were.
        let all = list.items
        _ = list.remove([0, 2])
        #expect(list.arrange(all) == [] && list.items == all)
    }
}
