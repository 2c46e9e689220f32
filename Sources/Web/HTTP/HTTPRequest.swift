// The head of a request (RFC 9112), read more strictly than the RFC asks. What could be read in two ways is refused: then no proxy in front and
// this server can take the same bytes for different requests.
import KioskPlatform

/// The refusal of a request, as an HTTP status with a reason for people.
struct HTTPRefusal: Error, Hashable, Sendable {
    var status: Int
    var message: String
}

/// A method that a route can have.
enum HTTPMethod: String, Hashable, Sendable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"

    /// Whether a request with it changes something.
    var isUnsafe: Bool { self != .get && self != .head }
}

/// The head of a request.
struct HTTPRequest: Sendable {
    var method: HTTPMethod
    /// The decoded parts of the path: `["api", "v1", "status"]`; none for `/`.
    var path: [String]
    /// The decoded pairs of the query, in order.
    var query: [(name: String, value: String)]
    /// The headers, with their names in lower case.
    var headers: [(name: String, value: String)]
    /// The one `Host`.
    var host: String
    /// The bytes of the body.
    var length: Int
    /// Whether the client takes another answer on the same connection.
    var keepsAlive: Bool
    /// Whether the client sends its body after a `100 Continue`.
    var expectsContinue: Bool

    /// The most bytes of a head, and the most headers in it.
    static let longestHead = 16 << 10
    static let mostHeaders = 64

    /// Returns the value of the only header of this name; nil if there is none.
    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// Returns the first value of this name in the query.
    func queried(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// Returns the value of a cookie.
    func cookie(_ name: String) -> String? {
        for pair in (header("cookie") ?? "").split(separator: ";") {
            let parts = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, parts[0] == name { return String(parts[1]) }
        }
        return nil
    }

    /// Reads a head: the bytes before the empty line.
    init(head: some Collection<UInt8>) throws(HTTPRefusal) {
        guard let text = String(validating: head, as: UTF8.self) else { throw HTTPRefusal(status: 400, message: "the head is not UTF-8") }
        var lines = try Self.lines(text)[...]
        let words = (lines.popFirst() ?? "").split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else {
            throw HTTPRefusal(status: 400, message: "expected a line such as GET / HTTP/1.1")
        }
        guard let method = HTTPMethod(rawValue: String(words[0])) else {
            throw HTTPRefusal(status: 501, message: "there is no such method")
        }
        self.method = method
        (path, query) = try Self.target(words[1])
        headers = try Self.headers(lines)
        guard let host = headers.first(where: { $0.name == "host" })?.value, !host.isEmpty else {
            throw HTTPRefusal(status: 400, message: "there is no Host")
        }
        self.host = host
        if headers.contains(where: { $0.name == "transfer-encoding" }) {
            throw HTTPRefusal(status: 501, message: "a body needs Content-Length, not Transfer-Encoding")
        }
        length = 0
        if let text = headers.first(where: { $0.name == "content-length" })?.value {
            guard 1...15 ~= text.utf8.count, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let number = Int(text) else {
                throw HTTPRefusal(status: 400, message: "Content-Length is not a number")
            }
            length = number
        }
        let connection = headers.first { $0.name == "connection" }?.value.lowercased() ?? ""
        keepsAlive = words[2] == "HTTP/1.1" && !connection.contains("close")
        let expectation = headers.first { $0.name == "expect" }?.value.lowercased()
        if let expectation, expectation != "100-continue" { throw HTTPRefusal(status: 417, message: "there is no such expectation") }
        expectsContinue = expectation != nil && words[2] == "HTTP/1.1"
    }

    /// Splits a head into lines. A line ends with CR and LF; another control character, but for tabs, is refused.
    private static func lines(_ text: String) throws(HTTPRefusal) -> [Substring] {
        var lines: [Substring] = []
        var rest = text.utf8[...]
        while !rest.isEmpty {
            let end = rest.firstIndex(of: 0x0D) ?? rest.endIndex
            let line = rest[..<end]
            guard !line.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else {
                throw HTTPRefusal(status: 400, message: "the head has a control character")
            }
            lines.append(Substring(line))
            rest = rest[end...].dropFirst()
            if end < text.utf8.endIndex {
                guard rest.first == 0x0A else { throw HTTPRefusal(status: 400, message: "a line ends with CR alone") }
                rest = rest.dropFirst()
            }
        }
        return lines
    }

    /// The headers that a request may have once: two of them could mean two things.
    private static let single: Set<String> = [
        "host", "content-length", "content-type", "authorization", "cookie", "origin", "x-csrf-token", "upload-offset", "connection",
        "expect",
    ]

    private static func headers(_ lines: ArraySlice<Substring>) throws(HTTPRefusal) -> [(name: String, value: String)] {
        guard lines.count <= mostHeaders else { throw HTTPRefusal(status: 431, message: "a request has \(mostHeaders) headers at most") }
        var headers: [(name: String, value: String)] = []
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, parts[0].utf8.allSatisfy(isToken) else {
                throw HTTPRefusal(status: 400, message: "a header is not NAME: VALUE")
            }
            let name = parts[0].lowercased()
            let value = parts[1].drop { $0 == " " || $0 == "\t" }
            let blanks = value.reversed().prefix { $0 == " " || $0 == "\t" }.count
            if single.contains(name), headers.contains(where: { $0.name == name }) {
                throw HTTPRefusal(status: 400, message: "there are two headers \(name)")
            }
            headers.append((name, String(value.dropLast(blanks))))
        }
        return headers
    }

    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    /// Decodes a target. A part that is empty, `.` or `..`, or has a slash or a zero byte behind its %, names nothing here.
    private static func target(_ text: Substring) throws(HTTPRefusal) -> (path: [String], query: [(name: String, value: String)]) {
        guard text.first == "/", !text.contains("#") else { throw HTTPRefusal(status: 400, message: "expected a path that begins with /") }
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var path: [String] = []
        if parts[0] != "/" {
            for part in parts[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
                guard let name = decoded(part), !name.isEmpty, name != ".", name != "..", !name.contains("/"), !name.contains("\0") else {
                    throw HTTPRefusal(status: 400, message: "the path has a part that names nothing")
                }
                path.append(name)
            }
        }
        var query: [(name: String, value: String)] = []
        for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decoded(sides[0], plusIsSpace: true),
                let value = decoded(sides.count > 1 ? sides[1] : "", plusIsSpace: true)
            else { throw HTTPRefusal(status: 400, message: "the query is not percent-encoded UTF-8") }
            query.append((name, value))
        }
        return (path, query)
    }

    /// Decodes %XX; nil if that is malformed, or no UTF-8.
    static func decoded(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8.makeIterator()
        while let byte = rest.next() {
            if byte == UInt8(ascii: "%") {
                guard let high = rest.next().flatMap(hexadecimal), let low = rest.next().flatMap(hexadecimal) else { return nil }
                bytes.append(high << 4 | low)
            } else {
                bytes.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
