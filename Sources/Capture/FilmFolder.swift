import CKioskPlatform
import Glibc
import KioskMedia
import KioskPlatform
import KioskVocabulary
import Logging

/// The folder of visitors' films: their names, and the deletion of old ones.
///
/// kiosk records a film into the hidden subfolder `.new`, and moves it when it is kept; only then does a player of the folder see it. kiosk
/// deletes only files with its own kind of name: `film-2026-11-24-181530.mp4`.
///
/// The hidden file `.films` (``FilmList``) has the order and the ages of the films: the clock of a box may be wrong when a film is kept,
/// and when its age is needed.
package struct FilmFolder: Sendable {
    /// An absolute path, without a final slash.
    let path: String
    private let clock: @Sendable () -> WallClock

    package init(_ path: String, clock: @escaping @Sendable () -> WallClock = { WallClock.now }) {
        self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
        self.clock = clock
    }

    /// A film in the folder.
    struct Film: Hashable, Sendable {
        var name: String
        /// The age; nil if unknown.
        var age: MediaTime?
        var byteCount: Int64

        /// Returns whether it is known to be older than `limit`.
        func isOlder(than limit: MediaTime?) -> Bool {
            guard let limit, let age else { return false }
            return age > limit
        }
    }

    /// Returns the films beyond the limits, the oldest first. A pure function. `films` begins with the newest.
    static func excess(_ films: [Film], number: Int?, age: MediaTime?, space: ByteCount?) -> [String] {
        var total: Int64 = 0
        var thrown: [String] = []
        for (index, film) in films.enumerated() {
            total = total.addingReportingOverflow(max(0, film.byteCount)).partialValue
            // The newest stays, whatever the limits.
            if index == 0 { continue }
            let isTooMany = number.map { index >= $0 } ?? false
            if isTooMany || film.isOlder(than: age) || space.map({ total > $0.bytes }) ?? false { thrown.append(film.name) }
        }
        return thrown.reversed()
    }

    /// Returns whether a name is one of kiosk's own.
    static func isFilm(_ name: String) -> Bool { name.wholeMatch(of: /film-[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{6}(-[0-9]+)?\.mp4/) != nil }

    private var drafts: String { path + "/.new" }

    /// Returns the path for the next recording, named by the date. Makes the folders; throws if it cannot.
    package func nextPath() throws(CaptureError) -> String {
        for folder in [path, drafts] where mkdir(folder, 0o755) != 0 && errno != EEXIST {
            let code = errno
            throw .film(.init(folder, errno: code))
        }
        let stem = date("film-%Y-%m-%d-%H%M%S")
        var (name, number) = (stem + ".mp4", 1)
        while access("\(path)/\(name)", F_OK) == 0 || access("\(drafts)/\(name)", F_OK) == 0 {
            name = "\(stem)-\(number).mp4"
            number += 1
        }
        return "\(drafts)/\(name)"
    }

    /// Throws if a film cannot be written, or has no space. The size is the requested one, or a small one if the camera is still unknown.
    package func check(_ mode: CameraMode, hasSound: Bool, duration: MediaTime?) throws(CaptureError) {
        let draft = try nextPath()
        if access(drafts, W_OK | X_OK) != 0 {
            let code = errno
            throw .film(.init(draft, errno: code))
        }
        var video = FilmFormat.Video(width: mode.width ?? 320, height: mode.height ?? 240, frameRate: mode.rate ?? 24)
        video.quality = RecordingRequest(path: draft).quality
        let bytes = Recording.bytesPerSecond(video, hasSound: hasSound)
        try RecordingFile.checkSpace(at: draft, bytesPerSecond: bytes, duration: duration)
    }

    /// The limits of the folder: number of films, age, and size in all; nil for no limit.
    package struct Limits: Hashable, Sendable {
        var number: Int?, age: MediaTime?, space: ByteCount?

        package init(number: Int? = nil, age: MediaTime? = nil, space: ByteCount? = nil) {
            (self.number, self.age, self.space) = (number, age, space)
        }
    }

    /// Moves a film to its place, and deletes films beyond the limits. Returns its new path.
    package func keep(_ draft: String, _ limits: Limits) throws(CaptureError) -> String {
        let name = draft.split(separator: "/").last.map(String.init) ?? ""
        let target = "\(path)/\(name)"
        guard rename(draft, target) == 0 else {
            let code = errno
            // This tells the next start to keep the film.
            rename(draft, "\(drafts)/\(Self.kept)\(name)")
            throw .film(.init(target, errno: code))
        }
        syncFolder(of: target)
        throwAway(beyond: limits, kept: [name])
        return target
    }

    /// The prefix of a kept film that could not be moved.
    private static let kept = "kept-"

    private func throwAway(beyond limits: Limits, kept: [String]) {
        throwAway(Self.excess(films(kept: kept), number: limits.number, age: limits.age, space: limits.space))
    }

    /// Deletes an unwanted film for good: without reviews, the next start keeps everything that a power cut has left.
    package func discard(_ draft: String) {
        unlink(draft)
        syncFolder(of: draft)
    }

    /// Deletes films older than `age`, even the newest.
    package func expire(age: MediaTime) { throwAway(films().filter { $0.isOlder(than: age) }.map(\.name)) }

    private func throwAway(_ names: [String]) {
        for name in names {
            if unlink("\(path)/\(name)") == 0 {
                log.notice("\(path)/\(name): discarded by [record] keep-number, keep-age or keep-space")
            } else {
                let error = SystemError()
                log.warning("\(path)/\(name) could not be discarded: \(error)")
            }
        }
        if !names.isEmpty { syncFolder(of: "\(path)/") }
    }

    /// Returns the films in the folder, the newest first. `kept` are the newest, in order. Adds unknown films to the list.
    private func films(kept: [String] = []) -> [Film] {
        let now = clock()
        let found = Folder.entries(in: path).filter { Self.isFilm($0.name) }
        let files = Dictionary(found.map { ($0.name, $0.status) }) { first, _ in first }
        let old = SmallFile.text("\(path)/\(FilmList.name)", atMost: FilmList.longest).map { FilmList($0) }
        var list = old ?? FilmList()
        list.update(files.mapValues { Int64($0.st_mtim.tv_sec) }, kept: kept, at: now)
        if list != old ?? FilmList(), let problem = AtomicFile.write("\(path)/\(FilmList.name)", list.text, mode: 0o644, isSynced: true) {
            log.warning("\(path)/\(FilmList.name) cannot be written: \(problem); ages of films may be lost")
        }
        return list.films.reversed().compactMap { film in
            files[film.name].map { Film(name: film.name, age: film.age(at: now), byteCount: Int64($0.st_size)) }
        }
    }

    /// Tidies the folder after a power cut. Interrupted and unconfirmed recordings become films. With `reviews`, kiosk deletes unconfirmed
    /// films: the people in them may not want to be seen by everybody. Returns the paths of both.
    package func tidy(reviews: Bool, _ limits: Limits) -> (kept: [String], thrown: [String]) {
        var (found, thrown): ([String], [String]) = ([], [])
        if !reviews { _ = RecordingFile.recover(in: drafts) }
        for name in Folder.names(in: drafts).sorted() {
            let film = name.hasPrefix(Self.kept) ? String(name.dropFirst(Self.kept.count)) : name
            if reviews, name == film {
                let isDraft = name.hasPrefix(".") && (name.hasSuffix(".part") || name.hasSuffix(".left"))
                guard Self.isFilm(isDraft ? String(name.dropFirst().dropLast(5)) : name) else { continue }
                if unlink("\(drafts)/\(name)") == 0 { thrown.append("\(drafts)/\(name)") }
            } else if Self.isFilm(film), rename("\(drafts)/\(name)", "\(path)/\(film)") == 0 {
                found.append(film)
            }
        }
        if !thrown.isEmpty { syncFolder(of: "\(drafts)/") }
        if !found.isEmpty {
            syncFolder(of: "\(path)/")
            throwAway(beyond: limits, kept: found)
        }
        return (found.map { "\(path)/\($0)" }, thrown)
    }
}
