// Conversion of a TOML tree to values. Reading continues after a complaint, so that users see all complaints at once. Unreadable values
// keep their defaults, which nobody sees, because a file with complaints yields no configuration.
import KioskPlatform
import KioskVocabulary

/// The complaints about a file, collected while it is read.
final class ComplaintList {
    let path: String
    private(set) var all: [Complaint]
    /// Whether syntax errors have removed lines, which may hold the missing keys.
    let lacksLines: Bool
    /// The tables of such a file, for advice.
    private(set) lazy var tables = listTables()
    private let listTables: () -> [(name: String, heading: String, keys: [String])]

    /// Makes a list for a file with the tables of `Root`; it begins with the complaints about syntax.
    init<Root: TableRow>(_ type: Root.Type, path: String, _ complaints: [Complaint]) {
        (self.path, all, lacksLines) = (path, complaints, !complaints.isEmpty)
        listTables = { Root.keys.map(\.facts).map { ($0.name, $0.heading ?? "", $0.keys().map(\.name)) } }
    }

    func add(_ text: String, at position: SourcePosition) { all.append(Complaint(path: path, position: position, text: text)) }
}

/// A table of a file while it is read; the file itself is one, without a heading.
struct TableReader {
    /// The heading as written: `[display]`.
    let heading: String
    let position: SourcePosition
    /// The folder that relative paths start from, an absolute path.
    let folder: String
    let complaints: ComplaintList
    let entries: [TOMLEntry]

    private init(_ heading: String, _ entries: [TOMLEntry], at position: SourcePosition, in outer: TableReader) {
        (self.heading, self.entries, self.position) = (heading, entries, position)
        (folder, complaints) = (outer.folder, outer.complaints)
    }

    /// Makes a reader of the file.
    init(_ entries: [TOMLEntry], folder: String, _ complaints: ComplaintList) {
        (heading, position, self.entries) = ("", SourcePosition(line: 1, column: 1), entries)
        (self.folder, self.complaints) = (folder, complaints)
    }

    /// Makes a reader of the table `value`; complains and returns nil if it is none.
    init?(_ value: TOMLValue, heading: String, in outer: TableReader) {
        guard case .table(let entries) = value.kind else {
            let brackets = value.kind.isArrayOfTables ? "; write \(heading), in single brackets, once" : ""
            outer.complaints.add("\(heading): expected a table, found \(value.kind.shown)\(brackets)", at: value.position)
            return nil
        }
        self.init(heading, entries, at: value.position, in: outer)
    }

    /// Returns readers of the tables in the list `value`; complains and returns none if it is not a list.
    static func list(_ value: TOMLValue, heading: String, in outer: TableReader) -> [TableReader] {
        guard case .array(let items) = value.kind else {
            let brackets = if case .table = value.kind { "; write \(heading), in double brackets, for every entry" } else { "" }
            outer.complaints.add("\(heading): expected a list of tables, found \(value.kind.shown)\(brackets)", at: value.position)
            return []
        }
        return items.compactMap { item in
            guard case .table(let entries) = item.kind else {
                outer.complaints.add("\(heading): expected a table, found \(item.kind.shown)", at: item.position)
                return nil
            }
            return TableReader(heading, entries, at: item.position, in: outer)
        }
    }

    /// Fills `row`.
    func read<Row: TableRow>(_ row: inout Row) {
        for entry in entries {
            if let key = Row.keys.first(where: { $0.name == entry.key }) {
                key.read(entry.value, &row, self)
            } else if heading.isEmpty {
                complain(ofUnknownTable: entry)
            } else {
                let advice = advice(entry.key, among: Row.keys.map(\.name))
                complaints.add("\(heading) \(shownKey(entry.key)): unknown key\(advice)", at: entry.position)
            }
        }
        for key in Row.keys { if let advice = key.facts.missing { require(key.name, advice) } }
        Row.check(&row, self)
    }

    /// Returns the unread entry of `key`.
    func entry(_ key: String) -> TOMLEntry? { entries.first { $0.key == key } }

    /// Complains about the value of `key`.
    func complain(_ text: String, about key: String) {
        complaints.add("\(heading) \(key): \(text)", at: entry(key)?.value.position ?? position)
    }

    /// Complains at the table's heading if `key` is missing.
    func require(_ key: String, _ advice: String) {
        if entry(key) == nil, !complaints.lacksLines { complain("missing; \(advice)", about: key) }
    }

    /// Complains if the value of `end` is not after `start`.
    func require(_ end: MediaTime?, after start: MediaTime) {
        guard let end, end <= start else { return }
        complain("expected a time after start, found \(entry("end")?.value.kind.shown ?? "\(end)")", about: "end")
    }

    /// Returns the advice about an unknown key: its table, a similar key, or all keys.
    private func advice(_ key: String, among names: [String]) -> String {
        let homes = homes(of: key).filter { $0 != heading }
        if !homes.isEmpty { return "; it belongs in \(alternatives(homes))" }
        if let near = suggestion(for: key, among: names) { return ", did you mean “\(near)”?" }
        return "; there are \(names.joined(separator: ", "))"
    }

    /// Complains about an unknown key or table outside every table, likewise.
    private func complain(ofUnknownTable entry: TOMLEntry) {
        let isTable = if case .table = entry.value.kind { true } else { false }
        let homes = isTable || entry.value.kind.isArrayOfTables ? [] : homes(of: entry.key)
        var advice = "; there are \(complaints.tables.map(\.heading).joined(separator: ", "))"
        if !homes.isEmpty {
            advice = "; it belongs in \(alternatives(homes))"
        } else if let near = suggestion(for: entry.key, among: complaints.tables.map(\.name)) {
            advice = ", did you mean “\(near)”?"
        }
        let name = shownKey(entry.key)
        complaints.add(
            isTable ? "[\(name)]: unknown table\(advice)" : "\(name): unknown key outside of every table\(advice)", at: entry.position)
    }

    /// Returns the tables with this key.
    private func homes(of key: String) -> [String] {
        complaints.tables.filter { $0.keys.contains(key) }.map(\.heading)
    }
}

extension TOMLValue.Kind {
    var string: String? { if case .string(let text) = self { text } else { nil } }

    var isArrayOfTables: Bool {
        guard case .array(let items) = self, let first = items.first, case .table = first.kind else { return false }
        return true
    }

    /// The value in words for a complaint; short values as in the file.
    var shown: String {
        switch self {
        case .string(let text): "\"\(oneLine(text, longest: 60))\""
        case .integer(let number): "\(number)"
        case .float(let number): "\(number)"
        case .boolean(let flag): "\(flag)"
        case .date: "a date or time without quotes"
        case .array: "an array"
        case .table: "a table"
        }
    }
}
