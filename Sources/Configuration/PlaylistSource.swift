import KioskPlatform
import KioskVocabulary
import SystemPackage

/// What a playlist entry names: a file, a folder, a local .m3u or .m3u8 list, a pattern of names (`videos/*.mp4`), or a URL.
///
/// - A URL (`scheme://`) is itself, and so is an HLS playlist in a local file: libavformat opens them. A file's URL is its path.
/// - A folder is the video, sound and image files in it, in natural order, and where that is asked for those of its subfolders
///   (``FolderListing``); not what systems leave on sticks (names that begin with a dot, `System Volume Information`).
/// - A pattern is the files that it fits (``PathPattern``).
/// - A list is its entries; folders among them are expanded, lists are not.
/// - A file that is missing is itself all the same: the engine says so and plays the rest. A folder or a list that is missing is nothing,
///   and a problem.
package struct PlaylistSource: Hashable, Sendable {
    /// An absolute path, or a URL.
    package let location: String

    /// The source that `text` names in a file of `folder`, which must be absolute. `~` means nothing here: services have no home.
    package init(_ text: String, relativeTo folder: String) {
        let text = withoutFileScheme(text)
        if isURL(text) {
            location = text
        } else {
            let path = FilePath(folder).pushing(FilePath(text)).lexicallyNormalized().string
            // Normalising takes the slash off the end, which says that a folder is meant even when it is missing.
            location = text.hasSuffix("/") && path != "/" ? path + "/" : path
        }
    }

    /// Files in a folder with these extensions are played.
    package static let mediaExtensions: Set<String> = [
        "3g2", "3gp", "asf", "avi", "divx", "dv", "f4v", "flv", "h264", "hevc", "ivf", "m2t", "m2ts", "m2v", "m4v", "mkv", "mod", "mov",
        "mp4",
        "mpe", "mpeg", "mpg", "mts", "mxf", "nut", "ogm", "ogv", "qt", "ts", "vob", "webm", "wmv",
        "aac", "ac3", "aif", "aiff", "flac", "m4a", "m4b", "mka", "mp2", "mp3", "oga", "ogg", "opus", "wav", "wma",
        "apng", "avif", "bmp", "gif", "heic", "heif", "hif", "jfif", "jp2", "jpe", "jpeg", "jpg", "jxl", "png", "tga", "tif", "tiff",
        "webp",
    ]

    /// What it stands for now. Blocks for as long as the file system does.
    ///
    /// - Parameters:
    ///   - isRecursive: whether the folders in a folder are looked into, too.
    ///   - followsLinks: whether symbolic links in a folder are; nil is yes, but not on a stick.
    package func expand(isRecursive: Bool = false, followsLinks: Bool? = nil) -> SourceExpansion {
        expand(isRecursive, followsLists: true, followsLinks: followsLinks ?? !isOnStick)
    }

    /// Whether it stands for itself, whatever there is in the file system.
    package var isFixed: Bool { isURL(location) }

    private var isOnStick: Bool { StickMounts.hold(location) }

    /// Whether it is a file by its name.
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
        let type: FileType
        let version: FileVersion
        do throws(FileError) { (type, version) = try Files.look(location, followsLinks: !isOnStick) } catch {
            // A name that has these characters in it is no pattern.
            if let pattern = PathPattern(path) { return pattern.expand(followsLinks: followsLinks) }
            if isList {
                expansion.problems = ["list \(location): \(error.errno)"]
            } else if location.hasSuffix("/") || suffix == nil {
                expansion.problems = ["folder \(location): \(error.errno)"]
            } else {
                expansion.sources = [.init(location)]
            }
            return expansion
        }
        if type == .directory {
            FolderListing(isRecursive: isRecursive, followsLinks: followsLinks).list(path, into: &expansion)
        } else if isList, type == .regular {
            readList(path, version, isFollowed: followsLists, into: &expansion)
        } else if isOnStick, type != .regular {
            expansion.problems.append("\(location): no file, and on a stick nothing else is followed")
        } else {
            expansion.sources = [.init(location, version)]
        }
        return expansion
    }

    private func readList(_ path: FilePath, _ version: FileVersion, isFollowed: Bool, into expansion: inout SourceExpansion) {
        let text: [UInt8]
        do throws(FileError) { text = try Files.read(path.string, limit: M3U.longestText + 1) } catch {
            return expansion.problems.append("list \(path): \(error.errno)")
        }
        guard text.count <= M3U.longestText else {
            return expansion.problems.append("list \(path): longer than \(M3U.longestText) bytes")
        }
        let list = M3U(text)
        if list.isHLS { return expansion.sources.append(.init(path.string, version)) }
        if !isFollowed { return expansion.problems.append("list \(path): named in another list, which is not followed") }
        expansion.lists.append(.init(path.string, version))
        expansion.problems += list.unreadableLines.map { "list \(path), line \($0): no path or URL" }
        let folder = path.removingLastComponent().string
        // A folder that a list names a thousand times is looked into once.
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

    /// What an entry of a list stands for. Programs write paths with percent escapes into lists, and others with backslashes: where there is
    /// no such file, the one is meant that they stand for.
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

    /// Whether a file of this name in a folder is played: not what systems and programs leave there, and not what is still being copied
    /// under a name of its own (`film.mp4.part`).
    package static func isMedia(_ name: String) -> Bool {
        guard !isHidden(name), let suffix = FilePath(name).extension else { return false }
        return mediaExtensions.contains(suffix.lowercased())
    }

    /// The files in `folders` that are not played because of their names, for a person who misses one; none that people do not see. Paths, in natural
    /// order. Blocks for as long as the file system does.
    package static func filesLeftOut(of folders: [String]) -> [String] {
        let files = folders.flatMap { folder in
            ((try? Files.list(folder)) ?? []).compactMap(\.name).filter { !isHidden($0) && !isMedia($0) }.map {
                FilePath(folder).appending($0).string
            }
        }
        return files.filter { (try? Files.look($0))?.type == .regular }.sorted(by: naturallyPrecedes)
    }

    /// Whether people do not see a file or folder of this name: what begins with a dot, what systems leave on sticks, and where network
    /// storage keeps thumbnails, snapshots and what was deleted.
    static func isHidden(_ name: String) -> Bool { name.utf8.first == UInt8(ascii: ".") || hiddenNames.contains(name) }

    private static let hiddenNames: Set<String> = [
        "System Volume Information", "$RECYCLE.BIN", "RECYCLER", "lost+found", "Network Trash Folder", "Temporary Items",
        "@eaDir", "#recycle", "#snapshot", "@Recycle", "@Recently-Snapshot", "@tmp",
    ]
}
