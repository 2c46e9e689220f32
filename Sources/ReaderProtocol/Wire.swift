import KioskMedia
import KioskPlatform

// How values become bytes, and bytes values. Both ends are of one build, so there are no versions: a value is its fields in their order.
// Numbers are little-endian. A text or a list has its length before it.
//
// Whoever reads believes nothing. A length beyond its limit, a number that stands for nothing, and bytes that are missing or left over are
// errors. A number that a damaged file can make wrong is clamped, as the other end is honest then. Nothing traps, whatever the bytes are.

/// Bytes that texts have at most. An honest writer of texts for people cuts what is longer.
package enum TextLimit: Int {
    /// FFmpeg's name of a codec or a pixel format; a language.
    case name = 64
    /// Its names of a container, of which that has several; a device.
    case names = 256
    /// 200 Unicode scalars.
    case title = 800
    case words = 1000
    /// A path or a URL.
    case location = 8192
    /// A line of an HTTP request.
    case header = 40_960
}

/// What can be written.
package protocol WireWritable: Sendable {
    /// Adds its bytes.
    func write(to wire: inout WireWriter)
}

/// What can be said between a player and its reader.
package protocol WireValue: WireWritable {
    /// Takes its bytes.
    init(from wire: inout WireReader) throws(WireError)
}

/// Why bytes are not what they are to be.
package enum WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// They end too soon.
    case short
    /// So many are left over.
    case surplus(Int)
    /// Something has more bytes, or more of its elements, than it may have.
    case tooLong(String, count: Int)
    /// A number that stands for nothing.
    case unknown(String, Int)
    /// A part of a message that does not follow the one before it.
    case disorder

    package var description: String {
        switch self {
        case .short: "ends too soon"
        case .surplus(let count): "has \(count) bytes too many"
        case .tooLong(let what, let count): "has a \(what) of \(count)"
        case .unknown(let what, let number): "has \(number) for a \(what)"
        case .disorder: "does not follow its beginning"
        }
    }
}

/// Bytes that are being written.
package struct WireWriter {
    package private(set) var bytes: [UInt8] = []
    /// What does not fit; nil where everything does.
    package private(set) var error: WireError?

    package init() {}

    /// The length of a text that is not there.
    fileprivate static let none = UInt16.max

    fileprivate mutating func append(_ byte: UInt8) { bytes.append(byte) }

    /// Adds values in their order.
    package mutating func put<each Value: WireWritable>(_ value: repeat each Value) { repeat (each value).write(to: &self) }

    /// The same of a message of this kind.
    mutating func message<each Value: WireWritable>(_ kind: UInt16, _ value: repeat each Value) -> UInt16 {
        repeat (each value).write(to: &self)
        return kind
    }

    package mutating func put(blob: some Collection<UInt8>) { if putLength(blob.count) { bytes += blob } }

    package mutating func put(list: some Collection<some WireWritable>) {
        guard putLength(list.count) else { return }
        for element in list { put(element) }
    }

    private mutating func putLength(_ count: Int) -> Bool {
        guard let length = UInt16(exactly: count), length != Self.none else {
            fail("length", count)
            return false
        }
        put(length)
        return true
    }

    fileprivate mutating func fail(_ what: String, _ count: Int) { error = error ?? .tooLong(what, count: count) }
}

/// A text that is being written.
package struct WireText: WireWritable {
    private let text: String?
    private let limit: TextLimit

    /// A text for people: its beginning, if it is longer than `limit`.
    package init(_ text: String?, _ limit: TextLimit) { (self.text, self.limit) = (text?.cut(toBytes: limit.rawValue), limit) }

    /// A text as it is: paths, URLs and what else is taken by its bytes. It cannot cross if it is longer than `limit`.
    package init(exactly text: String?, _ limit: TextLimit) { (self.text, self.limit) = (text, limit) }

    package func write(to wire: inout WireWriter) {
        guard let text else { return wire.put(WireWriter.none) }
        if text.utf8.count > limit.rawValue { wire.fail("text", text.utf8.count) } else { wire.put(blob: text.utf8) }
    }
}

/// Bytes of somebody else's that are being read.
package struct WireReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    fileprivate mutating func take(bytes count: Int) throws(WireError) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw .short }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    package mutating func take<Value: WireValue>() throws(WireError) -> Value { try Value(from: &self) }

    /// A value that is clamped to a range.
    package mutating func take<Value: WireValue & Comparable>(in range: ClosedRange<Value>) throws(WireError) -> Value {
        min(max(try Value(from: &self), range.lowerBound), range.upperBound)
    }

    /// A text as it is; what is no UTF-8 in it is replaced.
    package mutating func text(_ limit: TextLimit) throws(WireError) -> String? {
        let count = try take() as UInt16
        if count == WireWriter.none { return nil }
        guard count <= limit.rawValue else { throw .tooLong("text", count: Int(count)) }
        return String(decoding: try take(bytes: Int(count)), as: UTF8.self)
    }

    /// A text for people, which can be shown anywhere (``Swift/String/printable``).
    package mutating func words(_ limit: TextLimit) throws(WireError) -> String? { try text(limit)?.printable }

    package mutating func list<Value: WireValue>(atMost limit: Int) throws(WireError) -> [Value] {
        var list: [Value] = []
        for _ in 0..<(try length("list", limit)) { list.append(try take()) }
        return list
    }

    package mutating func texts(atMost count: Int, _ limit: TextLimit) throws(WireError) -> [String] {
        var list: [String] = []
        for _ in 0..<(try length("list", count)) { list.append(try text(limit) ?? "") }
        return list
    }

    /// Nothing may follow.
    package func end() throws(WireError) { if !rest.isEmpty { throw .surplus(rest.count) } }

    private mutating func length(_ what: String, _ limit: Int) throws(WireError) -> Int {
        let count = Int(try take() as UInt16)
        guard count <= limit else { throw .tooLong(what, count: count) }
        return count
    }
}

extension String {
    /// Its beginning, in at most so many bytes of UTF-8.
    fileprivate func cut(toBytes limit: Int) -> String {
        if utf8.count <= limit { return self }
        let bytes = Array(utf8.prefix(limit + 1))
        // A byte of this kind goes on with a letter.
        let end = bytes.indices.last { bytes[$0] & 0xC0 != 0x80 } ?? 0
        return String(decoding: bytes[..<end], as: UTF8.self)
    }
}

// MARK: Numbers

/// A number of a fixed width.
package protocol WireInteger: WireValue, FixedWidthInteger {}

extension WireInteger {
    package func write(to wire: inout WireWriter) {
        for shift in stride(from: 0, to: Self.bitWidth, by: 8) { wire.append(UInt8(truncatingIfNeeded: self >> shift)) }
    }

    package init(from wire: inout WireReader) throws(WireError) {
        var (value, shift): (Self, Int) = (0, 0)
        for byte in try wire.take(bytes: Self.bitWidth / 8) {
            value |= Self(truncatingIfNeeded: byte) << shift
            shift += 8
        }
        self = value
    }
}

extension UInt8: WireInteger {}
extension UInt16: WireInteger {}
extension UInt32: WireInteger {}
extension UInt64: WireInteger {}
extension Int32: WireInteger {}
extension Int64: WireInteger {}

extension Int: WireValue {
    package func write(to wire: inout WireWriter) { wire.put(Int64(self)) }
    package init(from wire: inout WireReader) throws(WireError) { self.init(clamping: try wire.take() as Int64) }
}

extension Bool: WireValue {
    package func write(to wire: inout WireWriter) { wire.put(UInt8(self ? 1 : 0)) }
    package init(from wire: inout WireReader) throws(WireError) { self = try wire.take() as UInt8 != 0 }
}

extension Double: WireValue {
    package func write(to wire: inout WireWriter) { wire.put(bitPattern) }
    /// What is not finite is 0.
    package init(from wire: inout WireReader) throws(WireError) {
        let value = Double(bitPattern: try wire.take())
        self = value.isFinite ? value : 0
    }
}

// MARK: What is made of others

extension Optional: WireWritable, WireValue where Wrapped: WireValue {
    package func write(to wire: inout WireWriter) { if let value = self { wire.put(true, value) } else { wire.put(false) } }

    package init(from wire: inout WireReader) throws(WireError) { self = try wire.take() as Bool ? try wire.take() as Wrapped : nil }
}

extension ClosedRange: WireWritable, WireValue where Bound: WireValue {
    package func write(to wire: inout WireWriter) { wire.put(lowerBound, upperBound) }

    package init(from wire: inout WireReader) throws(WireError) {
        let (a, b): (Bound, Bound) = (try wire.take(), try wire.take())
        self = Swift.min(a, b)...Swift.max(a, b)
    }
}

/// One of some cases without values: its number among them.
package protocol WireChoice: WireValue, CaseIterable, Equatable {}

extension WireChoice {
    package func write(to wire: inout WireWriter) { wire.put(UInt8(clamping: Array(Self.allCases).firstIndex(of: self) ?? 255)) }

    package init(from wire: inout WireReader) throws(WireError) {
        let (all, number) = (Array(Self.allCases), Int(try wire.take() as UInt8))
        guard all.indices.contains(number) else { throw .unknown("\(Self.self)", number) }
        self = all[number]
    }
}

/// A value that consists of fields.
package protocol WireRecord: WireValue {
    /// One whose fields are replaced.
    static var blank: Self { get }
    /// All of them, in the order in which they cross.
    static var fields: [WireField<Self>] { get }
}

extension WireRecord {
    package func write(to wire: inout WireWriter) { for field in Self.fields { field.write(self, &wire) } }

    package init(from wire: inout WireReader) throws(WireError) {
        var value = Self.blank
        for field in Self.fields { try field.read(&value, &wire) }
        self = value
    }
}

/// A field of a record: how it is written, and how it is read.
package struct WireField<Root>: Sendable {
    fileprivate let write: @Sendable (Root, inout WireWriter) -> Void
    fileprivate let read: @Sendable (inout Root, inout WireReader) throws(WireError) -> Void

    package typealias Path<Value> = any WritableKeyPath<Root, Value> & Sendable
    private typealias Read<Value> = @Sendable (inout WireReader) throws(WireError) -> Value

    private init<Value>(
        _ path: Path<Value>, _ write: @escaping @Sendable (Value, inout WireWriter) -> Void, _ read: @escaping Read<Value>
    ) {
        self.write = { write($0[keyPath: path], &$1) }
        self.read = { (root, wire) throws(WireError) in root[keyPath: path] = try read(&wire) }
    }

    package static func value<Value: WireValue>(_ path: Path<Value>) -> Self {
        Self(path, { $1.put($0) }, { (wire) throws(WireError) in try wire.take() })
    }

    /// One that is clamped to a range.
    package static func number<Value: WireValue & Comparable>(_ path: Path<Value>, _ range: ClosedRange<Value>) -> Self {
        Self(path, { $1.put($0) }, { (wire) throws(WireError) in try wire.take(in: range) })
    }

    package static func number<Value: WireValue & Comparable>(_ path: Path<Value?>, _ range: ClosedRange<Value>) -> Self {
        Self(path, { $1.put($0) }, { (wire) throws(WireError) in try wire.take() as Bool ? try wire.take(in: range) : nil })
    }

    /// A text for people.
    package static func words(_ path: Path<String>, _ limit: TextLimit) -> Self {
        Self(path, { $1.put(WireText($0, limit)) }, { (wire) throws(WireError) in try wire.words(limit) ?? "" })
    }

    package static func words(_ path: Path<String?>, _ limit: TextLimit) -> Self {
        Self(path, { $1.put(WireText($0, limit)) }, { (wire) throws(WireError) in try wire.words(limit) })
    }

    package static func title(_ path: Path<String?>) -> Self {
        Self(path, { $1.put(WireText($0, .title)) }, { (wire) throws(WireError) in try wire.text(.title)?.asTitle })
    }

    /// A text as it is.
    package static func exact(_ path: Path<String>, _ limit: TextLimit) -> Self {
        Self(path, { $1.put(WireText(exactly: $0, limit)) }, { (wire) throws(WireError) in try wire.text(limit) ?? "" })
    }

    package static func exact(_ path: Path<String?>, _ limit: TextLimit) -> Self {
        Self(path, { $1.put(WireText(exactly: $0, limit)) }, { (wire) throws(WireError) in try wire.text(limit) })
    }

    /// At most `count` texts as they are.
    package static func exact(_ path: Path<[String]>, _ limit: TextLimit, atMost count: Int) -> Self {
        Self(
            path, { texts, wire in wire.put(list: texts.map { WireText(exactly: $0, limit) }) },
            { (wire) throws(WireError) in try wire.texts(atMost: count, limit) })
    }

    /// The first `count` elements.
    package static func list<Element: WireValue>(_ path: Path<[Element]>, atMost count: Int) -> Self {
        Self(path, { $1.put(list: $0.prefix(count)) }, { (wire) throws(WireError) in try wire.list(atMost: count) })
    }
}
