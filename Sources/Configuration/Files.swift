import Glibc
import KioskPlatform
import KioskVocabulary
import SystemPackage

enum Files {
    /// The name of the group that may read the file at `path`; nil where none may, and where it is root's.
    private static func groupThatReads(_ path: String) -> String? {
        guard let status = stat(at: path), status.st_mode & S_IRGRP != 0, status.st_gid != 0 else { return nil }
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
            var entry = unsafe group()
            var found: UnsafeMutablePointer<group>?
            guard unsafe getgrgid_r(status.st_gid, &entry, buffer.baseAddress!, buffer.count, &found) == 0 else { return nil }
            return unsafe found.map { unsafe String(cString: $0.pointee.gr_name) }
        }
    }

    /// The text of the file at `path`, no longer than a TOML text may be, and the folder that its relative paths are relative to. It is
    /// `called` so where it cannot be one.
    static func readText(_ path: String, called: String) throws(ConfigurationError) -> (text: [UInt8], folder: String) {
        func unreadable(_ reason: String) -> ConfigurationError {
            ConfigurationError([Complaint(path: path, position: nil, text: "cannot be read: \(reason)")])
        }
        guard let text = SmallFile.bytes(path, atMost: TOMLDocument.longestText + 1) else {
            let error = SystemError()
            switch error.code {
            case ENOENT: throw unreadable("there is no such file; give the path of another one, or create it")
            case EACCES:
                let group = groupThatReads(path).map { "use sudo, or join the group \($0): sudo usermod -aG \($0) NAME" }
                throw unreadable("permission denied; " + (group ?? "let the user the player runs as read it"))
            case EISDIR: throw unreadable("it is a folder; give the path of the file in it")
            default: throw unreadable("\(error)")
            }
        }
        guard text.count <= TOMLDocument.longestText else {
            throw unreadable("it is longer than \(TOMLDocument.longestText) bytes; this cannot be \(called)")
        }
        let folder = FilePath(workingFolder).pushing(FilePath(path)).removingLastComponent().lexicallyNormalized()
        return (text, folder.string)
    }
}
