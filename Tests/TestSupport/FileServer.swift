import Foundation
import Glibc
import KioskPlatform
import Testing

/// An HTTP/1.1 server on 127.0.0.1 that serves one file or several, one request per connection. It can misbehave: change the content, cut
/// the connection, send a wrong length or none, or stop.
package final class FileServer: Sendable {
    /// How the server answers.
    package struct Behaviour: Sendable {
        package var content: [UInt8]
        /// Returns the content of a path that begins with `/`; nil gives 404. Without this function every path holds `content`.
        package var files: (@Sendable (String) -> [UInt8]?)?
        /// Returns the target of a redirection (status 302) for a path that begins with `/`; nil for no redirection.
        package var redirects: (@Sendable (String) -> String?)?
        /// Bytes a second of all connections together; nil for no limit.
        package var rate: Int?
        /// The ETag header; nil for none.
        package var tag: String? = "\"one\""
        /// The Last-Modified header; nil for none.
        package var modified: String?
        /// The status of every answer; nil for 200, 206, 304 or 416, as the request demands.
        package var status: Int?
        /// Whether the server understands ranges and conditions.
        package var understandsRanges = true, understandsConditions = true
        /// Whether the server sends Content-Length. Otherwise the body is chunked, or it ends with the connection.
        package var tellsLength = true, comesInChunks = true
        /// Whether the server holds the connection after the last byte, as a camera that has stalled.
        package var isHeld = false
        /// The number that the server adds to Content-Length.
        package var lie = 0
        /// The number of body bytes after which the server closes the connection; nil for the whole body.
        package var cutsAfter: Int?
        /// Milliseconds between two pieces of 16 KB.
        package var pause: UInt32 = 0
        package var type = "video/mp4"
        /// A header, its name in lower case, that a request must have; otherwise the answer is 401.
        package var required: (name: String, value: String)?
        /// Milliseconds before an answer begins.
        package var delay: UInt32 = 0

        package init(_ content: [UInt8]) { self.content = content }

        /// Creates a live stream: each client gets the same bytes from the beginning, without a length.
        package init(live content: [UInt8], isHeld: Bool = true) {
            self.init(content)
            (tellsLength, comesInChunks, understandsRanges, type) = (false, false, false, "video/mp2t")
            self.isHeld = isHeld
        }

        /// Creates a server of several files.
        package init(files: @escaping @Sendable (String) -> [UInt8]?) { (content, self.files) = ([], files) }

        fileprivate func type(of path: String) -> String {
            path.hasSuffix(".m3u8") ? "application/vnd.apple.mpegurl" : path.hasSuffix(".ts") ? "video/mp2t" : type
        }
    }

    /// A request as received; the names of its headers are in lower case.
    package struct Request: Hashable, Sendable {
        package var method: String
        package var path: String
        package var headers: [String: String]
        package var time = HostTime.now
        /// The number of body bytes sent.
        package var sent = 0
        package var status = 0
    }

    private struct State {
        var behaviour: Behaviour
        var requests: [Request] = []
        var open: Set<Int32> = []
        var listener: Int32 = -1
        /// When the line will have carried all bytes sent so far.
        var busyUntil = HostTime.now
    }

    private let state: Monitor<State>
    package let port: UInt16

    /// Returns the URL of a file.
    package func url(_ name: String = "clip.mp4") -> String { "http://127.0.0.1:\(port)/\(name)" }

    /// Starts serving, on a port of its own.
    package init(_ behaviour: Behaviour) throws {
        let state = Monitor(State(behaviour: behaviour))
        self.state = state
        port = try Self.listen(state, port: 0)
    }

    deinit { stop() }

    /// Changes how the server answers from now on.
    package func change(_ change: @Sendable (inout Behaviour) -> Void) { state.withLock { change(&$0.behaviour) } }

    /// The requests so far.
    package var requests: [Request] { state.withLock { $0.requests } }

    /// Stops the server: cuts its connections and refuses new ones.
    package func stop() {
        state.withLock { state in
            if state.listener >= 0 { shutdown(state.listener, Int32(SHUT_RDWR)) }
            state.listener = -1
            for connection in state.open { shutdown(connection, Int32(SHUT_RDWR)) }
        }
    }

    /// Starts the server again, on the same port.
    package func restart() throws { _ = try Self.listen(state, port: port) }

    private static func listen(_ state: Monitor<State>, port: UInt16) throws -> UInt16 {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) | Glibc.listen(listener, 16) | getsockname(listener, pointer, &length)
            }
        }
        try #require(status == 0, "\(String(cString: strerror(errno)))")
        state.withLock { $0.listener = listener }
        Thread("file server") {
            while true {
                let connection = accept(listener, nil, nil)
                if connection < 0 {
                    close(listener)
                    return
                }
                let isWanted = state.withLock { state -> Bool in
                    guard state.listener == listener else { return false }
                    state.open.insert(connection)
                    return true
                }
                guard isWanted else {
                    close(connection)
                    continue
                }
                Thread("file connection") {
                    serve(connection, state)
                    state.withLock { _ = $0.open.remove(connection) }
                    close(connection)
                }.detach()
            }
        }.detach()
        return UInt16(bigEndian: address.sin_port)
    }

    private static func serve(_ connection: Int32, _ state: Monitor<State>) {
        guard let request = read(connection) else { return }
        let (behaviour, number) = state.withLock { state in
            state.requests.append(request)
            return (state.behaviour, state.requests.count - 1)
        }
        if behaviour.delay > 0 { usleep(behaviour.delay * 1000) }
        var begin = 0
        let isRefused = behaviour.required.map { request.headers[$0.name] != $0.value } ?? false
        var status = isRefused ? 401 : behaviour.status ?? 200
        let found = behaviour.files.map { $0(request.path) } ?? behaviour.content
        let whole = found ?? []
        if found == nil { status = 404 }
        if behaviour.status == nil, !isRefused, found != nil {
            let isSame =
                request.headers["if-none-match"].map { $0 == behaviour.tag } ?? false
                || request.headers["if-modified-since"].map { $0 == behaviour.modified } ?? false
            if behaviour.understandsConditions, isSame { status = 304 }
            if behaviour.understandsRanges, let range = request.headers["range"], range.hasPrefix("bytes="),
                let first = Int(range.dropFirst(6).prefix { $0 != "-" }),
                request.headers["if-range"].map({ $0 == behaviour.tag || $0 == behaviour.modified }) ?? true
            {
                (begin, status) = first < whole.count ? (first, 206) : (0, 416)
            }
        }
        let location = behaviour.redirects.flatMap { $0(request.path) }
        if location != nil { status = 302 }
        let body = [200, 206].contains(status) ? whole[begin...] : []
        var head = "HTTP/1.1 \(status) X\r\nConnection: close\r\nContent-Type: \(behaviour.type(of: request.path))\r\n"
        if let location { head += "Location: \(location)\r\n" }
        if behaviour.understandsRanges { head += "Accept-Ranges: bytes\r\n" }
        if let tag = behaviour.tag { head += "ETag: \(tag)\r\n" }
        if let modified = behaviour.modified { head += "Last-Modified: \(modified)\r\n" }
        if status == 206 { head += "Content-Range: bytes \(begin)-\(whole.count - 1)/\(whole.count)\r\n" }
        let isChunked = !behaviour.tellsLength && behaviour.comesInChunks
        if isChunked { head += "Transfer-Encoding: chunked\r\n" }
        if behaviour.tellsLength { head += "Content-Length: \(body.count + behaviour.lie)\r\n" }
        head += "\r\n"
        state.withLock { $0.requests[number].status = status }
        guard send(connection, Array(head.utf8)[...]), request.method != "HEAD" else { return }
        var sent = 0
        let end = min(body.count, behaviour.cutsAfter ?? .max)
        while sent < end {
            let piece = body.dropFirst(sent).prefix(min(16_384, end - sent))
            let bytes = isChunked ? Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8) : Array(piece)
            guard send(connection, bytes[...]) else { return }
            sent += piece.count
            let total = sent
            state.withLock { $0.requests[number].sent = total }
            if behaviour.pause > 0 { usleep(behaviour.pause * 1000) }
            let due = state.withLock { state in
                guard let rate = state.behaviour.rate else { return HostTime.now }
                state.busyUntil = max(state.busyUntil, .now) + .seconds(Double(piece.count) / Double(rate))
                return state.busyUntil
            }
            if due > .now { usleep(UInt32((due - .now).seconds * 1e6)) }
        }
        if isChunked, behaviour.cutsAfter == nil { _ = send(connection, Array("0\r\n\r\n".utf8)[...]) }
        var byte: UInt8 = 0
        if behaviour.isHeld { _ = recv(connection, &byte, 1, 0) }
    }

    private static func read(_ connection: Int32) -> Request? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0, bytes.count < 65_536 else { return nil }
            bytes += buffer.prefix(count)
        }
        let lines = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count == 3 else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
        }
        return Request(method: String(words[0]), path: String(words[1]), headers: headers)
    }

    private static func send(_ connection: Int32, _ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count <= 0 { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
