import Glibc
import KioskPlatform
import Testing

/// An HTTP server on 127.0.0.1 that sends the same bytes to whoever asks, without telling how many: a live stream.
///
/// What it has to send is sent as fast as it is taken; then the connection is held, as that of a camera that stands still, or closed.
final class LiveServer: Sendable {
    /// What happens to a connection when everything has been sent.
    enum Ending: Sendable {
        case hold
        case close
    }

    private struct State {
        var connections: [(at: HostTime, sent: Int)] = []
        var open: [Int32] = []
        var isListening = true
    }

    let url: String
    private let listener: Int32
    private let port: in_port_t
    private let state = Monitor(State())

    /// Serves `bytes`, on `port` where it is to be the same as that of a server before.
    init(_ bytes: [UInt8], then ending: Ending = .hold, port: in_port_t = 0) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var yes: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) | listen(listener, 8) | getsockname(listener, pointer, &length)
            }
        }
        try #require(status == 0, "\(String(cString: strerror(errno)))")
        self.listener = listener
        self.port = in_port_t(bigEndian: address.sin_port)
        url = "http://127.0.0.1:\(self.port)/live"
        let state = state
        Thread("live server") {
            while true {
                let connection = accept(listener, nil, nil)
                if connection < 0 { return }
                let number = state.withLock { state in
                    state.open.append(connection)
                    state.connections.append((.now, 0))
                    return state.connections.count - 1
                }
                Thread("live connection") {
                    Self.serve(connection, bytes, ending) { count in state.withLock { $0.connections[number].sent = count } }
                }.detach()
            }
        }.detach()
    }

    private static func serve(_ connection: Int32, _ bytes: [UInt8], _ ending: Ending, told: (Int) -> Void) {
        var request = [UInt8](repeating: 0, count: 4096)
        _ = read(connection, &request, request.count)
        let header = Array("HTTP/1.0 200 OK\r\nContent-Type: video/mp2t\r\n\r\n".utf8)
        let all = header + bytes
        var sent = 0
        while sent < all.count {
            let count = all[sent...].withUnsafeBytes {
                send(connection, $0.baseAddress, min($0.count, 16_384), Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { break }
            sent += count
            told(sent)
        }
        if ending == .close { shutdown(connection, Int32(SHUT_RDWR)) }
    }

    /// How many have connected, and how many bytes each was sent.
    var connections: [Int] { state.withLock { $0.connections.map(\.sent) } }
    /// When each connected.
    var times: [HostTime] { state.withLock { $0.connections.map(\.at) } }

    /// Breaks all connections and takes no more; returns the port, for one that comes up in its place.
    @discardableResult
    func stop() -> in_port_t {
        state.withLock { state in
            for connection in state.open {
                shutdown(connection, Int32(SHUT_RDWR))
                close(connection)
            }
            state.open = []
            if state.isListening {
                shutdown(listener, Int32(SHUT_RDWR))
                close(listener)
            }
            state.isListening = false
        }
        return port
    }

    deinit { stop() }
}
