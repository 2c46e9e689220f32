import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

/// The list is replaced while it plays.
@Suite(.blocking) struct ChangingListTests {
    private func items(_ sources: String...) -> [PlaylistItem] { sources.map { PlaylistItem(source: $0) } }

    @Test func anItemMoreAndOneLess() throws {
        let (three, single) = try (Reel.three(), Reel.single())
        let fifty = try Reel.fifty()
        let audio = RecordingOutput()
        let stage = Stage(items(three, single), audio: audio)
        #expect(stage.wait { stage.numbers.count > 12 })
        let count = stage.numbers.count
        stage.player.setItems(items(three, fifty, single))
        #expect(stage.wait(for: 120, since: count))
        stage.player.setItems(items(fifty))
        #expect(stage.wait { stage.numbers.suffix(50).count { $0 == 101 } > 1 && stage.numbers.suffix(50).allSatisfy { 101...120 ~= $0 } })
        // Every playthrough is whole and in order, without background between, and no card is restarted.
        var numbers = stage.pictures[...]
        while let first = numbers.first, numbers.count > 20 {
            let playthrough = first == 301 ? [301, 302, 303] : first == 201 ? [201] : Array(101...120)
            guard stage.statistics.framesDropped == 0 else { break }
            #expect(Array(numbers.prefix(playthrough.count)) == playthrough)
            numbers = numbers.dropFirst(playthrough.count)
        }
        #expect(!stage.pictures.contains(0) && audio.interruptions <= 1, "\(audio.interruptions)")
        #expect(stage.complaints.isEmpty)
        #expect(Set(stage.statistics.items.keys) == [0, 1, 2])
        #expect(stage.player.items.map(\.entry.source) == [fifty])
        #expect(stage.player.item(2)?.place == 0 && stage.player.item(0)?.place == nil && stage.player.item(0)?.entry.source == three)
    }

    @Test func theSameListChangesNothing() throws {
        let stage = Stage(items(try Reel.thirty()))
        for _ in 0..<200 {
            stage.player.setItems(items(try Reel.thirty()))
            _ = stage.wait(0.01) { false }
        }
        stage.expectPlays(Array(1...30), count: 80)
        #expect(stage.statistics.items.keys.sorted() == [0])
    }

    @Test func aListThatWasEmptyBegins() throws {
        let audio = RecordingOutput()
        let stage = Stage([], audio: audio)
        #expect(stage.wait(for: 0))
        stage.player.setItems(items(try Reel.three()))
        stage.expectPlays([301, 302, 303], count: 20)
        #expect(stage.player.snapshot.item == 0)
        // Then the list is emptied and filled again.
        stage.player.setItems([])
        #expect(stage.wait { stage.numbers.last == 0 })
        #expect(stage.player.snapshot.item == nil && stage.player.timeControlStatus != .paused)
        for command: PlayerCommand in [.nextItem, .previousItem, .restartItem, .seekSteps(1)] { stage.player.perform(command) }
        let count = stage.numbers.count
        stage.player.setItems(items(try Reel.fifty(), try Reel.three()))
        #expect(stage.wait(for: 303, since: count))
        #expect(Array(stage.numbers.dropFirst(count)).first == 101)
        #expect(!stage.events.contains(.playlistEnded))
    }

    @Test func nothingCouldBePlayedAndThenSomethingElseIsThere() throws {
        let stage = Stage(items("/nowhere/a.mp4", "/nowhere/b.mp4"))
        #expect(stage.wait { stage.events.contains { if case .nothingPlayable = $0 { true } else { false } } })
        _ = stage.wait(1.5) { false }
        let begin = HostTime.now
        stage.player.setItems(items("/nowhere/a.mp4", try Reel.three()))
        #expect(stage.wait(for: 303))
        #expect(HostTime.now - begin < .seconds(60))
        stage.expectPlays([301, 302, 303], count: 20)
        #expect(stage.complaints.map(\.index) == [0, 1])
    }

    @Test func nextAndPreviousGoByTheNewList() throws {
        let stage = Stage(items(try Reel.long(), try Reel.three()))
        #expect(stage.wait(for: 1003))
        stage.player.setItems(items(try Reel.fifty(), try Reel.long(), try Reel.still()))
        var count = stage.numbers.count
        stage.player.advanceToNextItem()
        #expect(stage.wait(for: 401, since: count))
        count = stage.numbers.count
        stage.player.returnToPreviousItem()
        #expect(stage.wait(for: 1002, since: count))
        // From a removed item, to the successor of the item before it.
        stage.player.setItems(items(try Reel.still(), try Reel.thirty()))
        #expect(stage.player.snapshot.item == 0)
        stage.player.seek(to: .seconds(5))
        count = stage.numbers.count
        #expect(stage.wait(for: Reel.number(at: 5), since: max(0, count - 1)), "it can still be moved about in")
        count = stage.numbers.count
        stage.player.advanceToNextItem()
        #expect(stage.wait(for: 401, since: count))
    }

    @Test func loopOfOneItemMovesOnWhenThatLeaves() throws {
        let stage = Stage(items(try Reel.three(), try Reel.fifty())) { $0.loop = .item }
        #expect(stage.wait { stage.numbers.count > 9 })
        stage.player.setItems(items(try Reel.fifty(), try Reel.single()))
        #expect(stage.wait { stage.numbers.count { $0 == 120 } > 2 })
        #expect(!stage.numbers.contains(201))
    }

    @Test func withoutLoopTheNewEndCounts() throws {
        let first = PlaylistItem(source: try Reel.long(), end: .seconds(4))
        let (fifty, single) = try (Reel.fifty(), Reel.single())  // made before it plays
        let stage = Stage([first] + items(try Reel.three())) { $0.loop = .off }
        #expect(stage.wait(for: 1003))
        stage.player.setItems([first] + items(fifty, single))
        #expect(stage.wait { stage.events.contains(.playlistEnded) })
        #expect(stage.plays(Array(1001...1120) + Array(101...120) + [201]), "\(stage.numbers)")
        #expect(stage.numbers.last == 201)
        // A change after the end is for the next time.
        stage.player.setItems(items(try Reel.three()))
        let count = stage.numbers.count
        _ = stage.wait(0.5) { false }
        #expect(stage.numbers.count == count)
        stage.player.play()
        #expect(stage.wait(for: 303, since: count))
    }

    /// Lists are replaced at random times; the last one plays.
    @Test(arguments: [Transition.cut, .fade]) func listsChangeAtAnyTime(_ transition: Transition) throws {
        let sources = try [
            Reel.three(), Reel.single(), Reel.fifty(), "/nowhere/a.mp4", Reel.thirty(), Reel.tone(seconds: 0.2), Reel.still(),
        ]
        let stage = Stage(items(sources[0])) {
            ($0.transition, $0.transitionDuration, $0.imageDuration) = (transition, .milliseconds(200), .milliseconds(100))
        }
        for _ in 0..<60 {
            let list = (0..<Int.random(in: 0...4)).map { _ in PlaylistItem(source: sources.randomElement()!) }
            stage.player.setItems(list)
            _ = stage.wait(Double.random(in: 0...0.3)) { false }
        }
        let count = stage.numbers.count
        stage.player.setItems(items(try Reel.long()))
        #expect(stage.wait(for: 1100, since: count))
    }
}
