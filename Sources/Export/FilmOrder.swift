import Glibc
import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskReaders

/// A film that a viewer has requested and kiosk is making. Its description stays beside it until it is complete, so that kiosk can retry
/// after a power cut. The names of the films in a folder have the time of the request:
///
///     film-20261124-231500.mp4               a film
///     .film-20261124-231500.mp4.part         an unfinished film: the draft of ``FilmWriter``
///     .film-20261124-231500.mp4.toml         its description, an arrangement file
///     .film-20261124-231500.mp4.again.toml   the description of a film at the second attempt
///
/// The film itself may be the cause that the player ended, so there is a second attempt, but no third. The maker of a film holds a lock
/// (flock) on its description; other processes that tidy the folder leave a locked one alone.
package final class FilmOrder: Sendable {
    /// The file of the film.
    package let path: String
    /// The sources: absolute paths.
    package let clips: [String], music: String?
    /// The description's file, locked.
    private let lock: Descriptor

    private init(_ path: String, _ clips: [String], _ music: String?, _ lock: consuming Descriptor) {
        (self.path, self.clips, self.music) = (path, clips, music)
        self.lock = lock
    }

    private static func note(of film: String, again: Bool) -> String {
        let draft = FilmWriter.draftPath(of: film)
        return draft.dropLast("part".count) + (again ? "again.toml" : "toml")
    }

    /// Makes an order for a film in `folder`, with the current time. If the description cannot be written, there is no second attempt.
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

    /// Deletes the description: the film is complete, or will not be made.
    package func end() {
        for again in [false, true] { unlink(Self.note(of: path, again: again)) }
        syncFolder(of: path)
    }

    /// Keeps the order for the next start: an orderly end is no failed attempt.
    package func postpone() {
        rename(Self.note(of: path, again: true), Self.note(of: path, again: false))
        syncFolder(of: path)
    }

    // MARK: After a power cut

    /// The unfinished films in a folder.
    package struct Leftovers: Sendable {
        /// Films to make again, in the order of their requests.
        package var orders: [FilmOrder] = []
        /// Paths of abandoned films, and the reasons.
        package var givenUp: [(path: String, reason: String)] = []
    }

    /// Tidies `folder` after a power cut: removes drafts that nobody is writing. Blocks for the disk.
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
                // The film was complete.
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

    /// Returns the order for a second attempt, with its description; nil if that is unreadable.
    private static func again(_ order: FilmOrder, _ first: String, _ second: String) -> FilmOrder? {
        guard order.lock.raw >= 0, let arrangement = try? Arrangement.load(first), rename(first, second) == 0 else { return nil }
        let clips = arrangement.clips.compactMap { if case .file(let source) = $0.content { source } else { nil } }
        return FilmOrder(order.path, clips, arrangement.music?.source, Descriptor(dup(order.lock.raw)))
    }

    private static func isWritten(_ draft: String) -> Bool { Descriptor(opening: draft, O_RDWR)?.lock() == false }
}

/// Returns why no film can be written into `folder`; nil if one can. Makes a missing folder, but not its parents. With `isAsking` it only
/// checks whether it could. Blocks for the disk.
package func objection(toFilmsIn folder: String, isAsking: Bool = false) -> String? {
    if isAsking, stat(at: folder) == nil, errno == ENOENT {
        let parent = Folder.of(folder)
        guard stat(at: parent) != nil else { return "neither it nor the folder that it lies in exists" }
        return objection(toFilmsIn: parent, isAsking: true).map { "it does not exist, and cannot be made in \(parent): \($0)" }
    }
    if !isAsking, mkdir(folder, 0o755) != 0, errno != EEXIST { return "\(SystemError())" }
    guard let status = stat(at: folder) else { return "\(SystemError())" }
    if !status.isFolder { return "it is no folder" }
    // This also detects a read-only file system.
    return access(folder, W_OK | X_OK) == 0 ? nil : "\(SystemError())"
}
