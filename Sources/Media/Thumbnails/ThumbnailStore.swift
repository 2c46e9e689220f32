import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization

/// Thumbnails on the disk, in a folder of files. Each file is named by a hash of the clip's path, size and date, and of the thumbnail's
/// size. So a changed clip gets another thumbnail.
///
/// The store writes a file under a draft name and renames it. Each file has a checksum, so the store rejects the remains of a power cut.
/// All files together take at most ``limit`` bytes; the least recently used go first. If a file cannot be written or read, the store acts
/// as if it were missing. It keeps no clip's fault, because a codec may be installed later.
///
/// From any thread, one at a time. While the controls are recreated, the thread of the former ones may still be at its last clip. Blocks as
/// long as the file system does.
package final class ThumbnailStore: @unchecked Sendable {
    // Sendable because all mutable state is used with `lock` held.
    private let lock = Mutex(())

    /// The bytes to leave free on the disk.
    private static let reserve: Int64 = 32 << 20
    /// The number of failures in a row that stops all writing.
    private static let mostFailures = 3

    private let folder: String
    private let limit: Int
    private let problem: @Sendable (String) -> Void
    /// The bytes of each file, and its last use as a counter; nil before the first use.
    private var files: [String: (bytes: Int, used: Int)]?
    private var bytes = 0
    private var uses = 0
    private var failures = 0

    /// Creates a store in `folder`, of at most `limit` bytes. Calls `problem` once if it cannot keep thumbnails.
    package init(folder: String, limit: Int, problem: @escaping @Sendable (String) -> Void) {
        (self.folder, self.limit, self.problem) = (folder, max(0, limit), problem)
    }

    /// The bytes of all files.
    package var byteCount: Int { lock.withLock { _ in bytes } }

    // MARK: Reading

    /// Returns the stored thumbnail of a clip for this size; nil if there is none.
    package func find(_ source: String, _ version: FileVersion, _ width: Int, _ height: Int) -> Thumbnail? {
        lock.withLock { _ in read(Self.name(source, version, width, height)) }
    }

    private func read(_ name: String) -> Thumbnail? {
        scan()
        guard files?[name] != nil else { return nil }
        guard let file = Self.read(folder + "/" + name, atMost: 1 << 20), let thumbnail = Thumbnail(stored: file) else {
            drop(name)
            return nil
        }
        uses += 1
        files?[name]?.used = uses
        // Keep the order for the next process.
        _ = utimensat(AT_FDCWD, folder + "/" + name, nil, 0)
        return thumbnail
    }

    /// Stores a thumbnail.
    package func keep(_ thumbnail: Thumbnail, of source: String, _ version: FileVersion, _ width: Int, _ height: Int) {
        guard thumbnail.facts.problem == nil, let data = thumbnail.stored, data.count <= limit else { return }
        lock.withLock { _ in write(data, Self.name(source, version, width, height)) }
    }

    private func write(_ data: [UInt8], _ name: String) {
        if failures >= Self.mostFailures { return }
        scan()
        makeRoom(for: data.count)
        guard hasRoomOnDisk(data.count) else { return failed("the disk is nearly full") }
        if let error = AtomicFile.write(folder + "/" + name, data, mode: 0o644, draft: folder + "/.draft") { return failed("\(error)") }
        failures = 0
        uses += 1
        bytes += data.count - (files?[name]?.bytes ?? 0)
        files?[name] = (data.count, uses)
    }

    private func failed(_ reason: String) {
        failures += 1
        if failures == Self.mostFailures { problem("kiosk keeps no thumbnails in \(folder): \(reason)") }
    }

    // MARK: The folder

    /// Reads the folder, once.
    private func scan() {
        if files != nil { return }
        files = [:]
        _ = Folder.make(folder)
        let found = Folder.entries(in: folder).filter { $0.name.hasSuffix(Self.ending) && $0.status.isFile }
        for (name, status) in found.sorted(by: { ($0.status.st_mtim.tv_sec, $0.name) < ($1.status.st_mtim.tv_sec, $1.name) }) {
            uses += 1
            files?[name] = (Int(status.st_size), uses)
            bytes += Int(status.st_size)
        }
        makeRoom(for: 0)
    }

    /// Drops the oldest files until `count` bytes fit. Also frees a tenth of the limit, to save doing this for each file.
    private func makeRoom(for count: Int) {
        guard bytes + count > limit, let files else { return }
        for (name, _) in files.sorted(by: { $0.value.used < $1.value.used }) {
            if bytes + count <= limit - limit / 10 { break }
            drop(name)
        }
    }

    private func drop(_ name: String) {
        guard let file = files?.removeValue(forKey: name) else { return }
        bytes -= file.bytes
        unlink(folder + "/" + name)
    }

    private func hasRoomOnDisk(_ count: Int) -> Bool {
        statvfs(at: folder).map { $0.free > Self.reserve + Int64(count) } ?? true
    }

    // MARK: Files

    private static let ending = ".thumbnail"

    /// Returns two 64-bit hashes (FNV-1a) with different initial values.
    private static func name(_ source: String, _ version: FileVersion, _ width: Int, _ height: Int) -> String {
        let key = "\(source)\0\(version.size)\0\(version.modified)\0\(width)x\(height)".utf8
        return FNV.hash(key).padded(to: 16, radix: 16) + FNV.hash(key, from: 0x6c62_272e_07bb_0142).padded(to: 16, radix: 16) + ending
    }

    private static func read(_ path: String, atMost limit: Int) -> [UInt8]? {
        guard let file = Descriptor(opening: path), let size = file.status?.st_size, 1...limit ~= Int(size) else { return nil }
        return file.read(atMost: Int(size))
    }
}

// The content of a file: "kiosk-thumbnail 1", 64-bit numbers, the title, and the picture as a JPEG. The numbers are a checksum of the rest,
// flags, the duration in nanoseconds (-1 for none), and the title's length.
extension Thumbnail {
    private static let magic = Array("kiosk-thumbnail 1".utf8)

    /// The content of the file; nil if the picture cannot be encoded.
    var stored: [UInt8]? {
        var jpeg: [UInt8] = []
        if let picture {
            guard let encoded = picture.jpeg() else { return nil }
            jpeg = encoded
        }
        let title = Array((facts.title ?? "").utf8)
        let flags = (facts.isPortrait ? 1 : 0) | (facts.hasSound ? 2 : 0) | (facts.title != nil ? 4 : 0)
        var body: [UInt8] = []
        for number in [Int64(flags), facts.duration?.nanoseconds ?? -1, Int64(title.count)] {
            withUnsafeBytes(of: number.littleEndian) { body += $0 }
        }
        body += title + jpeg
        return Self.magic + withUnsafeBytes(of: FNV.hash(body).littleEndian) { Array($0) } + body
    }

    /// Reads a thumbnail from `stored`; nil if it is damaged.
    init?(stored: [UInt8]) {
        let header = Self.magic.count + 32
        guard stored.count >= header, stored.starts(with: Self.magic) else { return nil }
        func number(_ place: Int) -> UInt64 {
            stored.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: Self.magic.count + 8 * place, as: UInt64.self) }.littleEndian
        }
        guard FNV.hash(stored[(Self.magic.count + 8)...]) == number(0) else { return nil }
        let flags = number(1), duration = Int64(bitPattern: number(2)), length = number(3)
        guard length <= UInt64(stored.count - header) else { return nil }
        var facts = ClipFacts()
        (facts.isPortrait, facts.hasSound) = (flags & 1 != 0, flags & 2 != 0)
        facts.duration = duration < 0 ? nil : MediaTime(nanoseconds: duration)
        let end = header + Int(length)
        if flags & 4 != 0 { facts.title = String(decoding: stored[header..<end], as: UTF8.self) }
        let jpeg = Array(stored[end...])
        var picture: SmallPicture?
        if !jpeg.isEmpty {
            picture = SmallPicture(jpeg: jpeg)
            if picture == nil { return nil }
        }
        self.init(picture: picture, facts: facts)
    }
}
