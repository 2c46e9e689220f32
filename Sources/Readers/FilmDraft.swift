import Glibc
import KioskMedia
import KioskPlatform

/// The file of a film in the making.
///
/// It is written under a name of its own in the same folder (``draftPath(of:)``). That name is hidden and no name of a video, so no
/// playlist takes it up. The file gets its name once all of it is on the disk. A new run overwrites the draft of an earlier one that was
/// cut off. A lock keeps a second process from writing the same file; it gets an error.
final class FilmDraft {
    private let path: String, draft: String
    private let file: Descriptor
    /// Whether an unfinished draft is playable.
    private let isFragmented: Bool
    private var isFinished = false
    /// Whether the draft still has bytes of an earlier run.
    private var isForeign: Bool
    /// The error of the last sync, until the next call reports it.
    private var syncError: Int32 = 0
    /// The number of bytes so far; the last ones may not be on the disk.
    private(set) var byteCount: Int64 = 0

    /// The upper limit of a film's length in bytes.
    private static let longest: Int64 = 1 << 50

    /// Returns the path of the file at `path` until it is finished.
    static func draftPath(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return ".\(path).part" }
        return "\(path[...slash]).\(path[path.index(after: slash)...]).part"
    }

    /// Opens the draft of the file at `path`. Keeps the bytes of an earlier run until ``begin()``.
    init(_ path: String, isFragmented: Bool) throws(FilmError) {
        try FilmWriter.checkPlace(path)
        let draft = Self.draftPath(of: path)
        guard let file = Descriptor(opening: draft, O_RDWR | O_CREAT, mode: 0o666), file.lock() else { throw FilmError(path, errno: errno) }
        isForeign = (file.status?.st_size ?? 0) > 0
        (self.path, self.draft, self.isFragmented) = (path, draft, isFragmented)
        self.file = file
    }

    deinit {
        // The written part of a fragmented file is playable.
        if !isFinished, !isForeign, !isFragmented || byteCount == 0 { unlink(draft) }
    }

    /// Empties it.
    func begin() {
        // If this is no regular file, the first write reports that.
        _ = ftruncate(file.raw, 0)
        isForeign = false
    }

    /// Returns a descriptor to read the draft; nil with `errno`.
    func reading() -> Descriptor? { Descriptor(opening: draft) }

    /// Writes bytes at an offset; returns 0, or an errno. Blocks for the disk.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32 {
        if syncError != 0 {
            defer { syncError = 0 }
            return syncError
        }
        guard offset >= 0, offset <= Self.longest else { return EFBIG }
        var done = 0
        while done < bytes.count {
            let count = pwrite(file.raw, bytes.baseAddress! + done, bytes.count - done, off_t(offset) + off_t(done))
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return count < 0 ? errno : ENOSPC }
            done += count
        }
        byteCount = max(byteCount, offset + Int64(bytes.count))
        return 0
    }

    /// Flushes the written bytes to the disk. The corresponding C function is `fdatasync`.
    func sync() { if fdatasync(file.raw) != 0 { syncError = errno } }

    /// Flushes all of it to the disk, and gives the file its name.
    func finish() throws(FilmError) {
        if syncError != 0 { throw FilmError(path, errno: syncError) }
        guard fsync(file.raw) == 0, rename(draft, path) == 0 else { throw FilmError(path, errno: errno) }
        isFinished = true
        // The name must survive a power cut, too.
        syncFolder(of: path)
    }

    /// Discards the file: nothing of it is left, or returns after a power cut.
    func discard() {
        if isFinished { return }
        unlink(draft)
        syncFolder(of: draft)
        isFinished = true
    }
}

extension FilmWriter {
    /// Checks whether a film can have this name: throws if something other than a regular file has it. A finished film would replace that,
    /// even a device.
    package static func checkPlace(_ path: String) throws(FilmError) {
        if let status = stat(at: path), !status.isFile { throw FilmError(path, status.isFolder ? .isDirectory : .isNoFile) }
    }

    /// Returns the fault of a film's name, with a remedy; nil for none. A name without an extension is fine. `types` are those that the
    /// film can have.
    package static func nameProblem(_ path: String, types: [FilmType] = FilmType.allCases) -> String? {
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        if path.isEmpty { return "name the file to write" }
        if name.isEmpty { return "\(path): is the name of a folder: name a file in it" }
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex,
            case let ending = name[name.index(after: dot)...].lowercased(),
            others.contains(ending) || FilmType.allCases.contains(where: { !types.contains($0) && $0.extensions.contains(ending) })
        else { return nil }
        let stem = path.dropLast(name.distance(from: dot, to: name.endIndex))
        return "\(path): films are \(types.map(\.title).joined(separator: " or ")): name it "
            + types.map { "\(stem).\($0.extensions[0])" }.joined(separator: " or ")
    }

    /// Extensions of formats other than those of ``FilmType``.
    private static let others: Set<String> = [
        "3g2", "3gp", "aac", "apng", "asf", "avi", "conf", "divx", "dv", "f4v", "flac", "flv", "gif", "jpeg", "jpg", "m2t", "m2ts", "m2v",
        "m3u",
        "m3u8", "m4a", "mka", "mkv", "mp3", "mpd", "mpeg", "mpg", "mts", "mxf", "nut", "oga", "ogg", "ogm", "ogv", "opus", "png",
        "rm",
        "rmvb", "toml", "ts", "txt", "vob", "wav", "webm", "webp", "wma", "wmv", "y4m", "zip",
    ]
}
