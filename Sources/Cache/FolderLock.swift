import Glibc
import KioskPlatform

/// A lock on a folder that one process at a time has; it ends with the process, however that ends. The corresponding C function is `flock`.
struct FolderLock: ~Copyable {
    /// -1 where its file system, or its being read-only, allows no lock: who cannot lock it goes on without one.
    private let file: Descriptor

    /// Takes the lock; nil where another process has it, or something else of this one.
    static func take(_ folder: String) -> FolderLock? {
        let file = Descriptor(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        if file.raw >= 0, !file.lock(), errno == EWOULDBLOCK { return nil }
        return FolderLock(file: file)
    }
}
