import KioskPlatform

/// What follows from a schedule as time goes by: a pure value, which is told what the clock shows and says what has changed.
///
/// The clock may be wrong at first, and be put on or back at any time. What is on is what is on by the clock as it is. What is done at a time of day is done
/// when the clock comes to that time by going; over what it leaps nothing is done, but that the last thing that lasts (a volume) holds afterwards, as it does at
/// the start.
package struct ScheduleState: Sendable {
    /// Something that is done at a time of day.
    package struct Timer: Hashable, Sendable {
        package var moment: TimeOfDay
        /// On which days.
        package var rule: TimeRule
        /// What it sets, where that lasts until something else sets it; nil where it does not.
        package var property: String?

        package init(_ moment: TimeOfDay, _ rule: TimeRule, sets property: String? = nil) {
            (self.moment, self.rule, self.property) = (moment, rule, property)
        }
    }

    /// What has happened.
    package enum Event: Hashable, Sendable {
        /// These entries are on now.
        case on(Set<Int>)
        /// The display is to be off, or on.
        case dark(Bool)
        /// It is time for this one.
        case timer(Int)
        /// Its time was earlier, and what it sets lasts.
        case lasting(Int)
        /// The clock has not been set: what says something of time waits.
        case waitsForClock
    }

    package let schedule: Schedule
    package let timers: [Timer]
    /// What is on; nil before the clock was looked at.
    package private(set) var on: Set<Int>?
    package private(set) var isDark = false
    /// Until when timers have been looked at; nil while the clock was never right.
    private var doneUntil: Int64?
    private var isWaiting = false

    /// A clock that goes is looked at before so many seconds are over: what is more is a leap.
    static let longestStep: Int64 = 90
    /// How far back a timer is looked for whose setting lasts.
    private static let memory = 8

    /// One that follows `former`, if there was one: what that has done at a time of day is not done again.
    package init(_ schedule: Schedule, timers: [Timer] = [], after former: ScheduleState? = nil) {
        (self.schedule, self.timers, isDark) = (schedule, timers, former?.isDark ?? false)
        if let former, former.timers == timers, former.schedule.clock == schedule.clock { doneUntil = former.doneUntil }
    }

    /// Whether time has nothing to say.
    package var isConstant: Bool { schedule.isConstant && timers.isEmpty }

    /// The clock shows this now.
    package mutating func look(at clock: WallClock) -> [Event] {
        var events: [Event] = []
        if !clock.isRight, !isConstant, !isWaiting { events.append(.waitsForClock) }
        isWaiting = !clock.isRight
        let now = schedule.moment(at: clock.seconds, isRight: clock.isRight)
        if now.on != on {
            on = now.on
            events.append(.on(now.on))
        }
        if now.isDark != isDark {
            isDark = now.isDark
            events.append(.dark(isDark))
        }
        guard clock.isRight else { return events }
        if let done = doneUntil, 0...Self.longestStep ~= clock.seconds - done {
            events += instants(after: done, until: clock.seconds).map { .timer($0.timer) }
        } else {
            events += lasting(at: clock.seconds).map { .lasting($0) }
        }
        doneUntil = clock.seconds
        return events
    }

    /// When there is something to do, if the clock goes on as it does, in seconds since 1970; nil for nothing within a day.
    package func due(after instant: Int64) -> Int64? {
        let end = instant + 86_400
        let change = schedule.nextChange(after: instant, before: end)
        return [change, instants(after: instant, until: end).first?.instant].compactMap { $0 }.min()
    }

    /// The timers of a time, in the order in which they come.
    package func instants(after start: Int64, until end: Int64) -> [(instant: Int64, timer: Int)] {
        let (first, last) = (schedule.clock.zone.local(at: start).date, schedule.clock.zone.local(at: end).date)
        return timers.indices.flatMap { number -> [(instant: Int64, timer: Int)] in
            (first.day - 1...last.day + 1).compactMap { day in
                let date = CalendarDate(day: day)
                guard timers[number].rule.includes(date) else { return nil }
                let instant = schedule.clock.instant(of: timers[number].moment, on: date)
                return start < instant && instant <= end ? (instant, number) : nil
            }
        }.sorted { ($0.instant, $0.timer) < ($1.instant, $1.timer) }
    }

    /// The last timer of each property.
    private func lasting(at instant: Int64) -> [Int] {
        if timers.allSatisfy({ $0.property == nil }) { return [] }
        var last: [String: (instant: Int64, timer: Int)] = [:]
        for found in instants(after: instant - Int64(Self.memory) * 86_400, until: instant) {
            if let property = timers[found.timer].property { last[property] = found }
        }
        return last.values.sorted { $0.instant < $1.instant }.map(\.timer)
    }
}
