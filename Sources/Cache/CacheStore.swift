import Glibc
import KioskPlatform

/// The failure of a cache file: the action, the path, the reason, and the advice.
struct CacheError: Error, Hashable, Sendable, CustomStringConvertible {
    var action: String
    var path: String
    var errno: Int32

    /// Whether space is lacking: a smaller cache, or a freed disk, helps.
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

/// The folder of the cache. For each URL, with names by ``CacheKey``, it holds:
///
/// - `KEY-NUMBER.mp4`, the content, and `KEY.entry`, which marks it complete (``CacheEntry``). Once the content is synced to the disk,
///   kiosk renames the entry into place. This single step adds a file, or replaces its content.
/// - `KEY.part`, the fetched part of a content, and `KEY.part-entry`, the description of the whole. The latter also says how many bytes are
///   surely on the disk; after a power cut kiosk fetches the rest again.
///
/// At the start, kiosk deletes files without an entry. One thread uses the store; it blocks for as long as the file system does.
struct CacheStore {
    let folder: String

    /// The bytes to write between syncs.
    static let syncStep: Int64 = 32 << 20
    /// The disk space to leave free, but at most a twentieth of the disk.
    private static let reserve: Int64 = 64 << 20

    private func path(_ name: String) -> String { folder + "/" + name }
    private func entryPath(_ key: CacheKey) -> String { path("\(key).entry") }
    func partPath(_ key: CacheKey) -> String { path("\(key).part") }
    private func partEntryPath(_ key: CacheKey) -> String { path("\(key).part-entry") }

    /// Returns the path of an entry's content.
    func contentPath(_ entry: CacheEntry) -> String { path(entry.file) }

    // MARK: Looking

    /// Returns the complete entries; deletes files that belong to no entry, if it can.
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

    /// Returns whether the content of an entry is complete.
    func isComplete(_ entry: CacheEntry) -> Bool { Self.size(contentPath(entry)) == entry.size }

    /// Returns the entries of partial files, and the bytes of each.
    func parts() -> [(entry: CacheEntry, bytes: Int64)] {
        Folder.names(in: folder).filter { $0.hasSuffix(".part-entry") }.compactMap { name in
            guard let found = read(path(name)), let bytes = Self.size(partPath(CacheKey(found.source))) else { return nil }
            return (found, bytes)
        }
    }

    /// Returns when a file was last played or fetched, in seconds since 1970.
    func used(_ key: CacheKey) -> Int64 {
        (stat(at: entryPath(key)) ?? stat(at: partPath(key))).map { Int64($0.st_mtim.tv_sec) } ?? 0
    }

    /// Returns a partial file and its bytes. Without `isSure`, an earlier process wrote them: only the bytes surely on the disk count.
    func part(_ key: CacheKey, isSure: Bool) -> (entry: CacheEntry, bytes: Int64)? {
        guard let entry = read(partEntryPath(key)), let size = Self.size(partPath(key)) else { return nil }
        let bytes = min(isSure ? size : min(size, entry.synced), entry.size)
        return bytes > 0 ? (entry, bytes) : nil
    }

    /// The free bytes on the disk, less the reserve.
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

    /// Makes the folder and its parents.
    func make() throws(CacheError) {
        if let (path, error) = Folder.make(folder, mode: 0o700) {
            throw CacheError(action: "make the folder", path: path, errno: error.code)
        }
    }

    /// Starts a partial file, or continues it after `bytes`.
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

    /// Records how much of a partial file is surely on the disk.
    func note(_ entry: CacheEntry) throws(CacheError) { try write(entry, to: partEntryPath(CacheKey(entry.source))) }

    /// Makes a complete and synced part the content of its URL.
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

    /// Deletes replaced content.
    func removeContent(_ entry: CacheEntry) { unlink(contentPath(entry)) }

    /// Marks a file as used now.
    func touch(_ key: CacheKey) { utimensat(AT_FDCWD, entryPath(key), nil, 0) }

    /// Deletes a file, its entry first.
    func remove(_ entry: CacheEntry) {
        unlink(entryPath(CacheKey(entry.source)))
        unlink(contentPath(entry))
    }

    /// Deletes a partial file.
    func removePart(_ key: CacheKey) {
        unlink(partEntryPath(key))
        unlink(partPath(key))
    }

    /// Writes the file of an entry atomically.
    private func write(_ entry: CacheEntry, to path: String) throws(CacheError) {
        if let error = AtomicFile.write(path, entry.text, mode: 0o600, isSynced: true) {
            throw CacheError(action: "write", path: path, errno: error.code)
        }
    }
}

/// Appends fetched bytes to a partial file.
struct PartWriter: ~Copyable {
    private let store: CacheStore
    private(set) var entry: CacheEntry
    private let path: String
    private let file: Descriptor
    /// The bytes in the file.
    private(set) var bytes: Int64

    init(store: CacheStore, entry: CacheEntry, path: String, file: consuming Descriptor, bytes: Int64) {
        (self.store, self.entry, self.path, self.bytes) = (store, entry, path, bytes)
        self.file = file
    }

    /// Writes bytes; throws also if they exceed the expected size.
    mutating func write(_ data: UnsafeRawBufferPointer) throws(CacheError) {
        guard bytes + Int64(data.count) <= entry.size else { throw CacheError(action: "write", path: path, errno: EFBIG) }
        guard file.write(data) else { throw CacheError(action: "write", path: path, errno: errno) }
        bytes += Int64(data.count)
        if bytes - entry.synced >= CacheStore.syncStep { try sync() }
    }

    /// Syncs the file to the disk, and records that.
    mutating func sync() throws(CacheError) {
        guard fdatasync(file.raw) == 0 else { throw CacheError(action: "write", path: path, errno: errno) }
        // Playback reads the file again, so it need not stay in memory.
        posix_fadvise(file.raw, 0, 0, POSIX_FADV_DONTNEED)
        entry.synced = bytes
        try store.note(entry)
    }
}
