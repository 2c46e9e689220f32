/// A table of aligned columns for a terminal, with notes below rows.
package struct TextTable {
    private enum Line {
        case row([String])
        case note(String)
    }

    private var lines: [Line]

    /// The widest cell, in terminal columns.
    package static let widest = 48

    /// Makes a table with these headings.
    package init(_ headings: [String]) { lines = [.row(headings)] }

    /// Adds a row. Cells wider than ``widest`` lose their middle.
    package mutating func add(_ row: [String]) { lines.append(.row(row.map { $0.printable.cutInside(toColumns: Self.widest) })) }

    /// Adds a note about the row before.
    package mutating func add(note: String) { lines.append(.note(note.printable)) }

    /// The whole table, without a final newline.
    package var text: String {
        var widths: [Int] = []
        for case .row(let cells) in lines {
            while widths.count < cells.count { widths.append(0) }
            for (index, cell) in cells.enumerated() { widths[index] = max(widths[index], cell.columns) }
        }
        return lines.map { line in
            switch line {
            case .row(let cells):
                let padded = cells.enumerated().map { $1 + String(repeating: " ", count: widths[$0] - $1.columns) }
                let text = padded.joined(separator: "  ")
                return String(text.reversed().drop { $0 == " " }.reversed())
            case .note(let note): return String(repeating: " ", count: widths[0] + 4) + "! " + note
            }
        }.joined(separator: "\n")
    }
}
