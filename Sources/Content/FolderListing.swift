import Glibc
import KioskConfiguration
import KioskPlatform
import KioskVocabulary
import SystemPackage

/// Files or folders that are left out: their number, and the first.
struct LeftOut {
    private var count = 0
    private var first: FilePath?

    /// Reasons for leaving out.
    static let noFile = "FIFO or device", linkOrNoFile = "link, FIFO or device"

    mutating func add(_ path: FilePath) {
        count += 1
        first = first ?? path
    }

    /// Returns a line for the log; nil if nothing was left out. `reason` applies to all of them.
    func problem(of what: String, _ reason: String) -> String? {
        guard let first else { return nil }
        return "\(what): \(first) is left out (\(reason))" + (count > 1 ? ", and \(count - 1) more" : "")
    }
}

/// Lists the video, sound and image files of a folder in natural order, then optionally those of its subfolders, in their natural order.
/// Leaves out folders that a symbolic link reaches a second time, folders deeper than ``deepest``, FIFOs, devices, and links that are not
/// followed. The problems tell how many.
struct FolderListing {
    let isRecursive: Bool
    let followsLinks: Bool
    /// The device and inode numbers of the listed folders.
    private var seen: Set<[UInt64]> = []
    private var foreign = LeftOut(), deep = LeftOut(), beyond = LeftOut()

    private static let deepest = 16
    /// The most folders to list: each needs a watch of the kernel.
    private static let most = 4096

    init(isRecursive: Bool, followsLinks: Bool = true) { (self.isRecursive, self.followsLinks) = (isRecursive, followsLinks) }

    private static func identity(_ folder: stat) -> [UInt64] { [UInt64(folder.st_dev), UInt64(folder.st_ino)] }

    /// Adds the content of the folder at `path`.
    consuming func list(_ path: FilePath, into expansion: inout SourceExpansion) {
        if let folder = stat(at: path.string) { seen.insert(Self.identity(folder)) }
        list(path, depth: 0, into: &expansion)
        let what = "folder \(path)"
        expansion.problems += [
            foreign.problem(of: what, followsLinks ? LeftOut.noFile : LeftOut.linkOrNoFile),
            deep.problem(of: what, "more than \(Self.deepest) folders deep"), beyond.problem(of: what, "more than \(Self.most) folders"),
        ].compactMap { $0 }
        if expansion.sources.isEmpty, expansion.problems.isEmpty {
            expansion.problems.append("folder \(path): \(SourceExpansion.nothing)")
        }
    }

    private mutating func list(_ path: FilePath, depth: Int, into expansion: inout SourceExpansion) {
        expansion.watchAll(path)
        // A former folder may have become a link.
        guard let folder = Folder(path.string, followsLinks: followsLinks || depth == 0) else {
            return expansion.problems.append("folder \(path): \(SystemError())")
        }
        let names = folder.read()
        let nameless = names.count { $0.name == nil }
        if nameless > 0 {
            expansion.problems.append(
                "folder \(path): "
                    + (nameless == 1
                        ? "1 file name is not UTF-8; rename it so that kiosk plays it"
                        : "\(nameless) file names are not UTF-8; rename them so that kiosk plays them"))
        }
        var folders: [FilePath] = []
        let links = Set(names.filter(\.isLink).compactMap { $0.name.map { Path($0) } })
        for name in names.compactMap(\.name).sorted(by: naturallyPrecedes) where !PlaylistSource.isHidden(name) {
            guard isRecursive || PlaylistSource.isMedia(name) else { continue }
            let file = path.appending(name)
            let status = folder.status(name, followsLinks: followsLinks)
            if let status, !status.isFolder, !status.isFile {
                if status.isLink || PlaylistSource.isMedia(name) { foreign.add(file) }
                continue
            }
            if links.contains(Path(name)) { expansion.watch(file) }
            if let status, status.isFolder {
                guard isRecursive else { continue }
                if depth >= Self.deepest {
                    deep.add(file)
                } else if seen.count >= Self.most {
                    beyond.add(file)
                } else if seen.insert(Self.identity(status)).inserted {
                    folders.append(file)
                }
            } else if PlaylistSource.isMedia(name) {
                expansion.sources.append(.init(file.string, status.map { FileVersion($0, at: file.string) }))
            }
        }
        if expansion.cut(at: "folder \(path)") { return }
        for folder in folders where expansion.sources.count < SourceExpansion.most { list(folder, depth: depth + 1, into: &expansion) }
    }
}
