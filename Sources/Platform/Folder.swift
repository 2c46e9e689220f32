import Glibc

/// What lies in a folder, as it is read. Blocks as the file system does. The corresponding C functions are `opendir`, `readdir` and `fstatat`.
package struct Folder: ~Copyable {
    private let stream: OpaquePointer

    /// Opens it; nil with `errno`, ELOOP or ENOTDIR where a link lies there and none is followed.
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

    /// The names, unsorted, `.` and `..` left out; and which of them are symbolic links, as far as the file system tells. One that is not
    /// UTF-8 is nil. Once.
    package func read() -> [(name: String?, isLink: Bool)] {
        var names: [(name: String?, isLink: Bool)] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(validating: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != ".", name != ".." { names.append((name, entry.pointee.d_type == UInt8(DT_LNK))) }
        }
        return names
    }

    /// What lies in it under a name; nil with `errno`.
    package func status(_ name: String, followsLinks: Bool = true) -> stat? {
        var status = stat()
        return fstatat(dirfd(stream), name, &status, followsLinks ? 0 : AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }

    /// The names in a folder, unsorted; none where it cannot be read.
    package static func names(in path: String) -> [String] { Folder(path)?.read().compactMap(\.name) ?? [] }

    /// What lies in a folder, as ``names(in:)``; of links what they lead to.
    package static func entries(in path: String) -> [(name: String, status: stat)] {
        guard let folder = Folder(path) else { return [] }
        return folder.read().compactMap { entry in entry.name.flatMap { name in folder.status(name).map { (name, $0) } } }
    }

    /// The numbers behind `prefix` in the names of a folder, in their order: of devices.
    package static func numbers(of prefix: String, in path: String) -> [Int] {
        names(in: path).compactMap { $0.hasPrefix(prefix) ? Int($0.dropFirst(prefix.count)) : nil }.sorted()
    }

    /// The folder that `path` lies in; `.` where it says none.
    package static func of(_ path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// Makes a folder, and those above it; nil, or why it cannot be and which.
    package static func make(_ path: String, mode: mode_t = 0o755) -> (path: String, error: SystemError)? {
        var made = ""
        for part in path.split(separator: "/") {
            made += "/" + part
            if mkdir(made, mode) != 0, errno != EEXIST, access(made, X_OK) != 0 { return (made, SystemError()) }
        }
        return nil
    }
}

/// The folder that relative paths are relative to; `/` where it has been deleted. The corresponding C function is `getcwd`.
package var workingFolder: String {
    guard let path = getcwd(nil, 0) else { return "/" }
    defer { free(path) }
    return String(cString: path)
}
