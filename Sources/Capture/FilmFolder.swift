import CKioskPlatform
import Glibc
import KioskMedia
import KioskPlatform
import KioskVocabulary
import Logging

/// The folder of visitors' films: their names, and which of them are thrown away.
///
/// A film is recorded into the hidden folder `.new` in it, and moved when it is kept: who plays the folder sees it only then. Only files with names that were given
/// here are ever thrown away: `film-2026-11-24-181530.mp4`.
struct FilmFolder: Sendable {
    /// An absolute path, without a slash at its end.
    let path: String

    init(_ path: String) { self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path }

    /// A film in the folder.
    struct Film: Hashable, Sendable {
        var name: String
        var age: MediaTime
        var byteCount: Int64
    }

    /// Those that are too many, too old or too much in all; the oldest first. A pure value. What has just been `kept` counts as the newest, whatever the clock
    /// was when it was recorded.
    static func excess(_ films: [Film], kept: String? = nil, number: Int?, age: MediaTime?, space: ByteCount?) -> [String] {
        let newestFirst = films.sorted { a, b in
            if a.name == kept || b.name == kept { return b.name != kept }
            return (a.age, b.name) < (b.age, a.name)
        }
        var total: Int64 = 0
        var thrown: [String] = []
        for (index, film) in newestFirst.enumerated() {
            total = total.addingReportingOverflow(max(0, film.byteCount)).partialValue
            // The newest stays, whatever the limits.
            if index == 0 { continue }
            let isTooMany = number.map { index >= $0 } ?? false
            if isTooMany || age.map({ film.age > $0 }) ?? false || space.map({ total > $0.bytes }) ?? false { thrown.append(film.name) }
        }
        return thrown.reversed()
    }

    /// Whether a name is one that was given here.
    static func isFilm(_ name: String) -> Bool { name.wholeMatch(of: /film-[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{6}(-[0-9]+)?\.mp4/) != nil }

    private var drafts: String { path + "/.new" }

    /// Where the next film is recorded to: a name by the date. Makes the folders; throws where they cannot be.
    func nextPath() throws(CaptureError) -> String {
        for folder in [path, drafts] where mkdir(folder, 0o755) != 0 && errno != EEXIST {
            let code = errno
            throw .movie(.init(folder, errno: code))
        }
        var now = time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 64)
        strftime(&text, text.count, "film-%Y-%m-%d-%H%M%S", &parts)
        let stem = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var (name, number) = (stem + ".mp4", 1)
        while access("\(path)/\(name)", F_OK) == 0 || access("\(drafts)/\(name)", F_OK) == 0 {
            name = "\(stem)-\(number).mp4"
            number += 1
        }
        return "\(drafts)/\(name)"
    }

    /// Moves a film to its place, and throws away what is beyond the limits. Its new path.
    func keep(_ draft: String, number: Int?, age: MediaTime?, space: ByteCount?) throws(CaptureError) -> String {
        let name = draft.split(separator: "/").last.map(String.init) ?? ""
        let target = "\(path)/\(name)"
        guard rename(draft, target) == 0 else {
            let code = errno
            throw .movie(.init(target, errno: code))
        }
        syncFolder(of: target)
        throwAway(Self.excess(films(), kept: name, number: number, age: age, space: space))
        return target
    }

    /// Removes a film that nobody wants, for good: the next start takes those that a power cut has left for wanted.
    func discard(_ draft: String) {
        unlink(draft)
        syncFolder(of: draft)
    }

    /// Throws away what has become too old meanwhile, the newest, too.
    func expire(age: MediaTime) { throwAway(films().filter { $0.age > age }.map(\.name)) }

    private func throwAway(_ names: [String]) {
        for name in names {
            if unlink("\(path)/\(name)") == 0 {
                log.notice("\(path)/\(name): thrown away by [record] keep-number, keep-age or keep-space")
            } else {
                let code = errno
                log.warning("\(path)/\(name) could not be thrown away: \(String(cString: strerror(code)))")
            }
        }
        if !names.isEmpty { syncFolder(of: "\(path)/") }
    }

    private func films() -> [Film] {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return ProcFile.names(in: path).filter(Self.isFilm).compactMap { name in
            var status = stat()
            guard stat("\(path)/\(name)", &status) == 0 else { return nil }
            let seconds = Double(now.tv_sec - status.st_mtim.tv_sec) + Double(now.tv_nsec - status.st_mtim.tv_nsec) / 1e9
            return Film(name: name, age: .seconds(seconds), byteCount: Int64(status.st_size))
        }
    }

    /// Puts what a power cut has left in order: what was being recorded becomes a film of the folder, what was being reviewed does, too. Their paths.
    func tidy() -> [String] {
        _ = RecordingFile.recover(in: drafts)
        return ProcFile.names(in: drafts).filter(Self.isFilm).sorted().compactMap { name in
            rename("\(drafts)/\(name)", "\(path)/\(name)") == 0 ? "\(path)/\(name)" : nil
        }
    }
}
