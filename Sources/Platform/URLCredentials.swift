// A URL may contain secrets: a user's name and password (`rtsp://user:password@camera/`), a token in its query (`?sig=…`), and whatever a
// fragment is for. What is drawn, printed, logged or handed to an observer goes through here, so that they reach neither a journal nor a screen.

extension String {
    /// The text with the secrets of every URL in it replaced: `rtsp://***@camera/a?sig=***`. The user, the values of a query, and all of a query
    /// that names no values are replaced; a fragment is left out.
    ///
    /// A URL ends at a blank, a quotation mark or an angle bracket; a punctuation mark at its end is not its own. User information ends at the last `@` before the first `/`,
    /// `?` or `#`, as for libavformat's `av_url_split`. A password that contains one of those unescaped makes a URL that cannot be opened, but
    /// that is printed in an error message: what follows a colon and cannot be a port is taken for the beginning of such a password.
    package var withoutCredentials: String {
        let scalars = unicodeScalars
        guard scalars.firstRange(of: "://".unicodeScalars) != nil else { return self }
        var result = String.UnicodeScalarView()
        var position = scalars.startIndex
        while let separator = scalars[position...].firstRange(of: "://".unicodeScalars) {
            result.append(contentsOf: scalars[position..<separator.upperBound])
            position = separator.upperBound
            // What follows further on in the word may be a URL of its own, in a query.
            var word = scalars[position...].prefix { !$0.properties.isWhitespace && !Self.urlEnds.contains($0) }
            while let last = word.last, Self.punctuation.contains(last) { word.removeLast() }
            if let at = Self.userEnd(word) {
                result.append(contentsOf: "***".unicodeScalars)
                word = word[at...]
            }
            let path = word.prefix { $0 != "?" && $0 != "#" }
            result.append(contentsOf: path)
            let rest = word[path.endIndex...]
            if rest.first == "?" {
                let query = rest.dropFirst().prefix { $0 != "#" }
                let names = query.split(separator: "&", omittingEmptySubsequences: false).map { part in
                    part.contains("=") ? String(String.UnicodeScalarView(part.prefix { $0 != "=" })) + "=***" : part.isEmpty ? "" : "***"
                }
                result.append(contentsOf: ("?" + names.joined(separator: "&")).unicodeScalars)
            }
            position = word.endIndex
        }
        result.append(contentsOf: scalars[position...])
        return String(result)
    }

    private static let urlEnds = "\"<>“”".unicodeScalars
    private static let punctuation = "':;,.)]}!?…".unicodeScalars

    /// Where the user information ends at the beginning of a URL's rest, which is at its `@`; nil where there is none.
    private static func userEnd(_ word: Substring.UnicodeScalarView) -> String.Index? {
        let authority = word.prefix { !"/?#".unicodeScalars.contains($0) }
        if let at = authority.lastIndex(of: "@") { return at }
        guard let colon = authority.lastIndex(of: ":"),
            authority[colon...].dropFirst().contains(where: { !("0"..."9").contains($0) && $0 != "]" })
        else { return nil }
        return word.firstIndex(of: "@")
    }
}
