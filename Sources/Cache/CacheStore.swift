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
            case EROFS, EACCES, EPERM: ": let the user that kiosk runs as write there; what is kept is played nevertheless"
            default: ""
            }
        return "cannot \(action) \(path): \(String(cString: strerror(errno)))\(advice)"
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
        guard let list = opendir(folder) else { return [] }
        var names: [String] = []
        while let entry = readdir(list) {
            names.append(withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        }
        closedir(list)
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
        guard let list = opendir(folder) else { return [] }
        defer { closedir(list) }
        var parts: [(entry: CacheEntry, bytes: Int64)] = []
        while let entry = readdir(list) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            guard name.hasSuffix(".part-entry"), let found = read(path(name)), let bytes = Self.size(partPath(CacheKey(found.source)))
            else {
                continue
            }
            parts.append((found, bytes))
        }
        return parts
    }

    /// When a file of the cache was played or fetched last, in seconds since 1970.
    func used(_ key: CacheKey) -> Int64 {
        var status = stat()
        return stat(entryPath(key), &status) == 0 || stat(partPath(key), &status) == 0 ? Int64(status.st_mtim.tv_sec) : 0
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
        var room = statvfs()
        guard statvfs(folder, &room) == 0 else { return .max }
        func bytes(_ blocks: fsblkcnt_t) -> Int64 {
            Int64(clamping: UInt64(blocks).multipliedReportingOverflow(by: UInt64(room.f_frsize)).partialValue)
        }
        return max(0, bytes(room.f_bavail) - min(Self.reserve, bytes(room.f_blocks) / 20))
    }

    private static func size(_ path: String) -> Int64? {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? Int64(status.st_size) : nil
    }

    private func read(_ path: String) -> CacheEntry? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        return count > 0 ? CacheEntry(String(decoding: bytes.prefix(count), as: UTF8.self)) : nil
    }

    // MARK: Changing

    /// Makes the folder, and those above it.
    func make() throws(CacheError) {
        var status = stat()
        if stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return }
        var path = ""
        for part in folder.split(separator: "/") {
            path += "/" + part
            if mkdir(path, 0o700) != 0, errno != EEXIST { throw CacheError(action: "make the folder", path: path, errno: errno) }
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
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CacheError(action: "write", path: path, errno: errno) }
        guard ftruncate(descriptor, off_t(bytes)) == 0, lseek(descriptor, off_t(bytes), SEEK_SET) == off_t(bytes) else {
            let code = errno
            close(descriptor)
            throw CacheError(action: "write", path: path, errno: code)
        }
        return PartWriter(store: self, entry: entry, path: path, descriptor: descriptor, bytes: bytes)
    }

    /// Notes how much of a part is sure to be on the disk.
    func note(_ entry: CacheEntry) throws(CacheError) { try write(entry, to: partEntryPath(CacheKey(entry.source))) }

    /// Makes a part that is complete, and written through, the content of its URL in place of `former`.
    func commit(_ part: CacheEntry, insteadOf former: CacheEntry?) throws(CacheError) -> CacheEntry {
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
        // Who plays it has it open, and goes on.
        if let former, former.file != entry.file { unlink(contentPath(former)) }
        return entry
    }

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
        let staging = path + ".new"
        let descriptor = open(staging, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CacheError(action: "write", path: staging, errno: errno) }
        let text = Array(entry.text.utf8)
        let isWritten = text.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } == text.count && fsync(descriptor) == 0
        let code = errno
        close(descriptor)
        guard isWritten, rename(staging, path) == 0 else {
            let code = isWritten ? errno : code == 0 ? ENOSPC : code
            unlink(staging)
            throw CacheError(action: "write", path: path, errno: code)
        }
        syncFolder(of: path)
    }
}

/// Writes what is fetched of a file behind what is there of it.
struct PartWriter: ~Copyable {
    private let store: CacheStore
    private(set) var entry: CacheEntry
    private let path: String
    private let descriptor: Int32
    /// How much there is of it.
    private(set) var bytes: Int64

    init(store: CacheStore, entry: CacheEntry, path: String, descriptor: Int32, bytes: Int64) {
        (self.store, self.entry, self.path, self.descriptor, self.bytes) = (store, entry, path, descriptor, bytes)
    }

    deinit { close(descriptor) }

    /// Writes bytes; throws also where they are more than the whole was to be.
    mutating func write(_ data: UnsafeRawBufferPointer) throws(CacheError) {
        guard bytes + Int64(data.count) <= entry.size else { throw CacheError(action: "write", path: path, errno: EFBIG) }
        var written = 0
        while written < data.count {
            let count = Glibc.write(descriptor, data.baseAddress! + written, data.count - written)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw CacheError(action: "write", path: path, errno: count == 0 ? ENOSPC : errno) }
            written += count
        }
        bytes += Int64(data.count)
        if bytes - entry.synced >= CacheStore.syncStep { try sync() }
    }

    /// Writes what there is through to the disk, and notes that.
    mutating func sync() throws(CacheError) {
        guard fdatasync(descriptor) == 0 else { throw CacheError(action: "write", path: path, errno: errno) }
        // A file that is read again when it is played need not stay in memory.
        posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
        entry.synced = bytes
        try store.note(entry)
    }
}
