/// The path of a file, a name in a folder, or a URL, as the system takes it for: bytes.
///
/// Two names that look alike are two files: `ü` is one code point on Linux and Windows (NFC), and two on a Mac (NFD). To Swift's String
/// both are one text, so a dictionary of strings loses one of the files. What has paths as its keys, or compares them, has this instead.
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

    /// The order of the bytes.
    package static func < (a: Path, b: Path) -> Bool { a.string.utf8.lexicographicallyPrecedes(b.string.utf8) }

    /// The folder that it lies in, and its name there; nil for `/`, and where there is no slash in it.
    package var parts: (folder: Path, name: Path)? {
        guard let slash = string.utf8.lastIndex(of: UInt8(ascii: "/")), string.utf8.count > 1 else { return nil }
        let name = String(string[string.utf8.index(after: slash)...])
        return (slash == string.startIndex ? "/" : Path(String(string[..<slash])), Path(name))
    }

    /// What `name` is called in this folder.
    package func appending(_ name: Path) -> Path { Path(string == "/" ? "/" + name.string : string + "/" + name.string) }

    /// Whether it lies in `folder`, or in one of its folders.
    package func lies(beneath folder: Path) -> Bool {
        string.utf8.starts(with: folder.string.utf8)
            && (folder == "/" || string.utf8.dropFirst(folder.string.utf8.count).first == UInt8(ascii: "/"))
    }
}

extension Path: ExpressibleByStringInterpolation, CustomStringConvertible {
    package init(stringLiteral value: String) { self.init(value) }
    package var description: String { string }
}
