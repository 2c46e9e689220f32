/// The path of a file, a name in a folder, or a URL, as a sequence of bytes, as the system sees it.
///
/// Two names that look alike can be different files: `ü` is one code point on Linux and Windows (NFC), and two on a Mac (NFD). Swift's
/// String considers both equal, so a dictionary of strings would lose one of the files. Use this type for paths as keys, and for comparing
/// paths.
package struct Path: Hashable, Comparable, Sendable {
    /// The bytes as text.
    package let string: String

    /// The path that `string` names, byte for byte.
    package init(_ string: String) { self.string = string }

    /// Whether both are the same bytes.
    package static func == (a: Path, b: Path) -> Bool { a.string.utf8.elementsEqual(b.string.utf8) }

    package func hash(into hasher: inout Hasher) {
        var text = string
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0 as UInt8)
    }

    /// Compares by bytes.
    package static func < (a: Path, b: Path) -> Bool { a.string.utf8.lexicographicallyPrecedes(b.string.utf8) }

    /// The folder and the name in it; nil for `/`, and for a path without a slash.
    package var parts: (folder: Path, name: Path)? {
        guard let slash = string.utf8.lastIndex(of: UInt8(ascii: "/")), string.utf8.count > 1 else { return nil }
        let name = String(string[string.utf8.index(after: slash)...])
        return (slash == string.startIndex ? "/" : Path(String(string[..<slash])), Path(name))
    }

    /// Returns the path of `name` in this folder.
    package func appending(_ name: Path) -> Path { Path(string == "/" ? "/" + name.string : string + "/" + name.string) }

    /// Returns whether it is in `folder`, or in one of its subfolders.
    package func lies(beneath folder: Path) -> Bool {
        string.utf8.starts(with: folder.string.utf8)
            && (folder == "/" || string.utf8.dropFirst(folder.string.utf8.count).first == UInt8(ascii: "/"))
    }
}

extension Path: ExpressibleByStringInterpolation, CustomStringConvertible {
    package init(stringLiteral value: String) { self.init(value) }
    package var description: String { string }
}
