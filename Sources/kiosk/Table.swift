import KioskPlatform

/// Columns that line up, with notes below a row.
struct Table {
    private enum Line {
        case row([String])
        case note(String)
    }

    private var lines: [Line]

    /// In columns of the terminal.
    static let widest = 48

    /// A table with these headings.
    init(_ headings: [String]) { lines = [.row(headings)] }

    /// A cell that is longer than ``widest`` lacks its middle.
    mutating func add(_ row: [String]) { lines.append(.row(row.map { $0.printable.cutInside(toColumns: Self.widest) })) }

    /// A remark about the row before.
    mutating func add(note: String) { lines.append(.note(note.printable)) }

    func print() {
        var widths: [Int] = []
        for case .row(let cells) in lines {
            while widths.count < cells.count { widths.append(0) }
            for (index, cell) in cells.enumerated() { widths[index] = max(widths[index], cell.columns) }
        }
        for line in lines {
            switch line {
            case .row(let cells):
                let padded = cells.enumerated().map { $1 + String(repeating: " ", count: widths[$0] - $1.columns) }
                let text = padded.joined(separator: "  ")
                Swift.print(String(text.reversed().drop { $0 == " " }.reversed()))
            case .note(let note): Swift.print(String(repeating: " ", count: widths[0] + 4) + "! " + note)
            }
        }
    }
}
