// [web].
import Glibc
import KioskPlatform
import KioskVocabulary

extension Configuration {
    /// `[web]`: for kiosk-web. The player only checks it.
    package struct Web: Hashable, Sendable {
        package var listen = WebAddress.off
        package var passwordFile = "/etc/kiosk/web-password"
        /// The further names of this machine, in lower case.
        package var hosts: [String] = []
        /// The folder for uploads, an absolute path; nil for the first folder of the playlist.
        package var folder: String?
        /// The files of HTTPS, absolute paths; nil for HTTP.
        package var certificate: String?
        package var key: String?
    }
}

extension Configuration.Web: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        Address of the page and its API: an address of this machine and a port, "127.0.0.1:8080",
        "0.0.0.0:80" or "[::]:80". kiosk-web serves them: "kiosk web" starts it by hand, and the service
        kiosk-web at boot (docs/web.md). An address that other machines reach needs a password:
        "kiosk web password" sets it. "off" serves nothing.
        """
        Key("listen", \.listen, .text("\"off\", or an address and a port such as \"127.0.0.1:8080\"", pattern: "^(off|.+:[0-9]+)$"))
        """
        File of the password and the tokens, an absolute path. "kiosk web password" and "kiosk web token"
        write it.
        """
        Key("password-file", \.passwordFile, .path(beginning: "/", "the absolute path of a file"))
        """
        Further names of this machine for browsers, for a proxy or a domain of your own. Addresses,
        localhost and the machine's name always work. An example: hosts = ["signs.example.org"]
        """
        Key("hosts", \.hosts, .hostNames)
        """
        Folder for uploads, an absolute path. The user of kiosk-web needs write permission. No default:
        uploads go to the first folder in the playlist. An example:
        """
        Key("folder", \.folder, .folder, example: "\"/srv/videos\"")
        """
        Files of a certificate with its chain, and of its key, for HTTPS: PEM, absolute paths. Write both.
        The user of kiosk-web needs to read them. kiosk-web takes renewed files over by itself. No
        default: kiosk-web speaks HTTP. An example:
        """
        Key("tls-certificate", \.certificate, .path(beginning: "/", "the absolute path of a file"), example: "\"/etc/kiosk/web.pem\"")
        Key("tls-key", \.key, .path(beginning: "/", "the absolute path of a file"), example: "\"/etc/kiosk/web.key\"")
    }

    static func check(_ row: inout Self, _ table: TableReader) {
        if (row.certificate == nil) != (row.key == nil) {
            table.complain("expected both tls-certificate and tls-key", about: row.key == nil ? "tls-certificate" : "tls-key")
        }
    }
}

extension Kind where Value == [String] {
    /// Names of hosts, without ports.
    fileprivate static var hostNames: Self {
        list(
            "[\"signs.example.org\"]", of: "the name of a host, without a port", schema: #", "pattern": "^[A-Za-z0-9.-]{1,253}$""#,
            shown: { "[\($0.map(quoted).joined(separator: ", "))]" }
        ) { text, _ in
            let isName =
                1...253 ~= text.utf8.count
                && text.utf8.allSatisfy { byte in
                    0x30...0x39 ~= byte || 0x41...0x5A ~= byte || 0x61...0x7A ~= byte || byte == UInt8(ascii: ".")
                        || byte == UInt8(ascii: "-")
                }
            return isName ? text.lowercased() : nil
        }
    }
}

/// The address of kiosk-web.
package enum WebAddress: WordedChoice {
    /// None.
    case off
    /// An IPv4 or IPv6 address of the machine, without brackets, and a port.
    case address(String, port: UInt16)

    package static let words: KeyValuePairs<String, Self> = ["off": .off]
    package static func other(_ text: String) -> Self? {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else { return nil }
        let host = text[..<colon]
        var (four, six) = (in_addr(), in6_addr())
        if host.hasPrefix("["), host.hasSuffix("]") {
            let name = String(host.dropFirst().dropLast())
            return unsafe inet_pton(AF_INET6, name, &six) == 1 ? .address(name, port: port) : nil
        }
        return unsafe inet_pton(AF_INET, String(host), &four) == 1 ? .address(String(host), port: port) : nil
    }
    package var otherText: String {
        switch self {
        case .off: ""
        case .address(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }
}
