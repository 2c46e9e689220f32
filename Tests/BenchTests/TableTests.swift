import Testing

@testable import Bench

@Suite struct TableTests {
    @Test func `numbers have their decimals, and no sign where there is nothing left of them`() {
        #expect(7.25.text(1) == "7.3")
        #expect(7.04.text(1) == "7.0")
        #expect(0.05.text(2) == "0.05")
        #expect((-3.96).text(1) == "-4.0")
        #expect((-0.04).text(1) == "0.0")
        #expect(12.5.text(1, signed: true) == "+12.5")
        #expect(469.6.text(0) == "470")
    }

    @Test func `a cell says the middle and the spread, and only one figure where they are the same`() {
        #expect(Measure.firstPicture.cell([471, 524, 480]) == "480 (471…524)")
        #expect(Measure.firstPicture.cell([471.2, 470.9]) == "471")
        #expect(Measure.cpu.cell([7.31]) == "7.3")
        #expect(Measure.cleanSeams.cell([1, 0, 1]) == "2 of 3")
        #expect(Measure.soundOffset.cell([-50, 10, 12]) == "+10.0, p99 50.0")
        #expect(Measure.cpu.cell([]) == "–")
    }

    @Test func `columns stand below each other`() {
        let table = ReportTable(heading: ["case", "n"], rows: [["a…", "12"], ["long", "–"]])
        #expect(
            table.markdown == """
                | case | n  |
                |------|----|
                | a…   | 12 |
                | long | –  |
                """)
    }

    @Test func `starved runs are counted, and a case that nobody could measure keeps its row`() throws {
        var measured = Series(scenario: "720p30@60", player: "kiosk", runs: 2, starved: 1)
        measured.samples = [.firstPicture: [470, 480], .cleanSeams: [1, 1, 1]]
        let starved = Series(scenario: "720p30@60", player: "mpv", starved: 3)
        let failed = Series(scenario: "1080p60@60", player: "mpv", failures: ["no picture, status 2"])
        let findings = Findings(circumstances: .example, series: [measured, starved, failed])
        let table = try #require(findings.table([.firstPicture, .cleanSeams]))
        #expect(table.heading == ["case", "player", "runs", "first picture, ms", "clean seams"])
        #expect(
            table.rows == [
                ["720p30@60", "kiosk", "2 (+1 starved)", "475 (470…480)", "3 of 3"],
                ["720p30@60", "mpv", "0 (+3 starved)", "–", "–"],
                ["1080p60@60", "mpv", "0", "–", "–"],
            ])
        #expect(findings.table([.touch, .key]) == nil)
        #expect(findings.markdown.hasSuffix("- 1080p60@60, mpv: no picture, status 2"))
        #expect(findings.markdown.hasPrefix("2026-01-31T09:15:00Z, `kiosk-bench`: kiosk 0123abc; mpv 0.35.1; ffmpeg 5.1.\n"))
    }
}

extension Circumstances {
    static let example = Circumstances(
        date: "2026-01-31T09:15:00Z", command: "kiosk-bench", processors: 2, processor: "CPU", loadBefore: 0.1, loadAfter: 1.26,
        kernel: "7.3", isRealTime: true, kiosk: "0123abc", mpv: "mpv 0.35.1", ffmpeg: "ffmpeg 5.1")
}
