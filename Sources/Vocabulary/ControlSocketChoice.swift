/// Where a running player listens for what other programs ask of it: `auto`, `off`, or a path.
package enum ControlSocketChoice: Hashable, Sendable, LosslessStringConvertible {
    /// In the folder of the user's session, else in that of the service.
    case automatic
    /// Nowhere.
    case off
    /// At this absolute path.
    case path(String)

    /// nil when `text` is none of these, or a path longer than the address of a socket can be.
    package init?(_ text: String) {
        switch text {
        case "auto": self = .automatic
        case "off": self = .off
        default:
            guard text.hasPrefix("/"), !text.hasSuffix("/"), text.utf8.count <= 107,
                !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else { return nil }
            self = .path(text)
        }
    }

    /// The text in kiosk.conf.
    package var description: String {
        switch self {
        case .automatic: "auto"
        case .off: "off"
        case .path(let path): path
        }
    }
}
