import Glibc
import KioskMedia
import KioskPlatform

/// The file that a film is written to.
///
/// It is written under a name of its own in the same folder (``draftPath(of:)``: hidden, and no name of a video, so that no playlist takes it up)
/// and is given its name when all of it is on the disk. The draft of an earlier run that was cut off is written over. While it is written it
/// is locked: a second process that wants the same file is told so.
final class FilmDraft {
    private let path: String, draft: String
    private let file: Descriptor
    /// Whether what there is of it can be played before it is whole.
    private let isFragmented: Bool
    private var isFinished = false
    /// Whether there is anything of another run in it.
    private var isForeign: Bool
    /// Why it could not be written to the disk, until that has been told.
    private var syncError: Int32 = 0
    /// Bytes so far, the last of them perhaps not on the disk.
    private(set) var byteCount: Int64 = 0

    /// No film is longer.
    private static let longest: Int64 = 1 << 50

    /// What the file at `path` is called until it is finished.
    static func draftPath(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return ".\(path).part" }
        return "\(path[...slash]).\(path[path.index(after: slash)...]).part"
    }

    /// Opens the draft of the file at `path`. What an earlier run has left in it stays until ``begin()``.
    init(_ path: String, isFragmented: Bool) throws(FilmError) {
        try FilmWriter.checkPlace(path)
        let draft = Self.draftPath(of: path)
        guard let file = Descriptor(opening: draft, O_RDWR | O_CREAT, mode: 0o666), file.lock() else { throw FilmError(path, errno: errno) }
        isForeign = (file.status?.st_size ?? 0) > 0
        (self.path, self.draft, self.isFragmented) = (path, draft, isFragmented)
        self.file = file
    }

    deinit {
        // What is there of a fragmented file can be played.
        if !isFinished, !isForeign, !isFragmented || byteCount == 0 { unlink(draft) }
    }

    /// Empties it.
    func begin() {
        // Of what is no regular file the first bytes say so.
        _ = ftruncate(file.raw, 0)
        isForeign = false
    }

    /// A descriptor that reads it; nil with `errno`.
    func reading() -> Descriptor? { Descriptor(opening: draft) }

    /// Writes bytes at a place: 0, or an error number. Blocks for the disk.
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

    /// Has what has been written written through to the disk. The corresponding C function is `fdatasync`.
    func sync() { if fdatasync(file.raw) != 0 { syncError = errno } }

    /// Has all of it written to the disk, and gives the file its name.
    func finish() throws(FilmError) {
        if syncError != 0 { throw FilmError(path, errno: syncError) }
        guard fsync(file.raw) == 0, rename(draft, path) == 0 else { throw FilmError(path, errno: errno) }
        isFinished = true
        // The name must survive a power cut, too.
        syncFolder(of: path)
    }

    /// Gives up the file; nothing of it is left, nor comes back after a power cut.
    func discard() {
        if isFinished { return }
        unlink(draft)
        syncFolder(of: draft)
        isFinished = true
    }
}

extension FilmWriter {
    /// Whether a film can have this name: not where something lies there that is no regular file. A film that is finished takes the place of what
    /// had its name, a device's, too.
    package static func checkPlace(_ path: String) throws(FilmError) {
        if let status = stat(at: path), !status.isFile { throw FilmError(path, status.isFolder ? .isDirectory : .isNoFile) }
    }

    /// What is wrong with a name for a film, and what to do; nil for nothing. Without an extension it is as good as another.
    package static func nameProblem(_ path: String) -> String? {
        let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        if path.isEmpty { return "name the file to write" }
        if name.isEmpty { return "\(path): is the name of a folder: name a file in it" }
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex,
            others.contains(name[name.index(after: dot)...].lowercased())
        else { return nil }
        return "\(path): films are MP4: name it \(path.dropLast(name.distance(from: dot, to: name.endIndex))).mp4"
    }

    /// Extensions of other things than MP4.
    private static let others: Set<String> = [
        "3g2", "3gp", "aac", "apng", "asf", "avi", "conf", "divx", "dv", "f4v", "flac", "flv", "gif", "jpeg", "jpg", "m2t", "m2ts", "m2v",
        "m3u",
        "m3u8", "m4a", "mka", "mkv", "mov", "mp3", "mpd", "mpeg", "mpg", "mts", "mxf", "nut", "oga", "ogg", "ogm", "ogv", "opus", "png",
        "rm",
        "rmvb", "toml", "ts", "txt", "vob", "wav", "webm", "webp", "wma", "wmv", "y4m", "zip",
    ]
}
