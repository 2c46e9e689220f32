import Foundation
import TestSupport
import Testing

@testable import KioskSchedule

@Suite struct CalendarTests {
    @Test("Every day from 1600 to 2400 is the day after the one before, in the calendar and in the week") func everyDay() throws {
        var (year, month, day) = (1600, 1, 1)
        let first = try #require(CalendarDate(year: 1600, month: 1, day: 1))
        // 1600-01-01 was a Saturday.
        var date = first
        while year < 2400 {
            guard date.numbers == (year, month, day), CalendarDate(year: year, month: month, day: day) == date,
                date.weekday == Weekday.allCases[(date.day - first.day + 5) % 7]
            else {
                Issue.record("\(date) is no \(year)-\(month)-\(day)")
                return
            }
            date = date + 1
            day += 1
            if day > CalendarDate.length(ofMonth: month, year: year) { (month, day) = (month + 1, 1) }
            if month > 12 { (year, month) = (year + 1, 1) }
        }
        #expect(CalendarDate("1970-01-01")?.day == 0 && CalendarDate("2026-11-27")?.weekday == .friday)
    }

    @Test(arguments: [
        "2026-02-29", "2100-02-29", "2026-13-01", "2026-00-10", "2026-04-31", "0000-01-01", "26-1-1", "2026-1-1", "2026-01-01 ", "",
        "2026/01/01",
    ]) func noDay(_ text: String) { #expect(CalendarDate(text) == nil) }

    @Test func leapDays() { #expect(CalendarDate("2024-02-29") != nil && CalendarDate("2000-02-29")?.description == "2000-02-29") }
}

@Suite struct TimeZoneTests {
    private static let names = [
        "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns", "Africa/Casablanca",
        "Europe/Dublin",
        "Pacific/Apia", "Pacific/Kiritimati", "America/Nuuk", "Asia/Gaza", "Antarctica/Troll", "Etc/GMT+12", "UTC", "Asia/Tehran",
        "America/Sao_Paulo",
        "Australia/Sydney", "Africa/Cairo", "Asia/Hebron", "America/Santiago",
    ]
    private static let hasDatabase = access("\(TimeZoneRules.database)/Europe/Berlin", R_OK) == 0

    /// Returns the C library's UTC offset in the process's time zone.
    private func offset(at instant: Int64) -> Int {
        var (time, local) = (time_t(instant), tm())
        localtime_r(&time, &local)
        return local.tm_gmtoff
    }

    @Test("The offset of each zone is that of the C library, from 1902 to 2120 and around each change", .needs("tzdata", hasDatabase))
    func sameAsTheLibrary() throws {
        let before = getenv("TZ").map { String(cString: $0) }
        defer {
            if let before { setenv("TZ", before, 1) } else { unsetenv("TZ") }
            tzset()
        }
        for name in Self.names {
            guard let zone = TimeZoneRules(named: name) else { continue }  // Not every release of the database has every name.
            setenv("TZ", name, 1)
            tzset()
            for instant in stride(from: Int64(-2_145_000_000), to: 4_733_000_000, by: 1_234_567)
            where zone.offset(at: instant) != offset(at: instant) {
                Issue.record("\(name) at \(instant): \(zone.offset(at: instant)), not \(offset(at: instant))")
                break
            }
            var (instant, count) = (Int64(1_500_000_000), 0)
            while let next = zone.nextTransition(after: instant), next < 4_000_000_000 {
                for time in [next - 1, next, next + 1] where zone.offset(at: time) != offset(at: time) {
                    Issue.record("\(name) at \(time), a change")
                }
                #expect(zone.offset(at: next) != zone.offset(at: next - 1))
                (instant, count) = (next, count + 1)
            }
            if ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"].contains(name) { #expect(count > 100, "\(name)") }
        }
    }

    @Test("An hour that is left out has no instant, one that comes twice has two", .needs("tzdata", hasDatabase)) func leaps() throws {
        let berlin = try #require(TimeZoneRules(named: "Europe/Berlin"))
        func local(_ date: String, _ clock: String) throws -> LocalTime {
            LocalTime(try #require(CalendarDate(date)), second: try #require(TimeOfDay(clock)).minutes * 60)
        }
        let missing = try local("2026-03-29", "02:30")
        #expect(berlin.instants(of: missing) == [])
        #expect(berlin.firstInstant(notBefore: missing) == 1_774_746_000)  // 03:00 CEST
        let twice = try local("2026-10-25", "02:30")
        #expect(berlin.instants(of: twice) == [1_792_888_200, 1_792_891_800])
        #expect(berlin.firstInstant(notBefore: twice) == 1_792_888_200)
        for instant in berlin.instants(of: twice) { #expect(berlin.local(at: instant) == twice) }
        // A zone with half-hour changes, and a zone that skipped a day.
        let island = try #require(TimeZoneRules(named: "Australia/Lord_Howe"))
        #expect(island.instants(of: try local("2026-10-04", "02:15")) == [])
        let samoa = try #require(TimeZoneRules(named: "Pacific/Apia"))
        #expect(samoa.instants(of: try local("2011-12-30", "12:00")) == [])
        #expect(samoa.local(at: samoa.firstInstant(notBefore: try local("2011-12-30", "12:00"))) == (try local("2011-12-31", "00:00")))
    }

    @Test(
        "A name is one of the database, and no path",
        arguments: ["../../etc/passwd", "/etc/localtime", "", "Europe/", "Europe/../UTC", "Nowhere/Here", ".", "a b"])
    func noName(_ name: String) { #expect(TimeZoneRules(named: name) == nil) }

    @Test("A damaged file is none, or one that answers", .needs("tzdata", hasDatabase)) func damaged() throws {
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(TimeZoneRules.database)/Europe/Berlin")))
        var random = Proof.Random()
        for length in stride(from: 0, to: whole.count, by: 7) {
            _ = TimeZoneRules(Array(whole.prefix(length)), name: "").map { $0.offset(at: 1_800_000_000) }
        }
        for _ in 0..<2000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            guard let zone = TimeZoneRules(bytes, name: "") else { continue }
            for instant in [Int64.min / 4, 0, 1_800_000_000, Int64.max / 4] {
                _ = (zone.offset(at: instant), zone.nextTransition(after: instant))
            }
        }
    }

    @Test("What POSIX writes in TZ") func rules() throws {
        let dublin = TimeZoneRules.local(variable: "IST-1GMT0,M10.5.0,M3.5.0/1", file: "/")
        #expect(dublin.offset(at: 1_782_864_000) == 3600 && dublin.offset(at: 1_767_225_600) == 0)  // July, January
        let berlin = TimeZoneRules.local(variable: "CET-1CEST,M3.5.0,M10.5.0/3", file: "/")
        #expect(berlin.nextTransition(after: 1_767_225_600) == 1_774_746_000)
        #expect(TimeZoneRules.local(variable: "<+0330>-3:30", file: "/").offset(at: 0) == 12_600)
        #expect(TimeZoneRules.local(variable: "EST5EDT,0/0,J365/25", file: "/").offset(at: 1_767_225_600) == -14_400)
        for text in [
            "X", "CET", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M1.1.1", "CET-99", "CET-1CEST,M3.6.0,M10.5.0", "<CET-1",
            "CET-1CEST,M3.5.0,M10.5.0/999",
        ] {
            #expect(RecurringRule(text) == nil, "\(text)")
        }
        #expect(TimeZoneRules.local(variable: "nonsense/../..", file: "/") == .utc)
        #expect(TimeZoneRules.local(variable: nil, file: "/dev/null").offset(at: 0) == 0)
    }
}

@Suite struct DaylightTests {
    /// Local times from public almanacs; nil if the sun does not set or rise.
    private static let known: [(date: String, zone: String, latitude: Double, longitude: Double, rise: String, set: String)] = [
        ("2026-06-21", "CET-1CEST,M3.5.0,M10.5.0/3", 52.52, 13.405, "04:43", "21:33"),
        ("2026-12-21", "CET-1CEST,M3.5.0,M10.5.0/3", 52.52, 13.405, "08:15", "15:54"),
        ("2026-12-21", "GMT0BST,M3.5.0/1,M10.5.0", 51.507, -0.128, "08:04", "15:53"),
        ("2026-01-01", "AEST-10AEDT,M10.1.0,M4.1.0/3", -33.868, 151.209, "05:48", "20:09"),
        ("2026-03-20", "<-05>5", -0.18, -78.468, "06:18", "18:25"),
        ("2026-07-04", "PST8PDT,M3.2.0,M11.1.0", 37.775, -122.419, "05:52", "20:35"),
        ("2026-06-21", "NZST-12NZDT,M9.5.0,M4.1.0/3", -41.286, 174.776, "07:46", "16:58"),
    ]

    @Test("Sunrise and sunset are those of almanacs, to three minutes") func almanacs() throws {
        for (date, rule, latitude, longitude, rise, set) in Self.known {
            let zone = TimeZoneRules.local(variable: rule, file: "/")
            let date = try #require(CalendarDate(date))
            guard case .rises(let found, let foundSet) = Daylight(on: date, at: .init(latitude: latitude, longitude: longitude), zone)
            else {
                Issue.record("\(date) \(rule)")
                continue
            }
            for (instant, clock) in [(found, rise), (foundSet, set)] {
                let local = zone.local(at: instant)
                let difference = abs(local.second - (try #require(TimeOfDay(clock))).minutes * 60)
                #expect(local.date == date && difference <= 180, "\(date) \(rule): \(local.clock), not \(clock)")
            }
        }
    }

    @Test("Beyond the polar circle there are days without either, and everywhere noon lies in the day that is asked for") func poles()
        throws
    {
        let zone = TimeZoneRules.local(variable: "CET-1CEST,M3.5.0,M10.5.0/3", file: "/")
        let place = GeographicPlace(latitude: 69.65, longitude: 18.96)
        #expect(Daylight(on: try #require(CalendarDate("2026-06-21")), at: place, zone) == .always)
        #expect(Daylight(on: try #require(CalendarDate("2026-12-21")), at: place, zone) == .never)
        for (rule, longitude) in [("<+14>-14", -157.4), ("<-11>11", -170.7), ("<+13>-13", -171.8), ("UTC0", 179.9), ("UTC0", -179.9)] {
            let zone = TimeZoneRules.local(variable: rule, file: "/")
            for day in stride(from: 20_000, to: 21_000, by: 97) {
                guard
                    case .rises(let rise, let set) = Daylight(
                        on: CalendarDate(day: day), at: .init(latitude: 10, longitude: longitude), zone)
                else {
                    Issue.record("\(rule)")
                    continue
                }
                #expect(zone.local(at: (rise + set) / 2).date.day == day, "\(rule)")
            }
        }
        for latitude in [90.0, -90] {
            _ = Daylight(on: CalendarDate(day: 20_000), at: .init(latitude: latitude, longitude: 180), zone)
        }
    }
}
