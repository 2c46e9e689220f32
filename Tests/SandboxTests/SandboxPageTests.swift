import CSandbox
import Foundation
import Testing

/// Compares the table of system calls with the one in docs/sandbox.md.
@Suite struct SandboxPageTests {
    private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../docs/sandbox.md")
        .path

    /// The lines of the table.
    private static let calls: [String] =
        ["| system calls | file | network | hardware | both | why |", "|---|---|---|---|---|---|"]
        + Row.all.map { row in
            let names = row.calls.map { "`\($0.name)`" }.joined(separator: " ")
            let rules = row.rules.map { String(cString: kiosk_sandbox_words($0)) }.joined(separator: " | ")
            return "| \(names) | \(rules) | \(row.why) |"
        }

    private static let paths: [String] = {
        var count = 0
        var rows: [(paths: [String], rest: String)] = []
        for path in UnsafeBufferPointer(start: kiosk_sandbox_paths(&count), count: count) {
            let profile = path.profiles & 1 << KIOSK_SANDBOX_NETWORK.rawValue != 0 ? "network" : "hardware"
            let rest = "\(profile) | \(String(cString: path.access)) | \(String(cString: path.why))"
            if rows.last?.rest != rest { rows.append(([], rest)) }
            rows[rows.count - 1].paths.append("`\(String(cString: path.path))`")
        }
        return ["| files | profile | access | why |", "|---|---|---|---|"]
            + rows.map { "| \($0.paths.joined(separator: " ")) | \($0.rest) |" }
    }()

    @Test(arguments: [calls, paths]) func `the page is that of the tables`(table: [String]) throws {
        var text = try String(contentsOfFile: Self.page, encoding: .utf8)
        let begin = try #require(text.range(of: table[0] + "\n")?.lowerBound)
        let end = text[begin...].range(of: "\n\n")?.lowerBound ?? text.endIndex
        if ProcessInfo.processInfo.environment["KIOSK_RECORD"] != nil {
            text.replaceSubrange(begin..<end, with: table.joined(separator: "\n"))
            try text.write(toFile: Self.page, atomically: true, encoding: .utf8)
        } else {
            #expect(text[begin..<end].split(separator: "\n").map(String.init) == table)
        }
    }

    @Test func `each call is in one row, and has a name`() {
        let calls = Row.all.flatMap(\.calls)
        #expect(Set(calls.map(\.name)).count == calls.count)
        let numbers = calls.map(\.number).filter { $0 >= 0 }
        #expect(Set(numbers).count == numbers.count)
        for (name, number) in calls where number >= 0 {
            #expect(kiosk_sandbox_call_name(number).map { String(cString: $0) } == name)
        }
        #expect(kiosk_sandbox_call_name(-1) == nil && kiosk_sandbox_call_name(100_000) == nil)
    }

    @Test func `what a reader of files may do without a condition, the others may, too`() {
        for row in Row.all {
            if row.rules[0] == KIOSK_ALLOWED { #expect(row.rules.allSatisfy { $0 == KIOSK_ALLOWED }, "\(row)") }
            // Network and hardware together allow every call that one of them allows.
            if row.rules[1...2].contains(KIOSK_ALLOWED) { #expect(row.rules[3] == KIOSK_ALLOWED, "\(row)") }
            #expect(!row.calls.isEmpty && !row.why.isEmpty, "\(row)")
        }
    }
}
