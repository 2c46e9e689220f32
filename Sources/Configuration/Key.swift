// One entry a key: what is known of a key of kiosk.conf, or of an arrangement, stands here and nowhere else.
//
// A table of the file is a value (``TableRow``), and each of its keys fills a property of that. From the keys come the reader and its complaints
// (TableReader.swift), what a reload takes over (Configuration.swift), the JSON Schema (Schema.swift), and the file kiosk.conf itself, which is
// written from them (ManualTests.swift) and which kiosk.conf(5) is made of. The default of a key is what its property is made with.
import KioskVocabulary

/// What a table of a file becomes.
protocol TableRow: Equatable, Sendable {
    /// One that has every default.
    init()
    /// In the order in which users are told of them.
    static var keys: [Key<Self>] { get }
    /// Of a list of such tables: the key of which no two may have the same value, which a command says; nil for none.
    static var identity: String? { get }
    /// Complains about keys that do not go together, after all have been read.
    static func check(_ row: inout Self, _ table: TableReader)
}

extension TableRow {
    static func check(_ row: inout Self, _ table: TableReader) {}
    static var identity: String? { nil }
}

/// What a key needs to hold when kiosk.conf has been read again. Where there is none it holds at once, or with the next item.
enum Need: Sendable {
    /// That what viewers touch and see is made anew.
    case viewers
    /// A restart of the player.
    case restart
}

/// One key of a table.
struct Key<Row: Sendable>: Sendable {
    fileprivate(set) var facts: KeyFacts
    /// Fills the row; what cannot be read is complained about.
    let read: @Sendable (TOMLValue, inout Row, TableReader) -> Void
    /// What differs between two rows by this key, by its name.
    private(set) var differences: @Sendable (_ old: Row, _ new: Row) -> [(name: String, needs: Need?)]
    /// The same key of a `[[playlist]]`, which holds for that entry alone; one or none.
    fileprivate(set) var inItem: [Key<PlaylistEntry>] = []

    var name: String { facts.name }
}

/// What is said of a key: to a person who reads kiosk.conf, and to an editor.
struct KeyFacts: Sendable {
    let name: String
    /// What stands above it in kiosk.conf, line by line; empty where it shares the paragraph of the key before.
    var paragraph = ""
    var needs: Need?
    /// What to do where it is missing, if it must not be.
    var missing: String?
    /// The table whose key this is, too: where this one is left out that one holds.
    var origin: String?
    /// Whether ``sample`` is the default, and no example.
    var hasDefault = false
    /// The value that stands in kiosk.conf. Of a table that is open to any key it is lines.
    var sample: @Sendable () -> String = { "" }
    /// The members of its JSON Schema that say which values it takes.
    var schema: @Sendable () -> String = { "" }
    /// `[display]` and `[[playlist]]`, of a table that stands under its own heading.
    var heading: String?
    /// Whether there may be any number of the table.
    var isList = false
    /// Of a list: whether kiosk.conf shows an example of it, and has none.
    var isExample = false
    /// The table that has the same keys, and explains them.
    var explainedIn: String?
    /// Those of a table whose keys are known.
    var keys: @Sendable () -> [KeyFacts] = { [] }

    var isTable: Bool { !keys().isEmpty }
}

/// Lists keys as kiosk.conf does: a paragraph, and below it the keys that it is about.
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

/// The keys of a table.
func keyList<Row>(@KeyList<Row> _ keys: () -> [Key<Row>]) -> [Key<Row>] { keys() }

// What has a value.
extension Key where Row: TableRow {
    /// A key that fills the property at `path`.
    ///
    /// - Parameters:
    ///   - inItem: fills a `[[playlist]]`, where the key may stand there, too.
    ///   - shown: the default in TOML, where the property's own value does not tell it.
    ///   - example: what kiosk.conf shows of a key without a default, in TOML.
    ///   - missing: what to do where it is not given, of a key that must be.
    ///   - isSame: whether two values are the same to a reload.
    ///   - objection: what is wrong with a value that could be read; nil where nothing is.
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

    /// The same for a property that is nil where nothing is said.
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

// What is a table itself.
extension Key {
    /// The table `[name]`, with a point between its name and that of the table it lies in.
    ///
    /// - Parameters:
    ///   - needs: what those of its keys need that do not say so themselves.
    ///   - isWhole: whether a reload names the table, and not each key.
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

    /// The tables `[[name]]`, any number of them, likewise.
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

    /// The keys of `table` that may stand in a `[[playlist]]`, too.
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
