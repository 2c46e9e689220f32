import Glibc
import Platform
import Synchronization

/// A regular file whose system calls cannot hold up the thread that reads it.
///
/// A call on a dead network file system or a dying disk may never return, and no signal ends it. So a thread of the file's own makes the calls (open, fstat,
/// access, pread, close), and the reading thread waits for it no longer than its ``Interruption`` allows. A worker that has not answered
/// by then is given up: descriptor and buffer stay with it, and it closes and frees them whenever the kernel lets it go (``Unanswered``). The file is read in blocks, so
/// that the hand-over costs little; seeking is arithmetic.
///
/// One thread at a time reads.
final class BoundedFile {
    /// Why a file could not be opened.
    enum Failure: Error {
        /// errno of the call that failed.
        case system(Int32)
        case isDirectory, notARegularFile, isEmpty, notReadable
        /// No answer within the time allowed, or it was cancelled.
        case interrupted
    }

    /// What the last call said of the file's length; it may grow.
    private(set) var size: Int64
    private(set) var position: Int64 = 0

    private let worker: FileWorker
    private let interruption: Interruption
    /// Nil once the worker that has it was given up.
    private var block: FileBlock?
    private var blockStart: Int64 = 0
    private var blockCount = 0

    /// Read where reading goes on, and after a seek: where the two sides of a file are far apart, most of a large block would be read for nothing.
    static let blockSize = 256 << 10, firstBlockSize = 32 << 10

    /// Opens the regular file at `path` for reading.
    static func open(_ path: String, interruption: Interruption) throws(Failure) -> BoundedFile {
        if interruption.isOver || Unanswered.isHopeless(path) { throw .interrupted }
        let worker = FileWorker(path: path, interruption: interruption)
        guard let answer = worker.ask(.open) else { throw .interrupted }
        switch answer {
        case .opened(let size): return BoundedFile(worker, interruption, size: size)
        case .refused(let failure):
            worker.end()
            throw failure
        // A fault of ours, whatever a file or a disk does: ``FileWorker`` answers each question with its own kind.
        case .read: fatalError("a worker answers what it was asked")
        }
    }

    private init(_ worker: FileWorker, _ interruption: Interruption, size: Int64) {
        self.worker = worker
        self.interruption = interruption
        self.size = size
        block = FileBlock(capacity: Self.blockSize)
    }

    deinit { worker.end() }

    /// What became of a ``read(into:count:)``.
    enum Reading: Equatable {
        /// So many bytes, at least one.
        case bytes(Int)
        case end
        case failed(errno: Int32)
        /// No answer within the time allowed, or it was cancelled; so is every later read.
        case interrupted
    }

    /// Reads up to `count` bytes from where it stands; blocks at most as long as the interruption allows.
    func read(into destination: UnsafeMutableRawPointer, count: Int) -> Reading {
        if position < blockStart || position >= blockStart + Int64(blockCount) {
            guard let block = block.take(), !interruption.isOver else { return .interrupted }
            let isNext = blockCount > 0 && position == blockStart + Int64(blockCount)
            blockCount = 0
            guard let answer = worker.ask(.read(block, offset: position, count: isNext ? Self.blockSize : Self.firstBlockSize))
            else { return .interrupted }
            self.block = block
            guard case .read(let result, let size) = answer else { fatalError("a worker answers what it was asked") }
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

    /// Goes to `position`, which may lie behind the end; false where it is negative.
    func seek(to position: Int64) -> Bool {
        if position < 0 { return false }
        self.position = position
        return true
    }
}

/// Memory for what is read. It belongs to the reading thread, and to the worker from the question to the answer.
private final class FileBlock: @unchecked Sendable {
    // Sendable because only one thread has it at a time, handed over with the question and the answer; a worker that was given up keeps it.
    let bytes: UnsafeMutableRawPointer
    init(capacity: Int) { bytes = .allocate(byteCount: capacity, alignment: 64) }
    deinit { bytes.deallocate() }
}

/// The thread that makes a file's system calls, and what it is asked.
private final class FileWorker: Sendable {
    enum Question: Sendable {
        case open
        case read(FileBlock, offset: Int64, count: Int)
    }

    enum Answer: Sendable {
        case opened(size: Int64)
        case refused(BoundedFile.Failure)
        /// Bytes read or a negative errno; the file's size, or -1.
        case read(Int, size: Int64)
    }

    private enum State {
        case idle
        case asked(Question)
        case answered(Answer)
        /// Nobody waits for the answer any more.
        case givenUp
        case ended
    }

    private let path: String
    private let interruption: Interruption
    private let state = Monitor(State.idle)

    init(path: String, interruption: Interruption) {
        self.path = path
        self.interruption = interruption
        Thread("file") { [self] in run() }.detach()
    }

    /// The answer to `question`; nil when it did not come in time: the worker is given up then. For the reading thread.
    func ask(_ question: Question) -> Answer? {
        let began = HostTime.now
        state.signal { $0 = .asked(question) }
        let answer = interruption.wait { state.withLock { Self.takeAnswer(&$0) } }
        if let answer { return answer }
        return state.withLock { state in
            if let late = Self.takeAnswer(&state) { return late }
            state = .givenUp
            Unanswered.add(path, since: began)
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
            if case .givenUp = state { return }
            state = .ended
        }
    }

    // MARK: The thread

    private func run() {
        var descriptor: Int32 = -1
        while let question = next() {
            let answer = perform(question, &descriptor)
            let isWanted = state.withLock { state in
                if case .givenUp = state { return false }
                state = .answered(answer)
                return true
            }
            if !isWanted { break }
            interruption.wake()
        }
        if descriptor >= 0 { close(descriptor) }
        // It may have been given up before it took up what it was asked.
        if state.withLock({ if case .givenUp = $0 { true } else { false } }) { Unanswered.remove(path) }
    }

    private func next() -> Question? {
        state.wait { state -> Question?? in
            switch state {
            case .asked(let question): question
            case .givenUp, .ended: .some(nil)
            case .idle, .answered: nil
            }
        } ?? nil
    }

    private func perform(_ question: Question, _ descriptor: inout Int32) -> Answer {
        switch question {
        case .open: return open(&descriptor)
        case .read(let block, let offset, let count):
            var result: Int
            repeat { result = pread(descriptor, block.bytes, count, off_t(offset)) } while result < 0 && errno == EINTR
            if result < 0 { result = -Int(errno) }
            return .read(result, size: information(descriptor).map { Int64($0.st_size) } ?? -1)
        }
    }

    private func open(_ descriptor: inout Int32) -> Answer {
        var found = stat()
        guard stat(path, &found) == 0 else { return .refused(.system(errno)) }
        switch found.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: return .refused(.isDirectory)
        default: return .refused(.notARegularFile)  // a FIFO would block, a device may never end
        }
        if found.st_size == 0 { return .refused(.isEmpty) }
        if access(path, R_OK) != 0 { return .refused(.notReadable) }
        descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return .refused(.system(errno)) }
        guard let opened = information(descriptor), opened.st_mode & S_IFMT == S_IFREG else { return .refused(.notARegularFile) }
        return .opened(size: Int64(opened.st_size))
    }

    private func information(_ descriptor: Int32) -> stat? {
        var information = stat()
        return fstat(descriptor, &information) == 0 ? information : nil
    }
}

/// The calls that nobody waits for any more and that have not returned. Each holds a thread, so there may not be more of them with each round of a playlist:
/// a file that has had its time is not asked again until its call returns, and neither is a folder that holds several.
enum Unanswered {
    private struct Call {
        var path: String
        var since: HostTime
    }

    private static let calls = Mutex<[Call]>([])
    /// A folder with so many has more that hangs than a file.
    private static let folderLimit = 4
    /// More threads are not spent on it.
    private static let limit = 256

    /// Whether a call on the file at `path` has not returned.
    static func holds(_ path: String) -> Bool { calls.withLock { $0.contains { $0.path == path } } }

    static func add(_ path: String, since: HostTime) { calls.withLock { $0.append(Call(path: path, since: since)) } }

    static func remove(_ path: String) {
        calls.withLock { calls in
            if let index = calls.firstIndex(where: { $0.path == path }) { calls.remove(at: index) }
        }
    }

    /// Whether a file is not to be asked now. Calls that were given up for another reason than their time do not count at first: most of them return.
    static func isHopeless(_ path: String) -> Bool {
        let limitTime = HostTime.now - readingTimeLimit
        return calls.withLock { calls in
            if calls.isEmpty { return false }
            if calls.count >= limit { return true }
            let stuck = calls.filter { $0.since <= limitTime }
            return stuck.contains { $0.path == path } || stuck.count { folder($0.path) == folder(path) } >= folderLimit
        }
    }

    private static func folder(_ path: String) -> Substring { path[..<(path.lastIndex(of: "/") ?? path.startIndex)] }
}
