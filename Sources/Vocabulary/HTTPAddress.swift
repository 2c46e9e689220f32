/// A URL of `http` or `https`, in its parts.
package struct HTTPAddress: Hashable, Sendable {
    package var isSecure: Bool
    /// The part before the host, without its `@`; nil if there is none.
    package var userInformation: String?
    /// In lower case; an IPv6 address has its brackets.
    package var host: String
    /// Its own port, or the default of the scheme.
    package var port: Int
    /// Path and query, as sent in a request: `/a.mp4?x=1`.
    package var target: String

    /// nil if `url` is no such URL, or names no host.
    package init?(_ url: String) {
        let lower = url.prefix(8).lowercased()
        isSecure = lower.hasPrefix("https://")
        guard isSecure || lower.hasPrefix("http://") else { return nil }
        let rest = url.dropFirst(isSecure ? 8 : 7)
        var authority = rest.prefix { !"/?#".contains($0) }
        let path = rest[authority.endIndex...].prefix { $0 != "#" }
        target = path.hasPrefix("/") ? String(path) : "/" + path
        if let at = authority.lastIndex(of: "@") {
            userInformation = String(authority[..<at])
            authority = authority[authority.index(after: at)...]
        }
        var name = authority
        port = isSecure ? 443 : 80
        if let colon = authority.lastIndex(of: ":"), !authority[colon...].contains("]") {
            name = authority[..<colon]
            guard let given = UInt16(authority[authority.index(after: colon)...]) else { return nil }
            port = Int(given)
        }
        if name.isEmpty { return nil }
        host = name.lowercased()
    }

    /// The URL as text.
    package var url: String {
        let user = userInformation.map { $0 + "@" } ?? ""
        let isUsual = port == (isSecure ? 443 : 80)
        return (isSecure ? "https://" : "http://") + user + host + (isUsual ? "" : ":\(port)") + target
    }

    /// Returns the target of a redirection from this address. nil if it is no HTTP address, goes from https down to http, or has control
    /// characters, which could forge lines of the next request. The user information goes only to an address that this one trusts.
    package func redirected(to location: String) -> HTTPAddress? {
        guard !location.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }), var next = HTTPAddress(Self.resolve(location, against: url)),
            next.isSecure || !isSecure
        else { return nil }
        next.userInformation = trusts(next) ? userInformation : nil
        return next
    }

    /// Whether secrets for this address's server (headers, a password) may go to `other`: the same host with the same scheme and port, or
    /// with https instead of plain http.
    package func trusts(_ other: HTTPAddress) -> Bool {
        guard host == other.host else { return false }
        if isSecure == other.isSecure { return port == other.port }
        return !isSecure && port == 80 && other.port == 443
    }

    /// Resolves `reference` against the URL `base` of its document (RFC 3986, 5.2).
    package static func resolve(_ reference: String, against base: String) -> String {
        // A query may contain another URL.
        let name = reference.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+.-".contains($0)) }
        if !name.isEmpty, reference[name.endIndex...].hasPrefix(":") { return reference }
        guard let scheme = base.firstRange(of: "://") else { return reference }
        let plain = base.prefix { $0 != "?" && $0 != "#" }
        if reference.hasPrefix("//") { return base[..<scheme.lowerBound] + ":" + reference }
        let server = plain.prefix(upTo: plain[scheme.upperBound...].firstIndex(of: "/") ?? plain.endIndex)
        if reference.hasPrefix("?") { return plain + reference }
        if reference.hasPrefix("/") { return server + withoutDotSegments(reference) }
        let path = plain[server.endIndex...]
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
        return server + withoutDotSegments(folder + reference)
    }

    /// Removes `.` and `..` from a path that begins with a slash; keeps the rest (RFC 3986, 5.2.4).
    private static func withoutDotSegments(_ target: String) -> String {
        let path = target.prefix { $0 != "?" && $0 != "#" }
        var names: [Substring] = []
        let given = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, name) in given.enumerated() {
            if name == ".." { _ = names.popLast() }
            if name != ".", name != ".." { names.append(name) } else if index == given.count - 1 { names.append("") }
        }
        return "/" + names.joined(separator: "/") + target[path.endIndex...]
    }
}
