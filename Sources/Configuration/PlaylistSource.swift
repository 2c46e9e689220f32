import SystemPackage
import Vocabulary

/// What a playlist entry names: a file, a folder, a local .m3u or .m3u8 list, or a URL.
///
/// - A URL (`scheme://`) is itself, and so is an HLS playlist in a local file: libavformat opens them.
/// - A folder is the video, sound and image files in it, in natural order; not those of its subfolders, and not what systems leave on
///   sticks (names that begin with a dot, `System Volume Information`).
/// - A list is its entries; folders among them are expanded, lists are not.
/// - A file that is missing is itself all the same: the engine says so and plays the rest. A folder or a list that is missing is nothing,
///   and a problem.
package struct PlaylistSource: Hashable, Sendable {
    /// An absolute path, or a URL.
    package let location: String

    /// The source that `text` names in a file of `folder`, which must be absolute. `~` means nothing here: services have no home.
    package init(_ text: String, relativeTo folder: String) {
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
        "3gp", "asf", "avi", "f4v", "flv", "h264", "hevc", "ivf", "m2ts", "m2v", "m4v", "mkv", "mov", "mp4", "mpeg", "mpg", "mts", "mxf",
        "nut", "ogm", "ogv", "ts", "vob", "webm", "wmv",
        "aac", "ac3", "aif", "aiff", "flac", "m4a", "mka", "mp2", "mp3", "oga", "ogg", "opus", "wav", "wma",
        "apng", "avif", "bmp", "gif", "heic", "jpeg", "jpg", "jxl", "png", "tif", "tiff", "webp",
    ]

    /// What it stands for now: absolute paths and URLs. `problems` are for the log, one line each. Blocks for as long as the file system
    /// does.
    package func expand() -> (sources: [String], problems: [String]) {
        expand(followsLists: true)
    }

    /// Whether it stands for itself, whatever there is in the file system.
    var isFixed: Bool { isURL(location) }

    /// Whether it is a file by its name.
    var isNamedAsFile: Bool { isFixed || Self.isMedia(FilePath(location).lastComponent?.string ?? "") }

    private func expand(followsLists: Bool) -> (sources: [String], problems: [String]) {
        if isFixed { return ([location], []) }
        let path = FilePath(location)
        let suffix = path.extension?.lowercased()
        let isList = suffix == "m3u" || suffix == "m3u8"
        let type: FileType
        do throws(FileError) { type = try Files.type(location) } catch {
            if isList { return ([], ["list \(location): \(error.errno)"]) }
            if location.hasSuffix("/") || suffix == nil { return ([], ["folder \(location): \(error.errno)"]) }
            return ([location], [])
        }
        if type == .directory { return expandFolder(path) }
        guard isList, type == .regular else { return ([location], []) }
        return expandList(path, isFollowed: followsLists)
    }

    private func expandFolder(_ path: FilePath) -> (sources: [String], problems: [String]) {
        let names: [String?]
        do throws(FileError) { names = try Files.list(path.string) } catch { return ([], ["folder \(path): \(error.errno)"]) }
        var problems: [String] = []
        let nameless = names.count { $0 == nil }
        if nameless > 0 { problems.append("folder \(path): \(nameless) file names are not UTF-8; rename them to have them played") }
        let sources = names.compactMap { $0 }.filter(PlaylistSource.isMedia).sorted(by: naturallyPrecedes).map { path.appending($0).string }
            .filter { (try? Files.type($0)) != .directory }
        if sources.isEmpty, problems.isEmpty { problems.append("folder \(path): no video, sound or image file in it") }
        return (sources, problems)
    }

    private func expandList(_ path: FilePath, isFollowed: Bool) -> (sources: [String], problems: [String]) {
        let text: [UInt8]
        do throws(FileError) { text = try Files.read(path.string, limit: M3U.longestText + 1) } catch {
            return ([], ["list \(path): \(error.errno)"])
        }
        guard text.count <= M3U.longestText else { return ([], ["list \(path): longer than \(M3U.longestText) bytes"]) }
        let list = M3U(text)
        if list.isHLS { return ([path.string], []) }
        if !isFollowed { return ([], ["list \(path): named in another list, which is not followed"]) }
        var sources: [String] = []
        var problems = list.unreadableLines.map { "list \(path), line \($0): not UTF-8 text" }
        let folder = path.removingLastComponent().string
        for entry in list.entries {
            let expansion = PlaylistSource(entry, relativeTo: folder).expand(followsLists: false)
            sources += expansion.sources
            problems += expansion.problems
        }
        if sources.isEmpty, problems.isEmpty { problems.append("list \(path): no entry in it") }
        return (sources, problems)
    }

    static func isMedia(_ name: String) -> Bool {
        guard !name.hasPrefix("."), name != "System Volume Information", let suffix = FilePath(name).extension else { return false }
        return mediaExtensions.contains(suffix.lowercased())
    }
}
