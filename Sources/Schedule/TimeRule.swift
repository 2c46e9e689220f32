/// A set of weekdays. Its text is, for example, `mon-fri, sun`.
package struct DaySet: Hashable, Sendable, LosslessStringConvertible {
    private var days: Set<Weekday>

    package static let all = DaySet(days: Set(Weekday.allCases))

    private init(days: Set<Weekday>) { self.days = days }

    /// Parses days and spans of days, with commas between them. A span may cross the end of the week: `fri-mon`.
    package init?(_ text: String) {
        days = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Weekday(trimmed($0)) }
            guard 1...2 ~= ends.count, let first = ends[0], let last = ends[ends.count - 1] else { return nil }
            let count = (last.rawValue - first.rawValue + 7) % 7
            for step in 0...count { days.insert(Weekday.allCases[(first.rawValue + step) % 7]) }
        }
    }

    func contains(_ date: CalendarDate) -> Bool { days.contains(date.weekday) }

    package var description: String {
        var spans: [(first: Weekday, last: Weekday)] = []
        for day in days.sorted() {
            if let last = spans.last, last.last.rawValue + 1 == day.rawValue {
                spans[spans.count - 1].last = day
            } else {
                spans.append((day, day))
            }
        }
        return spans.map { $0.first == $0.last ? $0.first.word : "\($0.first.word)-\($0.last.word)" }.joined(separator: ", ")
    }
}

/// A time of day, by the clock or relative to sunrise or sunset. Its text is `09:30`, `24:00`, `sunset` or `sunrise+1h30m`.
package struct TimeOfDay: Hashable, Sendable, LosslessStringConvertible {
    package enum Anchor: String, Hashable, Sendable {
        case midnight, sunrise, sunset
    }

    package let anchor: Anchor
    /// Minutes after the anchor: 0…1440 after midnight, within half a day of sunrise and sunset.
    package let minutes: Int

    package init?(_ text: String) {
        if let match = text.wholeMatch(of: /([0-9]{1,2}):([0-9]{2})/) {
            guard let hour = Int(match.1), let minute = Int(match.2), minute < 60, hour * 60 + minute <= 1440 else { return nil }
            (anchor, minutes) = (.midnight, hour * 60 + minute)
            return
        }
        guard let match = text.wholeMatch(of: /(sunrise|sunset)(?:([+-])(?:([0-9]{1,2})h)?(?:([0-9]{1,3})m)?)?/) else { return nil }
        let amount = (match.3.flatMap { Int($0) } ?? 0) * 60 + (match.4.flatMap { Int($0) } ?? 0)
        guard match.2 == nil || match.3 != nil || match.4 != nil, amount <= 720, let anchor = Anchor(rawValue: String(match.1)) else {
            return nil
        }
        (self.anchor, minutes) = (anchor, match.2 == "-" ? -amount : amount)
    }

    /// The minute of the day if the sun rises at 06:00 and sets at 18:00, to compare two times.
    fileprivate var usual: Int { (anchor == .midnight ? 0 : anchor == .sunrise ? 360 : 1080) + minutes }

    package var description: String {
        func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
        if anchor == .midnight { return two(minutes / 60) + ":" + two(minutes % 60) }
        if minutes == 0 { return anchor.rawValue }
        let (hours, rest) = (abs(minutes) / 60, abs(minutes) % 60)
        return anchor.rawValue + (minutes < 0 ? "-" : "+") + (hours > 0 ? "\(hours)h" : "") + (rest > 0 ? "\(rest)m" : "")
    }
}

/// Spans of a day. Their text is `09:00-18:00, 20:00-02:00`; a span whose end precedes its start continues after midnight.
package struct DayHours: Hashable, Sendable, LosslessStringConvertible {
    struct Span: Hashable {
        var start: TimeOfDay, end: TimeOfDay
        /// Whether it ends on the next day.
        var isOvernight: Bool { end.usual <= start.usual }
    }

    let spans: [Span]

    package init?(_ text: String) {
        var spans: [Span] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            // After the minus of `sunset-30m` comes a number with a unit, after that of a span a time.
            guard let match = trimmed(part).wholeMatch(of: /(.+?)\s*-\s*([0-9]{1,2}:[0-9]{2}|sun.*)/),
                let start = TimeOfDay(String(match.1)),
                let end = TimeOfDay(String(match.2)), start != end, start.minutes < 1440 || start.anchor != .midnight
            else { return nil }
            spans.append(Span(start: start, end: end))
        }
        if spans.isEmpty { return nil }
        self.spans = spans
    }

    var followsSun: Bool { spans.contains { $0.start.anchor != .midnight || $0.end.anchor != .midnight } }

    package var description: String { spans.map { "\($0.start)-\($0.end)" }.joined(separator: ", ") }
}

/// The first or the last day of a period: `2026-12-01`, or `12-01` for every year.
package enum DateBound: Hashable, Sendable, LosslessStringConvertible {
    case date(CalendarDate)
    case yearly(month: Int, day: Int)

    package init?(_ text: String) {
        if let date = CalendarDate(text) {
            self = .date(date)
        } else {
            guard let match = text.wholeMatch(of: /([0-9]{2})-([0-9]{2})/), let month = Int(match.1), let day = Int(match.2),
                CalendarDate(year: 2024, month: month, day: day) != nil
            else { return nil }
            self = .yearly(month: month, day: day)
        }
    }

    package var isYearly: Bool { if case .yearly = self { true } else { false } }

    /// Returns whether the bound is on or before a day.
    fileprivate func isUp(to date: CalendarDate) -> Bool {
        switch self {
        case .date(let bound): bound <= date
        case .yearly(let month, let day): (month, day) <= (date.numbers.month, date.numbers.day)
        }
    }

    /// Returns whether the bound is on or after a day.
    fileprivate func isDown(to date: CalendarDate) -> Bool {
        switch self {
        case .date(let bound): bound >= date
        case .yearly(let month, let day): (month, day) >= (date.numbers.month, date.numbers.day)
        }
    }

    package var description: String {
        switch self {
        case .date(let date): date.description
        case .yearly(let month, let day): (month < 10 ? "0" : "") + "\(month)-" + (day < 10 ? "0" : "") + "\(day)"
        }
    }
}

/// A rule of time: weekdays, hours of each day, and a first and last day. Hours after midnight belong to the day on which they begin. Local
/// time counts: an hour that the clocks skip does not occur, and a repeated hour occurs twice.
package struct TimeRule: Hashable, Sendable {
    package var days: DaySet?
    package var hours: DayHours?
    package var from: DateBound?
    /// The last day, inclusive.
    package var until: DateBound?

    package init() {}

    /// Whether the rule is empty, and always holds.
    package var isAlways: Bool { self == TimeRule() }

    /// Whether `until` precedes `from`; yearly dates may do that.
    package var isBackwards: Bool {
        guard case .date(let first)? = from, case .date(let last)? = until else { return false }
        return last < first
    }

    /// Whether one of `from` and `until` is yearly, and the other is not.
    package var isMixed: Bool { from != nil && until != nil && from?.isYearly != until?.isYearly }

    package var followsSun: Bool { hours?.followsSun ?? false }

    /// Returns whether the rule's hours can begin on a day.
    func includes(_ date: CalendarDate) -> Bool {
        guard days?.contains(date) ?? true else { return false }
        let (hasBegun, goesOn) = (from?.isUp(to: date) ?? true, until?.isDown(to: date) ?? true)
        if case .yearly(let first, let firstDay)? = from, case .yearly(let last, let lastDay)? = until, (last, lastDay) < (first, firstDay)
        {
            return hasBegun || goesOn
        }
        return hasBegun && goesOn
    }

    /// The rule in the words of kiosk.conf.
    package var description: String {
        [days?.description, hours?.description, from.map { "from \($0)" }, until.map { "until \($0)" }].compactMap { $0 }.joined(
            separator: ", ")
    }
}

private func trimmed(_ text: Substring) -> String { String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
