import Configuration
import Glibc
import KioskPlatform
import KioskVocabulary
import SystemPackage

/// A path with `*`, `?` or `[…]` in its names, as shells know it: `videos/*.mp4`, `2026-??/[a-f]*.png`. Each name of the path is compared
/// with the names of one folder, so that a pattern in the middle goes through several folders. It stands for videos, sounds and images, in
/// natural order.
struct PathPattern: Equatable {
    /// The names without a pattern, at its beginning.
    let folder: FilePath
    /// The names that follow.
    let names: [String]

    /// No more folders than this are looked into.
    private static let most = 4096

    /// nil where there is no pattern in `path`, which is absolute.
    init?(_ path: FilePath) {
        let names = path.components.map(\.string)
        guard let first = names.firstIndex(where: { $0.contains { "*?[".contains($0) } }) else { return nil }
        folder = FilePath("/").appending(names[..<first].map { FilePath.Component($0)! })
        self.names = Array(names[first...])
    }

    /// What fits it now. Blocks for as long as the file system does.
    func expand(followsLinks: Bool) -> SourceExpansion {
        var expansion = SourceExpansion()
        expansion.watch(folder)
        var folders = [folder]
        var foreign = LeftOut()
        for (place, pattern) in names.enumerated() {
            var fitting: [FilePath] = []
            for folder in folders.prefix(Self.most) {
                expansion.watchAll(folder)
                guard let found = Folder(folder.string) else {
                    expansion.problems.append("folder \(folder): \(SystemError())")
                    continue
                }
                for name in found.read().compactMap(\.name).filter({ Self.fits($0, pattern) }).sorted(by: naturallyPrecedes) {
                    guard let status = found.status(name, followsLinks: followsLinks) else { continue }
                    let path = folder.appending(name)
                    if !status.isFolder, !status.isFile {
                        if PlaylistSource.isMedia(name) { foreign.add(path) }
                    } else if place + 1 < self.names.count {
                        if status.isFolder { fitting.append(path) }
                    } else if status.isFile, PlaylistSource.isMedia(name) {
                        expansion.sources.append(.init(path.string, FileVersion(status, at: path.string)))
                    }
                }
            }
            folders = fitting
        }
        let reason = followsLinks ? LeftOut.noFile : LeftOut.linkOrNoFile
        if let problem = foreign.problem(of: "folder \(folder)", reason) { expansion.problems.append(problem) }
        if expansion.sources.isEmpty, expansion.problems.isEmpty {
            expansion.problems.append("\(folder.appending(names.map { FilePath.Component($0)! })): no video, sound or image file fits")
        }
        return expansion
    }

    /// Whether a name fits; one with brackets in it, too, where the pattern has the same: `[2026] Expo`.
    static func fits(_ name: String, _ pattern: String) -> Bool {
        if PlaylistSource.isHidden(name) { return false }
        return unsafe fnmatch(pattern, name, FNM_PERIOD) == 0
            || fnmatch(pattern.replacing("[", with: "\\["), name, FNM_PERIOD) == 0
    }
}
