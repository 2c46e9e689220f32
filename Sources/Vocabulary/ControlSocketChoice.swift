/// The address where a running player listens for commands of other programs: `auto`, `off`, or a path.
package enum ControlSocketChoice: WordedChoice {
    /// In the folder of the user's session, else in that of the service.
    case automatic
    /// Nowhere.
    case off
    /// At this absolute path.
    case path(String)

    package static let words: KeyValuePairs<String, Self> = ["auto": .automatic, "off": .off]
    /// nil also for a path that is longer than a socket's address can be.
    package static func other(_ text: String) -> Self? {
        text.hasPrefix("/") && !text.hasSuffix("/") && text.utf8.count <= 107 && isName(text) ? .path(text) : nil
    }
    package var otherText: String { if case .path(let path) = self { path } else { "" } }
}
