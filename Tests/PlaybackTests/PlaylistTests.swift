import Platform
import Testing

@testable import Playback

/// Lists are written as words, each letter an item.
@Suite struct PlaylistTests {
    private func items(_ word: String) -> [PlaylistItem] { word.map { PlaylistItem(source: "/\($0)") } }

    @Test(arguments: [
        // What stays keeps its number, wherever it stands now.
        ("abc", "abc", [0, 1, 2]), ("abc", "cba", [2, 1, 0]), ("abc", "axbc", [0, 3, 1, 2]), ("abc", "ac", [0, 2]),
        // A file replaced by one of another name.
        ("abc", "axc", [0, 3, 2]), ("a", "x", [1]), ("", "ab", [0, 1]), ("abc", "", []),
        // Of equal ones the n-th is the n-th.
        ("aab", "aab", [0, 1, 2]), ("aab", "baa", [2, 0, 1]), ("aab", "ab", [0, 2]), ("ab", "aaab", [0, 2, 3, 1]),
        ("aba", "bxaa", [1, 3, 0, 2]),
    ])
    func numbers(before: String, after: String, expected: [Int]) {
        var list = Playlist(items(before))
        let forgotten = list.replace(with: items(after))
        #expect(list.numbers == expected)
        #expect((forgotten == nil) == (before == after))
        #expect(list.revision == (before == after ? 0 : 1))
        for (place, number) in list.numbers.enumerated() {
            #expect(list.place(of: number) == place && list[number] == items(after)[place])
        }
    }

    /// What comes after each item of the first list, in a list that loops and in one that does not.
    @Test(arguments: [
        (["abc", "acb"], "cab", "c-b"),
        // What has left is followed by what follows the item before it that stayed.
        (["abc", "ac"], "cca", "cc-"), (["abc", "axc"], "xxa", "xx-"), (["abc", "xc"], "xxx", "xx-"), (["abc", "c"], "ccc", "cc-"),
        (["abc", "xyz"], "xxx", "xxx"), (["abc", ""], "---", "---"), (["abcd", "adx"], "dddx", "dddx"),
        // Step by step the same.
        (["abc", "ab", "xa"], "xxx", "---"), (["abcd", "abd", "ad", "aed"], "eeea", "eee-"), (["abc", "", "abc"], "bca", "bc-"),
    ])
    func whatFollows(lists: [String], looping: String, once: String) {
        for (loop, expected) in [(LoopMode.playlist, looping), (.off, once)] {
            var cursor = PlaylistCursor(items(lists[0]), loop: loop)
            for list in lists.dropFirst() { _ = cursor.list.replace(with: items(list)) }
            let following = lists[0].indices.enumerated().map { number, _ in
                cursor.following(.init(index: number)).map { String(cursor.list[$0.index]!.source.dropFirst()) } ?? "-"
            }
            // "xa" after "ab": b stood behind a, which is the last now.
            #expect(following.joined() == expected.map { String($0) }.joined(), "\(lists) \(loop)")
        }
    }

    @Test func whatComesBackGetsItsNumberBack() {
        var list = Playlist(items("abc"))
        for word in ["ab", "b", "", "bx", "cab"] { _ = list.replace(with: items(word)) }
        #expect(list.numbers == [2, 0, 1])
        _ = list.replace(with: items("xabc"))
        #expect(list.numbers == [3, 0, 1, 2])
    }

    @Test func whatHasLeftIsNotRepeated() {
        let repeated = PlaylistItem(source: "/r", repeatCount: 5)
        for loop in [LoopMode.playlist, .item] {
            var cursor = PlaylistCursor([repeated] + items("a"), loop: loop)
            #expect(cursor.following(.init(index: 0))?.index == 0)
            _ = cursor.list.replace(with: items("a"))
            #expect(cursor.following(.init(index: 0))?.index == 1)
        }
    }

    @Test func movesFromWhatHasLeft() {
        var cursor = PlaylistCursor(items("abc"), loop: .playlist)
        _ = cursor.list.replace(with: items("axc"))
        #expect(cursor.nextItem(after: .init(index: 1))?.index == 3)
        #expect(cursor.previousItem(before: .init(index: 1))?.index == 0)
        _ = cursor.list.replace(with: [])
        #expect(
            cursor.first == nil && cursor.nextItem(after: .init(index: 1)) == nil && cursor.previousItem(before: .init(index: 1)) == nil)
        #expect(cursor.awaitsItems)
    }

    /// A folder whose files are replaced every day for years.
    @Test func whatLeftLongAgoIsForgotten() {
        var list = Playlist(items("a"))
        var forgotten: [Int] = []
        for day in 0..<10_000 { forgotten += list.replace(with: [PlaylistItem(source: "/\(day)")] + items("a"))! }
        #expect(forgotten.count == 9999 - Playlist.memory && Set(forgotten).count == forgotten.count)
        #expect(forgotten.allSatisfy { list[$0] == nil } && list.place(after: forgotten[0]) == 0)
        #expect(list.numbers.last == 0)
    }

    /// Any lists one after another: numbers are unique, name their items for good, and what follows is on the list.
    @Test func anyChanges() {
        var random = SystemRandomNumberGenerator()
        var cursor = PlaylistCursor(items("abc"), loop: .playlist)
        var named: [Int: PlaylistItem] = [:]
        for _ in 0..<2000 {
            for (number, item) in zip(cursor.list.numbers, cursor.list.items) {
                #expect(named.updateValue(item, forKey: number) ?? item == item)
            }
            #expect(Set(cursor.list.numbers).count == cursor.list.items.count)
            for number in named.keys {
                let next = cursor.nextItem(after: .init(index: number))
                #expect(next.map { cursor.list.place(of: $0.index) != nil } ?? cursor.list.isEmpty)
            }
            let word = String((0..<Int.random(in: 0...6, using: &random)).map { _ in "abcdefgh".randomElement(using: &random)! })
            _ = cursor.list.replace(with: items(word))
        }
    }
}
