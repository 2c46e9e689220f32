import KioskPlatform
import KioskVocabulary
import SystemPackage

/// What a playlist entry's source stands for at one moment, and what would have to change for that to change.
package struct SourceExpansion: Hashable, Sendable {
    /// A file or a URL.
    package struct Found: Hashable, Sendable {
        /// An absolute path, or a URL.
        package let path: Path
        /// The same as text.
        package var source: String { path.string }
        /// nil for a URL, and for a file that is not there.
        package var version: FileVersion?

        /// A file of this version.
        package init(_ source: String, _ version: FileVersion? = nil) { (path, self.version) = (Path(source), version) }
    }

    /// What is looked at in a folder.
    package enum Names: Hashable, Sendable {
        /// Every video, sound, image and folder.
        case all
        /// These names.
        case only(Set<Path>)
    }

    /// What is played, in order.
    package var sources: [Found] = []
    /// The lists that were read for it.
    package var lists: [Found] = []
    /// The folders whose changes would change it, existing or not.
    package var folders: [Path: Names] = [:]
    /// The symbolic links on the way there, and where each leads.
    package var links: [Path: Path] = [:]
    /// What a file is called here that links lead to, by the path that it has without links.
    package var names: [Path: Path] = [:]
    /// For the log, one line each.
    package var problems: [String] = []

    /// Nothing.
    package init() {}

    /// What the problem of an empty folder ends with.
    package static let nothing = "no video, sound or image file in it"

    /// No source stands for more than so many files: each costs memory, and a list can name one folder thousands of times.
    static let most = 50_000

    /// Leaves out what is more than ``most``, and says so of `what`; whether there is more.
    mutating func cut(at what: String) -> Bool {
        guard sources.count > Self.most else { return false }
        sources.removeSubrange(Self.most...)
        problems.append("\(what): more than \(Self.most) files; the rest is left out")
        return true
    }

    /// Has the file at `path` be looked at, and every link on the way to it: where one is pointed elsewhere another file lies there.
    mutating func watch(_ path: FilePath) {
        watchName(path)
        var (rest, place) = (Array(path.components.reversed()), FilePath("/"))
        var followed = 0
        while let name = rest.popLast() {
            if name.kind == .parentDirectory { place.removeLastComponent() }
            guard name.kind == .regular else { continue }
            let next = place.appending(name)
            guard let target = Files.link(next) else {
                place = next
                continue
            }
            watchName(next)
            links[Path(next.string)] = Path(target.string)
            // As many as the kernel follows.
            followed += 1
            if followed > 40 { return }
            if target.isAbsolute { place = "/" }
            rest += target.components.reversed()
        }
        guard followed > 0 else { return }
        watchName(place)
        names[Path(place.string)] = Path(path.string)
    }

    private mutating func watchName(_ path: FilePath) {
        guard let name = path.lastComponent?.string else { return }
        watch(Path(name), in: Path(path.removingLastComponent().string))
    }

    /// Has `name` in `folder` be looked at.
    package mutating func watch(_ name: Path, in folder: Path) {
        switch folders[folder] {
        case .all: break
        case .only(let names): folders[folder] = .only(names.union([name]))
        case nil: folders[folder] = .only([name])
        }
    }

    /// Has everything in `folder` be looked at, and what stands in its place.
    mutating func watchAll(_ folder: FilePath) {
        watchName(folder)
        folders[Path(folder.string)] = .all
    }

    /// Adds what another source stands for.
    package mutating func append(_ other: SourceExpansion) {
        sources += other.sources
        lists += other.lists
        problems += other.problems
        links.merge(other.links) { $1 }
        names.merge(other.names) { $1 }
        for (folder, names) in other.folders {
            switch names {
            case .all: folders[folder] = .all
            case .only(let names): for name in names { watch(name, in: folder) }
            }
        }
    }
}
