import KioskPlatform
import Testing

@testable import KioskSchedule

/// Tests of interludes: their items and their times.
@Suite struct InterludeTests {
    private static func at(_ seconds: Double) -> HostTime { HostTime(nanoseconds: Int64(seconds * 1e9)) }

    @Test(arguments: ["1m", "10m", "1h", "24h", "1 item", "5 items", "1000 items"]) func recurrence(_ text: String) {
        #expect(Recurrence(text)?.description == text)
    }
    @Test(arguments: ["", "m", "0m", "10", "10 m", "1441m", "25h", "0 items", "1001 items", "99999m", "-5m", "1.5h", "10s"])
    func noRecurrence(_ text: String) { #expect(Recurrence(text) == nil) }
    @Test func minutesAreHoursWhereTheyCanBe() { #expect(Recurrence("60m") == Recurrence("1h") && Recurrence("120m")?.description == "2h") }

    @Test func `after so many minutes, the next of its items each time`() {
        var state = InterludeState()
        #expect(state.deadline == nil && state.turns(at: Self.at(1e6)) == [])
        state.set([3: .init(.minutes(10), count: 2)], at: Self.at(0))
        #expect(state.deadline == Self.at(600) && state.turns(at: Self.at(599)) == [])
        #expect(state.turns(at: Self.at(600)) == [.init(program: 3, item: 0)] && state.turns(at: Self.at(601)) == [])
        // After a late turn, the next one comes ten minutes later.
        #expect(state.turns(at: Self.at(1300)) == [.init(program: 3, item: 1)] && state.deadline == Self.at(1900))
        #expect(state.turns(at: Self.at(9999)) == [.init(program: 3, item: 0)])
        // The interlude has fewer items than before.
        state.set([3: .init(.minutes(10), count: 1)], at: Self.at(10_000))
        #expect(state.turns(at: Self.at(10_599)) == [.init(program: 3, item: 0)], "what has gone by counts")
    }

    @Test func `after so many items, and each program for itself`() {
        var state = InterludeState()
        state.set([0: .init(.items(3), count: 1), 1: .init(.items(2), count: 1), 2: .init(.items(1), count: 0)], at: Self.at(0))
        #expect(state.deadline == nil)
        var turns: [[Int]] = []
        for second in 1...6 {
            state.itemStarted(isListed: true, isNew: true, at: Self.at(Double(second)))
            state.itemStarted(isListed: false, isNew: true, at: Self.at(Double(second)))
            state.itemStarted(isListed: true, isNew: false, at: Self.at(Double(second)))
            turns.append(state.turns(at: Self.at(Double(second))).map(\.program))
        }
        #expect(turns == [[], [1], [0], [1], [], [0, 1]])
    }

    @Test func `what interrupts is alone, and the playlist gets on whatever it asks for`() {
        var state = InterludeState()
        state.set(
            [
                0: .init(.minutes(1), isAtOnce: true, count: 1), 1: .init(.minutes(1), isAtOnce: true, count: 1),
                2: .init(.minutes(1), count: 1),
            ],
            at: Self.at(0))
        #expect(state.turns(at: Self.at(60)).map(\.program) == [0, 2], "one at a time, and what waits for a boundary as well")
        #expect(state.turns(at: Self.at(100)) == [] && state.deadline == Self.at(120), "that of the one that waits for a boundary")
        // The interlude takes ninety seconds; then the interrupted item resumes.
        state.itemStarted(isListed: false, isNew: true, at: Self.at(61))
        state.itemStarted(isListed: true, isNew: true, at: Self.at(151))
        #expect(state.turns(at: Self.at(151)).map(\.program) == [1, 2])
        state.itemStarted(isListed: false, isNew: true, at: Self.at(152))
        state.itemStarted(isListed: true, isNew: true, at: Self.at(170))
        #expect(state.turns(at: Self.at(170)) == [] && state.deadline == Self.at(211), "a minute after the first one's end")
    }

    @Test func `what is returned to is no new item, and what has failed holds nobody up`() {
        var state = InterludeState()
        state.set([0: .init(.items(2), isAtOnce: true, count: 1)], at: Self.at(0))
        func start(_ isListed: Bool, isNew: Bool = true) { state.itemStarted(isListed: isListed, isNew: isNew, at: Self.at(1)) }
        start(true)
        start(true, isNew: false)
        #expect(state.turns(at: Self.at(1)) == [])
        start(true)
        #expect(state.turns(at: Self.at(1)).count == 1)
        start(false)
        start(true)
        start(true)
        #expect(state.turns(at: Self.at(1)) == [], "one of them was returned to")
        start(true)
        #expect(state.turns(at: Self.at(1)).count == 1)
        // The interlude cannot be played.
        start(true, isNew: false)
        #expect(state.turns(at: Self.at(1)) == [])
        start(true)
        start(true)
        #expect(state.turns(at: Self.at(1)).count == 1)
        // Without items to play, the turn waits.
        state.set([0: .init(.items(2), count: 0)], at: Self.at(1))
        for _ in 0..<5 { start(true) }
        #expect(state.turns(at: Self.at(1)) == [] && state.deadline == nil)
        state.set([0: .init(.items(2), count: 3)], at: Self.at(1))
        #expect(state.turns(at: Self.at(1)).count == 1)
    }

    @Test func `one that goes off and comes on begins anew, as one whose time is another does`() {
        var state = InterludeState()
        state.set([0: .init(.minutes(1), count: 1)], at: Self.at(0))
        state.set([:], at: Self.at(30))
        state.set([0: .init(.minutes(1), count: 1)], at: Self.at(50))
        #expect(state.deadline == Self.at(110))
        state.set([0: .init(.minutes(2), count: 1)], at: Self.at(100))
        #expect(state.deadline == Self.at(220))
    }
}
