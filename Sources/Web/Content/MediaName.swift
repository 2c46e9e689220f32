import KioskPlatform
import KioskVocabulary

/// The name of a file in the content folder. It is one part of a path, cannot be hidden, and ends like media: whatever comes here, no file
/// gets a name that another program would read or run.
struct MediaName: Hashable, Sendable {
    let text: String

    /// - Throws: the refusal of a name.
    init(_ text: String) throws(APIError) {
        func refuse(_ reason: String) -> APIError { APIError(400, "invalid-name", "“\(String(text.prefix(60)).printable)”: \(reason)") }
        guard 1...200 ~= text.utf8.count else { throw refuse("a name has 1 to 200 bytes") }
        guard !text.contains("/"), !text.contains("\\"), !text.contains("\0") else { throw refuse("a name has no slash") }
        guard let first = text.first, first != ".", first != "-", first != " " else {
            throw refuse("a name begins with no dot, hyphen or space")
        }
        guard !text.unicodeScalars.contains(where: Self.isUnseen) else { throw refuse("the name has characters that cannot be seen") }
        guard let dot = text.lastIndex(of: "."), Self.endings.contains(text[text.index(after: dot)...].lowercased()) else {
            throw refuse("the name does not end like a video, a sound, an image or subtitles")
        }
        self.text = text
    }

    static let endings = FileExtensions.all.union(FileExtensions.subtitles)

    /// Control characters, and those that change the direction of text: `film.mp4` could be something else.
    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    /// The part behind the last dot, in lower case.
    var ending: String { text.split(separator: ".").last?.lowercased() ?? "" }

    /// Whether it is of subtitles, which are nothing without their film.
    var isSubtitles: Bool { FileExtensions.subtitles.contains(ending) }
}
