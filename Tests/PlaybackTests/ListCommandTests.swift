import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

/// Single items are added, removed and moved while the list plays.
@Suite(.blocking) struct ListCommandTests {
    private func items(_ sources: String...) -> [PlaylistItem] { sources.map { PlaylistItem(source: $0) } }

    @Test func itemsComeGoAndChangePlaces() throws {
        let (three, single, fifty) = try (Reel.three(), Reel.single(), Reel.fifty())
        let audio = RecordingOutput()
        let stage = Stage(items(three), audio: audio)
        #expect(stage.wait { stage.numbers.count > 6 })
        let player = stage.player
        #expect(player.append(items(fifty)).map(\.number) == [1])
        #expect(stage.wait(for: 120))
        #expect(player.insert(items(single), at: 0).map(\.number) == [2])
        #expect(player.items.map(\.id.number) == [2, 0, 1])
        #expect(stage.wait(for: 201))
        player.move(player.items[2].id, to: 0)
        #expect(player.items.map(\.id.number) == [1, 2, 0])
        // Until the item opened ahead has been shown.
        var count = stage.numbers.count
        #expect(stage.wait { stage.numbers.count > count + 60 })
        count = stage.numbers.count
        #expect(stage.wait { stage.numbers.count > count + 72 })
        if stage.statistics.framesDropped == 0 {
            let cycle = Array(101...120) + [201, 301, 302, 303]
            let shown = Array(stage.numbers.dropFirst(count).drop { $0 != 101 })
            #expect(shown == Array((cycle + cycle + cycle + cycle).prefix(shown.count)), "\(shown)")
        }
        player.remove([player.items[0].id])
        count = stage.numbers.count
        #expect(stage.wait { stage.numbers.count > count + 60 && stage.numbers.suffix(12).allSatisfy { $0 > 200 } })
        // No background between items, and no card restarted.
        #expect(!stage.pictures.contains(0) && audio.interruptions <= 1, "\(audio.interruptions)")
        #expect(stage.statistics.items.keys.map(\.number).sorted() == [0, 1, 2])
    }

    /// The player cuts off the long clip; its frame stands until the next one is ready.
    @Test func whatLeavesNowIsLeftAtOnce() throws {
        let (long, fifty, three) = try (Reel.long(), Reel.fifty(), Reel.three())
        let stage = Stage(items(long, fifty))
        #expect(stage.wait(for: 1003))
        let events = stage.events.count
        stage.player.remove([stage.player.items[0].id], at: .now)
        #expect(stage.wait(for: 101))
        #expect(!stage.pictures.contains(0) && stage.pictures.filter { $0 > 1000 }.allSatisfy { $0 < 1200 })
        // Observers hear of it after the flip, on a thread of their own.
        #expect(stage.wait { stage.events.dropFirst(events).contains(.itemStarted(item: 1, isSeam: false, late: 0)) })
        stage.player.setItems(items(three), at: .now)
        #expect(stage.wait { stage.numbers.suffix(9).allSatisfy { 301...303 ~= $0 } && stage.numbers.count > 9 })
    }

    @Test func whatStaysIsNotTouchedNow() throws {
        let (long, fifty) = try (Reel.long(), Reel.fifty())
        let audio = RecordingOutput()
        let stage = Stage(items(fifty, long), audio: audio)
        #expect(stage.wait(for: 1003))
        let count = audio.interruptions
        stage.player.setItems(items(long, fifty, fifty), at: .now)
        stage.player.arrange(stage.player.items.reversed(), at: .now)
        #expect(stage.player.items.map(\.id.number) == [2, 0, 1])
        #expect(stage.wait(for: 1090))
        #expect(audio.interruptions == count)
        #expect(stage.plays(Array(101...120) + Array(1001...1300)), "\(stage.numbers)")
    }

    @Test func aListThatIsEmptiedNowShowsTheBackground() throws {
        let (long, three) = try (Reel.long(), Reel.three())
        let stage = Stage(items(long))
        #expect(stage.wait(for: 1003))
        let count = stage.numbers.count
        stage.player.setItems([], at: .now)
        #expect(stage.wait(for: 0, since: count))
        #expect(stage.player.snapshot.item == nil && stage.numbers.allSatisfy { $0 < 1200 })
        stage.player.append(items(three))
        #expect(stage.wait(for: 303, since: count))
        #expect(stage.player.snapshot.item == 1)
        // Both at once, before anything has been shown.
        stage.player.setItems([], at: .now)
        stage.player.append(items(long))
        #expect(stage.wait { stage.numbers.last ?? 0 > 1000 })
    }

    /// No item follows: the last frame of the item is the end.
    @Test func withoutLoopTheLastItemEndsWhereItLeavesNow() throws {
        let (fifty, three) = try (Reel.fifty(), Reel.three())
        let stage = Stage(items(fifty, three)) { $0.loop = .off }
        #expect(stage.wait(for: 303))
        stage.player.remove([stage.player.items[1].id], at: .now)
        #expect(stage.wait { stage.events.contains(.playlistEnded) })
        #expect(stage.plays(Array(101...120) + [301, 302, 303]) && stage.numbers.last == 303)
    }

    /// Several threads change the list: in the end every item is there, once.
    @Test func changesOfSeveralThreadsAddUp() throws {
        let stage = Stage(items(try Reel.three()))
        let player = stage.player
        let threads = (0..<4).map { thread in
            Thread("editor") {
                for number in 0..<25 {
                    let ids = player.append([PlaylistItem(source: "/nowhere/\(thread)-\(number)")])
                    if number % 2 == 0 { player.remove(ids) } else { player.move(ids[0], to: 0) }
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(player.items.count == 4 * 12 + 1 && Set(player.items.map(\.id)).count == player.items.count)
        #expect(Set(player.items.map(\.entry.source)).count == player.items.count)
        player.setItems(items(try Reel.single()), at: .now)
        #expect(stage.wait(for: 201))
    }
}
