// A URL may contain secrets: a user's name and password (`rtsp://user:password@camera/`), a token in its query (`?sig=…`), or a fragment.
// All text that is drawn, printed, logged or passed to an observer goes through here, so that no secret reaches a journal or a screen.

extension String {
    /// The text with the secrets of every URL replaced: `rtsp://***@camera/a?sig=***`. The user, the values of a query, and a query without
    /// names are replaced; a fragment is removed.
    ///
    /// A URL ends at a blank, a quotation mark or an angle bracket; final punctuation is not part of it. User information ends at the last
    /// `@` before the first `/`, `?` or `#`, as in libavformat's `av_url_split`. A URL with one of those unescaped in its password cannot
    /// be opened, but error messages print it. So text after a colon that cannot be a port counts as the beginning of such a password.
    package var withoutCredentials: String {
        let scalars = unicodeScalars
        guard scalars.firstRange(of: "://".unicodeScalars) != nil else { return self }
        var result = String.UnicodeScalarView()
        var position = scalars.startIndex
        while let separator = scalars[position...].firstRange(of: "://".unicodeScalars) {
            result.append(contentsOf: scalars[position..<separator.upperBound])
            position = separator.upperBound
            // The rest of the word may contain another URL, in a query.
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

    /// Returns the end of the user information, at its `@`; nil if there is none.
    private static func userEnd(_ word: Substring.UnicodeScalarView) -> String.Index? {
        let authority = word.prefix { !"/?#".unicodeScalars.contains($0) }
        if let at = authority.lastIndex(of: "@") { return at }
        guard let colon = authority.lastIndex(of: ":"),
            authority[colon...].dropFirst().contains(where: { !("0"..."9").contains($0) && $0 != "]" })
        else { return nil }
        return word.firstIndex(of: "@")
    }
}
