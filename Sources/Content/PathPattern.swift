import Glibc
import KioskConfiguration
import KioskPlatform
import KioskVocabulary
import SystemPackage

/// A path with `*`, `?` or `[…]` in its names, as in shells: `videos/*.mp4`, `2026-??/[a-f]*.png`. Each name of the path matches names in
/// one folder, so a pattern in the middle covers several folders. It stands for videos, sounds and images, in natural order.
struct PathPattern: Equatable {
    /// The folder before the first pattern.
    let folder: FilePath
    /// The names from the first pattern on.
    let names: [String]

    /// The most folders to read.
    private static let most = 4096

    /// Parses `path`, which is absolute; nil if it has no pattern.
    init?(_ path: FilePath) {
        let names = path.components.map(\.string)
        guard let first = names.firstIndex(where: { $0.contains { "*?[".contains($0) } }) else { return nil }
        folder = FilePath("/").appending(names[..<first].map { FilePath.Component($0)! })
        self.names = Array(names[first...])
    }

    /// Returns the current matches. Blocks for as long as the file system does.
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

    /// Returns whether a name matches, also literally if it has the pattern's brackets: `[2026] Expo`.
    static func fits(_ name: String, _ pattern: String) -> Bool {
        if PlaylistSource.isHidden(name) { return false }
        return unsafe fnmatch(pattern, name, FNM_PERIOD) == 0
            || fnmatch(pattern.replacing("[", with: "\\["), name, FNM_PERIOD) == 0
    }
}
