// The description of a kept file: a small text file beside it, which is written and renamed into place once the file is complete. Without
// it the file does not count. The text has a line for each value: `size 1048576`.
import KioskPlatform

/// The name of a URL's files: 32 hexadecimal digits. If two URLs share a name by chance, ``CacheEntry/source`` tells them apart.
struct CacheKey: Hashable, Sendable, Comparable, CustomStringConvertible {
    let description: String

    init(_ source: Path) {
        let name = source.string.utf8
        description = FNV.hash(name).padded(to: 16, radix: 16) + FNV.hash(name, from: 0x8422_2325_CBF2_9CE4).padded(to: 16, radix: 16)
    }

    /// Reads the key at the beginning of a file's name; nil if there is none.
    init?(fileName: some StringProtocol) {
        let digits = fileName.utf8.prefix(32)
        guard digits.count == 32,
            digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0 })
        else { return nil }
        description = String(decoding: digits, as: UTF8.self)
    }

    static func < (a: CacheKey, b: CacheKey) -> Bool { a.description < b.description }
}

/// A server's identification of a file's content.
struct Validators: Hashable, Sendable {
    /// The header `ETag`, as it came.
    var tag: String?
    /// The header `Last-Modified`, as it came.
    var modified: String?

    /// The validator for continuing a partial file. A weak tag does not count, because the bytes may differ.
    var forRange: String? {
        if let tag, !tag.hasPrefix("W/") { return tag }
        return tag == nil ? modified : nil
    }

    var isEmpty: Bool { tag == nil && modified == nil }
}

/// A kept file, or the part of it that has been fetched.
struct CacheEntry: Hashable, Sendable {
    /// The URL, including its password: the file belongs to the user.
    var source: Path
    /// The name of the file with the content.
    var file: String
    /// The size of the complete content, in bytes.
    var size: Int64
    var validators = Validators()
    /// The bytes of a part that survive a power cut.
    var synced: Int64 = 0

    /// The text of the description.
    var text: String {
        var lines = ["kiosk-cache 1", "source \(source)", "file \(file)", "size \(size)", "synced \(synced)"]
        if let tag = validators.tag { lines.append("etag \(tag)") }
        if let modified = validators.modified { lines.append("last-modified \(modified)") }
        return lines.joined(separator: "\n") + "\nend\n"
    }

    init(source: Path, file: String, size: Int64, validators: Validators = Validators(), synced: Int64 = 0) {
        (self.source, self.file, self.size, self.validators, self.synced) = (source, file, size, validators, synced)
    }

    /// Parses the text of a description; nil if it is incomplete, or names a file outside the cache.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.first == "kiosk-cache 1", lines.dropLast().last == "end" else { return nil }
        var values: [Substring: String] = [:]
        for line in lines.dropFirst() {
            guard let blank = line.firstIndex(of: " ") else { continue }
            values[line[..<blank]] = String(line[line.index(after: blank)...])
        }
        guard let source = values["source"].map({ Path($0) }), let file = values["file"], !file.contains("/"),
            CacheKey(fileName: file) == CacheKey(source),
            let size = values["size"].flatMap(Int64.init), size > 0, let synced = values["synced"].flatMap(Int64.init), 0...size ~= synced
        else { return nil }
        self.init(
            source: source, file: file, size: size,
            validators: Validators(tag: values["etag"], modified: values["last-modified"]), synced: synced)
    }
}
