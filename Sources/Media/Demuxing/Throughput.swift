import KioskPlatform
import Synchronization

/// How many bits a second the lines to servers have carried, as far as that has been seen. A pure value.
struct Throughput: Hashable, Sendable {
    /// Bits a second by server.
    private var servers: [String: Double] = [:]

    /// Less says more of how long a request takes than of the line.
    static let leastBytes: Int64 = 32 << 10
    private static let mostServers = 100

    /// What has been seen of a server; nil where nothing has.
    func of(_ server: String) -> Double? { servers[server] }

    /// A part of so many bytes has come from `server` in `time`. A slower line is believed sooner than a faster one.
    mutating func received(_ bytes: Int64, from server: String, in time: MediaTime) {
        guard bytes >= Self.leastBytes, time > .zero else { return }
        let rate = Double(bytes) * 8 / time.seconds
        if servers.count >= Self.mostServers, servers[server] == nil { servers = [:] }
        servers[server] = servers[server].map { $0 + (rate < $0 ? 0.7 : 0.3) * (rate - $0) } ?? rate
    }

    /// The server in a URL.
    static func server(_ url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return "" }
        return String(url[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" })
    }

    /// What the process has seen.
    static let seen = Mutex(Throughput())
}
