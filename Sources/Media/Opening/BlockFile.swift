import CKioskMedia
import CKioskPlatform
import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization

/// A regular file that has been opened for reading.
package struct OpenedFile: Sendable {
    package let descriptor: SharedDescriptor
    /// The file as it was then.
    package let version: FileVersion

    /// A descriptor that somebody else has opened and looked at.
    package init(_ descriptor: SharedDescriptor, _ version: FileVersion) { (self.descriptor, self.version) = (descriptor, version) }

    /// Opens the regular file at `path`, which is relative to `folder` where one is given and leads nowhere else then. Blocks for as long as the file
    /// system does.
    package init(_ path: String, in folder: String? = nil) throws(FileFailure) {
        let whole = folder.map { $0 + "/" + path } ?? path
        guard let found = stat(at: whole) else { throw .system(errno) }
        // A FIFO would block, a device may never end.
        if !found.isFile { throw found.isFolder ? .isDirectory : .notARegularFile }
        // The kernel makes up what is in /proc when it is read, and tells no length (`PROC_SUPER_MAGIC`).
        if found.st_size == 0 { throw kiosk_file_system(whole) == 0x9FA0 ? .notARegularFile : .isEmpty }
        if access(whole, R_OK) != 0 { throw .notReadable }
        let raw = if let folder { kiosk_open_within(folder, path) } else { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
        guard let file = Descriptor(adopting: raw) else { throw folder != nil && errno == EXDEV ? .leadsOutside : .system(errno) }
        guard let opened = file.status, opened.isFile else { throw .notARegularFile }
        self.init(SharedDescriptor(file), FileVersion(opened))
    }

    /// Reads bytes at a place: how many, or a negative errno; and the file's size now, -1 where that cannot be had. The corresponding C functions are
    /// `pread` and `fstat`.
    package func read(into bytes: UnsafeMutableRawPointer, count: Int, at offset: Int64) -> (count: Int, size: Int64) {
        var result: Int
        repeat { result = pread(descriptor.raw, bytes, count, off_t(offset)) } while result < 0 && errno == EINTR
        if result < 0 { result = -Int(errno) }
        var status = stat()
        return (result, fstat(descriptor.raw, &status) == 0 ? Int64(status.st_size) : -1)
    }
}

/// Where this process' files come from. A process that may open none has somebody else open them, and reads them itself: a call that never returns
/// costs it, and nobody else.
package enum FileAccess {
    /// Opens a file as ``OpenedFile/init(_:in:)`` does.
    package typealias Open = @Sendable (_ path: String, _ folder: String?) -> Result<OpenedFile, FileFailure>

    private static let other = Mutex<Open?>(nil)

    /// Has `open` open all files of the process from now on.
    package static func leave(to open: @escaping Open) { other.withLock { $0 = open } }

    static func open(_ path: String, in folder: String?) throws(FileFailure) -> OpenedFile {
        if let open = other.withLock({ $0 }) { return try open(path, folder).get() }
        return try OpenedFile(path, in: folder)
    }
}

/// A regular file that is read in blocks of 256 KB.
///
/// A call on a dead network file system or a failing disk may never return, and no signal ends it: whoever reads is told of by
/// ``Interruption/whenReading(_:)``, and given up by who waits for it.
///
/// One thread at a time reads.
final class BlockFile {
    /// The file as it was when it was opened.
    let version: FileVersion
    /// The file's length in bytes, as of the last call; it may grow.
    private(set) var size: Int64

    private let file: OpenedFile
    private let interruption: Interruption
    private let block: UnsafeMutableRawPointer
    private var blockStart: Int64 = 0
    private var blockCount = 0

    /// Bytes read at once where reading goes on, and after a seek. Where sound and picture lie far apart in a file, most of a large block
    /// would be read for nothing.
    static let blockSize = 256 << 10, firstBlockSize = 32 << 10

    /// Opens the regular file at `path` for reading, which is relative to `folder` where one is given and leads nowhere else then.
    init(_ path: String, in folder: String? = nil, interruption: Interruption) throws(FileFailure) {
        if interruption.isOver { throw .interrupted }
        file = try FileAccess.open(path, in: folder)
        (self.interruption, version, size) = (interruption, file.version, file.version.size)
        // Where opening throws there is no deinit.
        block = .allocate(byteCount: Self.blockSize, alignment: 64)
    }

    deinit { block.deallocate() }

    /// Reads bytes from `position` on, as many as fit in `destination` or fewer.
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

    /// So many bytes from a place on; fewer at the end, nil where they cannot be read.
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
