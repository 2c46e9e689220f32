// What is asked of the file system, and the pointers that takes; swift-system has no listing of folders and no working folder.
import Glibc
import KioskPlatform
import KioskVocabulary
import SystemPackage

/// The system refused.
struct FileError: Error {
    /// Why.
    var errno: Errno
}

enum Files {
    /// The first `limit` bytes of the file at `path`; all of it when it is shorter.
    static func read(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
        try refused {
            let file = try FileDescriptor.open(FilePath(path), .readOnly, options: .closeOnExec)
            return try file.closeAfter {
                try unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
                    while count < limit {
                        let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                        let read = unsafe try file.read(into: rest)
                        if read == 0 { break }
                        count += read
                    }
                }
            }
        }
    }

    /// Names in the folder at `path`, unsorted, `.` and `..` left out; and which of them are symbolic links, as far as the file system tells.
    /// A name that is not UTF-8 comes as nil.
    static func list(_ path: String) throws(FileError) -> [(name: String?, isLink: Bool)] {
        guard let folder = unsafe opendir(path) else { throw FileError(errno: Errno(rawValue: errno)) }
        defer { unsafe _ = closedir(folder) }
        var names: [(name: String?, isLink: Bool)] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(validatingCString: $0) }
            }
            if name != ".", name != ".." { names.append((name, unsafe entry.pointee.d_type == UInt8(DT_LNK))) }
        }
        return names
    }

    /// Where the symbolic link at `path` leads; nil where there is none.
    static func link(_ path: FilePath) -> FilePath? {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX) + 1) { buffer in
            let count = unsafe readlink(path.string, buffer.baseAddress!, Int(PATH_MAX))
            guard count > 0 else { return nil }
            unsafe buffer[count] = 0
            return unsafe FilePath(platformString: buffer.baseAddress!)
        }
    }

    /// The name of the group that may read the file at `path`; nil where none may, and where it is root's.
    private static func groupThatReads(_ path: String) -> String? {
        guard let status = try? Stat(FilePath(path)), status.permissions.contains(.groupRead), status.groupID.rawValue != 0 else {
            return nil
        }
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
            var entry = unsafe group()
            var found: UnsafeMutablePointer<group>?
            guard unsafe getgrgid_r(status.groupID.rawValue, &entry, buffer.baseAddress!, buffer.count, &found) == 0 else { return nil }
            return unsafe found.map { unsafe String(cString: $0.pointee.gr_name) }
        }
    }

    /// What is at `path`, and which version of it; of a link what it leads to, or the link itself.
    static func look(_ path: String, followsLinks: Bool = true) throws(FileError) -> (type: FileType, version: FileVersion) {
        try refused {
            let status = try Stat(FilePath(path), followTargetSymlink: followsLinks)
            let modified = Int64(status.st_mtim.tv_sec).multipliedReportingOverflow(by: 1_000_000_000).partialValue
            return (
                status.type,
                FileVersion(
                    device: UInt64(status.deviceID.rawValue), inode: UInt64(status.inode.rawValue), size: status.size,
                    modified: modified &+ Int64(status.st_mtim.tv_nsec))
            )
        }
    }

    /// The text of the file at `path`, no longer than a TOML text may be, and the folder that its relative paths are relative to. It is
    /// `called` so where it cannot be one.
    static func readText(_ path: String, called: String) throws(ConfigurationError) -> (text: [UInt8], folder: String) {
        func unreadable(_ reason: String) -> ConfigurationError {
            ConfigurationError([Complaint(path: path, position: nil, text: "cannot be read: \(reason)")])
        }
        let text: [UInt8]
        do throws(FileError) { text = try read(path, limit: TOMLDocument.longestText + 1) } catch {
            switch error.errno {
            case .noSuchFileOrDirectory: throw unreadable("there is no such file; give the path of another one, or create it")
            case .permissionDenied:
                let group = groupThatReads(path).map { "use sudo, or join the group \($0): sudo usermod -aG \($0) NAME" }
                throw unreadable("permission denied; " + (group ?? "let the user the player runs as read it"))
            case .isDirectory: throw unreadable("it is a folder; give the path of the file in it")
            default: throw unreadable("\(error.errno)")
            }
        }
        guard text.count <= TOMLDocument.longestText else {
            throw unreadable("it is longer than \(TOMLDocument.longestText) bytes; this cannot be \(called)")
        }
        let folder = FilePath(workingFolder).pushing(FilePath(path)).removingLastComponent().lexicallyNormalized()
        return (text, folder.string)
    }

    private static func refused<Result>(_ body: () throws -> Result) throws(FileError) -> Result {
        do { return try body() } catch let error as Errno { throw FileError(errno: error) } catch { preconditionFailure("\(error)") }
    }
}
