import KioskMedia
import KioskPlatform

// The conversion between values and bytes. Both ends are of one build, so there are no versions: a value is its fields in order. Numbers
// are little-endian. A text or a list has its length before it.
//
// The reading end believes nothing. It throws on a length beyond its limit, an unknown number, and missing or extra bytes. It clamps
// numbers that a damaged file can make wrong, as the other end is honest then. Nothing traps, whatever the bytes are.

/// The most bytes of a text. An honest writer cuts a longer text for people.
package enum TextLimit: Int {
    /// FFmpeg's name of a codec or a pixel format; a language.
    case name = 64
    /// FFmpeg's names of a container, which has several; a device.
    case names = 256
    /// 200 Unicode scalars.
    case title = 800
    case words = 1000
    /// A path or a URL.
    case location = 8192
    /// A line of an HTTP request.
    case header = 40_960
}

/// A value that can be written.
package protocol WireWritable: Sendable {
    /// Adds its bytes.
    func write(to wire: inout WireWriter)
}

/// A value in the conversation of a player and its reader.
package protocol WireValue: WireWritable {
    /// Reads its bytes.
    init(from wire: inout WireReader) throws(WireError)
}

/// The reason why bytes are invalid.
package enum WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The bytes end too soon.
    case short
    /// The number of bytes left over.
    case surplus(Int)
    /// Something has more bytes, or more elements, than its limit.
    case tooLong(String, count: Int)
    /// A number without a meaning.
    case unknown(String, Int)
    /// A part of a message that does not follow the previous one.
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

/// Collects the bytes of values.
package struct WireWriter {
    package private(set) var bytes: [UInt8] = []
    /// The part that does not fit; nil if everything fits.
    package private(set) var error: WireError?

    package init() {}

    /// The length that stands for an absent text.
    fileprivate static let none = UInt16.max

    fileprivate mutating func append(_ byte: UInt8) { bytes.append(byte) }

    /// Appends values in order.
    package mutating func put<each Value: WireWritable>(_ value: repeat each Value) { repeat (each value).write(to: &self) }

    /// The same for a message of this kind.
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

/// A text to write.
package struct WireText: WireWritable {
    private let text: String?
    private let limit: TextLimit

    /// A text for people, cut if it is longer than `limit`.
    package init(_ text: String?, _ limit: TextLimit) { (self.text, self.limit) = (text?.cut(toBytes: limit.rawValue), limit) }

    /// An exact text: paths, URLs and other texts whose bytes count. It cannot cross if it is longer than `limit`.
    package init(exactly text: String?, _ limit: TextLimit) { (self.text, self.limit) = (text, limit) }

    package func write(to wire: inout WireWriter) {
        guard let text else { return wire.put(WireWriter.none) }
        if text.utf8.count > limit.rawValue { wire.fail("text", text.utf8.count) } else { wire.put(blob: text.utf8) }
    }
}

/// Reads values from untrusted bytes.
package struct WireReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    fileprivate mutating func take(bytes count: Int) throws(WireError) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw .short }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    package mutating func take<Value: WireValue>() throws(WireError) -> Value { try Value(from: &self) }

    /// Reads a value and clamps it to a range.
    package mutating func take<Value: WireValue & Comparable>(in range: ClosedRange<Value>) throws(WireError) -> Value {
        min(max(try Value(from: &self), range.lowerBound), range.upperBound)
    }

    /// Reads an exact text; replaces invalid UTF-8.
    package mutating func text(_ limit: TextLimit) throws(WireError) -> String? {
        let count = try take() as UInt16
        if count == WireWriter.none { return nil }
        guard count <= limit.rawValue else { throw .tooLong("text", count: Int(count)) }
        return String(decoding: try take(bytes: Int(count)), as: UTF8.self)
    }

    /// Reads a text for people, safe to show anywhere (``Swift/String/printable``).
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

    /// Throws if bytes are left over.
    package func end() throws(WireError) { if !rest.isEmpty { throw .surplus(rest.count) } }

    private mutating func length(_ what: String, _ limit: Int) throws(WireError) -> Int {
        let count = Int(try take() as UInt16)
        guard count <= limit else { throw .tooLong(what, count: count) }
        return count
    }
}

extension String {
    /// Returns its beginning, in at most `limit` bytes of UTF-8.
    fileprivate func cut(toBytes limit: Int) -> String {
        if utf8.count <= limit { return self }
        let bytes = Array(utf8.prefix(limit + 1))
        // A byte of this kind continues a character.
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
    /// A value that is not finite becomes 0.
    package init(from wire: inout WireReader) throws(WireError) {
        let value = Double(bitPattern: try wire.take())
        self = value.isFinite ? value : 0
    }
}

// MARK: Values made of others

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

/// A case of an enumeration without values, written as its index.
package protocol WireChoice: WireValue, CaseIterable, Equatable {}

extension WireChoice {
    package func write(to wire: inout WireWriter) { wire.put(UInt8(clamping: Array(Self.allCases).firstIndex(of: self) ?? 255)) }

    package init(from wire: inout WireReader) throws(WireError) {
        let (all, number) = (Array(Self.allCases), Int(try wire.take() as UInt8))
        guard all.indices.contains(number) else { throw .unknown("\(Self.self)", number) }
        self = all[number]
    }
}

/// A value made of fields.
package protocol WireRecord: WireValue {
    /// A value whose fields the reader replaces.
    static var blank: Self { get }
    /// All fields, in the order of their bytes.
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

/// A field of a record: how to write and read it.
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

    /// A number that is clamped to a range.
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

    /// An exact text.
    package static func exact(_ path: Path<String>, _ limit: TextLimit) -> Self {
        Self(path, { $1.put(WireText(exactly: $0, limit)) }, { (wire) throws(WireError) in try wire.text(limit) ?? "" })
    }

    package static func exact(_ path: Path<String?>, _ limit: TextLimit) -> Self {
        Self(path, { $1.put(WireText(exactly: $0, limit)) }, { (wire) throws(WireError) in try wire.text(limit) })
    }

    /// At most `count` exact texts.
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
