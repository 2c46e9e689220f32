import Glibc

/// Files that others read at any time: they see the old content or the new one, whole.
package enum AtomicFile {
    /// Writes to a draft beside `path` and gives that its name; why it cannot be done. Blocks as the file system does.
    ///
    /// - Parameters:
    ///   - mode: the file's, whatever the umask says; nil leaves it to that.
    ///   - draft: its path, `path.tmp` unless given. What lies there goes.
    ///   - isSynced: whether a power cut leaves the old content or the new one, too.
    ///   - replaces: whether what has the name goes; else that is the error EEXIST.
    package static func write(
        _ path: String, _ bytes: [UInt8], mode: mode_t?, draft: String? = nil, isSynced: Bool = false, replaces: Bool = true
    ) -> SystemError? {
        let draft = draft ?? path + ".tmp"
        unlink(draft)
        guard let file = Descriptor(opening: draft, O_WRONLY | O_CREAT | O_EXCL, mode: mode ?? 0o666) else { return SystemError() }
        let isWritten =
            (mode.map { fchmod(file.raw, $0) == 0 } ?? true) && bytes.withUnsafeBytes { file.write($0) }
            && (!isSynced || fsync(file.raw) == 0) && (replaces ? rename(draft, path) : link(draft, path)) == 0
        let error = isWritten ? nil : SystemError()
        if !isWritten || !replaces { unlink(draft) }
        if isWritten, isSynced { syncFolder(of: path) }
        return error
    }

    /// The same with a text.
    package static func write(_ path: String, _ text: String, mode: mode_t?, isSynced: Bool = false, replaces: Bool = true) -> SystemError?
    {
        write(path, Array(text.utf8), mode: mode, isSynced: isSynced, replaces: replaces)
    }
}

/// Has the names in the folder of `path` written to the disk: what was made, renamed or removed in it is so after a power cut, too. Where the
/// file system cannot promise that nothing is done. Blocks. The corresponding C function is `fsync`.
package func syncFolder(of path: String) {
    if let folder = Descriptor(opening: Folder.of(path), O_RDONLY | O_DIRECTORY) { fsync(folder.raw) }
}
