import KioskPlatform
import KioskVocabulary

/// What a `[[playlist]]` says about the network; nil is what it leaves out.
package struct StreamChoices: Hashable, Sendable {
    /// `reconnect`.
    package var reconnect: MediaTime?
    /// `timeout`.
    package var timeout: MediaTime?
    /// `latency`.
    package var latency: MediaTime?
    /// `headers`, as lines of a request.
    package var headers: [String]?
    /// `user-agent`.
    package var userAgent: String?
    /// `ca-file`: an absolute path.
    package var certificateAuthorities: String?
    /// `tls-verify`.
    package var verifiesTLS: Bool?
    /// `allow-network`.
    package var mayNameNetwork: Bool?

    /// One that says nothing.
    package init() {}

    /// The same, with `network` for what it leaves out.
    func resolved(in network: StreamSettings) -> StreamSettings {
        var settings = network
        settings.reconnect = reconnect ?? settings.reconnect
        settings.timeout = timeout ?? settings.timeout
        settings.latency = latency ?? settings.latency
        settings.headers = headers ?? settings.headers
        settings.userAgent = userAgent ?? settings.userAgent
        settings.certificateAuthorities = certificateAuthorities ?? settings.certificateAuthorities
        settings.verifiesTLS = verifiesTLS ?? settings.verifiesTLS
        settings.mayNameNetwork = mayNameNetwork ?? settings.mayNameNetwork
        return settings
    }

    /// - Parameter folder: what a relative path is relative to.
    init(_ table: TableReader, folder: String) {
        reconnect = table.time("reconnect", orZero: true)
        timeout = table.time("timeout")
        if let given = timeout, given < StreamSettings.shortestTimeout {
            table.complain(
                "expected \(Int(StreamSettings.shortestTimeout.seconds)) s or more: shorter is no sign of a fault", about: "timeout")
        }
        latency = table.time("latency")
        if let given = latency, given > StreamSettings.longestLatency {
            table.complain("expected \(Int(StreamSettings.longestLatency.seconds)) s or less", about: "latency")
        }
        headers = table.value("headers", "names and texts, such as { Authorization = \"Bearer 0123\" }", Self.headers)
        userAgent = table.line("user-agent", "a line of text", longest: 500)
        certificateAuthorities = table.value("ca-file", "the path of a file") { kind in
            guard let text = kind.string, !text.isEmpty, !text.contains("\0"), !isURL(text) else { return nil }
            return PlaylistSource(text, relativeTo: folder).location
        }
        verifiesTLS = table.flag("tls-verify")
        mayNameNetwork = table.flag("allow-network")
    }

    /// The lines of `{ NAME = "TEXT", … }`; nil where HTTP does not allow one of them.
    private static func headers(_ kind: TOMLValue.Kind) -> [String]? {
        guard case .table(let entries) = kind, entries.count <= 50 else { return nil }
        let lines = entries.compactMap { entry in entry.value.kind.string.flatMap { StreamSettings.header(entry.key, $0) } }
        return lines.count == entries.count ? lines : nil
    }
}
