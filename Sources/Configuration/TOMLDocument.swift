// The only file that uses CTOML. It takes events, and builds a tree with a stack of unfinished containers.
import CKioskTOML

/// A value of a TOML text, with its position.
struct TOMLValue {
    enum Kind {
        case string(String)
        case integer(Int64)
        case float(Double)
        case boolean(Bool)
        /// An unquoted date, time of day or both. kiosk.conf does not use them.
        case date
        case array([TOMLValue])
        /// In the order of the text.
        case table([TOMLEntry])
    }

    var kind: Kind
    var position: SourcePosition
}

/// A key of a table, with its value.
struct TOMLEntry {
    var key: String
    var position: SourcePosition
    var value: TOMLValue
}

/// Why a text is not TOML.
struct TOMLFault: Error {
    /// The position; nil if the error concerns the whole text.
    var position: SourcePosition?
    /// The parser's message.
    var text: String
    /// Whether a key or a table is defined twice.
    var isDuplicate: Bool
}

enum TOMLDocument {
    /// The longest text ``parse(_:)`` accepts, in bytes.
    static let longestText = Int(CTOML_LONGEST_TEXT)

    /// Returns the root table of `text`. Accepts any bytes; the parser's work and depth are bounded.
    static func parse(_ text: [UInt8]) throws(TOMLFault) -> TOMLValue {
        let builder = Builder()
        unsafe text.withUnsafeBufferPointer { bytes in
            let context = unsafe Unmanaged.passUnretained(builder).toOpaque()
            unsafe bytes.withMemoryRebound(to: CChar.self) { characters in
                var nothing: CChar = 0
                if let base = characters.baseAddress {
                    unsafe ctoml_parse(base, characters.count, visit, context)
                } else {
                    unsafe ctoml_parse(&nothing, 0, visit, context)
                }
            }
        }
        if let fault = builder.fault { throw fault }
        guard let root = builder.root else { preconditionFailure("CTOML reported neither a document nor an error") }
        return root
    }

    private static let visit: ctoml_visit = { context, event in
        let builder = unsafe Unmanaged<Builder>.fromOpaque(context!).takeUnretainedValue()
        let event = unsafe event.pointee
        let bytes = unsafe UnsafeRawBufferPointer(start: event.text, count: event.length)
        let text = unsafe String(decoding: bytes, as: UTF8.self)
        let position = unsafe SourcePosition(line: Int(event.line), column: Int(event.column))
        switch unsafe event.kind {
        case CTOML_BEGIN_TABLE, CTOML_BEGIN_ARRAY: builder.begin(at: position)
        case CTOML_END_TABLE: builder.end { .table($0.entries.sorted { $0.position < $1.position }) }
        case CTOML_END_ARRAY: builder.end { .array($0.items) }
        case CTOML_KEY: builder.key(text, at: position)
        case CTOML_STRING: builder.add(.string(text), at: position)
        case CTOML_INTEGER: unsafe builder.add(.integer(event.integer), at: position)
        case CTOML_FLOAT: unsafe builder.add(.float(event.number), at: position)
        case CTOML_BOOLEAN: unsafe builder.add(.boolean(event.boolean), at: position)
        case CTOML_DATE: builder.add(.date, at: position)
        default:
            builder.fault = unsafe TOMLFault(
                position: position.line > 0 ? position : nil, text: text, isDuplicate: event.kind == CTOML_DUPLICATE)
        }
    }

    private final class Builder {
        struct Container {
            var position: SourcePosition
            var entries: [TOMLEntry] = []
            var items: [TOMLValue] = []
            var key: (text: String, position: SourcePosition)?
        }
        var open: [Container] = []
        var root: TOMLValue?
        var fault: TOMLFault?

        func begin(at position: SourcePosition) { open.append(Container(position: position)) }
        func key(_ text: String, at position: SourcePosition) { open[open.count - 1].key = (text, position) }

        func end(_ kind: (Container) -> TOMLValue.Kind) {
            let container = open.removeLast()
            add(kind(container), at: container.position)
        }

        func add(_ kind: TOMLValue.Kind, at position: SourcePosition) {
            let value = TOMLValue(kind: kind, position: position)
            if open.isEmpty {
                root = value
            } else if let key = open[open.count - 1].key.take() {
                open[open.count - 1].entries.append(TOMLEntry(key: key.text, position: key.position, value: value))
            } else {
                open[open.count - 1].items.append(value)
            }
        }
    }
}
