import Glibc
import KioskPlatform
import KioskVocabulary
import SystemPackage

extension TableRow {
    /// Parses `text`, the content of the file `path`; relative sources start from `folder`, an absolute path.
    ///
    /// - Throws: every complaint about the text.
    static func parse(
        _ text: [UInt8], path: String, folder: String, check: (Self, ComplaintList) -> Void
    ) throws(ConfigurationError) -> Self {
        let syntax = readSyntax(text, path: path)
        let complaints = ComplaintList(Self.self, path: path, syntax.complaints)
        var row = Self()
        if let root = syntax.root, case .table(let entries) = root.kind {
            TableReader(entries, folder: folder, complaints).read(&row)
            check(row, complaints)
        }
        if !complaints.all.isEmpty { throw ConfigurationError(complaints.all) }
        return row
    }
}

extension Configuration {
    /// Loads the file at `path`, as complaints name it. Blocks for as long as the file system does.
    ///
    /// - Throws: every complaint about the file, or why it is unreadable, with advice.
    package static func load(_ path: String) throws(ConfigurationError) -> Configuration {
        let (text, folder) = try Files.readText(path, called: "a kiosk.conf")
        return try parse(text, path: path, folder: folder)
    }

    /// Parses `text`, the content of the file `path`; relative sources start from `folder`, an absolute path.
    ///
    /// - Throws: every complaint about the text.
    package static func parse(_ text: [UInt8], path: String, folder: String) throws(ConfigurationError) -> Configuration {
        var configuration = try parse(text, path: path, folder: folder) { _, _ in }
        configuration.path = path
        return configuration
    }

    /// Returns the control socket of the file at `path`, as far as possible, although the file has mistakes: a player that read it before
    /// them still listens there. If the text cannot be parsed, only its part before the first mistake counts. Blocks for as long as the
    /// file system does.
    package static func controlSocket(inDamaged path: String) -> ControlSocketChoice {
        guard let (text, folder) = try? Files.readText(path, called: "a kiosk.conf") else { return Control().socket }
        let syntax = readSyntax(text, path: path)
        var root = syntax.root
        if root == nil, let line = syntax.complaints.last?.position?.line {
            let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            root = try? TOMLDocument.parse(Array(lines.prefix(line - 1).joined(separator: [UInt8(ascii: "\n")])))
        }
        var configuration = Configuration()
        guard let root, case .table(let entries) = root.kind else { return Control().socket }
        let complaints = ComplaintList(Configuration.self, path: path, [])
        TableReader(entries.filter { $0.key == "control" }, folder: folder, complaints).read(&configuration)
        return configuration.control.socket
    }
}

enum Files {
    /// Returns the name of the group that may read the file at `path`; nil if none may, or only root's.
    private static func groupThatReads(_ path: String) -> String? {
        guard let status = stat(at: path), status.st_mode & S_IRGRP != 0, status.st_gid != 0 else { return nil }
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
            var entry = unsafe group()
            var found: UnsafeMutablePointer<group>?
            guard unsafe getgrgid_r(status.st_gid, &entry, buffer.baseAddress!, buffer.count, &found) == 0 else { return nil }
            return unsafe found.map { unsafe String(cString: $0.pointee.gr_name) }
        }
    }

    /// Returns the text of the file at `path`, up to the longest TOML text, and the folder that its relative paths start from. A longer
    /// file cannot be `called` so, and the error says that.
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
                throw unreadable("permission denied; " + (group ?? "let the player's user read the file"))
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
