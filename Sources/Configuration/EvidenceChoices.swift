import Glibc

/// Where Prometheus finds the metrics of a player.
package enum MetricsChoice: Hashable, Sendable, LosslessStringConvertible {
    /// Nowhere.
    case off
    /// By HTTP at this IPv4 address of the machine and this port, as `/metrics`.
    case address(String, port: UInt16)
    /// In this file, an absolute path that ends with `.prom`, which node_exporter's textfile collector reads.
    case file(String)

    /// nil when `text` is neither `off`, like `127.0.0.1:9870` nor like `/folder/kiosk.prom`.
    package init?(_ text: String) {
        if text == "off" {
            self = .off
            return
        }
        if text.hasPrefix("/") {
            guard text.hasSuffix(".prom"), !text.hasSuffix("/.prom"), !text.contains("\0") else { return nil }
            self = .file(text)
            return
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var address = in_addr()
        guard parts.count == 2, let port = UInt16(parts[1]), port > 0, unsafe inet_pton(AF_INET, String(parts[0]), &address) == 1 else {
            return nil
        }
        self = .address(String(parts[0]), port: port)
    }

    /// The text in kiosk.conf.
    package var description: String {
        switch self {
        case .off: "off"
        case .address(let host, let port): "\(host):\(port)"
        case .file(let path): path
        }
    }
}

/// Where the proof of play is written.
package enum ProofOfPlayChoice: Hashable, Sendable, LosslessStringConvertible {
    /// Nowhere.
    case off
    /// To this file, an absolute path.
    case file(String)

    /// nil when `text` is neither `off` nor an absolute path.
    package init?(_ text: String) {
        switch text {
        case "off": self = .off
        default:
            guard text.hasPrefix("/"), !text.hasSuffix("/"), !text.contains("\0") else { return nil }
            self = .file(text)
        }
    }

    /// The text in kiosk.conf.
    package var description: String {
        switch self {
        case .off: "off"
        case .file(let path): path
        }
    }
}
