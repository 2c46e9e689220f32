/// A position in a text file; the first character is at line 1, column 1. Columns count Unicode code points.
package struct SourcePosition: Hashable, Comparable, Sendable {
    /// The line, from 1.
    package var line: Int
    /// The column, from 1.
    package var column: Int

    /// Whether `a` comes first in the file.
    package static func < (a: SourcePosition, b: SourcePosition) -> Bool { (a.line, a.column) < (b.line, b.column) }
}

/// One error of a configuration file, in one line.
package struct Complaint: Hashable, Sendable, CustomStringConvertible {
    /// The file, as the user gave it.
    package var path: String
    /// The position of the wrong value, or of a wrong key; nil if the error concerns the whole file.
    package var position: SourcePosition?
    /// The error and its correction: `[display] rotation: expected 0, 90, 180 or 270, found 45`.
    package var text: String

    /// `kiosk.conf:12:12: [display] rotation: expected 0, 90, 180 or 270, found 45`.
    package var description: String {
        guard let position else { return "\(path): \(text)" }
        return "\(path):\(position.line):\(position.column): \(text)"
    }
}

/// All errors of a configuration file, so that the user can correct them in one go.
package struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// At least one complaint, in the order of the file.
    package let complaints: [Complaint]

    /// The command's exit status after it has printed this: EX_CONFIG of sysexits.h.
    package static let exitStatus: Int32 = 78

    package init(_ complaints: [Complaint]) {
        precondition(!complaints.isEmpty, "an error without a complaint")
        // Sorted by position; complaints at the same position keep their order.
        let ordered = complaints.enumerated().sorted { a, b in
            switch (a.element.position, b.element.position) {
            case let (x?, y?) where x != y: x < y
            case (nil, _?): true
            case (_?, nil): false
            default: a.offset < b.offset
            }
        }
        self.complaints = ordered.map(\.element)
    }

    /// The complaints, one a line, without a final newline.
    package var description: String { complaints.map(\.description).joined(separator: "\n") }
}
