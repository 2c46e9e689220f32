import Glibc
import KioskPlatform
import KioskReaderProtocol
import Synchronization

// Hosts in `.local` say themselves which addresses they have, and a service of the machine asks them (Avahi; libnss-mdns is the C library's way to it). A
// process that reads does not reach that service: it asks the player (ReaderRequest.name), which has the C library look the name up.

/// The addresses of hosts.
package enum HostNames {
    /// Those of a host, as numbers, in the order in which they are to be tried; none where nobody knows it. Blocks for some seconds at most. The
    /// corresponding C functions are `getaddrinfo` and `getnameinfo`.
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

    /// Looks up a name that a reader has asked for by a number, on a thread of its own, and tells it. One that asks for anything else than a host in
    /// `.local`, or while ``mostAtOnce`` are being looked up, is told that nobody knows it.
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
