// A URL may contain a user's name and password (`rtsp://user:password@camera/`). What is printed, logged or handed to an observer goes
// through here, so that they reach neither the journal nor a screen.

extension String {
    /// The text with the user information of every URL in it replaced: `rtsp://***@camera/`. What follows the host, a query among it,
    /// stays.
    ///
    /// User information ends at the last `@` before the first `/`, `?` or `#`, as for libavformat's `av_url_split`. A password that
    /// contains one of those unescaped makes a URL that cannot be opened, but that is printed in an error message: what follows a colon and
    /// cannot be a port is taken for the beginning of such a password.
    package var withoutCredentials: String {
        guard utf8.contains(UInt8(ascii: "@")) else { return self }
        let scalars = unicodeScalars
        var result = String.UnicodeScalarView()
        var position = scalars.startIndex
        while let separator = scalars[position...].firstRange(of: "://".unicodeScalars) {
            result.append(contentsOf: scalars[position..<separator.upperBound])
            position = separator.upperBound
            let word = scalars[position...].prefix { !$0.properties.isWhitespace }
            let authority = word.prefix { !"/?#".unicodeScalars.contains($0) }
            var at = authority.lastIndex(of: "@")
            if at == nil, let colon = authority.lastIndex(of: ":"),
                authority[colon...].dropFirst().contains(where: { !("0"..."9").contains($0) && $0 != "]" })
            {
                at = word.firstIndex(of: "@")
            }
            guard let at else { continue }
            result.append(contentsOf: "***".unicodeScalars)
            position = at
        }
        result.append(contentsOf: scalars[position...])
        return String(result)
    }
}
