import KioskVocabulary

extension TableRow {
    /// Reads `text`, which stands in the file `path`; relative sources are relative to `folder`, an absolute path.
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
    /// Reads the file at `path`; complaints name it just so. Blocks for as long as the file system does.
    ///
    /// - Throws: every complaint about the file, or that it cannot be read and what to do about it.
    package static func load(_ path: String) throws(ConfigurationError) -> Configuration {
        let (text, folder) = try Files.readText(path, called: "a kiosk.conf")
        return try parse(text, path: path, folder: folder)
    }

    /// Reads `text`, which stands in the file `path`; relative sources are relative to `folder`, an absolute path.
    ///
    /// - Throws: every complaint about the text.
    package static func parse(_ text: [UInt8], path: String, folder: String) throws(ConfigurationError) -> Configuration {
        var configuration = try parse(text, path: path, folder: folder) { _, _ in }
        configuration.path = path
        return configuration
    }

    /// What the file at `path` says of the control socket, if it can be told, although the file has mistakes: a player that read it before these were made
    /// still listens there. Where the text cannot be read at all it is what stands before the first mistake. Blocks for as long as the file system does.
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
