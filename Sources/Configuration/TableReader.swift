// From a TOML tree to values. Reading goes on after a complaint, so that all of them come at once; what could not be read keeps its
// default and is never seen, because a file with a complaint gives no value.
import KioskPlatform
import KioskVocabulary

/// The complaints about a file while it is being read.
final class ComplaintList {
    let path: String
    private(set) var all: [Complaint]
    /// Whether lines that could not be read were left out, so that what seems to be missing may have been in them.
    let lacksLines: Bool
    /// The tables that such a file can have, for advice.
    private(set) lazy var tables = listTables()
    private let listTables: () -> [(name: String, heading: String, keys: [String])]

    /// About a file whose tables are keys of `Root`; begins with the complaints about the text's syntax.
    init<Root: TableRow>(_ type: Root.Type, path: String, _ complaints: [Complaint]) {
        (self.path, all, lacksLines) = (path, complaints, !complaints.isEmpty)
        listTables = { Root.keys.map(\.facts).map { ($0.name, $0.heading ?? "", $0.keys().map(\.name)) } }
    }

    func add(_ text: String, at position: SourcePosition) { all.append(Complaint(path: path, position: position, text: text)) }
}

/// One table of a file while it is being read; the file itself is one, without a heading.
struct TableReader {
    /// As it is written: `[display]`.
    let heading: String
    let position: SourcePosition
    /// What relative paths are relative to, an absolute path.
    let folder: String
    let complaints: ComplaintList
    let entries: [TOMLEntry]

    private init(_ heading: String, _ entries: [TOMLEntry], at position: SourcePosition, in outer: TableReader) {
        (self.heading, self.entries, self.position) = (heading, entries, position)
        (folder, complaints) = (outer.folder, outer.complaints)
    }

    /// The file.
    init(_ entries: [TOMLEntry], folder: String, _ complaints: ComplaintList) {
        (heading, position, self.entries) = ("", SourcePosition(line: 1, column: 1), entries)
        (self.folder, self.complaints) = (folder, complaints)
    }

    /// The table that `value` is; nil where it is none, which is complained about.
    init?(_ value: TOMLValue, heading: String, in outer: TableReader) {
        guard case .table(let entries) = value.kind else {
            let brackets = value.kind.isArrayOfTables ? "; write \(heading), in single brackets, once" : ""
            outer.complaints.add("\(heading): expected a table, found \(value.kind.shown)\(brackets)", at: value.position)
            return nil
        }
        self.init(heading, entries, at: value.position, in: outer)
    }

    /// The tables of the list that `value` is; nothing where it is none, which is complained about.
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

    /// The entry of `key`, unread.
    func entry(_ key: String) -> TOMLEntry? { entries.first { $0.key == key } }

    /// A complaint about the value of `key`.
    func complain(_ text: String, about key: String) {
        complaints.add("\(heading) \(key): \(text)", at: entry(key)?.value.position ?? position)
    }

    /// A complaint where `key` is not given, at the table's heading.
    func require(_ key: String, _ advice: String) {
        if entry(key) == nil, !complaints.lacksLines { complain("missing; \(advice)", about: key) }
    }

    /// A complaint where the value of `end` is not after `start`.
    func require(_ end: MediaTime?, after start: MediaTime) {
        guard let end, end <= start else { return }
        complain("expected a time after start, found \(entry("end")?.value.kind.shown ?? "\(end)")", about: "end")
    }

    /// What to say after `unknown key`: where it belongs, what may have been meant, or what there is.
    private func advice(_ key: String, among names: [String]) -> String {
        let homes = homes(of: key).filter { $0 != heading }
        if !homes.isEmpty { return "; it belongs in \(alternatives(homes))" }
        if let near = suggestion(for: key, among: names) { return ", did you mean “\(near)”?" }
        return "; there are \(names.joined(separator: ", "))"
    }

    /// The same for what stands outside of every table.
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

    /// The tables that have such a key.
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

    /// What was found, for a complaint; as it stands in the file where that is short.
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
