import KioskVocabulary
import Testing

@testable import KioskPlayback

/// A playlist with an order of its own in each round.
@Suite struct ShuffleTests {
    private func cursor(_ count: Int, seed: UInt64, _ loop: LoopMode = .playlist) -> PlaylistCursor {
        PlaylistCursor(
            (0..<count).map { PlaylistItem(source: "/\($0)") }, rules: PlaylistRules(loop: loop, shuffle: ShuffledOrder(seed: seed)))
    }

    private func played(_ cursor: PlaylistCursor, _ count: Int) -> [QueueItem.ID] {
        Array(sequence(first: cursor.first!) { cursor.following($0) }.prefix(count).map(\.item))
    }

    @Test(arguments: 1...9) func eachRoundHasEveryItemOnceAndNoneTwiceInARow(count: Int) {
        for seed in 0..<200 as Range<UInt64> {
            let order = played(cursor(count, seed: seed), 12 * count)
            for round in 0..<12 {
                let items = Set(order[(round * count)..<((round + 1) * count)])
                #expect(items.count == count, "\(order)")
            }
            let repeats = zip(order, order.dropFirst()).count { $0 == $1 }
            #expect(count == 1 || repeats == 0, "\(order)")
        }
    }

    @Test func ordersDifferFromRoundToRoundAndFromSeedToSeed() {
        let order = played(cursor(6, seed: 1), 600)
        var rounds: Set<[QueueItem.ID]> = []
        for round in 0..<100 { rounds.insert(Array(order[(round * 6)..<(round * 6 + 6)])) }
        #expect(rounds.count > 70)
        var beginnings: Set<[QueueItem.ID]> = []
        for seed in 0..<100 as Range<UInt64> { beginnings.insert(played(cursor(6, seed: seed), 6)) }
        #expect(beginnings.count > 70)
        // Each item comes first about as often as any other.
        var firsts = [Int](repeating: 0, count: 6)
        for seed in 0..<1200 as Range<UInt64> { firsts[played(cursor(6, seed: seed), 1)[0].number] += 1 }
        #expect(firsts.allSatisfy { (150...250).contains($0) }, "\(firsts)")
        #expect(played(cursor(6, seed: 5), 60) == played(cursor(6, seed: 5), 60))
    }

    @Test func itEndsAfterARoundWhereItDoesNotLoop() {
        #expect(Set(played(cursor(7, seed: 3, .off), 100)).count == 7)
        #expect(played(cursor(7, seed: 3, .off), 100).count == 7)
    }

    @Test func backIsWhereOneCameFrom() {
        let cursor = cursor(5, seed: 9)
        let positions = Array(sequence(first: cursor.first!) { cursor.nextItem(after: $0) }.prefix(5))
        for (a, b) in zip(positions, positions.dropFirst()) { #expect(cursor.previousItem(before: b)?.item == a.item) }
    }

    @Test func whatLeavesInMidRoundTakesNoOtherWithIt() {
        for seed in 0..<50 as Range<UInt64> {
            var cursor = cursor(6, seed: seed)
            let order = played(cursor, 6)
            let left = cursor.list.items.map(\.entry).filter { $0.source != "/\(order[2].number)" }
            let present = sequence(first: cursor.first!) { [cursor] in cursor.following($0) }.prefix(3).map { $0 }[2]
            _ = cursor.list.replace(with: left)
            let rest = sequence(first: present) { [cursor] in cursor.following($0) }.prefix(4).map(\.item)
            #expect(Array(rest) == Array(order[2...]), "seed \(seed)")
        }
    }
}
