import KioskPlatform
import KioskVocabulary
import SystemPackage

/// The video, sound and image files of a folder: its own in natural order, and then, where that is asked for, those of its subfolders, in
/// their natural order. A folder that a symbolic link leads to a second time is left out, and so is what lies deeper than ``deepest``. Where links
/// are not followed only files and folders count: no links, FIFOs or devices.
struct FolderListing {
    let isRecursive: Bool
    let followsLinks: Bool
    private var seen: Set<FolderIdentity> = []

    private struct FolderIdentity: Hashable {
        var device: UInt64
        var inode: UInt64

        init(_ version: FileVersion) { (device, inode) = (version.device, version.inode) }
    }

    private static let deepest = 16
    /// No more folders than this are looked into: each of them takes a watch of the kernel.
    private static let most = 4096

    init(isRecursive: Bool, followsLinks: Bool = true) { (self.isRecursive, self.followsLinks) = (isRecursive, followsLinks) }

    /// Adds what is in the folder at `path`.
    consuming func list(_ path: FilePath, into expansion: inout SourceExpansion) {
        if let folder = try? Files.look(path.string) { seen.insert(FolderIdentity(folder.version)) }
        list(path, depth: 0, into: &expansion)
        if expansion.sources.isEmpty, expansion.problems.isEmpty {
            expansion.problems.append("folder \(path): no video, sound or image file in it")
        }
    }

    private mutating func list(_ path: FilePath, depth: Int, into expansion: inout SourceExpansion) {
        expansion.watchAll(path)
        let names: [(name: String?, isLink: Bool)]
        do throws(FileError) { names = try Files.list(path.string) } catch {
            return expansion.problems.append("folder \(path): \(error.errno)")
        }
        let nameless = names.count { $0.name == nil }
        if nameless > 0 {
            expansion.problems.append("folder \(path): \(nameless) file names are not UTF-8; rename them to have them played")
        }
        var folders: [FilePath] = []
        let links = Set(names.filter(\.isLink).compactMap { $0.name.map { Path($0) } })
        var linkCount = 0
        for name in names.compactMap(\.name).sorted(by: naturallyPrecedes) where !PlaylistSource.isHidden(name) {
            guard isRecursive || PlaylistSource.isMedia(name) else { continue }
            let file = path.appending(name)
            let look = try? Files.look(file.string, followsLinks: followsLinks)
            if !followsLinks, let type = look?.type, type != .directory, type != .regular {
                if type == .symbolicLink { linkCount += 1 }
                continue
            }
            if links.contains(Path(name)) { expansion.watch(file) }
            if look?.type == .directory {
                if isRecursive, depth < Self.deepest, seen.count < Self.most, seen.insert(FolderIdentity(look!.version)).inserted {
                    folders.append(file)
                }
            } else if PlaylistSource.isMedia(name) {
                expansion.sources.append(.init(file.string, look?.version))
            }
        }
        if linkCount > 0 { expansion.problems.append("folder \(path): \(linkCount) links in it, which are not followed on a stick") }
        if expansion.cut(at: "folder \(path)") { return }
        for folder in folders where expansion.sources.count < SourceExpansion.most { list(folder, depth: depth + 1, into: &expansion) }
    }
}
