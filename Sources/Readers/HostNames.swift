import Glibc
import KioskPlatform
import KioskReaderProtocol
import Synchronization

// Hosts in `.local` announce their own addresses, and a service of the machine asks for them (Avahi; libnss-mdns connects the C library to
// it). A reader process cannot reach that service. It asks the player (ReaderRequest.name), whose C library looks the name up.

/// The addresses of hosts.
package enum HostNames {
    /// Returns the addresses of a host, as numbers, in the order in which to try them; none if the host is unknown. Blocks for some seconds
    /// at most. The corresponding C functions are `getaddrinfo` and `getnameinfo`.
    package static func addresses(of name: String) -> [String] {
        var hints = addrinfo(), found: UnsafeMutablePointer<addrinfo>?
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        guard getaddrinfo(name, nil, &hints, &found) == 0, let found else { return [] }
        defer { freeaddrinfo(found) }
        return sequence(first: found) { $0.pointee.ai_next }.prefix(ReaderOrder.mostAddresses).compactMap { entry in
            var text = [CChar](repeating: 0, count: 64)
            let status = getnameinfo(entry.pointee.ai_addr, entry.pointee.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            return status == 0 ? String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
        }
    }

    /// Looks up a name for request `number` of a reader, on a thread of its own, and sends the answer. The answer is empty for a host
    /// outside of `.local`, and during ``mostAtOnce`` other lookups.
    static func answer(_ name: String, _ number: UInt32, to reader: Reader, by readers: Readers) {
        @Sendable func tell(_ addresses: [String]) {
            for datagram in (try? ReaderOrder.addresses(number, addresses).datagrams()) ?? [] { reader.send(datagram) }
        }
        let mayBegin =
            isLocal(name)
            && underWay.withLock { count in
                guard count < mostAtOnce else { return false }
                count += 1
                return true
            }
        guard mayBegin else { return tell([]) }
        Thread("name") { [lookUp = readers.lookUp] in
            tell(lookUp(name))
            underWay.withLock { $0 -= 1 }
        }.detach()
    }

    private static let underWay = Mutex(0)
    private static let mostAtOnce = 8

    static func isLocal(_ name: String) -> Bool {
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        let whole = labels.last == "" ? labels.dropLast() : labels
        return name.utf8.count <= 253 && whole.count > 1 && whole.last?.lowercased() == "local" && whole.allSatisfy { !$0.isEmpty }
            && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
    }
}
