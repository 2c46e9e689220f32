/// A table in Markdown.
struct ReportTable: Equatable {
    var heading: [String]
    var rows: [[String]] = []

    /// The table's lines, with columns that are also aligned in a terminal.
    var markdown: String {
        let all = [heading] + rows
        let widths = heading.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        func line(_ cells: [String]) -> String {
            "| " + zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: " | ") + " |"
        }
        let rule = "|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|"
        return ([line(heading), rule] + rows.map(line)).joined(separator: "\n")
    }
}

extension Findings {
    /// The whole report.
    var markdown: String {
        let tables = [
            table([
                .firstPicture, .motion, .wrongHolds, .skippedFrames, .stepsBack, .cleanSeams, .lastFrameHold, .firstFrameHold, .soundHole,
            ]),
            table([.cpu, .steadyCPU, .peakMemory, .peakShare]), table([.soundOffset]), table([.touch, .key, .nextItem]), countTable,
            promiseTable,
        ]
        let failures = series.flatMap { series in series.failures.map { "- \(series.scenario), \(series.player): \($0)" } }
        return ([circumstances.text] + tables.compactMap { $0?.markdown } + [failures.joined(separator: "\n")])
            .filter { !$0.isEmpty }.joined(separator: "\n\n")
    }

    /// Returns a row for each case and player with one of these measures. In the table with the first picture, a player that was tried
    /// without a valid run also has a row.
    func table(_ measures: [Measure]) -> ReportTable? {
        let rows = series.filter { series in
            let isMeasured = measures.contains { !(series.samples[$0] ?? []).isEmpty }
            return isMeasured || (series.wasTried && series.runs == 0 && measures.contains(.firstPicture))
        }
        guard rows.contains(where: { $0.runs > 0 }) || (!rows.isEmpty && measures.contains(.firstPicture)) else { return nil }
        return ReportTable(
            heading: ["case", "player", "runs"] + measures.map(\.title),
            rows: rows.map { series in
                let starved = series.starved == 0 ? "" : " (+\(series.starved) starved)"
                return [series.scenario, series.player, "\(series.runs)\(starved)"] + measures.map { $0.cell(series.samples[$0] ?? []) }
            })
    }

    /// The counts. They are the same in every run, so there is one run.
    var countTable: ReportTable? {
        let measures = Count.allCases.map(\.measure)
        let rows = series.filter { series in measures.contains { series.samples[$0] != nil } }
        return rows.isEmpty
            ? nil
            : ReportTable(
                heading: ["case", "player"] + measures.map(\.title),
                rows: rows.map { series in [series.scenario, series.player] + measures.map { $0.cell(series.samples[$0] ?? []) } })
    }

    private var promiseTable: ReportTable? {
        promises.isEmpty
            ? nil
            : ReportTable(
                heading: ["promise", "target", "measured", ""],
                rows: promises.map { [$0.subject, $0.target, $0.measured, $0.isKept ? "kept" : "missed"] })
    }
}

extension Circumstances {
    /// The circumstances as a paragraph.
    var text: String {
        """
        \(date), `\(command)`: kiosk \(kiosk); \(mpv); \(ffmpeg).
        Bed: Linux \(kernel), 1 CPU\(isRealTime ? ", with real-time priority" : ""), on \(processors) × \(processor) \
        with a load of \(loadBefore.text(1)) before and \(loadAfter.text(1)) after. Median (smallest…largest).
        """
    }
}
