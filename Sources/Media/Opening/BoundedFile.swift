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
    func read(into bytes: UnsafeMutableRawPointer, count: Int, at offset: Int64) -> (count: Int, size: Int64) {
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

    /// Told before each call of the system that reads from a file, and after it; and of each wait for what comes over the network.
    package typealias Watch = @Sendable (_ isReading: Bool) -> Void

    private static let other = Mutex<(open: Open, watch: Watch)?>(nil)
    static var left: (open: Open, watch: Watch)? { other.withLock { $0 } }

    /// Has `open` open all files of the process from now on. `watch` is called on threads that read from them.
    package static func leave(to open: @escaping Open, watch: @escaping Watch) { other.withLock { $0 = (open, watch) } }
}

/// A regular file whose system calls cannot block the thread that reads it.
///
/// A call on a dead network file system or a failing disk may never return, and no signal ends it. So a worker thread of each file makes
/// the calls (open, fstat, access, pread, close), and the reading thread waits for it no longer than its ``Interruption`` allows. A worker
/// that has not answered by then is abandoned: it keeps the descriptor and the buffer, and closes and frees them when its call returns
/// (``AbandonedCalls``). The file is read in blocks of 256 KB, so that the hand-over between the threads costs little. Seeking sets a
/// number and makes no call.
///
/// One thread at a time reads.
final class BoundedFile {
    /// The file as it was when it was opened.
    let version: FileVersion
    /// The file's length in bytes, as of the last call; it may grow.
    private(set) var size: Int64
    private(set) var position: Int64 = 0

    /// Who makes its calls.
    private enum Caller {
        case worker(FileWorker)
        /// The reading thread.
        case reader(OpenedFile, FileAccess.Watch)
    }

    private let caller: Caller
    private let interruption: Interruption
    /// Nil once the worker that has it was abandoned.
    private var block: FileBlock?
    private var blockStart: Int64 = 0
    private var blockCount = 0

    /// Bytes read at once where reading goes on, and after a seek. Where sound and picture lie far apart in a file, most of a large block
    /// would be read for nothing.
    static let blockSize = 256 << 10, firstBlockSize = 32 << 10

    /// Opens the regular file at `path` for reading, which is relative to `folder` where one is given and leads nowhere else then. Blocks at most as
    /// long as the interruption allows.
    static func open(_ path: String, in folder: String? = nil, interruption: Interruption) throws(FileFailure) -> BoundedFile {
        let whole = folder.map { $0 + "/" + path } ?? path
        if interruption.isOver { throw .interrupted }
        if let left = FileAccess.left {
            let file = try left.open(path, folder).get()
            return BoundedFile(.reader(file, left.watch), interruption, file.version)
        }
        if AbandonedCalls.block(whole) { throw .interrupted }
        let worker = FileWorker(path: path, in: folder, whole: whole, interruption: interruption)
        guard let answer = worker.ask(.open) else { throw .interrupted }
        switch answer {
        case .opened(let version): return BoundedFile(.worker(worker), interruption, version)
        case .refused(let failure):
            worker.end()
            throw failure
        // A bug in this file, whatever a file or a disk does: ``FileWorker`` answers each request with its own kind.
        case .read: fatalError("a worker answers what it was asked")
        }
    }

    private init(_ caller: Caller, _ interruption: Interruption, _ version: FileVersion) {
        self.caller = caller
        self.interruption = interruption
        (self.version, size) = (version, version.size)
        block = FileBlock(capacity: Self.blockSize)
    }

    deinit { if case .worker(let worker) = caller { worker.end() } }

    /// The result of ``read(into:count:)``.
    enum ReadResult: Equatable {
        /// The number of bytes read, at least one.
        case bytes(Int)
        case end
        case failed(errno: Int32)
        /// No answer within the time allowed, or it was cancelled; so is every later read.
        case interrupted
    }

    /// Reads up to `count` bytes at ``position``. Blocks at most as long as the interruption allows.
    func read(into destination: UnsafeMutableRawPointer, count: Int) -> ReadResult {
        if position < blockStart || position >= blockStart + Int64(blockCount) {
            guard let block = block.take(), !interruption.isOver else { return .interrupted }
            let isNext = blockCount > 0 && position == blockStart + Int64(blockCount)
            blockCount = 0
            guard let (result, size) = read(block, count: isNext ? Self.blockSize : Self.firstBlockSize) else { return .interrupted }
            self.block = block
            if size >= 0 { self.size = size }
            if result < 0 { return .failed(errno: Int32(-result)) }
            if result == 0 { return .end }
            (blockStart, blockCount) = (position, result)
        }
        guard let block else { return .interrupted }
        let offset = Int(position - blockStart)
        let given = min(count, blockCount - offset)
        destination.copyMemory(from: block.bytes + offset, byteCount: given)
        position += Int64(given)
        return .bytes(given)
    }

    /// Reads bytes at ``position``: how many, or a negative errno, and the file's size; nil where no answer came in time.
    private func read(_ block: FileBlock, count: Int) -> (Int, size: Int64)? {
        switch caller {
        case .reader(let file, let watch):
            watch(true)
            defer { watch(false) }
            return file.read(into: block.bytes, count: count, at: position)
        case .worker(let worker):
            guard let answer = worker.ask(.read(block, offset: position, count: count)) else { return nil }
            guard case .read(let result, let size) = answer else { fatalError("a worker answers what it was asked") }
            return (result, size)
        }
    }

    /// Sets ``position``, which may lie behind the end; false where it is negative.
    func seek(to position: Int64) -> Bool {
        if position < 0 { return false }
        self.position = position
        return true
    }
}

/// Memory for what is read. It belongs to the reading thread, and to the worker from the request to the answer.
private final class FileBlock: @unchecked Sendable {
    // Sendable because only one thread has it at a time: it is handed over with the request and with the answer. An abandoned worker keeps
    // it.
    let bytes: UnsafeMutableRawPointer
    init(capacity: Int) { bytes = .allocate(byteCount: capacity, alignment: 64) }
    deinit { bytes.deallocate() }
}

/// The thread that makes a file's system calls, and the request it works on.
private final class FileWorker: Sendable {
    enum Request: Sendable {
        case open
        case read(FileBlock, offset: Int64, count: Int)
    }

    enum Answer: Sendable {
        case opened(FileVersion)
        case refused(FileFailure)
        /// Bytes read or a negative errno; the file's size, or -1.
        case read(Int, size: Int64)
    }

    private enum State {
        case idle
        case asked(Request)
        case answered(Answer)
        /// No thread waits for the answer any more.
        case abandoned
        case ended
    }

    private let path: String
    /// What the path is relative to, and may not lead out of; nil where it may lead anywhere.
    private let folder: String?
    private let whole: String
    private let interruption: Interruption
    private let state = Monitor(State.idle)

    init(path: String, in folder: String?, whole: String, interruption: Interruption) {
        (self.path, self.folder, self.whole) = (path, folder, whole)
        self.interruption = interruption
        Thread("file") { [self] in run() }.detach()
    }

    /// The answer to `request`; nil when it did not come in time: the worker is abandoned then. For the reading thread.
    func ask(_ request: Request) -> Answer? {
        let began = HostTime.now
        state.signal { $0 = .asked(request) }
        let answer = interruption.wait { state.withLock { Self.takeAnswer(&$0) } }
        if let answer { return answer }
        return state.withLock { state in
            if let late = Self.takeAnswer(&state) { return late }
            state = .abandoned
            AbandonedCalls.add(whole, since: began)
            return nil
        }
    }

    private static func takeAnswer(_ state: inout State) -> Answer? {
        guard case .answered(let answer) = state else { return nil }
        state = .idle
        return answer
    }

    /// Closes the file and ends the thread; returns at once.
    func end() {
        state.signal { state in
            if case .abandoned = state { return }
            state = .ended
        }
    }

    // MARK: The thread

    private func run() {
        var file: OpenedFile?
        while let request = next() {
            let answer = perform(request, &file)
            let isWanted = state.withLock { state in
                if case .abandoned = state { return false }
                state = .answered(answer)
                return true
            }
            if !isWanted { break }
            interruption.wake()
        }
        file = nil
        // It may also have been abandoned before it began with the request.
        if state.withLock({ if case .abandoned = $0 { true } else { false } }) { AbandonedCalls.remove(whole) }
    }

    private func next() -> Request? {
        state.wait { state -> Request?? in
            switch state {
            case .asked(let request): request
            case .abandoned, .ended: .some(nil)
            case .idle, .answered: nil
            }
        } ?? nil
    }

    private func perform(_ request: Request, _ file: inout OpenedFile?) -> Answer {
        switch request {
        case .open:
            do throws(FileFailure) {
                let opened = try OpenedFile(path, in: folder)
                file = opened
                return .opened(opened.version)
            } catch {
                return .refused(error)
            }
        case .read(let block, let offset, let count):
            let (result, size) = file?.read(into: block.bytes, count: count, at: offset) ?? (-Int(EBADF), -1)
            return .read(result, size: size)
        }
    }
}

/// The system calls that no thread waits for any more and that have not returned. Each holds a thread, so their number must not grow with
/// each round of a playlist: a file whose call was abandoned after its time limit is not opened again until that call returns, no file
/// of a folder in which several are, and none of the same network share: there one call that hangs is a server that does not answer.
enum AbandonedCalls {
    private struct Call {
        var path: String
        var since: HostTime
    }

    private static let calls = Mutex<[Call]>([])
    /// From so many on it is the folder that hangs, and not only its files.
    private static let folderLimit = 4
    /// From so many on no file is opened at all.
    private static let limit = 256

    /// Whether a call on the file at `path` has not returned.
    static func contains(_ path: String) -> Bool { calls.withLock { $0.contains { $0.path == path } } }

    static func add(_ path: String, since: HostTime) { calls.withLock { $0.append(Call(path: path, since: since)) } }

    static func remove(_ path: String) {
        calls.withLock { calls in
            if let index = calls.firstIndex(where: { $0.path == path }) { calls.remove(at: index) }
        }
    }

    /// Whether they forbid opening the file at `path` now. A call that was cancelled counts only once it has taken longer than
    /// ``readingTimeLimit``: most of these return soon.
    static func block(_ path: String) -> Bool {
        let limitTime = HostTime.now - readingTimeLimit
        return calls.withLock { calls in
            if calls.isEmpty { return false }
            if calls.count >= limit { return true }
            let stuck = calls.filter { $0.since <= limitTime }
            if stuck.isEmpty { return false }
            if stuck.contains(where: { $0.path == path }) || stuck.count(where: { folder($0.path) == folder(path) }) >= folderLimit {
                return true
            }
            let mounts = NetworkMounts()
            return mounts.mount(of: path).map { mount in stuck.contains { mounts.mount(of: $0.path) == mount } } ?? false
        }
    }

    private static func folder(_ path: String) -> Substring { path[..<(path.lastIndex(of: "/") ?? path.startIndex)] }
}
