import KioskPlatform

/// A time zone: the offset of a place's clocks from UTC, and its transitions. The source is a file of the time zone database, in the format
/// TZif of RFC 9636. The C library has one zone per process, which cannot change while threads run. This type allows any number of zones,
/// and finds the instants of a local time.
///
/// The file has a list of transitions, and a POSIX rule, as in the variable TZ, for the time after the last one.
package struct TimeZoneRules: Hashable, Sendable {
    /// The name of the zone; empty if unknown.
    package let name: String
    /// The instants at which the offset changes, in seconds since 1970, in order; and the offsets from then on, in seconds.
    private let transitions: [Int64]
    private let offsets: [Int]
    /// The offset before the first transition.
    private let first: Int
    /// The rule after the last transition; nil if its offset holds for ever.
    private let rule: RecurringRule?

    private init(name: String, transitions: [Int64], offsets: [Int], first: Int, rule: RecurringRule?) {
        (self.name, self.transitions, self.offsets, self.first, self.rule) = (name, transitions, offsets, first, rule)
    }

    package static let utc = TimeZoneRules(name: "UTC", transitions: [], offsets: [], first: 0, rule: nil)

    package static let database = "/usr/share/zoneinfo"
    private static let longestFile = 256 << 10

    // MARK: Reading

    /// Loads the database's zone `name`, such as `Europe/Berlin`; nil if there is none.
    package init?(named name: String, database: String = database) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let isName = parts.allSatisfy { part in
            !part.isEmpty && part.first != "."
                && part.utf8.allSatisfy { byte in
                    UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                        || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "+-_".utf8.contains(byte)
                }
        }
        guard isName, let bytes = SmallFile.bytes("\(database)/\(name)", atMost: Self.longestFile) else { return nil }
        self.init(bytes, name: name)
    }

    /// The zone of this machine, by the variable TZ or else /etc/localtime; UTC if neither is readable.
    package static var local: TimeZoneRules { local(variable: environment("TZ"), file: "/etc/localtime") }

    static func local(variable: String?, file: String) -> TimeZoneRules {
        if let variable, !variable.isEmpty {
            let text = variable.hasPrefix(":") ? String(variable.dropFirst()) : variable
            if text.hasPrefix("/") { return SmallFile.bytes(text, atMost: longestFile).flatMap { TimeZoneRules($0, name: text) } ?? utc }
            if let named = TimeZoneRules(named: text) { return named }
            return RecurringRule(text).map { TimeZoneRules(name: text, transitions: [], offsets: [], first: $0.standard, rule: $0) } ?? utc
        }
        return SmallFile.bytes(file, atMost: longestFile).flatMap { TimeZoneRules($0, name: "") } ?? utc
    }

    /// Parses the bytes of a file; nil if they are invalid.
    init?(_ bytes: [UInt8], name: String) {
        var input = Bytes(bytes)
        guard var header = Header(&input) else { return nil }
        var wide = 4
        if header.version >= UInt8(ascii: "2") {
            // The first block is for programs limited to 32 bits.
            guard input.skip(header.blockSize(4)), let second = Header(&input) else { return nil }
            (header, wide) = (second, 8)
        }
        var times: [Int64] = []
        for _ in 0..<header.times {
            guard let time = input.number(wide) else { return nil }
            times.append(time)
        }
        var kinds: [Int] = []
        for _ in 0..<header.times {
            guard let kind = input.number(1), 0..<Int64(header.kinds) ~= kind else { return nil }
            kinds.append(Int(kind))
        }
        var local: [Int] = []
        for _ in 0..<header.kinds {
            guard let offset = input.number(4), -90_000...93_600 ~= offset, input.skip(2) else { return nil }
            local.append(Int(offset))
        }
        guard let first = local.first, zip(times, times.dropFirst()).allSatisfy(<) else { return nil }
        guard input.skip(header.restSize(wide)) else { return nil }
        let footer = wide == 8 ? input.line : ""
        let rule = footer.isEmpty ? nil : RecurringRule(footer)
        if !footer.isEmpty, rule == nil { return nil }
        self.init(name: name, transitions: times, offsets: kinds.map { local[$0] }, first: first, rule: rule)
    }

    /// The counts at the beginning of a block.
    private struct Header {
        var version: UInt8
        var times: Int, kinds: Int
        private var characters: Int, leaps: Int, standards: Int, universals: Int

        init?(_ input: inout Bytes) {
            guard input.take(4) == Array("TZif".utf8), let version = input.take(1)?[0], input.skip(15) else { return nil }
            var counts: [Int] = []
            for _ in 0..<6 {
                guard let count = input.number(4), 0...10_000 ~= count else { return nil }
                counts.append(Int(count))
            }
            self.version = version
            (universals, standards, leaps, times, kinds, characters) = (counts[0], counts[1], counts[2], counts[3], counts[4], counts[5])
        }

        /// Returns the bytes after the kinds; `wide` is the size of a time in bytes.
        func restSize(_ wide: Int) -> Int { characters + leaps * (wide + 4) + standards + universals }
        func blockSize(_ wide: Int) -> Int { times * (wide + 1) + kinds * 6 + restSize(wide) }
    }

    /// A reader of bytes; numbers are big-endian.
    private struct Bytes {
        private let bytes: [UInt8]
        private var place = 0

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        mutating func take(_ count: Int) -> [UInt8]? {
            guard count <= bytes.count - place else { return nil }
            defer { place += count }
            return Array(bytes[place..<place + count])
        }

        mutating func skip(_ count: Int) -> Bool { take(count) != nil }

        /// Reads a number: unsigned if it has one byte, signed otherwise.
        mutating func number(_ count: Int) -> Int64? {
            guard let bytes = take(count), let highest = bytes.first else { return nil }
            let start: Int64 = count > 1 && highest >= 0x80 ? -1 : 0
            return bytes.reduce(start) { $0 << 8 | Int64($1) }
        }

        /// The text between two line ends.
        var line: String {
            guard place < bytes.count, bytes[place] == UInt8(ascii: "\n") else { return "" }
            return String(decoding: bytes[(place + 1)...].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        }
    }

    // MARK: Asking

    /// Returns the offset from UTC at an instant, in seconds; the instant is in seconds since 1970.
    package func offset(at instant: Int64) -> Int {
        guard let last = transitions.last else { return rule?.offset(at: instant) ?? first }
        if instant >= last, let rule { return rule.offset(at: instant) }
        let index = firstTransition(after: instant)
        return index == 0 ? first : offsets[index - 1]
    }

    /// Returns the local time at an instant.
    package func local(at instant: Int64) -> LocalTime { LocalTime(seconds: instant + Int64(offset(at: instant))) }

    /// Returns the next instant after `instant` at which the offset changes; nil if it never does.
    package func nextTransition(after instant: Int64) -> Int64? {
        var index = firstTransition(after: instant)
        while index < transitions.count {
            if offsets[index] != (index == 0 ? first : offsets[index - 1]) { return transitions[index] }
            index += 1
        }
        return rule?.nextTransition(after: max(instant, transitions.last ?? instant))
    }

    /// Returns the instants at which the clocks show `local`: none if they skip it, two if they repeat it.
    package func instants(of local: LocalTime) -> [Int64] {
        let seconds = local.seconds
        // Offsets are less than a day and a half, and change at most once in that time.
        let candidates = [seconds - 129_600, seconds, seconds + 129_600].map { seconds - Int64(offset(at: $0)) }
        return Set(candidates).sorted().filter { self.local(at: $0) == local }
    }

    /// Returns the first instant at which the clocks show `local`, or a later time if they skip it.
    package func firstInstant(notBefore local: LocalTime) -> Int64 {
        if let instant = instants(of: local).first { return instant }
        let before = local.seconds - Int64(offset(at: local.seconds - 129_600))
        return nextTransition(after: before - 129_600).flatMap { transition in
            var transition = transition
            while self.local(at: transition) < local, let next = nextTransition(after: transition) { transition = next }
            return transition
        } ?? before
    }

    private func firstTransition(after instant: Int64) -> Int {
        var (low, high) = (0, transitions.count)
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] <= instant { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// A rule as in the variable TZ, by POSIX with the extensions of RFC 9636: `CET-1CEST,M3.5.0,M10.5.0/3`.
struct RecurringRule: Hashable, Sendable {
    /// Seconds ahead of UTC.
    let standard: Int
    private let daylight: Daylight?

    private struct Daylight: Hashable {
        var offset: Int
        var start: Change, end: Change
    }

    /// A day of each year, and the second of that day, by the clocks before the change.
    private struct Change: Hashable {
        enum Day: Hashable {
            /// The `week`th weekday of a month (5 for the last); 0 is Sunday.
            case month(Int, week: Int, weekday: Int)
            /// 1…365, without the 29th of February.
            case dayWithoutLeap(Int)
            /// 0…365.
            case day(Int)
        }

        var day: Day
        var second: Int

        /// Returns the instant of the change in a year; `offset` is that of the clocks before it.
        func instant(in year: Int, ahead offset: Int) -> Int64 {
            let date: CalendarDate
            switch day {
            case .month(let month, let week, let weekday):
                let first = CalendarDate(validYear: year, month: month, day: 1)
                let sunday = (first.weekday.rawValue + 1) % 7
                var number = (weekday - sunday + 7) % 7 + (week - 1) * 7
                while number >= CalendarDate.length(ofMonth: month, year: year) { number -= 7 }
                date = first + number
            case .dayWithoutLeap(let number):
                let isAfter = number > 59 && CalendarDate.length(ofMonth: 2, year: year) == 29
                date = CalendarDate(validYear: year, month: 1, day: 1) + (number - (isAfter ? 0 : 1))
            case .day(let number): date = CalendarDate(validYear: year, month: 1, day: 1) + number
            }
            return Int64(date.day) * 86_400 + Int64(second) - Int64(offset)
        }
    }

    init?(_ text: String) {
        var rest = Substring(text)
        guard Self.skipName(&rest), let west = Self.time(&rest, atMost: 24) else { return nil }
        standard = -west
        if rest.isEmpty {
            daylight = nil
            return
        }
        guard Self.skipName(&rest) else { return nil }
        var offset = standard + 3600
        if rest.first != "," {
            guard let west = Self.time(&rest, atMost: 24) else { return nil }
            offset = -west
        }
        guard let start = Self.change(&rest), let end = Self.change(&rest), rest.isEmpty else { return nil }
        daylight = Daylight(offset: offset, start: start, end: end)
    }

    /// Skips a name of letters, or any text in angle brackets.
    private static func skipName(_ rest: inout Substring) -> Bool {
        if rest.first == "<" {
            guard let end = rest.firstIndex(of: ">") else { return false }
            rest = rest[rest.index(after: end)...]
            return true
        }
        let name = rest.prefix { $0.isASCII && $0.isLetter }
        rest = rest.dropFirst(name.count)
        return name.count >= 3
    }

    private static func number(_ rest: inout Substring) -> Int? {
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        guard 1...4 ~= digits.count else { return nil }
        rest = rest.dropFirst(digits.count)
        return Int(digits)
    }

    /// Parses `[+-]h[:mm[:ss]]` into seconds.
    private static func time(_ rest: inout Substring, atMost hours: Int) -> Int? {
        var sign = 1
        if let character = rest.first, character == "-" || character == "+" {
            sign = character == "-" ? -1 : 1
            rest = rest.dropFirst()
        }
        guard let hour = number(&rest), hour <= hours else { return nil }
        var seconds = hour * 3600
        for unit in [60, 1] where rest.first == ":" {
            rest = rest.dropFirst()
            guard let part = number(&rest), part < 60 else { return nil }
            seconds += part * unit
        }
        return sign * seconds
    }

    /// Parses `,M3.5.0/2`, `,J60` or `,59`.
    private static func change(_ rest: inout Substring) -> Change? {
        guard rest.first == "," else { return nil }
        rest = rest.dropFirst()
        let day: Change.Day
        switch rest.first {
        case "M":
            rest = rest.dropFirst()
            guard let month = number(&rest), 1...12 ~= month, rest.popFirst() == ".", let week = number(&rest), 1...5 ~= week,
                rest.popFirst() == ".", let weekday = number(&rest), 0...6 ~= weekday
            else { return nil }
            day = .month(month, week: week, weekday: weekday)
        case "J":
            rest = rest.dropFirst()
            guard let number = number(&rest), 1...365 ~= number else { return nil }
            day = .dayWithoutLeap(number)
        default:
            guard let number = number(&rest), 0...365 ~= number else { return nil }
            day = .day(number)
        }
        var second = 7200
        if rest.first == "/" {
            rest = rest.dropFirst()
            guard let time = time(&rest, atMost: 167) else { return nil }
            second = time
        }
        return Change(day: day, second: second)
    }

    func offset(at instant: Int64) -> Int {
        guard let daylight else { return standard }
        let year = LocalTime(seconds: instant + Int64(standard)).date.numbers.year
        let start = daylight.start.instant(in: year, ahead: standard), end = daylight.end.instant(in: year, ahead: daylight.offset)
        let isDaylight = start < end ? start <= instant && instant < end : !(end <= instant && instant < start)
        return isDaylight ? daylight.offset : standard
    }

    func nextTransition(after instant: Int64) -> Int64? {
        guard let daylight, daylight.offset != standard else { return nil }
        let year = LocalTime(seconds: instant + Int64(standard)).date.numbers.year
        let all = (year - 1...year + 1).flatMap { year in
            [daylight.start.instant(in: year, ahead: standard), daylight.end.instant(in: year, ahead: daylight.offset)]
        }
        // Daylight saving time all year long changes nothing at its ends.
        return all.sorted().first { $0 > instant && offset(at: $0) != offset(at: $0 - 1) }
    }
}
