// Connections, each on a thread of its own: a thread that waits costs some kilobytes and no time. The number of threads has a limit, and so
// has everything a client can make one of them wait for.
import Glibc
import KioskPlatform
import Logging
import Synchronization

/// An HTTP/1.1 server.
///
/// - A head has 16 KiB, 64 headers and ten seconds; a body 20 s, and a second more for each kilobyte.
/// - A connection without a request ends after 30 s.
/// - There are at most ``Limits/connections``, and ``Limits/perAddress`` of one address. If there is no room, the connection that has been
///   waiting longest for a request gives way; without such a connection the new one is closed.
final class HTTPServer: Sendable {
    /// Answers a request on its connection's thread.
    typealias Handler = @Sendable (HTTPRequest, HTTPPeer, HTTPBody) -> HTTPResponse

    /// The limits for clients.
    struct Limits: Sendable {
        var connections = 64
        var perAddress = 16
        var head = MediaTime.seconds(10)
        var idle = MediaTime.seconds(30)
        var body = MediaTime.seconds(20)
        var write = MediaTime.seconds(20)
    }

    private struct Connection {
        var peer: HTTPPeer
        var socket: SharedDescriptor
        /// Since when it waits for a request; nil while it has one.
        var waitsSince: HostTime?
    }

    private struct State {
        var connections: [Int: Connection] = [:]
        var next = 0
    }

    private let listener: SharedDescriptor
    private let limits: Limits
    private let handler: Handler
    private let tls: TLSServer?
    /// Called after each connection.
    private let atEnd: @Sendable () -> Void
    private let state = Mutex(State())
    private let isStopping = Atomic(false)
    /// The address that it listens on, with the real port.
    let address: ListenAddress

    /// Starts to listen; `run()` serves.
    ///
    /// - Throws: ``WebError`` if that fails.
    static func open(
        _ address: ListenAddress, _ limits: Limits = Limits(), tls: TLSServer? = nil, atEnd: @escaping @Sendable () -> Void = {},
        handler: @escaping Handler
    ) throws(WebError) -> HTTPServer {
        let (listener, bound) = try address.listen()
        return HTTPServer(listener, bound, limits, tls, handler, atEnd)
    }

    private init(
        _ listener: SharedDescriptor, _ address: ListenAddress, _ limits: Limits, _ tls: TLSServer?, _ handler: @escaping Handler,
        _ atEnd: @escaping @Sendable () -> Void
    ) {
        (self.listener, self.address, self.limits, self.tls) = (listener, address, limits, tls)
        (self.handler, self.atEnd) = (handler, atEnd)
    }

    /// Ends ``run()`` and all connections. Any thread.
    func stop() {
        isStopping.store(true, ordering: .releasing)
        shutdown(listener.raw, Int32(SHUT_RDWR))
        state.withLock { for connection in $0.connections.values { shutdown(connection.socket.raw, Int32(SHUT_RDWR)) } }
    }

    /// Accepts connections until ``stop()``. Blocks.
    func run() {
        while !isStopping.load(ordering: .acquiring) {
            var (peer, length) = (sockaddr_storage(), socklen_t(MemoryLayout<sockaddr_storage>.size))
            let raw = withUnsafeMutablePointer(to: &peer) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { accept(listener.raw, $0, &length) }
            }
            guard raw >= 0 else {
                // Without free descriptors the client stays queued, and accept(2) would return at once.
                if errno != EINTR, errno != ECONNABORTED { usleep(100_000) }
                continue
            }
            let socket = SharedDescriptor(Descriptor(raw))
            _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
            _ = fcntl(raw, F_SETFL, O_NONBLOCK)
            var yes: Int32 = 1
            setsockopt(raw, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
            admit(socket, HTTPPeer(peer))
        }
    }

    private func admit(_ socket: SharedDescriptor, _ peer: HTTPPeer) {
        let number: Int? = state.withLock { state in
            let same = state.connections.filter { $0.value.peer == peer }
            // A proxy on this machine speaks for many clients.
            let isFull = state.connections.count >= limits.connections
            if isFull || !peer.isLoopback && same.count >= limits.perAddress {
                let candidates = isFull ? state.connections : same
                let victim = candidates.filter { $0.value.waitsSince != nil }.min { $0.value.waitsSince! < $1.value.waitsSince! }
                guard let victim else { return nil }
                shutdown(victim.value.socket.raw, Int32(SHUT_RDWR))
                state.connections[victim.key] = nil
            }
            state.next += 1
            state.connections[state.next] = Connection(peer: peer, socket: socket, waitsSince: .now)
            return state.next
        }
        guard let number else { return }
        Thread("web") { [self] in
            Thread.comeSecond()
            if let transport = open(socket) { serve(transport, peer, number) }
            state.withLock { _ = $0.connections.removeValue(forKey: number) }
            atEnd()
        }.detach()
    }

    /// Returns the bytes of a connection, after the handshake if there is one; nil if that fails.
    private func open(_ socket: SharedDescriptor) -> (any HTTPTransport)? {
        guard let tls else { return PlainTransport(socket) }
        guard let transport = tls.accept(socket), transport.shakeHands(until: .now + limits.head) else { return nil }
        return transport
    }

    /// Answers the requests of a connection until it ends.
    private func serve(_ transport: any HTTPTransport, _ peer: HTTPPeer, _ number: Int) {
        var buffer: [UInt8] = []
        var isFirst = true
        while true {
            note(number, waitsSince: .now)
            guard let head = receiveHead(transport, &buffer, isFirst: isFirst) else { return }
            isFirst = false
            note(number, waitsSince: nil)
            let request: HTTPRequest
            do throws(HTTPRefusal) { request = try HTTPRequest(head: head) } catch {
                return refuse(transport, error)
            }
            let body = HTTPBody(
                transport, early: buffer[...], length: request.length, isAwaited: request.expectsContinue, allowance: limits.body)
            buffer.removeFirst(min(buffer.count, request.length))
            let response = handler(request, peer, body)
            var closes = response.isLast || !request.keepsAlive || isStopping.load(ordering: .acquiring)
            if case .stream = response.body { closes = true }
            // The answer comes first: it says why the body is not wanted.
            if !closes, body.left > 65536 { closes = true }
            guard write(transport, response.head(closes: closes)) else { return }
            switch response.body {
            case .bytes(let bytes): if request.method != .head, !write(transport, bytes) { return }
            case .stream(let stream): if request.method != .head { stream(HTTPWriter(transport: transport)) }
            }
            if closes || !body.discard() { return linger(transport) }
        }
    }

    private func note(_ number: Int, waitsSince time: HostTime?) { state.withLock { $0.connections[number]?.waitsSince = time } }

    /// Returns the next head; `buffer` then begins behind it. nil if none comes.
    private func receiveHead(_ transport: any HTTPTransport, _ buffer: inout [UInt8], isFirst: Bool) -> [UInt8]? {
        var deadline = HostTime.now + (isFirst || !buffer.isEmpty ? limits.head : limits.idle)
        var searched = 0
        while true {
            if let end = Self.endOfHead(buffer, from: searched) {
                let head = Array(buffer[..<end])
                buffer.removeFirst(end + 4)
                return head
            }
            if buffer.count > HTTPRequest.longestHead {
                refuse(transport, HTTPRefusal(status: 431, message: "the head of a request has \(HTTPRequest.longestHead) bytes at most"))
                return nil
            }
            searched = max(0, buffer.count - 3)
            let wasEmpty = buffer.isEmpty
            let count = withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { piece in
                let count = transport.read(piece, until: deadline)
                if count > 0 { buffer += piece.prefix(count) }
                return count
            }
            if count <= 0 {
                if count < 0, !buffer.isEmpty, deadline <= .now {
                    refuse(transport, HTTPRefusal(status: 408, message: "the head of a request has ten seconds"))
                }
                return nil
            }
            if wasEmpty, !isFirst { deadline = .now + limits.head }
        }
    }

    private static func endOfHead(_ bytes: [UInt8], from start: Int) -> Int? {
        var index = start
        while index + 3 < bytes.count {
            if bytes[index] == 0x0D, bytes[index + 1] == 0x0A, bytes[index + 2] == 0x0D, bytes[index + 3] == 0x0A { return index }
            index += 1
        }
        return nil
    }

    private func write(_ transport: any HTTPTransport, _ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { transport.write($0, patience: limits.write) }
    }

    /// Answers what could not be read as a request, and ends the connection.
    private func refuse(_ transport: any HTTPTransport, _ refusal: HTTPRefusal) {
        let response = APIError(refusal.status, "bad-request", refusal.message).response
        guard case .bytes(let bytes) = response.body, write(transport, response.head(closes: true) + bytes) else { return }
        linger(transport)
    }

    /// Ends a connection so that the client can still read the answer: a reset would drop it if the client is still sending.
    private func linger(_ transport: any HTTPTransport) {
        transport.end()
        let deadline = HostTime.now + .seconds(2)
        var dropped = 0
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { piece in
            while dropped < 1 << 20 {
                let count = transport.read(piece, until: deadline)
                if count <= 0 { return }
                dropped += count
            }
        }
    }
}
