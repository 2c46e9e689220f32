import KioskPlatform

/// The state of a schedule over time: a pure value that takes the clock's time and returns the changes.
///
/// The clock may be wrong at first, and may be set at any time. The entries that are on always follow the clock as it is. A timer fires
/// when the clock reaches its time by running. If the clock jumps over timers, they do not fire. Of timers with a lasting setting, such as
/// a volume, the last one is then applied, as at the start.
package struct ScheduleState: Sendable {
    /// A command at a time of day.
    package struct Timer: Hashable, Sendable {
        package var moment: TimeOfDay
        /// The days of the timer.
        package var rule: TimeRule
        /// The property that it sets for good; nil if it sets none.
        package var property: String?

        package init(_ moment: TimeOfDay, _ rule: TimeRule, sets property: String? = nil) {
            (self.moment, self.rule, self.property) = (moment, rule, property)
        }
    }

    /// A change.
    package enum Event: Hashable, Sendable {
        /// The set of entries that are on has changed.
        case on(Set<Int>)
        /// The display must go off, or on.
        case dark(Bool)
        /// A timer fires now.
        case timer(Int)
        /// An earlier timer, whose setting still holds.
        case lasting(Int)
        /// The clock is not set: entries with rules wait for it.
        case waitsForClock
    }

    package let schedule: Schedule
    package let timers: [Timer]
    /// The entries that are on; nil before the first look at the clock.
    package private(set) var on: Set<Int>?
    package private(set) var isDark = false
    /// Until when timers have been handled; nil if the clock was never right.
    private var doneUntil: Int64?
    private var isWaiting = false

    /// The longest time in seconds between looks at a running clock; a longer step is a jump.
    static let longestStep: Int64 = 90
    /// How many days back to search for timers with lasting settings.
    private static let memory = 8

    /// Makes a state after `former`, if any; timers that have fired do not fire again.
    package init(_ schedule: Schedule, timers: [Timer] = [], after former: ScheduleState? = nil) {
        (self.schedule, self.timers, isDark) = (schedule, timers, former?.isDark ?? false)
        if let former, former.timers == timers, former.schedule.clock == schedule.clock { doneUntil = former.doneUntil }
    }

    /// Whether nothing depends on time.
    package var isConstant: Bool { schedule.isConstant && timers.isEmpty }

    /// Takes the clock's current time; returns the changes.
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

    /// Returns when the next event is due on a running clock, in seconds since 1970; nil if there is none within a day.
    package func due(after instant: Int64) -> Int64? {
        let end = instant + 86_400
        let change = schedule.nextChange(after: instant, before: end)
        return [change, instants(after: instant, until: end).first?.instant].compactMap { $0 }.min()
    }

    /// Returns the timers in a span of time, in the order of their instants.
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

    /// Returns the last timer of each property.
    private func lasting(at instant: Int64) -> [Int] {
        if timers.allSatisfy({ $0.property == nil }) { return [] }
        var last: [String: (instant: Int64, timer: Int)] = [:]
        for found in instants(after: instant - Int64(Self.memory) * 86_400, until: instant) {
            if let property = timers[found.timer].property { last[property] = found }
        }
        return last.values.sorted { $0.instant < $1.instant }.map(\.timer)
    }
}
