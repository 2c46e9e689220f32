import Glibc
import Testing

@testable import KioskPlatform

@Suite struct StandardErrorWriterTests {
    /// Returns the two ends of a pipe. The reading end does not block.
    static func pipe() -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [-1, -1]
        #expect(Glibc.pipe(&ends) == 0)
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }

    static func read(_ descriptor: Int32) -> String {
        var text: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = Glibc.read(descriptor, &bytes, bytes.count)
            if count <= 0 { return String(decoding: text, as: UTF8.self) }
            text += bytes.prefix(count)
        }
    }

    @Test func aFullPipeHoldsUpNobodyAndDropsWithACount() {
        let (reading, writing) = Self.pipe()
        _ = fcntl(writing, F_SETFL, O_NONBLOCK)
        var filled = 0
        while Glibc.write(writing, "x", 1) == 1 { filled += 1 }
        _ = fcntl(writing, F_SETFL, 0)

        let writer = StandardErrorWriter(to: writing) { "\($0) left out" }
        let begun = HostTime.now
        // The writer's thread may already hold one line.
        let count = StandardErrorWriter.capacity + 100
        for number in 0..<count { writer.write("line \(number)") }
        writer.flush(until: .now + .milliseconds(50))
        // A writer that waits for the pipe would never return, because nobody reads yet.
        #expect(HostTime.now - begun < .seconds(120))

        var text = ""
        for _ in 0..<12_000 where !text.contains("left out\n") {
            text += Self.read(reading)
            usleep(10_000)
        }
        writer.write("afterwards")
        writer.flush(until: .now + .seconds(120))
        text += Self.read(reading)
        let lines = text.dropFirst(filled).split(separator: "\n")
        let kept = lines.prefix { $0.hasPrefix("line ") }
        #expect(kept.elementsEqual((0..<kept.count).map { "line \($0)" }))
        #expect(kept.count == StandardErrorWriter.capacity || kept.count == StandardErrorWriter.capacity + 1)
        #expect(lines.dropFirst(kept.count).elementsEqual(["\(count - kept.count) left out", "afterwards"]))
        close(reading)
        close(writing)
    }

    @Test func aClosedPipeIsNobodysProblem() {
        signal(SIGPIPE, SIG_IGN)
        let (reading, writing) = Self.pipe()
        close(reading)
        let writer = StandardErrorWriter(to: writing) { "\($0) left out" }
        for number in 0..<3 { writer.write("line \(number)") }
        let begun = HostTime.now
        writer.flush(until: begun + .seconds(300))
        #expect(HostTime.now - begun < .seconds(120))
        close(writing)
    }

    @Test func theStatusLineStandsBelowTheLog() {
        let (reading, writing) = Self.pipe()
        let writer = StandardErrorWriter(to: writing) { "\($0) left out" }
        func flush() { writer.flush(until: .now + .seconds(120)) }
        writer.write("one")
        flush()
        writer.show(status: "50 %")
        flush()
        writer.show(status: "50 %")
        flush()
        writer.write("two")
        flush()
        writer.show(status: String(repeating: "ab", count: 50))
        flush()
        writer.show(status: "")
        flush()
        let erase = "\r\u{1B}[K"
        // A pipe has no width; the writer assumes 80 columns.
        let cut = String(repeating: "ab", count: 39) + "…"
        #expect(Self.read(reading) == "one\n\(erase)50 %\(erase)two\n50 %\(erase)\(cut)\(erase)")
        close(reading)
        close(writing)
    }
}

@Suite struct TerminalTextTests {
    @Test(arguments: [("", 0), ("abc", 3), ("×→—", 3), ("日本語", 6), ("e\u{301}", 1), ("👍🏽", 2), ("한글", 4), ("ｆ", 2), ("❤\u{FE0F}", 2)])
    func columns(_ text: String, _ columns: Int) { #expect(text.columns == columns) }

    @Test func cutsToColumns() {
        #expect("abcdef".cut(toColumns: 6) == "abcdef")
        #expect("abcdef".cut(toColumns: 5) == "abcd…")
        #expect("日本語".cut(toColumns: 5) == "日本…")
        #expect("日本語".cut(toColumns: 4) == "日…")
        #expect("abc".cut(toColumns: 1) == "…")
        #expect("abc".cut(toColumns: 0) == "")
    }

    @Test func cutsInside() {
        #expect("abcdef.mp4".cutInside(toColumns: 10) == "abcdef.mp4")
        #expect("abcdef.mp4".cutInside(toColumns: 9) == "abcd….mp4")
        #expect("日本語の映像.mp4".cutInside(toColumns: 10) == "日本….mp4")
        #expect("日本語の映像".cutInside(toColumns: 8) == "日本…像")
        #expect("abc".cutInside(toColumns: 1) == "…")
    }

    @Test func whatMovesTheCursorIsReplaced() {
        #expect("naïve 日本 a\u{200D}b".printable == "naïve 日本 a\u{200D}b")
        #expect("a\u{1B}[2Jb\r\nc\u{9B}d\u{2028}e".printable == "a\u{FFFD}[2Jb\u{FFFD}\u{FFFD}c\u{FFFD}d\u{FFFD}e")
    }
}
