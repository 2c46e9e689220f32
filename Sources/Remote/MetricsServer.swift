import Glibc
import KioskPlatform
import RemoteClient

/// Answers `GET /metrics` over HTTP/1.1, on one thread of the lowest priority that polls all connections. A request may have 8 KiB and two
/// seconds; others get 404, 405 or no answer. There are at most ``mostClients``; a further one replaces the oldest.
///
/// `Host:` must be an address, `localhost` or the name of this machine. If a web page points its own name here (DNS rebinding), it gets
/// 421.
package final class MetricsServer: Sendable {
    private let listener: SharedDescriptor
    private let metrics: @Sendable () -> String
    private let isStopping = Monitor(false)
    private let thread: Thread
    /// The port.
    package let port: UInt16

    private static let longestRequest = 8192
    private static let longestWait = MediaTime.seconds(2)
    private static let mostClients = 16

    /// Starts to listen on an address of this machine, such as 127.0.0.1; port 0 means any free port.
    ///
    /// - Throws: ``ControlError`` if that fails.
    package static func open(
        _ host: String, _ port: UInt16, _ metrics: @escaping @Sendable () -> String
    ) throws(ControlError) -> MetricsServer {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else {
            throw ControlError("[control] metrics: \(host) is no IPv4 address: write one of this machine, such as 127.0.0.1")
        }
        guard let listener = Descriptor(socket: AF_INET, SOCK_STREAM) else { throw ControlError("make a socket for metrics", code: errno) }
        var yes: Int32 = 1
        setsockopt(listener.raw, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener.raw, $0, length) == 0 && listen(listener.raw, 64) == 0 && getsockname(listener.raw, $0, &length) == 0
            }
        }
        guard isBound else { throw ControlError("listen for metrics on \(host):\(port)", code: errno) }
        return MetricsServer(SharedDescriptor(listener), UInt16(bigEndian: address.sin_port), metrics)
    }

    private init(_ listener: SharedDescriptor, _ port: UInt16, _ metrics: @escaping @Sendable () -> String) {
        (self.listener, self.port, self.metrics) = (listener, port, metrics)
        let isStopping = isStopping
        thread = Thread("metrics") {
            Thread.giveWay()
            var clients: [Client] = []
            while !isStopping.withLock({ $0 }) { Self.step(listener.raw, &clients, metrics) }
        }
    }

    /// Stops, within three seconds.
    package func stop() {
        isStopping.withLock { $0 = true }
        shutdown(listener.raw, Int32(SHUT_RDWR))
        if !thread.join(until: .now + .seconds(3)) { thread.detach() }
    }

    /// A connection: the received head of its request, then the unsent rest of the answer.
    private final class Client {
        private let socket: Descriptor
        var descriptor: Int32 { socket.raw }
        /// When it is closed unless there is progress.
        var deadline = HostTime.now + MetricsServer.longestWait
        var head: [UInt8] = []
        var answer: ArraySlice<UInt8>?
        var isOver = false

        init(_ socket: consuming Descriptor) { self.socket = socket }
    }

    /// Waits for an event and handles it.
    private static func step(_ listener: Int32, _ clients: inout [Client], _ metrics: () -> String) {
        var entries = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        entries += clients.map { pollfd(fd: $0.descriptor, events: Int16($0.answer == nil ? POLLIN : POLLOUT), revents: 0) }
        let left = clients.map { ($0.deadline - .now).nanoseconds / 1_000_000 + 1 }.min() ?? -1
        _ = poll(&entries, nfds_t(entries.count), clients.isEmpty ? -1 : Int32(clamping: max(0, left)))
        for (client, entry) in zip(clients, entries.dropFirst()) where entry.revents != 0 {
            if client.answer == nil { receive(client, metrics) }
            if client.answer != nil { send(client) }
        }
        clients.removeAll { $0.isOver || $0.deadline <= .now }
        guard entries[0].revents != 0 else { return }
        guard let socket = Descriptor(accepting: listener) else { return }
        if clients.count >= mostClients { clients.removeFirst() }
        clients.append(Client(socket))
    }

    /// Receives bytes; prepares the answer once the head of the request is complete.
    private static func receive(_ client: Client, _ metrics: () -> String) {
        var buffer = [UInt8](repeating: 0, count: 2048)
        let count = recv(client.descriptor, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        guard count > 0, client.head.count + count <= longestRequest else { return client.isOver = true }
        client.head += buffer.prefix(count)
        let text = String(decoding: client.head, as: UTF8.self)
        guard text.contains("\r\n\r\n") || text.contains("\n\n") else { return }
        client.answer = Array(response(to: text, metrics).utf8)[...]
        client.deadline = .now + longestWait
    }

    private static func send(_ client: Client) {
        guard let answer = client.answer else { return }
        let count = answer.withUnsafeBytes { Glibc.send(client.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        client.answer = answer.dropFirst(max(0, count))
        client.deadline = .now + longestWait
        client.isOver = count <= 0 || client.answer?.isEmpty ?? true
    }

    /// Returns whether the host of a request is allowed: none, an address, or a name of this machine.
    static func isOwn(host: Substring, name: String = hostName) -> Bool {
        var host = host.lowercased()
        // Removes the port; IPv6 addresses have brackets.
        if let colon = host.lastIndex(of: ":"), host[colon...].dropFirst().allSatisfy({ $0.isASCII && $0.isNumber }),
            !host.hasPrefix("[") || host[..<colon].hasSuffix("]")
        {
            host = String(host[..<colon])
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        var (four, six) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, host, &four) == 1 || inet_pton(AF_INET6, host, &six) == 1 { return true }
        let name = name.lowercased()
        return ["", "localhost"].contains(host) || !name.isEmpty && (host == name || host.hasPrefix(name + "."))
    }

    static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        return gethostname(&name, name.count - 1) == 0 ? name.text : ""
    }

    /// Returns the complete answer to the head of a request.
    static func response(to head: String, _ metrics: () -> String) -> String {
        let lines = head.split(whereSeparator: \.isNewline)
        let parts = (lines.first ?? "").split(separator: " ", omittingEmptySubsequences: false)
        func answer(_ status: String, _ type: String, _ body: String) -> String {
            "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)"
        }
        guard parts.count == 3, parts[2].hasPrefix("HTTP/1.") else {
            return answer("400 Bad Request", "text/plain", "expected GET /metrics HTTP/1.1\n")
        }
        guard parts[0] == "GET" else { return answer("405 Method Not Allowed", "text/plain", "only GET is possible\n") }
        for line in lines.dropFirst() where line.lowercased().hasPrefix("host:") && !isOwn(host: trimmed(line.dropFirst(5))) {
            return answer("421 Misdirected Request", "text/plain", "use the address of this machine, or its own name\n")
        }
        guard parts[1].split(separator: "?").first == "/metrics" else {
            return answer("404 Not Found", "text/plain", "only /metrics is here\n")
        }
        return answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", metrics())
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let rest = text.drop(while: \.isWhitespace)
        return rest.prefix(rest.count - rest.reversed().prefix(while: \.isWhitespace).count)
    }
}
