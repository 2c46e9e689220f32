import Glibc
import KioskPlatform

/// Why a file of the cache could not be written or read: what was being done, to what, why that failed, and what to do.
struct CacheError: Error, Hashable, Sendable, CustomStringConvertible {
    var action: String
    var path: String
    var errno: Int32

    /// Whether there is no room: less in the cache, or on the disk, is what helps.
    var isFull: Bool { errno == ENOSPC || errno == EDQUOT }

    var description: String {
        let advice =
            switch errno {
            case ENOSPC, EDQUOT: ": free some space, or make [playback] cache smaller"
            case EROFS, EACCES, EPERM: ": let the user that kiosk runs as write there; kiosk plays the kept files nevertheless"
            default: ""
            }
        return "cannot \(action) \(path): \(SystemError(errno))\(advice)"
    }
}

/// The folder of the cache. Of each URL it has, named by ``CacheKey``:
///
/// - `KEY-NUMBER.mp4`, the content, and `KEY.entry`, which says that it is complete (``CacheEntry``). The entry is renamed into place when the
///   content has been written through to the disk, and is the one step by which a file is there, or another content of it.
/// - `KEY.part`, what has been fetched of a content, and `KEY.part-entry`, what it is to become. How much of it is sure to be on the disk stands
///   there, too: what comes behind that is fetched again after a power cut.
///
/// What belongs to no entry is deleted at the start. One thread uses it; blocks for as long as the file system does.
struct CacheStore {
    let folder: String

    /// So much is written before it is written through.
    static let syncStep: Int64 = 32 << 20
    /// Room that is left on the disk, but no more than a twentieth of it.
    private static let reserve: Int64 = 64 << 20

    private func path(_ name: String) -> String { folder + "/" + name }
    private func entryPath(_ key: CacheKey) -> String { path("\(key).entry") }
    func partPath(_ key: CacheKey) -> String { path("\(key).part") }
    private func partEntryPath(_ key: CacheKey) -> String { path("\(key).part-entry") }

    /// Where the content of an entry lies.
    func contentPath(_ entry: CacheEntry) -> String { path(entry.file) }

    // MARK: Looking

    /// What is kept and complete; deletes what belongs to nothing, where that can be.
    func scan() -> [CacheEntry] {
        let names = Folder.names(in: folder)
        let entries = names.filter { $0.hasSuffix(".entry") }.compactMap { read(path($0)) }.filter(isComplete)
        let content = Set(entries.map(\.file)), keys = Set(entries.map { CacheKey($0.source) })
        for name in names {
            guard let key = CacheKey(fileName: name) else { continue }
            switch name {
            case "\(key).entry": if !keys.contains(key) { unlink(path(name)) }
            case "\(key).part", "\(key).part-entry":
                if access(partPath(key), F_OK) != 0 || read(partEntryPath(key)) == nil { unlink(path(name)) }
            default: if !content.contains(name) { unlink(path(name)) }
            }
        }
        return entries
    }

    /// Whether the content of an entry is all there.
    func isComplete(_ entry: CacheEntry) -> Bool { Self.size(contentPath(entry)) == entry.size }

    /// Which parts of files there are, by their entries, and how much there is of each.
    func parts() -> [(entry: CacheEntry, bytes: Int64)] {
        Folder.names(in: folder).filter { $0.hasSuffix(".part-entry") }.compactMap { name in
            guard let found = read(path(name)), let bytes = Self.size(partPath(CacheKey(found.source))) else { return nil }
            return (found, bytes)
        }
    }

    /// When a file of the cache was played or fetched last, in seconds since 1970.
    func used(_ key: CacheKey) -> Int64 {
        (stat(at: entryPath(key)) ?? stat(at: partPath(key))).map { Int64($0.st_mtim.tv_sec) } ?? 0
    }

    /// What has been fetched of a file, and so many bytes: no more than are sure to be on the disk, where `isSure` is not set, because an
    /// earlier process wrote them.
    func part(_ key: CacheKey, isSure: Bool) -> (entry: CacheEntry, bytes: Int64)? {
        guard let entry = read(partEntryPath(key)), let size = Self.size(partPath(key)) else { return nil }
        let bytes = min(isSure ? size : min(size, entry.synced), entry.size)
        return bytes > 0 ? (entry, bytes) : nil
    }

    /// How many bytes there is room for on the disk.
    var room: Int64 {
        statvfs(at: folder).map { max(0, $0.free - min(Self.reserve, $0.size / 20)) } ?? .max
    }

    private static func size(_ path: String) -> Int64? {
        stat(at: path).flatMap { $0.isFile ? Int64($0.st_size) : nil }
    }

    private func read(_ path: String) -> CacheEntry? {
        SmallFile.text(path, atMost: 16 << 10).flatMap { CacheEntry($0) }
    }

    // MARK: Changing

    /// Makes the folder, and those above it.
    func make() throws(CacheError) {
        if let (path, error) = Folder.make(folder, mode: 0o700) {
            throw CacheError(action: "make the folder", path: path, errno: error.code)
        }
    }

    /// Begins to write what is fetched of a file, or goes on behind `bytes` of it.
    func writer(_ entry: CacheEntry, behind bytes: Int64) throws(CacheError) -> PartWriter {
        let key = CacheKey(entry.source)
        let path = partPath(key)
        if bytes == 0 { unlink(path) }
        var entry = entry
        entry.synced = min(entry.synced, bytes)
        try write(entry, to: partEntryPath(key))
        guard let file = Descriptor(opening: path, O_WRONLY | O_CREAT, mode: 0o600), ftruncate(file.raw, off_t(bytes)) == 0,
            lseek(file.raw, off_t(bytes), SEEK_SET) == off_t(bytes)
        else { throw CacheError(action: "write", path: path, errno: errno) }
        return PartWriter(store: self, entry: entry, path: path, file: file, bytes: bytes)
    }

    /// Notes how much of a part is sure to be on the disk.
    func note(_ entry: CacheEntry) throws(CacheError) { try write(entry, to: partEntryPath(CacheKey(entry.source))) }

    /// Makes a part that is complete, and written through, the content of its URL.
    func commit(_ part: CacheEntry) throws(CacheError) -> CacheEntry {
        let key = CacheKey(part.source)
        var entry = part
        entry.synced = entry.size
        guard rename(partPath(key), contentPath(entry)) == 0 else {
            throw CacheError(action: "rename", path: partPath(key), errno: errno)
        }
        do throws(CacheError) { try write(entry, to: entryPath(key)) } catch {
            unlink(contentPath(entry))
            throw error
        }
        unlink(partEntryPath(key))
        return entry
    }

    /// Deletes a content that another one has taken the place of.
    func removeContent(_ entry: CacheEntry) { unlink(contentPath(entry)) }

    /// Says that a file has been used now.
    func touch(_ key: CacheKey) { utimensat(AT_FDCWD, entryPath(key), nil, 0) }

    /// Deletes a file, its entry first.
    func remove(_ entry: CacheEntry) {
        unlink(entryPath(CacheKey(entry.source)))
        unlink(contentPath(entry))
    }

    /// Deletes what has been fetched of a file.
    func removePart(_ key: CacheKey) {
        unlink(partEntryPath(key))
        unlink(partPath(key))
    }

    /// Writes the file of an entry whole or not at all.
    private func write(_ entry: CacheEntry, to path: String) throws(CacheError) {
        if let error = AtomicFile.write(path, entry.text, mode: 0o600, isSynced: true) {
            throw CacheError(action: "write", path: path, errno: error.code)
        }
    }
}

/// Writes what is fetched of a file behind what is there of it.
struct PartWriter: ~Copyable {
    private let store: CacheStore
    private(set) var entry: CacheEntry
    private let path: String
    private let file: Descriptor
    /// How much there is of it.
    private(set) var bytes: Int64

    init(store: CacheStore, entry: CacheEntry, path: String, file: consuming Descriptor, bytes: Int64) {
        (self.store, self.entry, self.path, self.bytes) = (store, entry, path, bytes)
        self.file = file
    }

    /// Writes bytes; throws also where they are more than the whole was to be.
    mutating func write(_ data: UnsafeRawBufferPointer) throws(CacheError) {
        guard bytes + Int64(data.count) <= entry.size else { throw CacheError(action: "write", path: path, errno: EFBIG) }
        guard file.write(data) else { throw CacheError(action: "write", path: path, errno: errno) }
        bytes += Int64(data.count)
        if bytes - entry.synced >= CacheStore.syncStep { try sync() }
    }

    /// Writes what there is through to the disk, and notes that.
    mutating func sync() throws(CacheError) {
        guard fdatasync(file.raw) == 0 else { throw CacheError(action: "write", path: path, errno: errno) }
        // A file that is read again when it is played need not stay in memory.
        posix_fadvise(file.raw, 0, 0, POSIX_FADV_DONTNEED)
        entry.synced = bytes
        try store.note(entry)
    }
}
