// The keys of kiosk.conf and of arrangements. All facts about a key are in its entry, and nowhere else.
//
// A table of the file is a value (``TableRow``), and each of its keys fills a property of that value. Derived from the keys are the reader
// and its complaints (TableReader.swift), the effects of a reload (Configuration.swift), the JSON Schema (Schema.swift), and the file
// kiosk.conf itself (ManualTests.swift), which is the source of kiosk.conf(5). A key's default is the initial value of its property.
import KioskVocabulary

/// The value of a table of the file.
protocol TableRow: Equatable, Sendable {
    /// Makes a row with every default.
    init()
    /// The keys, in the order of the documentation.
    static var keys: [Key<Self>] { get }
    /// In a list of tables: the key that must be unique, because commands refer to it; nil for none.
    static var identity: String? { get }
    /// Complains about combinations of keys, after all keys have been read.
    static func check(_ row: inout Self, _ table: TableReader)
}

extension TableRow {
    static func check(_ row: inout Self, _ table: TableReader) {}
    static var identity: String? { nil }
}

/// The extra step that a changed key needs after a reload. Without one, the key holds at once or with the next item.
enum Need: Sendable {
    /// kiosk makes the controls and the viewers' input anew.
    case viewers
    /// A restart of the player.
    case restart
}

/// One key of a table.
struct Key<Row: Sendable>: Sendable {
    fileprivate(set) var facts: KeyFacts
    /// Fills the row; complains about a value that it cannot read.
    let read: @Sendable (TOMLValue, inout Row, TableReader) -> Void
    /// Returns the differences between two rows that this key makes, by its name.
    private(set) var differences: @Sendable (_ old: Row, _ new: Row) -> [(name: String, needs: Need?)]
    /// The same key in a `[[playlist]]`, where it holds for that entry alone; one or none.
    fileprivate(set) var inItem: [Key<PlaylistEntry>] = []

    var name: String { facts.name }
}

/// The description of a key: for readers of kiosk.conf, and for editors.
struct KeyFacts: Sendable {
    let name: String
    /// The text above it in kiosk.conf, line by line; empty if it shares the paragraph of the key before.
    var paragraph = ""
    var needs: Need?
    /// The advice if a required key is missing.
    var missing: String?
    /// The other table with this key, which holds if this key is left out.
    var origin: String?
    /// Whether ``sample`` is the default, not an example.
    var hasDefault = false
    /// The value in kiosk.conf; lines, if the table is open to any key.
    var sample: @Sendable () -> String = { "" }
    /// The members of the JSON Schema that define its values.
    var schema: @Sendable () -> String = { "" }
    /// The heading, such as `[display]` or `[[playlist]]`, of a table that has one.
    var heading: String?
    /// Whether the table may occur any number of times.
    var isList = false
    /// For a list: whether kiosk.conf shows it only as an example.
    var isExample = false
    /// The table that has the same keys and explains them.
    var explainedIn: String?
    /// The keys of a table whose keys are known.
    var keys: @Sendable () -> [KeyFacts] = { [] }

    var isTable: Bool { !keys().isEmpty }
}

/// Lists keys as kiosk.conf does: a paragraph, and below it its keys.
@resultBuilder enum KeyList<Row: Sendable> {
    enum Part {
        case paragraph(String)
        case key(Key<Row>)
    }

    static func buildExpression(_ paragraph: String) -> [Part] { [.paragraph(paragraph)] }
    static func buildExpression(_ key: Key<Row>) -> [Part] { [.key(key)] }
    static func buildBlock(_ parts: [Part]...) -> [Part] { parts.flatMap(\.self) }
    static func buildArray(_ parts: [[Part]]) -> [Part] { parts.flatMap(\.self) }
    static func buildFinalResult(_ parts: [Part]) -> [Key<Row>] {
        var (keys, paragraph): ([Key<Row>], String?) = ([], nil)
        for part in parts {
            switch part {
            case .paragraph(let text): paragraph = text
            case .key(var key):
                if let paragraph = paragraph.take() { key.facts.paragraph = paragraph }
                keys.append(key)
            }
        }
        return keys
    }
}

/// Returns the keys of a table.
func keyList<Row>(@KeyList<Row> _ keys: () -> [Key<Row>]) -> [Key<Row>] { keys() }

// Keys with a value.
extension Key where Row: TableRow {
    /// A key that fills the property at `path`.
    ///
    /// - Parameters:
    ///   - inItem: fills a `[[playlist]]`, if the key may also be there.
    ///   - shown: the default in TOML, if it differs from the property's initial value.
    ///   - example: the value in kiosk.conf, in TOML, for a key without a default.
    ///   - missing: the advice if the key is missing, for a required key.
    ///   - isSame: whether two values are the same to a reload.
    ///   - objection: the complaint about a value that could be read; nil for none.
    init<Value: Equatable & Sendable>(
        _ name: String, _ path: any WritableKeyPath<Row, Value> & Sendable, _ kind: Kind<Value>, needs: Need? = nil,
        inItem: (@Sendable (inout PlaylistEntry, Value) -> Void)? = nil, shown: String? = nil, example: String? = nil,
        missing: String? = nil, isSame: @escaping @Sendable (Value, Value) -> Bool = { $0 == $1 },
        objection: @escaping @Sendable (Value) -> String? = { _ in nil }
    ) {
        let facts = KeyFacts(
            name: name, needs: needs, missing: missing, hasDefault: example == nil,
            sample: { example ?? shown ?? kind.shown(Row()[keyPath: path]) }, schema: kind.schema, heading: kind.heading)
        self.init(facts, kind, objection) { $0[keyPath: path] = $1 }
        differences = { isSame($0[keyPath: path], $1[keyPath: path]) ? [] : [(facts.name, facts.needs)] }
        if let inItem { self.inItem = [Key<PlaylistEntry>(facts, kind, objection, set: inItem)] }
    }

    /// A key that fills an optional property, which stays nil without the key.
    init<Value: Equatable & Sendable>(
        _ name: String, _ path: any WritableKeyPath<Row, Value?> & Sendable, _ kind: Kind<Value>, needs: Need? = nil,
        inItem: (@Sendable (inout PlaylistEntry, Value) -> Void)? = nil, shown: String? = nil, example: String? = nil,
        objection: @escaping @Sendable (Value) -> String? = { _ in nil }
    ) {
        let optional: Kind<Value?> = kind.map({ Optional($0) }, back: { $0! })
        var set: (@Sendable (inout PlaylistEntry, Value?) -> Void)?
        if let inItem { set = { inItem(&$0, $1!) } }
        self.init(
            name, path, optional, needs: needs, inItem: set, shown: shown ?? "", example: example,
            objection: { (value: Value?) in objection(value!) })
        facts.hasDefault = shown != nil
    }

    private init<Value>(
        _ facts: KeyFacts, _ kind: Kind<Value>, _ objection: @escaping @Sendable (Value) -> String?,
        set: @escaping @Sendable (inout Row, Value) -> Void
    ) {
        self.facts = facts
        read = { value, row, table in
            guard let made = kind.read(value, Place(key: facts.name, table: table)) else { return }
            set(&row, made)
            if let text = objection(made) { table.complain(text, about: facts.name) }
        }
        differences = { _, _ in [] }
    }
}

// Keys that are tables.
extension Key {
    /// The table `[name]`; a dot separates its name from that of the enclosing table.
    ///
    /// - Parameters:
    ///   - needs: the need of keys that do not state their own.
    ///   - isWhole: whether a reload names the table instead of each key.
    init<Sub: TableRow>(
        table name: String, _ path: any WritableKeyPath<Row, Sub> & Sendable, needs: Need? = nil, isWhole: Bool = false
    ) {
        let (heading, name) = ("[\(name)]", String(name.split(separator: ".").last ?? ""))
        facts = KeyFacts(name: name, needs: needs, heading: heading, keys: { Sub.keys.map(\.facts) })
        read = { value, row, outer in TableReader(value, heading: heading, in: outer)?.read(&row[keyPath: path]) }
        differences = { old, new in
            Sub.keys.flatMap { $0.differences(old[keyPath: path], new[keyPath: path]) }.map { difference in
                let isNamed = !isWhole || difference.needs == .restart
                return (isNamed ? "\(heading) \(difference.name)" : heading, difference.needs ?? needs)
            }
        }
    }

    /// The tables `[[name]]`, any number of them.
    init<Sub: TableRow>(
        list name: String, _ path: any WritableKeyPath<Row, [Sub]> & Sendable, isExample: Bool = false, explainedIn: String? = nil
    ) {
        let (heading, name) = ("[[\(name)]]", String(name.split(separator: ".").last ?? ""))
        facts = KeyFacts(
            name: name, heading: heading, isList: true, isExample: isExample, explainedIn: explainedIn, keys: { Sub.keys.map(\.facts) })
        read = { value, row, outer in
            var names: Set<String> = []
            row[keyPath: path] = TableReader.list(value, heading: heading, in: outer).map { table in
                var entry = Sub()
                table.read(&entry)
                if let key = Sub.identity, let name = table.entry(key)?.value.kind.string, !names.insert(name).inserted {
                    table.complain("there is another \(heading) of this name", about: key)
                }
                return entry
            }
        }
        differences = { $0[keyPath: path] == $1[keyPath: path] ? [] : [(heading, nil)] }
    }

    /// Returns the keys of `table` that may also be in a `[[playlist]]`.
    static func inherited<Other>(from table: String, _ keys: [Key<Other>]) -> [Key<PlaylistEntry>] {
        keys.flatMap { key in
            key.inItem.map { inItem in
                var inItem = inItem
                (inItem.facts.paragraph, inItem.facts.origin) = (key.facts.paragraph, table)
                return inItem
            }
        }
    }
}
