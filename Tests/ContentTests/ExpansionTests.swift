import KioskPlatform
import KioskVocabulary
import Synchronization
import Testing

@testable import KioskConfiguration
@testable import KioskContent

@Suite struct ExpansionScheduleTests {
    private let begin = HostTime(nanoseconds: 1_000_000_000)

    private func looked(_ hasProblems: Bool = false, isEmpty: Bool = false, isPartial: Bool = false) -> ExpansionSchedule {
        var schedule = ExpansionSchedule(now: begin)
        #expect(schedule.due == begin)
        schedule.looked(begun: begin, at: begin, hasProblems: hasProblems, isEmpty: isEmpty, isPartial: isPartial)
        return schedule
    }

    @Test func onceAMinuteInAnyCase() { #expect(looked().due == begin + .seconds(60)) }
    @Test func soonerOnANetworkShare() { #expect(looked(isPartial: true).due == begin + .seconds(5)) }
    @Test func soonerWithAProblem() { #expect(looked(true, isPartial: true).due == begin + .seconds(2)) }
    @Test func soonestWithNothing() { #expect(looked(true, isEmpty: true).due == begin + .seconds(1)) }

    @Test func soonAfterAChangeButNotMoreOftenThanFiveTimesASecond() {
        var schedule = looked()
        schedule.changed(at: begin + .milliseconds(50))
        #expect(schedule.due == begin + .milliseconds(200))
        // A look may miss a change that comes during it.
        schedule.changed(at: begin + .milliseconds(260))
        schedule.looked(
            begun: begin + .milliseconds(250), at: begin + .milliseconds(270), hasProblems: false, isEmpty: false, isPartial: false)
        #expect(schedule.due == begin + .milliseconds(470))
        schedule.looked(
            begun: begin + .milliseconds(470), at: begin + .milliseconds(480), hasProblems: false, isEmpty: false, isPartial: false)
        #expect(schedule.due == begin + .milliseconds(480) + .seconds(60))
        schedule.changed(at: begin + .seconds(30))
        #expect(schedule.due == begin + .seconds(30))
    }
}

/// Entries whose contents the test decides; some of them hang.
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

        init(_ contents: [[String]], hung: Set<Int> = [], limit: MediaTime = .seconds(2), replacing: Int? = nil) {
            let state = Monitor(State(contents: contents, hung: hung))
            self.state = state
            expansion = PlaylistExpansion(
                PlaylistExpansion.Plan(
                    names: contents.indices.map { "entry \($0)" }, assume: { .init("/assumed/\($0)") },
                    expand: { entry in
                        state.withLock { $0.looks += 1 }
                        return state.wait { state -> SourceExpansion? in
                            if state.hung.contains(entry) { return nil }
                            var expansion = SourceExpansion()
                            expansion.sources = state.contents[entry].map { .init($0) }
                            if expansion.sources.isEmpty { expansion.problems = ["entry \(entry) is empty"] }
                            return expansion
                        }!
                    },
                    item: { PlaylistItem(source: $1.source, version: $1.version) }, replacing: replacing), limit: limit)
            let news = news
            expansion.start { item in news.signal { $0.append(item) } }
        }

        deinit {
            expansion.stop()
            state.signal { $0.hung = [] }
        }

        var lists: [[String]] {
            news.withLock { $0.compactMap { if case .items(let items, _) = $0 { items.map(\.source) } else { nil } } }
        }
        var problems: [String] { news.withLock { $0.compactMap { if case .problem(let text) = $0 { text } else { nil } } } }

        /// Waits until the last list is this one.
        func waits(for list: [String]) -> Bool {
            news.wait(until: .now + .seconds(120)) { _ in true } == true && eventually { self.lists.last == list }
        }

        func eventually(_ condition: () -> Bool) -> Bool {
            let deadline = HostTime.now + .seconds(120)
            while !condition() {
                if HostTime.now > deadline { return false }
                _ = news.wait(until: .now + .milliseconds(20)) { _ in nil as Bool? }
            }
            return true
        }
    }

    @Test func aChangeIsToldOnceAndTheSameListNot() {
        let folders = Folders([["/a"], ["/b", "/c"]])
        #expect(folders.expansion.waitForItems(within: .seconds(120)))
        #expect(folders.lists == [["/a", "/b", "/c"]])
        func round() {
            let looks = folders.state.withLock { $0.looks }
            folders.expansion.lookAgain()
            #expect(folders.eventually { folders.state.withLock { $0.looks } >= looks + 1 })
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
        folders.expansion.lookAgain()
        #expect(folders.waits(for: ["/a", "/b", "/x"]))
        #expect(folders.problems.count { $0.hasPrefix("entry 1: no answer") } == 1)
        // kiosk does not look at it again while it hangs. It looks at the others, every two seconds with a problem.
        folders.state.withLock { $0.contents[0] = ["/y"] }
        #expect(folders.waits(for: ["/y", "/b", "/x"]))
        #expect(folders.problems.count == 1, "\(folders.problems)")
        // The entry answers again.
        folders.state.signal { ($0.hung, $0.contents[1]) = ([], ["/z"]) }
        #expect(folders.waits(for: ["/y", "/z", "/x"]))
    }

    @Test func whatHangsFromTheBeginning() {
        let folders = Folders([["/a"], ["/b"], ["/c"], []], hung: [0, 2])
        #expect(folders.waits(for: ["/assumed/0", "/b", "/assumed/2"]))
        let expected = ["entry 3 is empty", "entry 0: no answer", "entry 2: no answer"]
        #expect(folders.eventually { folders.problems.count >= 3 })
        #expect(zip(folders.problems, expected).allSatisfy { $0.hasPrefix($1) } && folders.problems.count == 3, "\(folders.problems)")
    }

    @Test func aStickReplacesAllOthersWhileThereIsSomethingOnIt() {
        let folders = Folders([["/a"], ["/b"], []], replacing: 2)
        #expect(folders.waits(for: ["/a", "/b"]))
        folders.state.withLock { $0.contents[2] = ["/stick/x", "/stick/y"] }
        folders.expansion.lookAgain()
        #expect(folders.waits(for: ["/stick/x", "/stick/y"]))
        // Changes behind the stick's list take effect once the stick is gone.
        folders.state.withLock { $0.contents[0] = ["/c"] }
        folders.expansion.lookAgain()
        folders.state.withLock { $0.contents[2] = [] }
        folders.expansion.lookAgain()
        #expect(folders.waits(for: ["/c", "/b"]))
        #expect(folders.problems.isEmpty, "\(folders.problems)")
    }

    @Test func anEmptyListIsBelievedAtTheSecondLook() {
        let folders = Folders([["/a"]])
        #expect(folders.waits(for: ["/a"]))
        folders.state.withLock { $0.contents = [[]] }
        folders.expansion.lookAgain()
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
