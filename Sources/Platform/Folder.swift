import Glibc

/// An open folder, for reading its entries. Blocks as the file system does. The corresponding C functions are `opendir`, `readdir` and
/// `fstatat`.
package struct Folder: ~Copyable {
    private let stream: OpaquePointer

    /// Opens a folder; nil with `errno`: ELOOP or ENOTDIR for a link that is not followed.
    package init?(_ path: String, followsLinks: Bool = true) {
        var stream = followsLinks ? opendir(path) : nil
        if !followsLinks {
            let raw = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
            if raw >= 0 { stream = fdopendir(raw) }
        }
        guard let stream else { return nil }
        self.stream = stream
    }

    deinit {
        let code = errno
        closedir(stream)
        errno = code
    }

    /// Reads the names, unsorted, without `.` and `..`; and whether each is a symbolic link, if the file system tells. A name that is not
    /// UTF-8 is nil. Call once.
    package func read() -> [(name: String?, isLink: Bool)] {
        var names: [(name: String?, isLink: Bool)] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(validating: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != ".", name != ".." { names.append((name, entry.pointee.d_type == UInt8(DT_LNK))) }
        }
        return names
    }

    /// Returns the status of a name in the folder; nil with `errno`.
    package func status(_ name: String, followsLinks: Bool = true) -> stat? {
        var status = stat()
        return fstatat(dirfd(stream), name, &status, followsLinks ? 0 : AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }

    /// Returns the names in a folder, unsorted; none if it is unreadable.
    package static func names(in path: String) -> [String] { Folder(path)?.read().compactMap(\.name) ?? [] }

    /// Returns the names in a folder with their status, following links.
    package static func entries(in path: String) -> [(name: String, status: stat)] {
        guard let folder = Folder(path) else { return [] }
        return folder.read().compactMap { entry in entry.name.flatMap { name in folder.status(name).map { (name, $0) } } }
    }

    /// Returns the numbers after `prefix` in the names of a folder, sorted, for devices.
    package static func numbers(of prefix: String, in path: String) -> [Int] {
        names(in: path).compactMap { $0.hasPrefix(prefix) ? Int($0.dropFirst(prefix.count)) : nil }.sorted()
    }

    /// Returns the folder of `path`; `.` if it names none.
    package static func of(_ path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// Makes a folder and its parents. Returns nil, or the failed path and the error.
    package static func make(_ path: String, mode: mode_t = 0o755) -> (path: String, error: SystemError)? {
        var made = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            made += (made.isEmpty || made == "/" ? "" : "/") + part
            if mkdir(made, mode) != 0, errno != EEXIST, access(made, X_OK) != 0 { return (made, SystemError()) }
        }
        return nil
    }
}

/// The folder that relative paths start from; `/` if it has been deleted. The corresponding C function is `getcwd`.
package var workingFolder: String {
    guard let path = getcwd(nil, 0) else { return "/" }
    defer { free(path) }
    return String(cString: path)
}
