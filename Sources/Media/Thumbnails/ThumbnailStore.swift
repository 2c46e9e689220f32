import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization

/// Thumbnails on the disk: a folder of files, each named by a hash of the clip's path, size and date and of the thumbnail's size, so that a clip
/// that changes has another one.
///
/// A file is written under a name of its own and renamed, and has a checksum: what a power cut leaves of it is not taken for a picture. All of
/// them together take at most ``limit`` bytes; those that were not used for longest go first. What cannot be written or read is as if there
/// were no such folder. What is wrong with a clip is not kept: a codec may be installed.
///
/// From any thread, one at a time: while the controls are made anew the thread of the former ones may still be at its last clip. Blocks for as long as
/// the file system does.
package final class ThumbnailStore: @unchecked Sendable {
    // Sendable because all that changes is reached with `lock` held.
    private let lock = Mutex(())

    /// Room that is left on the disk.
    private static let reserve: Int64 = 32 << 20
    /// After so many failures in a row nothing is written any more.
    private static let mostFailures = 3

    private let folder: String
    private let limit: Int
    private let problem: @Sendable (String) -> Void
    /// Bytes of each file, and when it was used last, counted up; nil before the first use.
    private var files: [String: (bytes: Int, used: Int)]?
    private var bytes = 0
    private var uses = 0
    private var failures = 0

    /// Thumbnails in `folder`, of at most `limit` bytes. `problem` is told why nothing can be kept, once.
    package init(folder: String, limit: Int, problem: @escaping @Sendable (String) -> Void) {
        (self.folder, self.limit, self.problem) = (folder, max(0, limit), problem)
    }

    /// Bytes of all files.
    package var byteCount: Int { lock.withLock { _ in bytes } }

    // MARK: Reading

    /// The thumbnail of a clip that fits into this size, where it is there.
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
        // So that the order outlives this process.
        _ = utimensat(AT_FDCWD, folder + "/" + name, nil, 0)
        return thumbnail
    }

    /// Keeps one.
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

    /// Looks at what is there, once.
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

    /// Lets the oldest go until so many bytes fit, and a tenth of all more, so that this is not done for each.
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

    /// Two hashes of 64 bits (FNV-1a), from different beginnings.
    private static func name(_ source: String, _ version: FileVersion, _ width: Int, _ height: Int) -> String {
        let key = "\(source)\0\(version.size)\0\(version.modified)\0\(width)x\(height)".utf8
        return FNV.hash(key).padded(to: 16, radix: 16) + FNV.hash(key, from: 0x6c62_272e_07bb_0142).padded(to: 16, radix: 16) + ending
    }

    private static func read(_ path: String, atMost limit: Int) -> [UInt8]? {
        guard let file = Descriptor(opening: path), let size = file.status?.st_size, 1...limit ~= Int(size) else { return nil }
        return file.read(atMost: Int(size))
    }
}

// What stands in a file: "kiosk-thumbnail 1", then as 64-bit numbers a checksum of what follows, flags, the duration in nanoseconds (-1 for none), how
// many bytes of the title follow; the title; and the picture as a JPEG.
extension Thumbnail {
    private static let magic = Array("kiosk-thumbnail 1".utf8)

    /// As it is written; nil where the picture cannot be encoded.
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

    /// What `stored` is; nil where it is damaged.
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
