import KioskPlatform
import KioskVocabulary
import SystemPackage

/// What a playlist entry names: a file, a folder, a local .m3u or .m3u8 list, a pattern of names (`videos/*.mp4`), or a URL.
///
/// - A URL (`scheme://`) is itself, and so is an HLS playlist in a local file: libavformat opens them. A file's URL is its path.
/// - A folder is the video, sound and image files in it, in natural order, and where that is asked for those of its subfolders
///   (`FolderListing`); not what systems leave on sticks (names that begin with a dot, `System Volume Information`).
/// - A pattern is the files that it fits (`PathPattern`).
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

    /// Whether it stands for itself, whatever there is in the file system.
    package var isFixed: Bool { isURL(location) }

    /// Whether a file of this name in a folder is played: not what systems and programs leave there, and not what is still being copied
    /// under a name of its own (`film.mp4.part`).
    package static func isMedia(_ name: String) -> Bool {
        guard !isHidden(name), let suffix = FilePath(name).extension else { return false }
        return FileExtensions.all.contains(suffix.lowercased())
    }

    /// Whether people do not see a file or folder of this name: what begins with a dot, what systems leave on sticks, and where network
    /// storage keeps thumbnails, snapshots and what was deleted.
    package static func isHidden(_ name: String) -> Bool { name.utf8.first == UInt8(ascii: ".") || hiddenNames.contains(name) }

    private static let hiddenNames: Set<String> = [
        "System Volume Information", "$RECYCLE.BIN", "RECYCLER", "lost+found", "Network Trash Folder", "Temporary Items",
        "@eaDir", "#recycle", "#snapshot", "@Recycle", "@Recently-Snapshot", "@tmp",
    ]
}
