import KioskConfiguration
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskContent

/// A simulated folder and a simulated clock: every edge of a file's life.
@Suite struct LedgerTests {
    private struct Stage {
        var ledger = ContentLedger()
        var files: [Path: FileVersion] = [:]
        var now = HostTime(nanoseconds: 1_000_000_000_000)
        var isFirst = true
        var isPointedElsewhere = false

        /// The time of day.
        var date: Int64 { 1_700_000_000_000_000_000 + now.nanoseconds }

        mutating func pass(_ seconds: Double) { now += .seconds(seconds) }

        mutating func write(_ name: Path, size: Int64, inode: UInt64 = 1) {
            files[name] = FileVersion(device: 1, inode: inode, size: size, modified: date)
        }

        mutating func look() {
            let found = files.sorted { $0.key < $1.key }.map { SourceExpansion.Found($0.key.string, $0.value) }
            let look = ContentLedger.Look(sources: found, begun: now, isFirst: isFirst, isPointedElsewhere: isPointedElsewhere)
            ledger.looked([look], at: now, date: date)
            isPointedElsewhere = false
            isFirst = false
        }

        /// Whether the present version of the file plays.
        func plays(_ name: Path) -> Bool { files[name] != nil && ledger.listed(name) == files[name] }

        mutating func probe(_ name: Path, _ problem: String? = nil) {
            let probe = ledger.takeProbe()
            #expect(probe?.path == name && probe?.version == files[name])
            if let probe { ledger.probed(probe, problem: problem, at: now) }
        }
    }

    @Test func whatIsThereFromTheBeginningIsPlayedAtOnce() {
        var stage = Stage()
        stage.write("/old", size: 1)
        stage.pass(3)
        stage.write("/fresh", size: 1)
        stage.pass(1)
        stage.look()
        #expect(stage.plays("/old") && !stage.plays("/fresh") && !stage.ledger.wantsProbe)
        #expect(stage.ledger.due == stage.now + .seconds(2))
        // A modification time in the future, from a clock that was set back since, says nothing.
        var other = Stage()
        other.pass(100)
        other.write("/future", size: 1)
        other.pass(-50)
        other.look()
        #expect(other.plays("/future"))
    }

    @Test func whereNobodyWritesAFileIsCompleteWhenItIsSeen() {
        var ledger = ContentLedger()
        let now = HostTime(nanoseconds: 1_000_000_000)
        let files = ["/stick/a", "/stick/b"].map {
            SourceExpansion.Found($0, FileVersion(device: 2, inode: 1, size: 1, modified: now.nanoseconds))
        }
        ledger.looked([.init(sources: files, begun: now, isFirst: true, isWhole: true)], at: now, date: now.nanoseconds)
        // They play only after a probe: a damaged stick must not replace the playlist.
        #expect(ledger.listed("/stick/a") == nil && ledger.due == nil)
        for (file, problem) in zip(files, [nil, "damaged"]) {
            let probe = ledger.takeProbe()
            #expect(probe?.path == file.path)
            if let probe { ledger.probed(probe, problem: problem, at: now) }
        }
        #expect(ledger.listed("/stick/a") == files[0].version && ledger.listed("/stick/b") == nil)
    }

    @Test func aNewFileIsPlayedWhenItHasNotChangedForTwoSecondsAndProbesClean() {
        var stage = Stage()
        stage.look()
        for size in 1...5 as ClosedRange<Int64> {
            stage.write("/a", size: size)
            stage.look()
            stage.pass(1.9)
            stage.look()
            #expect(!stage.ledger.wantsProbe)
        }
        stage.pass(0.1)
        stage.look()
        #expect(stage.ledger.wantsProbe && !stage.plays("/a") && stage.ledger.due == nil)
        stage.probe("/a")
        #expect(stage.plays("/a"))
        #expect(!stage.ledger.wantsProbe)
        let notes = (stage.ledger.takeNotes(), stage.ledger.takeNotes())
        #expect(notes.0.count == 1 && notes.1 == [])
    }

    @Test func oneThatWasClosedIsProbedAtOnce() {
        var stage = Stage()
        stage.look()
        stage.write("/a", size: 1)
        stage.ledger.completed("/a", at: stage.now)
        stage.look()
        stage.probe("/a")
        #expect(stage.plays("/a"))
    }

    @Test func closedAfterTheLookIsNotClosedForTheLook() {
        var stage = Stage()
        stage.look()
        stage.write("/a", size: 1)
        let begun = stage.now
        let old = stage.files["/a"]!
        stage.pass(0.1)
        stage.write("/a", size: 2)
        stage.ledger.completed("/a", at: stage.now)
        // The look began earlier, and saw half of the file.
        stage.ledger.looked([.init(sources: [.init("/a", old)], begun: begun, isFirst: false)], at: stage.now, date: stage.date)
        #expect(!stage.ledger.wantsProbe)
        stage.look()
        stage.probe("/a")
        #expect(stage.plays("/a"))
    }

    @Test func writtenIntoItLeavesAtOnceAndComesBackWhenItIsComplete() {
        var stage = Stage()
        stage.write("/a", size: 1)
        stage.pass(10)
        stage.look()
        #expect(stage.plays("/a"))
        stage.ledger.written("/a", at: stage.now)
        #expect(!stage.plays("/a") && stage.ledger.isGrowing("/a"))
        for size in 2...4 as ClosedRange<Int64> {
            stage.pass(1.5)
            stage.write("/a", size: size)
            stage.ledger.written("/a", at: stage.now)
            stage.look()
            #expect(!stage.ledger.wantsProbe)
        }
        stage.ledger.completed("/a", at: stage.now)
        stage.look()
        stage.probe("/a")
        #expect(stage.plays("/a"))
    }

    @Test func replacedByACompleteOneTheOldItemStaysUntilTheNewOneIsProbed() {
        var stage = Stage()
        stage.write("/a", size: 1)
        stage.pass(10)
        stage.look()
        let old = stage.files["/a"]
        stage.write("/a", size: 2, inode: 2)
        stage.ledger.completed("/a", at: stage.now)
        stage.look()
        #expect(stage.ledger.listed("/a") == old)
        stage.probe("/a")
        #expect(stage.plays("/a") && stage.ledger.listed("/a") != old)
    }

    @Test func replacedByOneThatNobodyHasClosedTheOldItemStaysUntilTheNewOneIsComplete() {
        var stage = Stage()
        stage.write("/a", size: 1)
        stage.pass(10)
        stage.look()
        let old = stage.files["/a"]
        stage.write("/a", size: 2, inode: 2)
        stage.look()
        #expect(stage.ledger.listed("/a") == old && !stage.ledger.wantsProbe)
        stage.pass(2)
        stage.look()
        #expect(stage.ledger.listed("/a") == old)
        stage.probe("/a")
        #expect(stage.plays("/a"))
    }

    @Test func onAShareOneChangeIsARenameAndASecondIsSomebodyWhoWrites() {
        var stage = Stage()
        stage.write("/a", size: 1, inode: 0)
        stage.pass(100)
        stage.look()
        let old = stage.files["/a"]
        stage.write("/a", size: 2, inode: 0)
        stage.look()
        #expect(stage.ledger.listed("/a") == old)
        stage.pass(1)
        stage.write("/a", size: 3, inode: 0)
        stage.look()
        #expect(stage.ledger.listed("/a") == nil)
        stage.pass(2)
        stage.look()
        stage.probe("/a")
        #expect(stage.plays("/a"))
    }

    @Test func writtenInPlaceUnseenItLeaves() {
        var stage = Stage()
        stage.write("/a", size: 1)
        stage.pass(10)
        stage.look()
        stage.write("/a", size: 2)
        stage.look()
        #expect(stage.ledger.listed("/a") == nil)
    }

    @Test func whatHasNotChangedForAMinuteIsComplete() {
        var stage = Stage()
        stage.look()
        stage.write("/a", size: 1)
        stage.pass(60)
        stage.look()
        #expect(stage.ledger.wantsProbe)
        stage.probe("/a")
        #expect(stage.plays("/a"))
    }

    @Test func whereALinkIsPointedElsewhereWhatLiesThereIsComplete() {
        var stage = Stage()
        stage.look()
        stage.write("/a", size: 1)
        stage.pass(2)
        stage.write("/b", size: 1, inode: 2)
        stage.isPointedElsewhere = true
        stage.look()
        stage.probe("/a")
        #expect(stage.plays("/a") && !stage.ledger.wantsProbe, "but for what is being written there")
    }

    @Test func namesThatLookAlikeAreTwoFiles() {
        var stage = Stage()
        let composed: Path = "/\u{FC}.mp4", decomposed: Path = "/u\u{308}.mp4"
        stage.write(composed, size: 1)
        stage.write(decomposed, size: 1, inode: 2)
        stage.pass(10)
        stage.look()
        #expect(stage.plays(composed) && stage.plays(decomposed))
        stage.ledger.written(composed, at: stage.now)
        #expect(!stage.plays(composed) && stage.plays(decomposed))
        // Renamed from the one form to the other.
        stage.files = [composed: stage.files[decomposed]!]
        stage.ledger.completed(composed, at: stage.now)
        stage.look()
        stage.probe(composed)
        #expect(stage.plays(composed) && stage.ledger.listed(decomposed) == nil)
    }

    @Test func whatIsWrittenAgainAndAgainIsSaidOnceAMinute() {
        var stage = Stage()
        stage.write("/a", size: 1)
        stage.pass(100)
        stage.look()
        var notes = 0
        for size in 2..<122 as Range<Int64> {
            stage.ledger.written("/a", at: stage.now)
            stage.write("/a", size: size)
            stage.ledger.completed("/a", at: stage.now)
            stage.look()
            stage.probe("/a")
            notes += stage.ledger.takeNotes().count
            stage.pass(1)
        }
        #expect(notes == 2)
    }

    @Test func brokenIsLeftOutAndTriedAgainAfterAMinuteOrAChange() {
        var stage = Stage()
        stage.look()
        func settle() -> Bool {
            stage.ledger.completed("/a", at: stage.now)
            stage.look()
            return stage.ledger.wantsProbe
        }
        stage.write("/a", size: 1)
        let isSettled = settle()
        #expect(isSettled)
        stage.probe("/a", "it is cut off")
        let notes = stage.ledger.takeNotes()
        #expect(!stage.plays("/a") && notes == ["/a is left out: it is cut off"])
        stage.pass(59)
        stage.look()
        #expect(!stage.ledger.wantsProbe)
        stage.pass(1)
        stage.look()
        stage.probe("/a", "it is cut off")
        stage.write("/a", size: 2)
        let isSettledAgain = settle()
        #expect(isSettledAgain)
        stage.probe("/a")
        #expect(stage.plays("/a"))
    }

    @Test func changedWhileItIsProbedItIsProbedAgain() {
        var stage = Stage()
        stage.look()
        stage.write("/a", size: 1)
        stage.ledger.completed("/a", at: stage.now)
        stage.look()
        let probe = stage.ledger.takeProbe()!
        stage.pass(0.1)
        stage.write("/a", size: 2, inode: 2)
        stage.ledger.completed("/a", at: stage.now)
        stage.look()
        let counts = stage.ledger.probed(probe, problem: nil, at: stage.now)
        #expect(!counts)
        #expect(stage.ledger.listed("/a") == nil)
        stage.probe("/a")
        #expect(stage.plays("/a"))
    }

    @Test func goneIsForgotten() {
        var stage = Stage()
        stage.write("/a", size: 1)
        stage.pass(10)
        stage.look()
        stage.files = [:]
        stage.look()
        #expect(stage.ledger.listed("/a") == nil)
        stage.write("/a", size: 1)
        stage.look()
        #expect(!stage.plays("/a") && !stage.ledger.wantsProbe)
    }

    @Test func anotherNameMakesNoOtherFileOfIt() {
        var stage = Stage()
        stage.write("/a", size: 1)
        stage.pass(10)
        stage.look()
        stage.files = ["/b": stage.files["/a"]!]
        stage.look()
        #expect(stage.plays("/b") && stage.ledger.listed("/a") == nil)
    }

    @Test func touchedOnlyIsProbedWithoutLeaving() {
        var stage = Stage()
        stage.write("/a", size: 1)
        stage.pass(10)
        stage.look()
        let old = stage.files["/a"]
        stage.write("/a", size: 1)
        stage.ledger.touched("/a", at: stage.now)
        stage.look()
        #expect(stage.ledger.listed("/a") == old)
        stage.probe("/a")
        // A file that a program is writing into gets no probe.
        stage.ledger.written("/a", at: stage.now)
        stage.ledger.touched("/a", at: stage.now)
        stage.look()
        #expect(!stage.ledger.wantsProbe)
    }
}

@Suite struct FallbackTests {
    private let list = [PlaylistItem(source: "/a")]
    private let item = PlaylistItem(source: "/fallback")
    private let now = HostTime(nanoseconds: 1_000_000_000)

    @Test func shownWhileThereIsNothing() {
        var state = FallbackState(item)
        #expect(state.played == nil)
        state.setList([])
        #expect(state.played == [item] && state.trialDue == nil)
        state.setList(list)
        #expect(state.played == list)
    }

    @Test func shownWhileNothingCanBePlayed() {
        var state = FallbackState(item)
        state.setList(list)
        state.nothingCanBePlayed(at: now)
        #expect(state.played == [item] && state.trialDue == now + .seconds(5) && state.trial == list)
        state.tried(opens: false, at: now + .seconds(6))
        #expect(state.played == [item] && state.trialDue == now + .seconds(11))
        state.tried(opens: true, at: now + .seconds(12))
        #expect(state.played == list && state.trialDue == nil)
    }

    @Test func aFallbackThatCannotBePlayedGivesWayToTheBackground() {
        var state = FallbackState(item)
        state.setList([])
        state.nothingCanBePlayed(at: now)
        #expect(state.played == [])
        state.setList(list)
        state.nothingCanBePlayed(at: now)
        #expect(state.played == [item])
        state.nothingCanBePlayed(at: now)
        #expect(state.played == list)
        state.nothingCanBePlayed(at: now)
        #expect(state.played == list)
    }

    @Test func noneIsNone() {
        var state = FallbackState(nil)
        state.setList([])
        #expect(state.played == [])
        state.setList(list)
        state.nothingCanBePlayed(at: now)
        #expect(state.played == list && state.trialDue == nil)
    }
}
