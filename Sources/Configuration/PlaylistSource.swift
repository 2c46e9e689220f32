import KioskPlatform
import KioskVocabulary
import SystemPackage

/// The source of a playlist entry: a file, a folder, a local .m3u or .m3u8 list, a pattern of names (`videos/*.mp4`), or a URL.
///
/// - A URL (`scheme://`) stands for itself, and so does an HLS playlist in a local file: libavformat opens them. A file URL stands for its
///   path.
/// - A folder stands for its video, sound and image files in natural order, and optionally those of its subfolders (`FolderListing`). It
///   leaves out system files on sticks (names that begin with a dot, `System Volume Information`).
/// - A pattern stands for the files that match it (`PathPattern`).
/// - A list stands for its entries; folders among them are expanded, lists are not.
/// - A missing file stands for itself: the engine reports it and plays the rest. A missing folder or list stands for nothing, and is
///   reported as a problem.
package struct PlaylistSource: Hashable, Sendable {
    /// An absolute path, or a URL.
    package let location: String

    /// Makes the source that `text` names in a file of `folder`, an absolute path. `~` has no special meaning: services have no home.
    package init(_ text: String, relativeTo folder: String) {
        let text = withoutFileScheme(text)
        if isURL(text) {
            location = text
        } else {
            let path = FilePath(folder).pushing(FilePath(text)).lexicallyNormalized().string
            // Normalising removes the final slash, which marks a folder even if that is missing.
            location = text.hasSuffix("/") && path != "/" ? path + "/" : path
        }
    }

    /// Whether it stands for itself, independently of the file system.
    package var isFixed: Bool { isURL(location) }

    /// Returns whether to play a file of this name in a folder: no file of systems and programs, and no unfinished copy under a temporary
    /// name (`film.mp4.part`).
    package static func isMedia(_ name: String) -> Bool {
        guard !isHidden(name), let suffix = FilePath(name).extension else { return false }
        return FileExtensions.all.contains(suffix.lowercased())
    }

    /// Returns whether a file or folder of this name is hidden: names with an initial dot, system folders on sticks, and network storage's
    /// folders of thumbnails, snapshots and deleted files.
    package static func isHidden(_ name: String) -> Bool { name.utf8.first == UInt8(ascii: ".") || hiddenNames.contains(name) }

    private static let hiddenNames: Set<String> = [
        "System Volume Information", "$RECYCLE.BIN", "RECYCLER", "lost+found", "Network Trash Folder", "Temporary Items",
        "@eaDir", "#recycle", "#snapshot", "@Recycle", "@Recently-Snapshot", "@tmp",
    ]
}
