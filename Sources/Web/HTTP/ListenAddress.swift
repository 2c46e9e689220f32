import Glibc
import KioskConfiguration
import KioskPlatform

/// The failure of kiosk-web, with advice.
package struct WebError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One line.
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The address of a client, without its port.
struct HTTPPeer: Hashable, Sendable {
    /// The bytes: 4 or 16. Of IPv6 the first 8 count, since a client has all addresses of its network.
    private let bytes: [UInt8]
    let isLoopback: Bool

    init(_ address: sockaddr_storage) {
        let all = withUnsafeBytes(of: address) { raw in
            raw.load(as: sockaddr.self).sa_family == sa_family_t(AF_INET) ? Array(raw[4..<8]) : Array(raw[8..<24])
        }
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]
        let plain = all.count == 16 && all.starts(with: mapped) ? Array(all.suffix(4)) : all
        isLoopback = plain.count == 4 ? plain[0] == 127 : plain == Array(repeating: 0, count: 15) + [1]
        bytes = plain.count == 16 && !isLoopback ? Array(plain.prefix(8)) : plain
    }

    /// A client of this machine.
    static let loopback = HTTPPeer(bytes: [127, 0, 0, 1], isLoopback: true)

    init(bytes: [UInt8], isLoopback: Bool = false) { (self.bytes, self.isLoopback) = (bytes, isLoopback) }
}

/// An address and a port to listen on: `127.0.0.1:8080`, `[::]:80`.
package struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address as written, without brackets.
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) { (self.host, self.port) = (host, port) }

    /// nil for `off`.
    package init?(_ address: WebAddress) {
        guard case .address(let host, let port) = address else { return nil }
        self.init(host: host, port: port)
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether only this machine reaches it.
    package var isLoopback: Bool { host.hasPrefix("127.") || host == "::1" }

    /// Listens; returns the listener, and the address with the real port.
    func listen() throws(WebError) -> (SharedDescriptor, ListenAddress) {
        var storage = sockaddr_storage()
        let isSix = host.contains(":")
        let isAddress = withUnsafeMutableBytes(of: &storage) { raw in
            if isSix {
                let address = raw.assumingMemoryBound(to: sockaddr_in6.self)
                address[0].sin6_family = sa_family_t(AF_INET6)
                address[0].sin6_port = port.bigEndian
                return inet_pton(AF_INET6, host, &address[0].sin6_addr) == 1
            }
            let address = raw.assumingMemoryBound(to: sockaddr_in.self)
            address[0].sin_family = sa_family_t(AF_INET)
            address[0].sin_port = port.bigEndian
            return inet_pton(AF_INET, host, &address[0].sin_addr) == 1
        }
        guard isAddress else { throw WebError("[web] listen: \(host) is no address of IPv4 or IPv6") }
        guard let listener = Descriptor(socket: isSix ? AF_INET6 : AF_INET, SOCK_STREAM, isBlocking: true) else {
            throw WebError("make a socket for the web: \(SystemError())")
        }
        var yes: Int32 = 1
        setsockopt(listener.raw, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var length = socklen_t(isSix ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
        let raw = listener.raw
        let isBound = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(raw, $0, length) == 0 && Glibc.listen(raw, 128) == 0 && getsockname(raw, $0, &length) == 0
            }
        }
        guard isBound else {
            let advice =
                switch errno {
                case EADDRINUSE: "; another program listens there: choose another port"
                case EACCES: "; a port below 1024 is root's: choose another one"
                case EADDRNOTAVAIL: "; this machine has no such address"
                default: ""
                }
            throw WebError("listen on \(self): \(SystemError())\(advice)")
        }
        let real = withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.load(fromByteOffset: 2, as: UInt16.self)) }
        return (SharedDescriptor(listener), ListenAddress(host: host, port: real))
    }
}
