import KioskPlatform

/// A file that can be chosen on the shelf.
package struct ShelfEntry: Hashable, Sendable {
    /// What a file is, by its name.
    package enum Kind: Hashable, Sendable {
        case video, sound, image
    }

    /// An absolute path.
    package let path: Path
    package var source: String { path.string }
    /// Which content of the file it is; nil where the file is not there.
    package var version: FileVersion?
    /// What it is called as long as the file has not been read: its name without the ending.
    package var title: String
    /// The name of the folder that it lies in.
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
