import Glibc

/// Has the names in the folder of `path` written to the disk: what was made, renamed or removed in it is so after a power cut, too. Where the
/// file system cannot promise that nothing is done. Blocks. The corresponding C function is `fsync`.
package func syncFolder(of path: String) {
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
}
