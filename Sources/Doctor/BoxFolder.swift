import Glibc
import KioskPlatform

/// The files of a box: those below `root`, so that tests can make a box up. Paths begin with `/`.
struct BoxFolder: Sendable {
    /// Empty for the machine itself.
    let root: String

    /// The box below the folder `root`; `/` is this machine.
    init(_ root: String) { self.root = root.hasSuffix("/") ? String(root.dropLast()) : root }

    /// Whether it is the machine that this runs on: then the kernel and systemd can be asked, too.
    var isMachine: Bool { root.isEmpty }

    /// The text of a file, of at most 1 MB; nil when it cannot be read.
    func text(_ path: String) -> String? {
        Descriptor(opening: root + path, O_RDONLY | O_NONBLOCK)?.read(atMost: 1 << 20).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The lines of a file; none when it cannot be read.
    func lines(_ path: String) -> [Substring] { text(path)?.split(separator: "\n") ?? [] }

    /// The first word of a file.
    func word(_ path: String) -> String? { text(path)?.split { $0.isWhitespace }.first.map(String.init) }

    /// The number that a file consists of.
    func number(_ path: String) -> Int? { word(path).flatMap { Int($0) } }

    /// Names in a folder that begin with `prefix`, the shorter ones first, so that 2 is before 10.
    func names(_ folder: String, _ prefix: String = "") -> [String] {
        Folder.names(in: root + folder).filter { $0.hasPrefix(prefix) }.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
    }

    /// Where a symbolic link leads: the last part of its path.
    func linkName(_ path: String) -> String? { SmallFile.link(root + path)?.split(separator: "/").last.map(String.init) }

    /// What is at `path`; nil where there is nothing. Links are followed, unless `link` asks for the link itself.
    func status(_ path: String, link: Bool = false) -> stat? {
        stat(at: root + path, followsLinks: !link)
    }

    /// Whether there is something, be it a link that leads nowhere.
    func exists(_ path: String) -> Bool { status(path, link: true) != nil }
}
