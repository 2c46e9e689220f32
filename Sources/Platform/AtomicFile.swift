import Glibc

/// Writes files that others may read at any time: they see the complete old or new content.
package enum AtomicFile {
    /// Writes a draft beside `path` and renames it; returns the error, or nil. Blocks as the file system does.
    ///
    /// - Parameters:
    ///   - mode: the file's mode, whatever the umask; nil applies the umask.
    ///   - draft: the draft's path, by default `path.tmp`; an existing file there is deleted.
    ///   - isSynced: whether the old or the new content must also survive a power cut.
    ///   - replaces: whether to replace an existing file; otherwise it causes the error EEXIST.
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

    /// Writes a text, likewise.
    package static func write(_ path: String, _ text: String, mode: mode_t?, isSynced: Bool = false, replaces: Bool = true) -> SystemError?
    {
        write(path, Array(text.utf8), mode: mode, isSynced: isSynced, replaces: replaces)
    }
}

/// Syncs the folder of `path` to the disk, so that new, renamed and removed names survive a power cut. Does nothing on file systems
/// without this guarantee. Blocks. The corresponding C function is `fsync`.
package func syncFolder(of path: String) {
    if let folder = Descriptor(opening: Folder.of(path), O_RDONLY | O_DIRECTORY) { fsync(folder.raw) }
}
