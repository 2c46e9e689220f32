/// A day of the week, in the order of ISO 8601.
package enum Weekday: Int, Hashable, Sendable, CaseIterable, Comparable {
    case monday, tuesday, wednesday, thursday, friday, saturday, sunday

    /// `mon`.
    package var word: String { String("\(self)".prefix(3)) }

    /// `mon` or `Monday`; nil for anything else.
    init?(_ text: some StringProtocol) {
        let text = text.lowercased()
        guard let day = Self.allCases.first(where: { text == $0.word || text == "\($0)" }) else { return nil }
        self = day
    }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A day of the Gregorian calendar. Its text is ISO 8601's: `2026-12-01`.
package struct CalendarDate: Hashable, Sendable, Comparable, LosslessStringConvertible {
    /// Days since 1970-01-01.
    package var day: Int

    package init(day: Int) { self.day = day }

    /// Makes a date; nil if the calendar has no such day.
    package init?(year: Int, month: Int, day: Int) {
        guard 1...9999 ~= year, 1...12 ~= month, 1...Self.length(ofMonth: month, year: year) ~= day else { return nil }
        self.init(validYear: year, month: month, day: day)
    }

    /// Makes a date of valid numbers. The count of days uses eras of 400 years from March, so that a leap day is the last of its year.
    init(validYear year: Int, month: Int, day: Int) {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        self.day = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    package init?(_ text: String) {
        guard let match = text.wholeMatch(of: /([0-9]{4})-([0-9]{2})-([0-9]{2})/) else { return nil }
        self.init(year: Int(match.1) ?? 0, month: Int(match.2) ?? 0, day: Int(match.3) ?? 0)
    }

    package var numbers: (year: Int, month: Int, day: Int) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let number = month < 10 ? month + 3 : month - 9
        return (yearOfEra + era * 400 + (number <= 2 ? 1 : 0), number, dayOfYear - (153 * month + 2) / 5 + 1)
    }

    /// 1970-01-01 was a Thursday.
    package var weekday: Weekday { Weekday.allCases[((day + 3) % 7 + 7) % 7] }

    package static func + (date: Self, days: Int) -> Self { Self(day: date.day + days) }
    package static func < (left: Self, right: Self) -> Bool { left.day < right.day }

    static func length(ofMonth month: Int, year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    package var description: String {
        let (year, month, day) = numbers
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
    }
}

/// A local time: a day, and seconds since its midnight, 0 ..< 86 400. When clocks are set back, an hour occurs twice.
package struct LocalTime: Hashable, Sendable, Comparable {
    package var date: CalendarDate
    package var second: Int

    package init(_ date: CalendarDate, second: Int) { (self.date, self.second) = (date, second) }

    /// Makes a time of seconds since the beginning of 1970, local time.
    init(seconds: Int64) {
        let day = (seconds >= 0 ? seconds : seconds - 86_399) / 86_400
        self.init(CalendarDate(day: Int(day)), second: Int(seconds - day * 86_400))
    }

    var seconds: Int64 { Int64(date.day) * 86_400 + Int64(second) }

    package static func < (left: Self, right: Self) -> Bool { (left.date, left.second) < (right.date, right.second) }

    /// `09:05`, or `09:05:30` if the seconds are not 0.
    package var clock: String {
        func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
        let text = two(second / 3600) + ":" + two(second / 60 % 60)
        return second % 60 == 0 ? text : text + ":" + two(second % 60)
    }
}
