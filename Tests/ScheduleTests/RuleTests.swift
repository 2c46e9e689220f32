import TestSupport
import Testing

@testable import KioskSchedule

extension TimeRule {
    init(_ days: String? = nil, _ hours: String? = nil, from: String? = nil, until: String? = nil) {
        self.init()
        self.days = days.map { DaySet($0)! }
        self.hours = hours.map { DayHours($0)! }
        (self.from, self.until) = (from.map { DateBound($0)! }, until.map { DateBound($0)! })
    }
}

extension LocalClock {
    static let berlin = LocalClock(
        zone: .local(variable: "CET-1CEST,M3.5.0,M10.5.0/3", file: "/"), place: GeographicPlace(latitude: 52.52, longitude: 13.405))

    /// Returns the instant of a local time such as "2026-12-24 18:00".
    func at(_ text: String) -> Int64 {
        let parts = text.split(separator: " ").map(String.init)
        return zone.firstInstant(notBefore: LocalTime(CalendarDate(parts[0])!, second: TimeOfDay(parts[1])!.minutes * 60))
    }

    /// Returns the local time of an instant.
    func shown(_ instant: Int64) -> String { "\(zone.local(at: instant).date) \(zone.local(at: instant).clock)" }
}

@Suite struct RuleTests {
    @Test(
        "What is written is read, and written again",
        arguments: [
            ("mon-fri", "mon-fri"), ("Monday, wed , FRI", "mon, wed, fri"), ("fri-mon", "mon, fri-sun"), ("sun", "sun"),
            ("mon-sun", "mon-sun"), ("sat-sun,sat", "sat-sun"),
        ]) func days(_ text: String, _ written: String) throws
    {
        let days = try #require(DaySet(text))
        #expect(days.description == written && DaySet(written) == days)
    }

    @Test(arguments: ["", "mon-", "-fri", "mo", "mon-wed-fri", "mon;tue", "mon,,tue", "every day"]) func noDays(_ text: String) {
        #expect(DaySet(text) == nil)
    }

    @Test(arguments: [
        ("09:00-18:00", "09:00-18:00"), ("9:00 - 18:00 , 20:00-02:00", "09:00-18:00, 20:00-02:00"), ("00:00-24:00", "00:00-24:00"),
        ("sunset-23:00", "sunset-23:00"), ("sunset-30m-23:00", "sunset-30m-23:00"),
        ("sunrise+1h30m - sunset-1h", "sunrise+1h30m-sunset-1h"),
        ("22:00-sunrise", "22:00-sunrise"),
    ]) func hours(_ text: String, _ written: String) throws {
        let hours = try #require(DayHours(text))
        #expect(hours.description == written && DayHours(written) == hours)
    }

    @Test(arguments: [
        "", "9-18", "09:00", "09:00-", "09:00-09:00", "24:00-06:00", "09:60-10:00", "25:00-26:00", "sunset-", "sunset+-23:00",
        "sunset+13h-23:00", "dawn-10:00", "09:00-18:00,",
        "09:00–18:00",
    ]) func noHours(_ text: String) { #expect(DayHours(text) == nil) }

    @Test(arguments: ["2026-12-24", "12-24", "02-29"]) func bounds(_ text: String) { #expect(DateBound(text)?.description == text) }
    @Test(arguments: ["2026-02-29", "02-30", "13-01", "24.12.", "12-1", ""]) func noBounds(_ text: String) {
        #expect(DateBound(text) == nil)
    }

    @Test("Days that cannot be, and that are meant otherwise") func together() {
        #expect(TimeRule(from: "2026-12-24", until: "2026-12-01").isBackwards && !TimeRule(from: "12-24", until: "01-06").isBackwards)
        #expect(TimeRule(from: "2026-12-24", until: "01-06").isMixed && !TimeRule(from: "2026-12-24").isMixed)
        #expect(TimeRule().isAlways && !TimeRule("mon-sun").isAlways)
    }

    /// Rules, and times at which they hold or not, calculated by hand. The rules are those that other signage products document:
    /// an event on weekdays, one over midnight, a campaign between two dates, Christmas each year.
    static let cases: [(rule: TimeRule, on: [String], off: [String])] = [
        (
            TimeRule("mon-fri", "09:00-18:00"), ["2026-11-27 09:00", "2026-11-27 17:59", "2026-11-23 12:00"],
            ["2026-11-27 08:59", "2026-11-27 18:00", "2026-11-28 12:00", "2026-11-29 12:00"]
        ),
        // An event that begins on Friday night belongs to Friday; none begins on Saturday.
        (
            TimeRule("fri", "22:00-02:00"), ["2026-11-27 22:00", "2026-11-28 01:59", "2026-11-27 23:59", "2026-11-28 00:00"],
            ["2026-11-27 01:00", "2026-11-28 02:00", "2026-11-28 23:00", "2026-11-29 01:00"]
        ),
        (
            TimeRule(nil, "08:00-10:00, 12:00-14:00"), ["2026-11-27 09:00", "2026-11-29 13:59"],
            ["2026-11-27 10:00", "2026-11-27 11:59", "2026-11-27 14:00"]
        ),
        (TimeRule(nil, "00:00-24:00"), ["2026-11-27 00:00", "2026-11-27 23:59"], []),
        (
            TimeRule(from: "2026-12-01", until: "2026-12-24"), ["2026-12-01 00:00", "2026-12-24 23:59"],
            ["2026-11-30 23:59", "2026-12-25 00:00", "2027-12-10 12:00"]
        ),
        (TimeRule(from: "12-01", until: "12-24"), ["2026-12-01 00:00", "2031-12-24 23:59"], ["2026-11-30 23:59", "2026-12-25 00:00"]),
        (
            TimeRule(from: "12-24", until: "01-06"), ["2026-12-24 00:00", "2027-01-06 23:59", "2027-12-31 12:00", "2026-01-01 00:00"],
            ["2027-01-07 00:00", "2026-12-23 23:59"]
        ),
        (TimeRule(from: "2026-12-24"), ["2026-12-24 00:00", "2040-01-01 00:00"], ["2026-12-23 23:59"]),
        (TimeRule(until: "2026-12-24"), ["2020-01-01 00:00", "2026-12-24 23:59"], ["2026-12-25 00:00"]),
        // The last night of a campaign plays to its end.
        (
            TimeRule(nil, "20:00-04:00", from: "2026-12-01", until: "2026-12-24"), ["2026-12-25 03:59", "2026-12-01 20:00"],
            ["2026-12-01 03:00", "2026-12-25 04:00", "2026-12-25 21:00"]
        ),
        (TimeRule(from: "02-29", until: "02-29"), ["2028-02-29 12:00"], ["2026-02-28 12:00", "2026-03-01 12:00"]),
        (TimeRule("sun"), ["2026-11-29 00:00", "2026-11-29 23:59"], ["2026-11-28 23:59", "2026-11-30 00:00"]),
        // Clocks go forward from two to three, and back from three to two.
        (
            TimeRule(nil, "02:00-03:00"), ["2026-10-25 02:00", "2026-10-25 02:59", "2026-03-28 02:30"],
            ["2026-03-29 03:00", "2026-03-29 01:59", "2026-10-25 03:00"]
        ),
        // In Berlin the sun sets at 15:54 on 21 December and at 21:33 on 21 June.
        (
            TimeRule(nil, "sunset-23:00"), ["2026-12-21 16:00", "2026-06-21 21:40", "2026-06-21 22:59"],
            ["2026-12-21 15:45", "2026-06-21 21:20", "2026-12-21 23:00", "2026-12-21 03:00"]
        ),
        (TimeRule(nil, "sunset+2h-22:30"), ["2026-12-21 18:00"], ["2026-06-21 23:40", "2026-06-21 22:00", "2026-06-22 12:00"]),
        (
            TimeRule(nil, "sunset-sunrise"), ["2026-12-21 16:00", "2026-12-22 08:00", "2026-06-22 04:30"],
            ["2026-12-22 08:30", "2026-06-21 12:00"]
        ),
    ]

    @Test("It holds when it should", arguments: cases) func holds(_ given: (rule: TimeRule, on: [String], off: [String])) {
        let clock = LocalClock.berlin
        for time in given.on { #expect(clock.isOn(given.rule, at: clock.at(time)), "\(given.rule.description) at \(time)") }
        for time in given.off { #expect(!clock.isOn(given.rule, at: clock.at(time)), "\(given.rule.description) at \(time)") }
    }

    @Test("An hour that comes twice is there twice") func twice() {
        let clock = LocalClock.berlin
        let rule = TimeRule(nil, "02:15-02:45")
        let first = clock.at("2026-10-25 02:15")
        for (minutes, isOn) in [(-1, false), (0, true), (29, true), (30, false), (59, false), (60, true), (89, true), (90, false)]
            as [(Int64, Bool)]
        {
            #expect(clock.isOn(rule, at: first + minutes * 60) == isOn, "\(minutes)")
        }
    }

    @Test("Without a place the sun rises at six and sets at eighteen") func noPlace() {
        let clock = LocalClock(zone: .utc)
        #expect(
            clock.isOn(TimeRule(nil, "sunrise-sunset"), at: clock.at("2026-06-21 06:00"))
                && !clock.isOn(TimeRule(nil, "sunrise-sunset"), at: clock.at("2026-06-21 18:00")))
    }
}

@Suite struct ScheduleTests {
    private let clock = LocalClock.berlin

    /// Returns the changes in `days` days from `start`: their times and programs.
    private func changes(_ entries: [Schedule.Entry], from start: String, days: Int64) -> [String] {
        let schedule = Schedule(entries, clock: clock)
        var time = clock.at(start)
        let end = time + days * 86_400
        var lines: [String] = []
        var last: [Int]?
        while time < end {
            let played = schedule.played(of: schedule.on(at: time))
            if played != last { lines.append("\(clock.shown(time)) \(played)") }
            last = played
            time = schedule.nextChange(after: time, before: end) ?? end
        }
        return lines
    }

    @Test("Opening hours over a loop for the night") func hours() {
        let entries = [
            Schedule.Entry([]), Schedule.Entry([TimeRule("mon-fri", "09:00-18:00"), TimeRule()], rank: .init(program: 1), program: 0),
        ]
        #expect(
            changes(entries, from: "2026-11-27 00:00", days: 4) == [
                "2026-11-27 00:00 [0]", "2026-11-27 09:00 [1]", "2026-11-27 18:00 [0]", "2026-11-30 09:00 [1]", "2026-11-30 18:00 [0]",
            ])
    }

    @Test("Of equal rank all are played, of several the highest; and what is off within a program is left out") func ranks() {
        let morning = TimeRule(nil, "06:00-12:00"), day = TimeRule(nil, "09:00-18:00"), lunch = TimeRule(nil, "12:00-13:00")
        let entries = [
            Schedule.Entry([morning]), Schedule.Entry([day]),
            Schedule.Entry([lunch], rank: .init(program: 5), program: 0),
            Schedule.Entry([lunch, TimeRule("sat-sun")], rank: .init(program: 5), program: 0),
        ]
        #expect(
            changes(entries, from: "2026-11-27 00:00", days: 1) == [
                "2026-11-27 00:00 []", "2026-11-27 06:00 [0]", "2026-11-27 09:00 [0, 1]", "2026-11-27 12:00 [2]", "2026-11-27 13:00 [1]",
                "2026-11-27 18:00 []",
            ])
        // A program without playable items gives way.
        let schedule = Schedule(entries, clock: clock)
        #expect(schedule.played(of: schedule.on(at: clock.at("2026-11-27 12:30"))) { $0 != 2 } == [1])
    }

    @Test("The priority of an entry counts within its own playlist") func priorities() {
        let holiday = TimeRule(from: "12-24", until: "12-26")
        let entries = [
            Schedule.Entry([]), Schedule.Entry([holiday], rank: .init(entry: 1)),
            Schedule.Entry([TimeRule(nil, "20:00-22:00")], rank: .init(program: 0), program: 0),
        ]
        let schedule = Schedule(entries, clock: clock)
        #expect(schedule.played(of: schedule.on(at: clock.at("2026-12-23 12:00"))) == [0])
        #expect(schedule.played(of: schedule.on(at: clock.at("2026-12-24 12:00"))) == [1])
        #expect(schedule.played(of: schedule.on(at: clock.at("2026-12-24 21:00"))) == [1, 2])
    }

    @Test("A clock that was never set decides nothing") func noClock() {
        let schedule = Schedule([Schedule.Entry([]), Schedule.Entry([TimeRule("mon-sun")])], clock: clock)
        #expect(schedule.on(at: 0, isRight: false) == [0] && schedule.on(at: 0) == [0, 1])
    }

    @Test("What never changes has no next change, and what is far is found") func far() {
        #expect(Schedule([Schedule.Entry([])], clock: clock).nextChange(after: 0) == nil)
        let once = Schedule([Schedule.Entry([TimeRule(nil, "10:00-11:00", from: "2027-08-01", until: "2027-08-01")])], clock: clock)
        let start = clock.at("2026-11-27 12:00")
        #expect(once.nextChange(after: start).map(clock.shown) == "2027-08-01 10:00" && once.everOn(0, from: start))
        #expect(once.nextChange(after: clock.at("2027-08-01 11:00")) == nil && !once.everOn(0, from: clock.at("2027-08-02 00:00")))
        #expect(Schedule([Schedule.Entry([TimeRule("mon"), TimeRule("tue")])], clock: clock).everOn(0, from: start) == false)
    }
}
