import Glibc
import KioskControlsCore
import KioskMedia
import KioskPlatform
public import KioskPlayer
import KioskVocabulary

/// The content of a shelf, and how a viewer picks from it: PHPickerConfiguration.
public struct ShelfConfiguration: Hashable, Sendable {
    /// What a shelf offers.
    public enum Content: Hashable, Sendable {
        /// The videos, sounds and pictures in these folders and their subfolders. The shelf follows changes while it is on the screen, and
        /// waits for folders that are missing: those of USB sticks.
        case folders([String])
        /// These assets, in order.
        case assets([Asset])
    }

    /// What the shelf offers.
    public var content: Content
    /// The request to the viewer, in the head: `Choose a clip`; nil for none.
    public var title: String?
    /// The most items to pick. With 1, the first choice closes the shelf. With more, the viewer collects items in an order, and closes it.
    /// 0 is the greatest number, 100.
    public var selectionLimit = 1
    /// How long nobody may touch it until it closes by itself; nil for ever.
    public var timeout: Duration?
    /// The folder for thumbnails, so that the next shelf has them at once; nil keeps none. The shelf makes it, and deletes old ones.
    public var thumbnailFolder: String?
    /// The most bytes of thumbnails in that folder.
    public var thumbnailLimit = 64_000_000

    /// Creates the configuration of folders.
    public init(folders: [String]) { content = .folders(folders) }
    /// Creates the configuration of assets.
    public init(assets: [Asset]) { content = .assets(assets) }

    /// The engine's settings.
    var settings: ControlsSettings {
        var settings = ControlsSettings()
        // Nothing but the shelf.
        settings.allowed = []
        settings.mayTap = false
        settings.theme.parts = []
        settings.shelf.isOffered = true
        settings.shelf.closeAfter = timeout.map { max(MediaTime($0), .milliseconds(100)) }
        var picking = ShelfState.Picking()
        picking.most = selectionLimit == 0 ? 100 : min(max(selectionLimit, 1), 100)
        picking.title = title.flatMap { $0.isEmpty ? nil : String($0.prefix(100).map { $0.isNewline ? " " : $0 }) }
        settings.shelf.picking = picking
        return settings
    }

    /// Checks the content.
    ///
    /// - Throws: ``ShelfError``.
    func check() throws(ShelfError) {
        switch content {
        case .assets(let assets):
            if assets.isEmpty { throw ShelfError(.noContent, "the shelf has no assets: name some") }
        case .folders(let folders):
            if folders.isEmpty { throw ShelfError(.noContent, "the shelf has no folders: name some") }
            for folder in folders { try Self.check(folder) }
        }
    }

    /// A missing folder may appear.
    private static func check(_ folder: String) throws(ShelfError) {
        if folder.isEmpty || folder.utf8.contains(0) { throw ShelfError(.cannotRead, "“\(folder.printable)” is no name of a folder") }
        guard let status = stat(at: folder) else { return }
        guard status.isFolder else { throw ShelfError(.cannotRead, "\(folder): is no folder: name the folder that it is in") }
        if access(folder, R_OK | X_OK) != 0 {
            let error = SystemError()
            throw ShelfError(.cannotRead, "\(folder): cannot be read: \(error); let the user of the program read it")
        }
    }
}

/// A file or an address on a shelf: PHPickerResult.
public struct ShelfItem: Hashable, Sendable, Identifiable {
    /// The kind of an item, by its name.
    public enum Kind: Hashable, Sendable {
        /// A film, a sound, a picture.
        case video, sound, image
    }

    /// What to play.
    public var asset: Asset
    /// The title from its metadata, or its file name without the extension.
    public var title: String
    /// The kind of the item.
    public var kind: Kind
    /// Its length; nil for a picture, and until the shelf has read it.
    public var duration: CMTime?
    /// Why it cannot be played; nil if it can, and until the shelf has read it. A viewer cannot pick it.
    public var problem: String?

    /// The source of the asset.
    public var id: String { asset.source }

    init(_ entry: ShelfEntry, _ facts: ClipFacts?, _ asset: Asset) {
        self.asset = asset
        (title, duration) = (facts?.title ?? entry.title, facts?.duration.map { CMTime($0) })
        problem = facts?.problem
        kind =
            switch entry.kind {
            case .video: .video
            case .sound: .sound
            case .image: .image
            }
    }
}
