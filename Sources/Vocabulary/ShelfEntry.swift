import KioskPlatform

/// A file on the shelf.
package struct ShelfEntry: Hashable, Sendable {
    /// The kind of a file, by its name.
    package enum Kind: Hashable, Sendable {
        case video, sound, image
    }

    /// An absolute path.
    package let path: Path
    package var source: String { path.string }
    /// The version of the file; nil if the file does not exist.
    package var version: FileVersion?
    /// Its title until the file has been read: its name without the extension.
    package var title: String
    /// The name of its folder.
    package var folder: String
    package var kind: Kind

    package init(source: String, version: FileVersion?) {
        (path, self.version) = (Path(source), version)
        title = PlaylistItem(source: source).plainName
        let parts = source.split(separator: "/")
        folder = parts.count > 1 ? String(parts[parts.count - 2]) : "/"
        let ending = source.split(separator: ".").last.map { $0.lowercased() } ?? ""
        kind = FileExtensions.sound.contains(ending) ? .sound : FileExtensions.image.contains(ending) ? .image : .video
    }

    package var name: String { source.split(separator: "/").last.map(String.init) ?? source }
}
