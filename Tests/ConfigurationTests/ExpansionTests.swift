import Platform
import Synchronization
import Testing
import Vocabulary

@testable import Configuration

@Suite struct ExpansionScheduleTests {
    private let begin = HostTime(nanoseconds: 1_000_000_000)

    private func looked(_ hasProblems: Bool = false, isEmpty: Bool = false) -> ExpansionSchedule {
        var schedule = ExpansionSchedule(now: begin)
        #expect(schedule.due == begin)
        schedule.looked(at: begin, hasProblems: hasProblems, isEmpty: isEmpty)
        return schedule
    }

    @Test func onceAMinuteInAnyCase() { #expect(looked().due == begin + .seconds(60)) }
    @Test func soonerWithAProblem() { #expect(looked(true).due == begin + .seconds(2)) }
    @Test func soonestWithNothing() { #expect(looked(true, isEmpty: true).due == begin + .seconds(1)) }

    @Test func atEachRoundButNotMoreOftenThanEveryTwoSeconds() {
        var schedule = looked()
        for place in [0, 1, nil, 2] { schedule.began(at: place) }
        #expect(schedule.due == begin + .seconds(60))
        schedule.began(at: 0)
        #expect(schedule.due == begin + .seconds(2))
        schedule.looked(at: begin + .seconds(2), hasProblems: false, isEmpty: false)
        schedule.began(at: 1)
        #expect(schedule.due == begin + .seconds(62))
        // The only item, or one that is repeated.
        schedule.began(at: 1)
        #expect(schedule.due == begin + .seconds(4))
    }

    @Test func whileNothingCanBePlayed() {
        var schedule = looked()
        schedule.nothingCanBePlayed()
        #expect(schedule.due == begin + .seconds(1))
        schedule.looked(at: begin + .seconds(1), hasProblems: false, isEmpty: false)
        #expect(schedule.due == begin + .seconds(2))
        schedule.began(at: 0)
        schedule.looked(at: begin + .seconds(2), hasProblems: false, isEmpty: false)
        #expect(schedule.due == begin + .seconds(62))
    }
}

/// Entries whose contents the test decides, some of which hang.
@Suite struct ExpansionTests {
    final class Folders: Sendable {
        struct State {
            var contents: [[String]]
            var hung: Set<Int> = []
            var looks = 0
        }
        let state: Monitor<State>
        let expansion: PlaylistExpansion
        let news = Monitor<[PlaylistExpansion.News]>([])

        init(_ contents: [[String]], hung: Set<Int> = [], limit: MediaTime = .seconds(2)) {
            let state = Monitor(State(contents: contents, hung: hung))
            self.state = state
            expansion = PlaylistExpansion(
                names: contents.indices.map { "entry \($0)" }, limit: limit, assume: { [PlaylistItem(source: "/assumed/\($0)")] }
            ) { entry in
                state.withLock { $0.looks += 1 }
                return state.wait { state -> (items: [PlaylistItem], problems: [String])? in
                    if state.hung.contains(entry) { return nil }
                    let items = state.contents[entry].map { PlaylistItem(source: $0) }
                    return (items, items.isEmpty ? ["entry \(entry) is empty"] : [])
                }!
            }
            let news = news
            expansion.start { item in news.signal { $0.append(item) } }
        }

        deinit {
            expansion.stop()
            state.signal { $0.hung = [] }
        }

        var lists: [[String]] {
            news.withLock { $0.compactMap { if case .items(let items) = $0 { items.map(\.source) } else { nil } } }
        }
        var problems: [String] { news.withLock { $0.compactMap { if case .problem(let text) = $0 { text } else { nil } } } }

        /// Waits until the last list told is this one.
        func waits(for list: [String]) -> Bool {
            news.wait(until: .now + .seconds(30)) { _ in true } == true && eventually { self.lists.last == list }
        }

        func eventually(_ condition: () -> Bool) -> Bool {
            let deadline = HostTime.now + .seconds(30)
            while !condition() {
                if HostTime.now > deadline { return false }
                _ = news.wait(until: .now + .milliseconds(20)) { _ in nil as Bool? }
            }
            return true
        }
    }

    @Test func aChangeIsToldOnceAndTheSameListNot() {
        let folders = Folders([["/a"], ["/b", "/c"]])
        #expect(folders.expansion.waitForItems(within: .seconds(30)))
        #expect(folders.lists == [["/a", "/b", "/c"]])
        func round() {
            let looks = folders.state.withLock { $0.looks }
            for _ in 0..<2 { folders.expansion.itemBegan(at: 0) }
            #expect(folders.eventually { folders.state.withLock { $0.looks } >= looks + 2 })
        }
        round()
        #expect(folders.lists.count == 1)
        folders.state.withLock { $0.contents[0] = ["/x"] }
        round()
        #expect(folders.waits(for: ["/x", "/b", "/c"]))
        #expect(folders.lists.count == 2 && folders.problems.isEmpty)
    }

    @Test func whatHangsHoldsUpNeitherTheOthersNorWhatWasFound() {
        let folders = Folders([["/a"], ["/b"], ["/c"]])
        #expect(folders.waits(for: ["/a", "/b", "/c"]))
        folders.state.withLock { state in
            state.hung = [1]
            state.contents = [["/a"], ["/never"], ["/x"]]
        }
        for _ in 0..<2 { folders.expansion.itemBegan(at: 0) }
        #expect(folders.waits(for: ["/a", "/b", "/x"]))
        #expect(folders.problems.count { $0.hasPrefix("entry 1: no answer") } == 1)
        // It is not asked again while it hangs, and the others are: a problem is looked at every two seconds.
        folders.state.withLock { $0.contents[0] = ["/y"] }
        #expect(folders.waits(for: ["/y", "/b", "/x"]))
        #expect(folders.problems.count == 1, "\(folders.problems)")
        // It comes back.
        folders.state.signal { ($0.hung, $0.contents[1]) = ([], ["/z"]) }
        #expect(folders.waits(for: ["/y", "/z", "/x"]))
    }

    @Test func whatHangsFromTheBeginning() {
        let folders = Folders([["/a"], ["/b"], ["/c"], []], hung: [0, 2])
        #expect(folders.waits(for: ["/assumed/0", "/b", "/assumed/2"]))
        // That the last entry is empty is told after the list, which does not change by it.
        let expected = ["entry 0: no answer", "entry 2: no answer", "entry 3 is empty"]
        #expect(folders.eventually { folders.problems.count >= 3 })
        #expect(zip(folders.problems, expected).allSatisfy { $0.hasPrefix($1) } && folders.problems.count == 3, "\(folders.problems)")
    }

    @Test func anEmptyListIsBelievedAtTheSecondLook() {
        let folders = Folders([["/a"]])
        #expect(folders.waits(for: ["/a"]))
        folders.state.withLock { $0.contents = [[]] }
        for _ in 0..<2 { folders.expansion.itemBegan(at: 0) }
        #expect(folders.eventually { !folders.problems.isEmpty })
        #expect(folders.lists == [["/a"]])
        #expect(folders.waits(for: []))
        folders.state.withLock { $0.contents = [["/b"]] }
        #expect(folders.waits(for: ["/b"]))
        #expect(folders.problems == ["entry 0 is empty"])
    }

    @Test func nothingAtAll() {
        let folders = Folders([])
        #expect(folders.waits(for: []))
    }
}
