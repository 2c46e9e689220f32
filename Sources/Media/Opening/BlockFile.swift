import CKioskMedia
import CKioskPlatform
import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization

/// A regular file opened for reading.
package struct OpenedFile: Sendable {
    package let descriptor: SharedDescriptor
    /// The file's version at opening.
    package let version: FileVersion

    /// Wraps a descriptor that another process opened and checked.
    package init(_ descriptor: SharedDescriptor, _ version: FileVersion) { (self.descriptor, self.version) = (descriptor, version) }

    /// Opens the regular file at `path`. With `folder`, the path is relative to it and must not lead outside. Blocks as long as the file
    /// system does.
    package init(_ path: String, in folder: String? = nil) throws(FileFailure) {
        let whole = folder.map { $0 + "/" + path } ?? path
        guard let found = stat(at: whole) else { throw .system(errno) }
        // A FIFO would block, a device may never end.
        if !found.isFile { throw found.isFolder ? .isDirectory : .notARegularFile }
        // The kernel generates files in /proc on reading, and reports no length (`PROC_SUPER_MAGIC`).
        if found.st_size == 0 { throw kiosk_file_system(whole) == 0x9FA0 ? .notARegularFile : .isEmpty }
        if access(whole, R_OK) != 0 { throw .notReadable }
        let raw = if let folder { kiosk_open_within(folder, path) } else { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard let file = Descriptor(adopting: raw) else { throw folder != nil && errno == EXDEV ? .leadsOutside : .system(errno) }
        guard let opened = file.status, opened.isFile else { throw .notARegularFile }
        self.init(SharedDescriptor(file), FileVersion(opened))
    }

    /// Reads bytes at `offset`. Returns the number of bytes, or a negative errno, and the file's present size, -1 if unknown. The
    /// corresponding C functions are `pread` and `fstat`.
    package func read(into bytes: UnsafeMutableRawPointer, count: Int, at offset: Int64) -> (count: Int, size: Int64) {
        var result: Int
        repeat { result = pread(descriptor.raw, bytes, count, off_t(offset)) } while result < 0 && errno == EINTR
        if result < 0 { result = -Int(errno) }
        var status = stat()
        return (result, fstat(descriptor.raw, &status) == 0 ? Int64(status.st_size) : -1)
    }
}

/// The file access of this process. A process without access to files has another process open them, and reads them itself. A call that
/// never returns costs only that process.
package enum FileAccess {
    /// Opens a file as ``OpenedFile/init(_:in:)`` does.
    package typealias Open = @Sendable (_ path: String, _ folder: String?) -> Result<OpenedFile, FileFailure>

    private static let other = Mutex<Open?>(nil)

    /// Opens all files of the process with `open` from now on.
    package static func leave(to open: @escaping Open) { other.withLock { $0 = open } }

    static func open(_ path: String, in folder: String?) throws(FileFailure) -> OpenedFile {
        if let open = other.withLock({ $0 }) { return try open(path, folder).get() }
        return try OpenedFile(path, in: folder)
    }
}

/// A regular file, read in blocks of 256 KB.
///
/// A call on a dead network file system or a failing disk may never return, and no signal ends it. ``Interruption/whenReading(_:)`` reports
/// such calls, and a waiting thread can give up the reader.
///
/// Only one thread at a time may read.
final class BlockFile {
    /// The file's version at opening.
    let version: FileVersion
    /// The file's length in bytes, as of the last call; it may grow.
    private(set) var size: Int64

    private let file: OpenedFile
    private let interruption: Interruption
    private let block: UnsafeMutableRawPointer
    private var blockStart: Int64 = 0
    private var blockCount = 0

    /// The block sizes for continuous reading and after a seek. If sound and picture lie far apart in a file, most of a large block would
    /// be read for nothing.
    static let blockSize = 256 << 10, firstBlockSize = 32 << 10

    /// Opens the regular file at `path`. With `folder`, the path is relative to it and must not lead outside.
    init(_ path: String, in folder: String? = nil, interruption: Interruption) throws(FileFailure) {
        if interruption.isOver { throw .interrupted }
        file = try FileAccess.open(path, in: folder)
        (self.interruption, version, size) = (interruption, file.version, file.version.size)
        // If opening throws, no deinit runs.
        block = .allocate(byteCount: Self.blockSize, alignment: 64)
    }

    deinit { block.deallocate() }

    /// Reads bytes from `position` on: up to the size of `destination`.
    func read(into destination: UnsafeMutableRawBufferPointer, at position: Int64) -> ByteStream.ReadResult {
        if position < 0 { return .failed(errno: EINVAL) }
        if position < blockStart || position >= blockStart + Int64(blockCount) {
            if interruption.isOver { return .interrupted }
            let isNext = blockCount > 0 && position == blockStart + Int64(blockCount)
            blockCount = 0
            let (result, size) = interruption.reading {
                file.read(into: block, count: isNext ? Self.blockSize : Self.firstBlockSize, at: position)
            }
            if size >= 0 { self.size = size }
            if result <= 0 { return ByteStream.ReadResult(result) }
            (blockStart, blockCount) = (position, result)
        }
        let offset = Int(position - blockStart)
        let given = min(destination.count, blockCount - offset)
        destination.baseAddress?.copyMemory(from: block + offset, byteCount: given)
        return .bytes(given)
    }

    /// Reads `count` bytes from `offset` on: fewer at the end or after an error; nil beyond 32 MB or for a negative offset.
    func bytes(at offset: Int64, count: Int) -> [UInt8]? {
        guard count <= 32 << 20, offset >= 0 else { return nil }
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let result = bytes.withUnsafeMutableBytes {
                read(into: UnsafeMutableRawBufferPointer(rebasing: $0[filled...]), at: offset + Int64(filled))
            }
            guard case .bytes(let number) = result else { break }
            filled += number
        }
        bytes.removeLast(count - filled)
        return bytes
    }
}
