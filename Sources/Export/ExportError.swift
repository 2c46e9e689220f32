import KioskMedia
import KioskPlatform
import KioskVocabulary

/// The reason why an export fails, for the person who wants the film.
package enum ExportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file exists already.
    case outputExists(String)
    /// The file is one of the clips.
    case outputIsSource(String)
    /// The file is the arrangement itself.
    case outputIsArrangement(String)
    /// The disk has less space than any film of this length needs, in bytes.
    case noRoom(String, least: Int64, free: Int64)
    /// These clips cannot be used, one line each.
    case sources([String])
    /// The music cannot be used.
    case music(String)
    /// A title card cannot be drawn.
    case card(String)
    /// A clip that could be opened has been left out of the film.
    case skipped(String)
    /// The file would be longer than the caller allows, in bytes.
    case tooLong(String, limit: Int64)
    /// The file cannot be written, or the video cannot be encoded.
    case film(FilmError)
    /// The video cannot be copied: the reasons, one line each.
    case cannotCopy([String])
    /// The caller has cancelled the export.
    case cancelled
    /// A bug in this program.
    case stalled(MediaTime)

    package var description: String {
        switch self {
        case .outputExists(let path): "\(path): is there already: name another file, or replace it with --force"
        case .outputIsSource(let path): "\(path): is one of the clips: name another file to write"
        case .outputIsArrangement(let path): "\(path): is the arrangement that the film is made of: name another file to write"
        case .noRoom(let path, let least, let free):
            "\(path): takes \(ByteCount(least)) at least, and its disk has \(ByteCount(free)) left: delete files there, write to another "
                + "disk, or make the film smaller or shorter"
        case .sources(let lines): lines.joined(separator: "\n")
        case .music(let text): "music: \(text)"
        case .card(let text): "a title card cannot be drawn: \(text)"
        case .skipped(let text): "cannot be shown to its end: \(text)"
        case .tooLong(let path, let limit):
            "\(path): is longer than \(ByteCount(limit)): allow more, or make the film smaller, shorter or of a lower quality"
        case .film(let error): error.description
        case .cannotCopy(let reasons):
            "the pictures cannot be copied (without --copy kiosk encodes them):\n" + reasons.map { "  \($0)" }.joined(separator: "\n")
        case .cancelled: "cancelled; nothing is left of it"
        case .stalled(let time): "no picture for \(time) of the film; this is a bug in kiosk, please report it"
        }
    }
}

extension ExportError {
    /// Runs `body`, and converts its errors.
    static func writing<Result: ~Copyable>(_ body: () throws(FilmError) -> Result) throws(ExportError) -> Result {
        do throws(FilmError) { return try body() } catch { throw .film(error) }
    }
}
