import Glibc
import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary

/// The files of a recording.
///
/// kiosk writes a hidden draft in fragments, `.NAME.part` (``FilmWriter``), and syncs each fragment to the disk before the next. At the end
/// it renames the draft, and then replaces that file by a plain MP4 with the same packets. At every moment there is either no file of that
/// name, or a complete film. Without space for the copy, the fragmented file stays, and every current player plays it.
///
/// A power cut leaves the draft. The next recording into the folder makes a film of it (``recover(in:besides:)``).
package enum RecordingFile {
    /// The playable part of a draft: its complete fragments. A pure value, made of the boxes of an MP4 file.
    struct Extent: Hashable {
        /// The offset of the end of the last complete fragment.
        var byteCount: Int64 = 0
        var fragments = 0

        /// `box` returns the type and the size of the box at an offset; nil if none begins there. Fails if there is no complete fragment.
        init?(fileSize: Int64, box: (Int64) -> (type: String, size: Int64)?) {
            var (offset, hasIndex, hasHeader) = (Int64(0), false, false)
            while let (type, size) = box(offset), size >= 8, size <= fileSize - offset {
                offset += size
                switch type {
                case "moov": hasIndex = true
                case "moof": hasHeader = true
                case "mdat" where hasHeader && hasIndex:
                    fragments += 1
                    (byteCount, hasHeader) = (offset, false)
                default: break
                }
            }
            if fragments == 0 { return nil }
        }

        /// Reads the extent of an open file, some bytes for each fragment.
        init?(_ descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            self.init(fileSize: Int64(status.st_size)) { offset in
                var bytes = [UInt8](repeating: 0, count: 16)
                guard pread(descriptor, &bytes, 16, off_t(offset)) >= 8 else { return nil }
                func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
                let short = number(0..<4)
                let size = short == 1 ? number(8..<16) : short
                return (String(decoding: bytes[4..<8], as: UTF8.self), Int64(clamping: size))
            }
        }
    }

    // MARK: Space

    /// Returns the space for this user in the folder of `path`; nil if unknown. The corresponding C function is `statvfs`.
    package static func freeSpace(at path: String) -> ByteCount? {
        statvfs(at: Folder.of(path)).map { ByteCount($0.free) }
    }

    /// Throws if there is no space for `duration` at so many bytes a second; for ten seconds if the duration is unknown.
    static func checkSpace(at path: String, bytesPerSecond: Double, duration: MediaTime?) throws(CaptureError) {
        guard let free = freeSpace(at: path) else { return }
        let needed = ByteCount(Int64(saturating: bytesPerSecond * (duration ?? .seconds(10)).seconds) + reserve)
        if free < needed { throw .noSpace(path: path, needed: needed, free: free) }
    }

    /// The space to leave free: the end of the film needs some.
    static let reserve: Int64 = 4_000_000

    // MARK: The end

    /// Replaces the fragmented MP4 at `path` by a plain one. Without space for both files, the fragmented one stays.
    static func finish(_ path: String, by readers: Readers) throws(FilmError) {
        guard let status = stat(at: path) else { throw FilmError(path, errno: errno) }
        if let free = freeSpace(at: path), free.bytes < Int64(status.st_size) + reserve { return }
        do throws(FilmError) { try FilmWriter.remux(from: path, to: path, by: readers) } catch {
            if error.reason != .noSpace { throw error }
        }
    }

    /// Makes a film at `path` of its draft, after a failure ended the writing; false if the draft has no complete fragment.
    static func salvage(_ path: String, by readers: Readers) -> Bool {
        let draft = FilmWriter.draftPath(of: path)
        guard cut(draft), rename(draft, path) == 0 else { return false }
        try? finish(path, by: readers)
        return true
    }

    /// Truncates a draft after its last complete fragment; false if it has none.
    private static func cut(_ draft: String) -> Bool {
        guard let file = Descriptor(opening: draft, O_RDWR), let extent = Extent(file.raw) else { return false }
        return ftruncate(file.raw, off_t(extent.byteCount)) == 0 && fsync(file.raw) == 0
    }

    // MARK: After a power cut

    /// An interrupted recording that has been recovered.
    package struct Recovered: Hashable, Sendable {
        package var path: String
        /// Why it is still a draft; nil if it is a film.
        package var problem: String?
    }

    /// Makes films of interrupted recordings into `folder`. Each film gets its intended name. If that name is taken, or `reserved` for a
    /// new recording, it also gets a number. Leaves alone active drafts, and those of `kiosk export`. Blocks for the disk.
    package static func recover(in folder: String, besides reserved: String? = nil) -> [Recovered] {
        let names = Folder.names(in: folder).sorted()
        let folder = folder == "." ? "" : folder.hasSuffix("/") ? folder : folder + "/"
        var recovered: [Recovered] = []
        // Any name will do: a file that is no draft of a recording has no fragments.
        for name in names where name.hasPrefix(".") && name.count > 6 {
            let isDraft = name.hasSuffix(".part")
            guard isDraft || name.hasSuffix(".left") else { continue }
            let film = folder + name.dropFirst().dropLast(5)
            let left = folder + name.dropLast(5) + ".left"
            if isDraft {
                guard isAbandoned(folder + name), cut(folder + name) else { continue }
                // The copy needs a draft of the same name.
                guard rename(folder + name, left) == 0 else { continue }
            } else if !hasFragments(left) {
                continue
            }
            let target = freeName(film, besides: reserved)
            do throws(FilmError) {
                try FilmWriter.remux(from: left, to: target)
                unlink(left)
                recovered.append(Recovered(path: target))
            } catch { recovered.append(Recovered(path: left, problem: error.description)) }
        }
        return recovered
    }

    private static func isAbandoned(_ draft: String) -> Bool { Descriptor(opening: draft, O_RDWR)?.lock() ?? false }

    private static func freeName(_ film: String, besides reserved: String?) -> String {
        func isTaken(_ path: String) -> Bool {
            if access(path, F_OK) == 0 { return true }
            guard let reserved else { return false }
            return path.split(separator: "/").last == reserved.split(separator: "/").last
        }
        if !isTaken(film) { return film }
        let place = film.lastIndex(of: "/").map { film.index(after: $0) } ?? film.startIndex
        let end = film[place...].lastIndex(of: ".") ?? film.endIndex
        func numbered(_ number: Int) -> String { "\(film[..<end])-\(number)\(film[end...])" }
        var number = 1
        while isTaken(numbered(number)) { number += 1 }
        return numbered(number)
    }

    private static func hasFragments(_ path: String) -> Bool {
        guard let file = Descriptor(opening: path) else { return false }
        return Extent(file.raw) != nil
    }
}
