import KioskPlatform
import TestSupport
import Testing

@testable import KioskSchedule

/// Tests of a schedule while its clock runs, leaps and is wrong.
@Suite struct StateTests {
    private static let clock = LocalClock.berlin
    private static let entries = [
        Schedule.Entry([]), Schedule.Entry([TimeRule("mon-fri", "09:00-18:00")], rank: .init(program: 1), program: 0),
    ]

    private func state(_ timers: [ScheduleState.Timer] = []) -> ScheduleState {
        ScheduleState(Schedule(Self.entries, clock: Self.clock), timers: timers)
    }

    private func at(_ text: String, isRight: Bool = true) -> WallClock { WallClock(seconds: Self.clock.at(text), isRight: isRight) }

    /// Runs the clock from one time to another. Looks at the schedule each minute and when something is due.
    private func go(_ state: inout ScheduleState, from start: String, to end: String) -> [String] {
        var time = Self.clock.at(start)
        let end = Self.clock.at(end)
        var lines: [String] = []
        while time < end {
            for event in state.look(at: WallClock(seconds: time, isRight: true)) {
                let text = if case .on(let entries) = event { "on \(entries.sorted())" } else { "\(event)" }
                lines.append("\(Self.clock.shown(time)) \(text)")
            }
            time = min(time + 60, state.due(after: time) ?? .max)
        }
        return lines
    }

    @Test("A day of it") func aDay() throws {
        var state = state([
            .init(try #require(TimeOfDay("04:00")), TimeRule()), .init(try #require(TimeOfDay("20:00")), TimeRule("fri"), sets: "volume"),
            .init(try #require(TimeOfDay("08:00")), TimeRule(), sets: "volume"),
        ])
        // A lasting setting applies at the start: the volume set at 08:00 the day before.
        #expect(
            go(&state, from: "2026-11-27 03:00", to: "2026-11-28 03:00") == [
                "2026-11-27 03:00 on [0]", "2026-11-27 03:00 lasting(2)", "2026-11-27 04:00 timer(0)", "2026-11-27 08:00 timer(2)",
                "2026-11-27 09:00 on [0, 1]", "2026-11-27 18:00 on [0]",
                "2026-11-27 20:00 timer(1)",
            ])
    }

    @Test("What was never set waits, and is taken as it is when it is right") func neverSet() throws {
        var state = state([.init(try #require(TimeOfDay("10:00")), TimeRule(), sets: "volume")])
        #expect(state.look(at: WallClock(seconds: 12, isRight: false)) == [.waitsForClock, .on([0])])
        #expect(state.look(at: WallClock(seconds: 17, isRight: false)) == [])
        #expect(state.look(at: at("2026-11-27 12:00")) == [.on([0, 1]), .lasting(0)])
        // If the clock is wrong again, the schedule waits again.
        #expect(state.look(at: WallClock(seconds: 40, isRight: false)) == [.waitsForClock, .on([0])])
    }

    @Test("A leap does nothing of what it leaps over, but what lasts") func leaps() throws {
        var state = state([
            .init(try #require(TimeOfDay("10:00")), TimeRule()), .init(try #require(TimeOfDay("10:30")), TimeRule(), sets: "volume"),
            .init(try #require(TimeOfDay("11:00")), TimeRule(), sets: "volume"),
        ])
        #expect(state.look(at: at("2026-11-27 08:00")) == [.on([0]), .lasting(2)])
        #expect(state.look(at: at("2026-11-27 12:00")) == [.on([0, 1]), .lasting(2)])
        // After a leap back, the clock alone decides which programs are on.
        #expect(state.look(at: at("2026-11-27 10:45")) == [.lasting(1)])
        #expect(state.look(at: at("2026-11-28 10:45")) == [.on([0]), .lasting(1)])
    }

    @Test("A time that the clock leaves out comes when it goes on, and one that it shows twice once") func daylightSaving() throws {
        var state = state([.init(try #require(TimeOfDay("02:30")), TimeRule())])
        #expect(
            go(&state, from: "2026-03-29 01:00", to: "2026-03-29 05:00") == ["2026-03-29 01:00 on [0]", "2026-03-29 03:00 timer(0)"])
        #expect(go(&state, from: "2026-10-25 01:00", to: "2026-10-25 05:00") == ["2026-10-25 02:30 timer(0)"])
    }

    @Test("Nothing to say is nothing to look for") func constant() {
        var state = ScheduleState(Schedule([Schedule.Entry([])], clock: Self.clock))
        #expect(state.isConstant && state.look(at: WallClock(seconds: 0, isRight: false)) == [.on([0])])
        #expect(state.due(after: 0) == nil)
    }

    @Test("A night switches the display off, and what is played is what is played without it") func nights() {
        let night = Schedule.Entry([TimeRule(nil, "22:00-06:00")], rank: .init(program: 1))
        let feast = Schedule.Entry([TimeRule("fri", "20:00-23:00")], rank: .init(program: 2), program: 0)
        let schedule = Schedule([Schedule.Entry([]), feast], nights: [night], clock: Self.clock)
        var state = ScheduleState(schedule)
        // 2026-11-26 is a Thursday.
        let lines = go(&state, from: "2026-11-26 12:00", to: "2026-11-28 12:00")
        #expect(
            lines == [
                "2026-11-26 12:00 on [0]", "2026-11-26 22:00 dark(true)", "2026-11-27 06:00 dark(false)", "2026-11-27 20:00 on [0, 1]",
                "2026-11-27 23:00 on [0]", "2026-11-27 23:00 dark(true)", "2026-11-28 06:00 dark(false)",
            ], "\(lines)")
        // A wrong clock decides nothing.
        _ = state.look(at: at("2026-11-27 02:00"))
        #expect(state.isDark)
        _ = state.look(at: at("2026-11-27 02:00", isRight: false))
        #expect(!state.isDark)
        #expect(
            schedule.nextChange(ofWhatIsPlayedAfter: Self.clock.at("2026-11-26 12:00"), before: .max) == Self.clock.at("2026-11-26 22:00"))
    }

    @Test("Another configuration does not do again what was done, where it says the same of that") func reloaded() throws {
        let timers = [ScheduleState.Timer(try #require(TimeOfDay("08:00")), TimeRule(), sets: "volume")]
        var state = state(timers)
        #expect(state.look(at: at("2026-11-27 10:00")).contains(.lasting(0)))
        var same = ScheduleState(state.schedule, timers: timers, after: state)
        #expect(!same.look(at: at("2026-11-27 10:00")).contains(.lasting(0)))
        var other = ScheduleState(state.schedule, timers: timers + timers, after: state)
        #expect(other.look(at: at("2026-11-27 10:00")).contains(.lasting(1)))
    }
}
