import Glibc

/// A lock on a folder that one process at a time has; it ends with the process, however that ends. The corresponding C function is `flock`.
struct FolderLock: ~Copyable {
    /// -1 where its file system, or its being read-only, allows no lock: who cannot lock it goes on without one.
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Takes the lock; nil where another process has it, or something else of this one.
    static func take(_ folder: String) -> FolderLock? {
        let lock = FolderLock(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        if lock.descriptor >= 0, flock(lock.descriptor, LOCK_EX | LOCK_NB) != 0, errno == EWOULDBLOCK { return nil }
        return lock
    }
}
