import Glibc

/// Files that others read at any time: they see the old text or the new one, whole.
package enum AtomicFile {
    /// Writes to `path.tmp` and renames that; why it cannot be done. Where it is synced a power cut leaves the old text or the new one, too.
    package static func write(_ path: String, _ text: String, mode: mode_t, isSynced: Bool = false) -> String? {
        let partial = path + ".tmp"
        let descriptor = open(partial, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else { return String(cString: strerror(errno)) }
        let bytes = Array(text.utf8)
        // Whatever the umask says.
        let isWritten =
            fchmod(descriptor, mode) == 0 && bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } == bytes.count
            && (!isSynced || fsync(descriptor) == 0)
        var code = isWritten ? 0 : errno == 0 ? ENOSPC : errno
        close(descriptor)
        if code == 0, rename(partial, path) != 0 { code = errno }
        if code != 0 { unlink(partial) } else if isSynced { syncFolder(of: path) }
        return code == 0 ? nil : String(cString: strerror(code))
    }

    /// The first `limit` bytes of a file as text; nil where it cannot be read.
    package static func read(_ path: String, limit: Int) -> String? {
        guard let stream = fopen(path, "re") else { return nil }
        defer { fclose(stream) }
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = fread(&bytes, 1, limit, stream)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
