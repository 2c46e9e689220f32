// What the cache knows of a file it keeps. Each has a small text file of its own beside it, which is written and renamed into place when the
// file is complete; without it the file does not count. The text is a line for each value: `size 1048576`.
import KioskPlatform

/// Names what is kept of one URL: 32 hexadecimal digits. Two URLs have one name by chance only, and ``CacheEntry/source`` tells them apart.
struct CacheKey: Hashable, Sendable, Comparable, CustomStringConvertible {
    let description: String

    init(_ source: Path) {
        let name = source.string.utf8
        description = FNV.hash(name).padded(to: 16, radix: 16) + FNV.hash(name, from: 0x8422_2325_CBF2_9CE4).padded(to: 16, radix: 16)
    }

    /// From the beginning of a file's name; nil where it is none.
    init?(fileName: some StringProtocol) {
        let digits = fileName.utf8.prefix(32)
        guard digits.count == 32,
            digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0 })
        else { return nil }
        description = String(decoding: digits, as: UTF8.self)
    }

    static func < (a: CacheKey, b: CacheKey) -> Bool { a.description < b.description }
}

/// What a server says of a file's content, by which it is known again.
struct Validators: Hashable, Sendable {
    /// The header `ETag`, as it came.
    var tag: String?
    /// The header `Last-Modified`, as it came.
    var modified: String?

    /// What a part that has been fetched can be gone on with; a weak tag says that the bytes may be others.
    var forRange: String? {
        if let tag, !tag.hasPrefix("W/") { return tag }
        return tag == nil ? modified : nil
    }

    var isEmpty: Bool { tag == nil && modified == nil }
}

/// A file that is kept, or the part of one that has been fetched.
struct CacheEntry: Hashable, Sendable {
    /// The URL, with its password where it has one: the file is the user's own.
    var source: Path
    /// The name of the file with the content.
    var file: String
    /// How long that is when it is complete.
    var size: Int64
    var validators = Validators()
    /// Bytes of a part that are known to be on the disk, whatever happens to the power.
    var synced: Int64 = 0

    /// The text of its file.
    var text: String {
        var lines = ["kiosk-cache 1", "source \(source)", "file \(file)", "size \(size)", "synced \(synced)"]
        if let tag = validators.tag { lines.append("etag \(tag)") }
        if let modified = validators.modified { lines.append("last-modified \(modified)") }
        return lines.joined(separator: "\n") + "\nend\n"
    }

    init(source: Path, file: String, size: Int64, validators: Validators = Validators(), synced: Int64 = 0) {
        (self.source, self.file, self.size, self.validators, self.synced) = (source, file, size, validators, synced)
    }

    /// From the text of its file; nil where that is not whole, or names a file that is not one of the cache.
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
