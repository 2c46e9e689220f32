import Glibc
import KioskPlatform

/// The files of a machine below `root`, so that tests can use an artificial one. Paths begin with `/`.
struct BoxFolder: Sendable {
    /// Empty for the machine itself.
    let root: String

    /// The box below the folder `root`; `/` is this machine.
    init(_ root: String) { self.root = root.hasSuffix("/") ? String(root.dropLast()) : root }

    /// Whether it is this machine: then the kernel and systemd can answer, too.
    var isMachine: Bool { root.isEmpty }

    /// Returns the text of a file, at most 1 MB; nil if it is unreadable.
    func text(_ path: String) -> String? {
        Descriptor(opening: root + path, O_RDONLY | O_NONBLOCK)?.read(atMost: 1 << 20).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the lines of a file; none if it is unreadable.
    func lines(_ path: String) -> [Substring] { text(path)?.split(separator: "\n") ?? [] }

    /// The first word of a file.
    func word(_ path: String) -> String? { text(path)?.split { $0.isWhitespace }.first.map(String.init) }

    /// Returns the number in a file.
    func number(_ path: String) -> Int? { word(path).flatMap { Int($0) } }

    /// Returns the names in a folder that begin with `prefix`, shorter ones first, so that 2 precedes 10.
    func names(_ folder: String, _ prefix: String = "") -> [String] {
        Folder.names(in: root + folder).filter { $0.hasPrefix(prefix) }.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
    }

    /// Returns the last part of the target of a symbolic link.
    func linkName(_ path: String) -> String? { SmallFile.link(root + path)?.split(separator: "/").last.map(String.init) }

    /// Returns the status of `path`; nil if there is none. Follows links, unless `link` requests the link itself.
    func status(_ path: String, link: Bool = false) -> stat? {
        stat(at: root + path, followsLinks: !link)
    }

    /// Returns whether `path` exists, even as a dangling link.
    func exists(_ path: String) -> Bool { status(path, link: true) != nil }
}
