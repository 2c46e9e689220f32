import Glibc
import KioskPlatform

/// Answers `GET /metrics` by HTTP/1.1, one connection after the other, on a thread that gives way to all others. A request has 8 KiB and two
/// seconds; all else is answered 404, 405 or not at all.
package final class MetricsServer: Sendable {
    private let listener: Int32
    private let metrics: @Sendable () -> String
    private let isStopping = Monitor(false)
    private let thread: Thread
    /// The port it listens on.
    package let port: UInt16

    private static let longestRequest = 8192

    /// Begins to listen on an address of this machine, such as 127.0.0.1; port 0 is a free one.
    ///
    /// - Throws: ``ControlError`` where that cannot be done.
    package static func open(
        _ host: String, _ port: UInt16, _ metrics: @escaping @Sendable () -> String
    ) throws(ControlError) -> MetricsServer {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else {
            throw ControlError("[control] metrics: \(host) is no IPv4 address: write one of this machine, such as 127.0.0.1")
        }
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard listener >= 0 else { throw ControlError("make a socket for metrics", code: errno) }
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 8) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isBound else {
            let code = errno
            close(listener)
            throw ControlError("listen for metrics on \(host):\(port)", code: code)
        }
        return MetricsServer(listener, UInt16(bigEndian: address.sin_port), metrics)
    }

    private init(_ listener: Int32, _ port: UInt16, _ metrics: @escaping @Sendable () -> String) {
        (self.listener, self.port, self.metrics) = (listener, port, metrics)
        let isStopping = isStopping
        thread = Thread("metrics") {
            Thread.giveWay()
            while !isStopping.withLock({ $0 }) { Self.serveNext(listener, metrics) }
        }
    }

    /// Ends; a request that is being answered is, within two seconds.
    package func stop() {
        isStopping.withLock { $0 = true }
        shutdown(listener, Int32(SHUT_RDWR))
        if thread.join(until: .now + .seconds(3)) { close(listener) } else { thread.detach() }
    }

    private static func serveNext(_ listener: Int32, _ metrics: () -> String) {
        let client = accept(listener, nil, nil)
        guard client >= 0 else {
            // At the end, or without descriptors.
            usleep(100_000)
            return
        }
        defer { close(client) }
        var limit = timeval(tv_sec: 2, tv_usec: 0)
        setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard let line = requestLine(client) else { return }
        let answer = response(to: line, metrics)
        _ = Array(answer.utf8).withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// The first line of a request, when all of its head has come.
    private static func requestLine(_ client: Int32) -> String? {
        var head: [UInt8] = []
        let deadline = HostTime.now + .seconds(2)
        while head.count < longestRequest {
            var entry = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
            let left = (deadline - .now).nanoseconds / 1_000_000
            guard left > 0, poll(&entry, 1, Int32(left)) > 0 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 2048)
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            head += buffer.prefix(count)
            let text = String(decoding: head, as: UTF8.self)
            if text.contains("\r\n\r\n") || text.contains("\n\n") { return text.split(whereSeparator: \.isNewline).first.map(String.init) }
        }
        return nil
    }

    /// The whole answer to a request line.
    static func response(to line: String, _ metrics: () -> String) -> String {
        let parts = line.split(separator: " ", omittingEmptySubsequences: false)
        func answer(_ status: String, _ type: String, _ body: String) -> String {
            "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
        }
        guard parts.count == 3, parts[2].hasPrefix("HTTP/1.") else {
            return answer("400 Bad Request", "text/plain", "expected GET /metrics HTTP/1.1\n")
        }
        guard parts[0] == "GET" else { return answer("405 Method Not Allowed", "text/plain", "there is GET alone\n") }
        guard parts[1].split(separator: "?").first == "/metrics" else {
            return answer("404 Not Found", "text/plain", "there is /metrics alone\n")
        }
        return answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", metrics())
    }
}
