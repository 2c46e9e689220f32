import Foundation
import TestSupport
import Testing

@testable import KioskSchedule

/// Compares a year in three time zones with Python, whose `zoneinfo` reads the same database.
/// year.py tests every minute whether a rule holds; the schedule computes the changes.
@Suite struct YearTests {
    private static let zones = ["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"]
    private static let rules: [(days: String, hours: String, from: String, until: String)] = [
        ("", "09:00-18:00", "", ""), ("mon-fri", "09:00-12:30, 13:30-18:00", "", ""), ("fri-sat", "22:00-03:00", "", ""),
        ("", "01:30-02:30", "", ""),
        ("sun", "", "", ""), ("", "", "12-20", "01-06"), ("mon, wed, sun", "23:00-02:15", "03-01", "10-31"),
        ("", "00:00-24:00", "2027-02-27", "2027-03-01"),
        ("", "02:00-02:05, 02:55-03:05", "", ""), ("sun", "01:00-04:00", "03-01", "11-30"),
    ]
    private static let python: String? = {
        let program = Process()
        program.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        program.arguments = ["python3", "-c", "import zoneinfo; zoneinfo.ZoneInfo('Europe/Berlin')"]
        program.standardError = FileHandle.nullDevice
        guard (try? program.run()) != nil else { return nil }
        program.waitUntilExit()
        return program.terminationStatus == 0 ? "python3" : nil
    }()

    /// `make test-all` tests every minute, `make test` every fifth: every rule changes at a multiple of five minutes.
    @Test("A year in three time zones, minute by minute", .needs("python3 with zoneinfo, and tzdata", python != nil)) func aYear() throws {
        let start: Int64 = 1_798_700_400  // 2026-12-31 07:00 UTC
        let end = start + 370 * 86_400
        let script = Process()
        let (input, output) = (Pipe(), Pipe())
        script.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        script.arguments = [
            "python3", #filePath.replacing("YearTests.swift", with: "year.py"), "\(start)", "\(end)", Proof.isThorough ? "60" : "300",
        ]
        (script.standardInput, script.standardOutput) = (input, output)
        try script.run()
        let cases = Self.zones.flatMap { zone in Self.rules.map { (zone, $0) } }
        let text = cases.map { "\($0)|\($1.days)|\($1.hours)|\($1.from)|\($1.until)\n" }.joined()
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        try input.fileHandleForWriting.close()
        let lines = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self).split(separator: "\n")
        script.waitUntilExit()
        try #require(script.terminationStatus == 0 && lines.count == cases.count)
        var total = 0
        for ((name, given), line) in zip(cases, lines) {
            let zone = try #require(TimeZoneRules(named: name))
            func some(_ text: String) -> String? { text.isEmpty ? nil : text }
            let rule = TimeRule(some(given.days), some(given.hours), from: some(given.from), until: some(given.until))
            let schedule = Schedule([Schedule.Entry([rule])], clock: LocalClock(zone: zone))
            var (time, changes) = (start, [schedule.on(at: start).isEmpty ? Int64(0) : 1])
            while let next = schedule.nextChange(after: time, before: end) {
                changes.append(next)
                time = next
            }
            let expected = line.split(separator: " ").compactMap { Int64($0) }
            if let (mine, other) = zip(changes, expected).first(where: { $0 != $1 }) {
                Issue.record("\(name) \(rule.description): \(mine) (\(zone.local(at: mine))), not \(other) (\(zone.local(at: other)))")
            }
            #expect(changes.count == expected.count, "\(name) \(rule.description)")
            total += changes.count
        }
        // The sum exceeds ten changes a day in each zone.
        #expect(total > 3 * 370 * 10)
    }
}
