import Glibc
import KioskConfiguration
import KioskPlatform
import KioskVocabulary
import SystemPackage

/// The files that a playlist entry's source stands for at one moment, and the folders, links and lists that this depends on.
package struct SourceExpansion: Hashable, Sendable {
    /// A file or a URL.
    package struct Found: Hashable, Sendable {
        /// An absolute path, or a URL.
        package let path: Path
        package var source: String { path.string }
        /// The version; nil for a URL, and for a missing file.
        package var version: FileVersion?

        package init(_ source: String, _ version: FileVersion? = nil) { (path, self.version) = (Path(source), version) }
    }

    /// The names to watch in a folder.
    package enum Names: Hashable, Sendable {
        /// Every video, sound, image and folder.
        case all
        /// These names.
        case only(Set<Path>)
    }

    /// The files and URLs to play, in order.
    package var sources: [Found] = []
    /// The lists that were read.
    package var lists: [Found] = []
    /// The folders whose changes would change the expansion, existing or not.
    package var folders: [Path: Names] = [:]
    /// The symbolic links on the way, and their targets.
    package var links: [Path: Path] = [:]
    /// The names here of files that links lead to, by their paths without links.
    package var names: [Path: Path] = [:]
    /// Problems for the log, one line each.
    package var problems: [String] = []

    package init() {}

    /// The end of the message about an empty folder.
    package static let nothing = "no video, sound or image file in it"

    /// The most files that a source stands for: each costs memory, and a list can name one folder thousands of times.
    static let most = 50_000

    /// Leaves out the files beyond ``most``, and reports that for `what`; returns whether there were any.
    mutating func cut(at what: String) -> Bool {
        guard sources.count > Self.most else { return false }
        sources.removeSubrange(Self.most...)
        problems.append("\(what): more than \(Self.most) files; the rest is left out")
        return true
    }

    /// Watches the file at `path`, and every link on the way to it: a link with a new target leads to another file.
    mutating func watch(_ path: FilePath) {
        watchName(path)
        var (rest, place) = (Array(path.components.reversed()), FilePath("/"))
        var followed = 0
        while let name = rest.popLast() {
            if name.kind == .parentDirectory { place.removeLastComponent() }
            guard name.kind == .regular else { continue }
            let next = place.appending(name)
            guard let target = SmallFile.link(next.string).map({ FilePath($0) }) else {
                place = next
                continue
            }
            watchName(next)
            links[Path(next.string)] = Path(target.string)
            // The kernel follows this many.
            followed += 1
            if followed > 40 { return }
            if target.isAbsolute { place = "/" }
            rest += target.components.reversed()
        }
        guard followed > 0 else { return }
        watchName(place)
        names[Path(place.string)] = Path(path.string)
    }

    private mutating func watchName(_ path: FilePath) {
        guard let name = path.lastComponent?.string else { return }
        watch(Path(name), in: Path(path.removingLastComponent().string))
    }

    /// Watches `name` in `folder`.
    package mutating func watch(_ name: Path, in folder: Path) {
        switch folders[folder] {
        case .all: break
        case .only(let names): folders[folder] = .only(names.union([name]))
        case nil: folders[folder] = .only([name])
        }
    }

    /// Watches everything in `folder`, and the folder's own name.
    mutating func watchAll(_ folder: FilePath) {
        watchName(folder)
        folders[Path(folder.string)] = .all
    }

    /// Adds another source's expansion.
    package mutating func append(_ other: SourceExpansion) {
        sources += other.sources
        lists += other.lists
        problems += other.problems
        links.merge(other.links) { $1 }
        names.merge(other.names) { $1 }
        for (folder, names) in other.folders {
            switch names {
            case .all: folders[folder] = .all
            case .only(let names): for name in names { watch(name, in: folder) }
            }
        }
    }
}

extension PlaylistSource {
    /// Returns the source's current expansion. Blocks for as long as the file system does.
    ///
    /// - Parameters:
    ///   - isRecursive: whether to look into subfolders.
    ///   - followsLinks: whether to follow symbolic links in a folder; nil for yes, but not on a stick.
    package func expand(isRecursive: Bool = false, followsLinks: Bool? = nil) -> SourceExpansion {
        expand(isRecursive, followsLists: true, followsLinks: followsLinks ?? !isOnStick)
    }

    private var isOnStick: Bool { StickMounts.hold(location) }

    /// Whether it is a file, judged by its name.
    var isNamedAsFile: Bool { isFixed || Self.isMedia(FilePath(location).lastComponent?.string ?? "") }

    private func expand(_ isRecursive: Bool, followsLists: Bool, followsLinks: Bool) -> SourceExpansion {
        var expansion = SourceExpansion()
        if isFixed {
            expansion.sources = [.init(location)]
            return expansion
        }
        let path = FilePath(location)
        let suffix = path.extension?.lowercased()
        let isList = suffix == "m3u" || suffix == "m3u8"
        expansion.watch(path)
        guard let status = stat(at: location, followsLinks: !isOnStick) else {
            let error = SystemError()
            // A file whose name contains a pattern's characters comes first.
            if let pattern = PathPattern(path) { return pattern.expand(followsLinks: followsLinks) }
            if isList {
                expansion.problems = ["list \(location): \(error)"]
            } else if location.hasSuffix("/") || suffix == nil {
                expansion.problems = ["folder \(location): \(error)"]
            } else {
                expansion.sources = [.init(location)]
            }
            return expansion
        }
        let version = FileVersion(status, at: path.string)
        if status.isFolder {
            FolderListing(isRecursive: isRecursive, followsLinks: followsLinks).list(path, into: &expansion)
        } else if isList, status.isFile {
            readList(path, version, isFollowed: followsLists, into: &expansion)
        } else if isOnStick, !status.isFile {
            expansion.problems.append("\(location): no file; kiosk follows nothing else on a stick")
        } else {
            expansion.sources = [.init(location, version)]
        }
        return expansion
    }

    private func readList(_ path: FilePath, _ version: FileVersion, isFollowed: Bool, into expansion: inout SourceExpansion) {
        guard let text = SmallFile.bytes(path.string, atMost: M3U.longestText + 1) else {
            return expansion.problems.append("list \(path): \(SystemError())")
        }
        guard text.count <= M3U.longestText else {
            return expansion.problems.append("list \(path): longer than \(M3U.longestText) bytes")
        }
        let list = M3U(text)
        if list.isHLS { return expansion.sources.append(.init(path.string, version)) }
        if !isFollowed { return expansion.problems.append("list \(path): named in another list; kiosk does not follow it") }
        expansion.lists.append(.init(path.string, version))
        expansion.problems += list.unreadableLines.map { "list \(path), line \($0): no path or URL" }
        let folder = path.removingLastComponent().string
        // A folder that a list names a thousand times is read once.
        var folders: [Path: [SourceExpansion.Found]] = [:]
        for entry in list.entries {
            let key = PlaylistSource(entry.text, relativeTo: folder).location
            if let found = folders[Path(key)] {
                expansion.sources += found
            } else {
                let found = Self.expand(entry.text, of: folder)
                if let line = entry.foreignLine, found.sources.contains(where: { $0.version == nil }) || found.sources.isEmpty {
                    expansion.problems.append(
                        "list \(path), line \(line): not UTF-8 text, and no such file; save the list in the encoding UTF-8")
                } else {
                    expansion.append(found)
                    if found.sources.count > 1 { folders[Path(key)] = found.sources }
                }
            }
            if expansion.cut(at: "list \(path)") { break }
        }
        if expansion.sources.isEmpty, expansion.problems.isEmpty { expansion.problems.append("list \(path): no entry in it") }
    }

    /// Expands an entry of a list. Some programs write paths with percent escapes into lists, others with backslashes: if there is no such
    /// file, kiosk tries the decoded path.
    private static func expand(_ entry: String, of folder: String) -> SourceExpansion {
        func expand(_ text: String) -> SourceExpansion {
            let source = PlaylistSource(text, relativeTo: folder)
            return source.expand(false, followsLists: false, followsLinks: !source.isOnStick)
        }
        let asItStands = expand(entry)
        guard asItStands.sources.allSatisfy({ $0.version == nil }), !isURL(entry) else { return asItStands }
        let plain = withoutPercents(entry)
        let others = [plain] + [entry, plain].map { $0.map { String(decoding: $0.utf8.map { $0 == 0x5C ? 0x2F : $0 }, as: UTF8.self) } }
        for other in others.compactMap({ $0 }) where Path(other) != Path(entry) {
            let found = expand(other)
            if found.sources.contains(where: { $0.version != nil }) || !found.lists.isEmpty { return found }
        }
        return asItStands
    }

    /// Returns the files in `folders` that are not played because of their names, to help a person who misses one. Leaves out hidden files.
    /// The result is paths, in natural order. Blocks for as long as the file system does.
    package static func filesLeftOut(of folders: [String]) -> [String] {
        let files = folders.flatMap { folder in
            let files = Folder.entries(in: folder).filter { $0.status.isFile && !isHidden($0.name) }.map(\.name)
            let subtitles = FileExtensions.subtitles(in: files, beside: files.filter { isMedia($0) })
            return files.filter { !isMedia($0) && !subtitles.contains($0) }.map { FilePath(folder).appending($0).string }
        }
        return files.sorted(by: naturallyPrecedes)
    }
}

extension Configuration {
    /// How long one entry may block a thread.
    package static let expansionLimit = MediaTime.seconds(5)

    /// Returns the current items of the playlist and all programs, the problems of their folders and lists (one line each), and the folders
    /// that are taken whole.
    ///
    /// Blocks at most `limit` for each entry: a dead server or a dying disk can block a lookup of a file's name for ever. Such a thread is
    /// left behind.
    package func expandPlaylist(
        limit: MediaTime = Configuration.expansionLimit
    ) -> (items: [PlaylistItem], problems: [String], folders: [String]) {
        var expansion: (items: [PlaylistItem], problems: [String], folders: [String]) = ([], [], [])
        for entry in entries {
            let answer = Monitor<SourceExpansion?>(nil)
            Thread("folders") {
                let found = entry.expand()
                answer.signal { $0 = found }
            }.detach()
            let found = answer.wait(until: .now + limit) { $0 }
            expansion.folders += found?.folders.filter { $0.value == .all }.map(\.key.string) ?? []
            let sources = found?.sources ?? (entry.assumed.map { [$0] } ?? [])
            expansion.items += sources.map { entry.resolved(source: $0.source, in: self) }
            let seconds = Int(saturating: limit.seconds.rounded(.up))
            expansion.problems += found?.problems ?? ["\(entry.source.location): no answer for \(seconds) s: its disk or its server hangs"]
        }
        return expansion
    }
}

extension PlaylistEntry {
    /// The assumed content before the first answer: a file, judged by its name, is itself.
    package var assumed: SourceExpansion.Found? { source.isNamedAsFile ? .init(source.location) : nil }

    /// Returns the entry's current expansion. May block for ever.
    package func expand() -> SourceExpansion { source.expand(isRecursive: isRecursive ?? false) }
}
