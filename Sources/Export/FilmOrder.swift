import Configuration
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaders

/// A film that somebody has asked for and that is being made: what it is made of, kept beside it until it is there, so that it can be made again when the
/// power is cut meanwhile. The films of a folder have names by the time when they were asked for:
///
///     film-20261124-231500.mp4               a film
///     .film-20261124-231500.mp4.part         one that is being made: the draft of ``FilmWriter``
///     .film-20261124-231500.mp4.toml         what it is made of, an arrangement file
///     .film-20261124-231500.mp4.again.toml   the same, of a film that is being made for the second time
///
/// What ends the player may be the film itself. So there is a second time, and no third. Who makes a film has a lock (flock) on what it is made of: others,
/// that look what has been left here, leave it alone.
package final class FilmOrder: Sendable {
    /// The file that comes of it.
    package let path: String
    /// What it is made of: absolute paths.
    package let clips: [String], music: String?
    /// What is written down of it, locked.
    private let lock: Descriptor

    private init(_ path: String, _ clips: [String], _ music: String?, _ lock: consuming Descriptor) {
        (self.path, self.clips, self.music) = (path, clips, music)
        self.lock = lock
    }

    private static func note(of film: String, again: Bool) -> String {
        let draft = FilmWriter.draftPath(of: film)
        return draft.dropLast("part".count) + (again ? "again.toml" : "toml")
    }

    /// A film in `folder`, asked for now. Where what it is made of cannot be written down, it is not made again.
    package static func begin(in folder: String, clips: [String], music: String?) -> FilmOrder {
        let path = "\(folder)/film-\(date("%Y%m%d-%H%M%S")).mp4"
        let note = note(of: path, again: false)
        let file = Descriptor(open(note, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644))
        if file.raw >= 0 {
            let text = Array(Arrangement.file(of: clips, music: music).utf8)
            if !file.lock() || !text.withUnsafeBytes({ file.write($0) }) || fsync(file.raw) != 0 { unlink(note) }
            syncFolder(of: note)
        }
        return FilmOrder(path, clips, music, file)
    }

    /// It is there, or will not be made: forgets what it is made of.
    package func end() {
        for again in [false, true] { unlink(Self.note(of: path, again: again)) }
        syncFolder(of: path)
    }

    /// It is interrupted by an orderly end, which is not its fault: it is made at the next start.
    package func postpone() {
        rename(Self.note(of: path, again: true), Self.note(of: path, again: false))
        syncFolder(of: path)
    }

    // MARK: After a power cut

    /// What was found of films that were not finished.
    package struct Leftovers: Sendable {
        /// Films that are to be made again, in the order in which they were asked for.
        package var orders: [FilmOrder] = []
        /// Paths of films that will not be, and why.
        package var givenUp: [(path: String, reason: String)] = []
    }

    /// Puts what a power cut has left in `folder` in order: drafts of films that nobody is making are removed. Blocks for the disk.
    package static func tidy(_ folder: String) -> Leftovers {
        var leftovers = Leftovers()
        let names = Set(Folder.names(in: folder))
        let films = Set(names.compactMap { $0.wholeMatch(of: /\.(film-[0-9]{8}-[0-9]{6}\.mp4)\.(?:part|toml|again\.toml)/)?.output.1 })
        for film in films.sorted() {
            let path = "\(folder)/\(film)"
            let draft = FilmWriter.draftPath(of: path), first = note(of: path, again: false), second = note(of: path, again: true)
            let isSecond = access(second, F_OK) == 0
            let lock = Descriptor(open(isSecond ? second : first, O_RDWR | O_CLOEXEC))
            if lock.raw >= 0 ? !lock.lock() : isWritten(draft) { continue }
            let order = FilmOrder(path, [], nil, lock)
            unlink(draft)
            if access(path, F_OK) == 0 {
                // All of it was there.
                order.end()
            } else if isSecond {
                order.end()
                leftovers.givenUp.append((path, "it was cut off a second time"))
            } else if let again = Self.again(order, first, second) {
                leftovers.orders.append(again)
            } else {
                order.end()
                leftovers.givenUp.append((path, "it was cut off, and its clips are not known"))
            }
        }
        if !films.isEmpty { syncFolder(of: folder + "/") }
        return leftovers
    }

    /// The order with what is written down of it, for the second time; nil where that cannot be read.
    private static func again(_ order: FilmOrder, _ first: String, _ second: String) -> FilmOrder? {
        guard order.lock.raw >= 0, let arrangement = try? Arrangement.load(first), rename(first, second) == 0 else { return nil }
        let clips = arrangement.clips.compactMap { if case .file(let source) = $0.content { source } else { nil } }
        return FilmOrder(order.path, clips, arrangement.music?.source, Descriptor(dup(order.lock.raw)))
    }

    private static func isWritten(_ draft: String) -> Bool { Descriptor(opening: draft, O_RDWR)?.lock() == false }
}

/// Why no film can be written into `folder`; nil where one can. Where it is missing it is made, but not what it lies in; unless `isAsking`: then only
/// whether it could be is looked at. Blocks for the disk.
package func objection(toFilmsIn folder: String, isAsking: Bool = false) -> String? {
    if isAsking, stat(at: folder) == nil, errno == ENOENT {
        let parent = Folder.of(folder)
        guard stat(at: parent) != nil else { return "neither it nor the folder that it lies in exists" }
        return objection(toFilmsIn: parent, isAsking: true).map { "it does not exist, and cannot be made in \(parent): \($0)" }
    }
    if !isAsking, mkdir(folder, 0o755) != 0, errno != EEXIST { return "\(SystemError())" }
    guard let status = stat(at: folder) else { return "\(SystemError())" }
    if !status.isFolder { return "it is no folder" }
    // Of a file system that is read-only, too.
    return access(folder, W_OK | X_OK) == 0 ? nil : "\(SystemError())"
}
