import Foundation
import KioskConfiguration
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskCaptureCore

/// Tests of the folder of visitors' films, on the disk.
@Suite struct FilmFolderTests {
    private func film(_ name: String, age: Double, _ bytes: Int64) -> FilmFolder.Film {
        FilmFolder.Film(name: name, age: .seconds(age), byteCount: bytes)
    }

    /// Lists films from the newest to the oldest.
    @Test func theOldestAreThrownAway() {
        let films = [film("a", age: 10, 100), film("b", age: 20, 100), film("c", age: 30, 100), film("d", age: 40, 100)]
        #expect(FilmFolder.excess(films, number: nil, age: nil, space: nil) == [])
        #expect(FilmFolder.excess(films, number: 2, age: nil, space: nil) == ["d", "c"])
        #expect(FilmFolder.excess(films, number: nil, age: .seconds(25), space: nil) == ["d", "c"])
        #expect(FilmFolder.excess(films, number: nil, age: nil, space: ByteCount(300)) == ["d"])
        #expect(FilmFolder.excess(films, number: 3, age: .seconds(15), space: ByteCount(1000)) == ["d", "c", "b"])
        // The newest film stays. A film of unknown age is never too old.
        #expect(FilmFolder.excess([film("a", age: 99, 100)], number: 1, age: .seconds(1), space: ByteCount(1)) == [])
        let ageless = [films[0], FilmFolder.Film(name: "z", age: nil, byteCount: 100), films[1]]
        #expect(FilmFolder.excess(ageless, number: nil, age: .seconds(1), space: nil) == ["b"])
        #expect(FilmFolder.excess(ageless, number: 1, age: nil, space: nil) == ["b", "z"])
    }

    @Test(arguments: [
        ("film-2026-11-24-181530.mp4", true), ("film-2026-11-24-181530-2.mp4", true), ("film.mp4", false), ("film-2026.mp4", false),
        ("holiday.mp4", false), ("film-2026-11-24-181530.mp4.part", false),
    ])
    func onlyOwnFilmsAreThrownAway(name: String, isFilm: Bool) { #expect(FilmFolder.isFilm(name) == isFilm) }

    /// A temporary folder that contains films of the given ages and sizes, and files of others.
    private final class Folder {
        let path = NSTemporaryDirectory() + "kiosk-films-\(UUID().uuidString)"
        /// The wall clock that the folder uses.
        let clock = Monitor(WallClock(seconds: Int64(time(nil)), isRight: true))
        var folder: FilmFolder { FilmFolder(path + "/") { [clock] in clock.withLock { $0 } } }
        var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
        /// Files that kiosk must never delete.
        static let others = ["film.mp4", "holiday.mp4", "notes.txt", "film-2026-11-24-181530.mp4.part"]

        init(films: [(minutes: Double, bytes: Int)] = []) throws {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            for (index, film) in films.enumerated() { try add(Self.name(index), age: film.minutes * 60, bytes: film.bytes) }
            for name in Self.others { try add(name, age: 1e8, bytes: 10_000_000) }
        }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        static func name(_ index: Int) -> String { "film-2026-11-01-12000\(index).mp4" }

        func add(_ name: String, age seconds: Double, bytes: Int) throws {
            try Data(count: bytes).write(to: URL(fileURLWithPath: path + "/" + name))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -seconds)], ofItemAtPath: path + "/" + name)
        }

        /// Records and keeps a film; returns its name.
        func keep(number: Int? = nil, age: MediaTime? = nil, space: ByteCount? = nil, bytes: Int = 1000) throws -> String {
            let draft = try folder.nextPath()
            try Data(count: bytes).write(to: URL(fileURLWithPath: draft))
            let film = try folder.keep(draft, FilmFolder.Limits(number: number, age: age, space: space))
            #expect(film.hasPrefix(path + "/film-"))
            return String(film.dropFirst(path.count + 1))
        }

        /// The names of the films in the folder.
        var films: [String] { names.filter { !Self.others.contains($0) && !$0.hasPrefix(".") } }
    }

    @Test func soManyAreKept() throws {
        // The age counts, not the name: the first film is the newest.
        let folder = try Folder(films: [(1, 1000), (50, 1000), (30, 1000), (40, 1000)])
        let new = try folder.keep(number: 3)
        #expect(folder.films == [Folder.name(0), Folder.name(2), new].sorted())
        #expect(Set(folder.names).isSuperset(of: Folder.others))
    }

    @Test func soOldOnesAreKept() throws {
        let folder = try Folder(films: [(10, 1000), (61, 1000), (59, 1000)])
        let new = try folder.keep(age: .seconds(3600))
        #expect(folder.films == [Folder.name(0), Folder.name(2), new].sorted())
        // Films expire without a new recording, too.
        folder.folder.expire(age: .seconds(3600))
        #expect(folder.films == [Folder.name(0), Folder.name(2), new].sorted())
        folder.folder.expire(age: .seconds(30 * 60))
        #expect(folder.films == [Folder.name(0), new].sorted())
        folder.folder.expire(age: .seconds(-10))
        #expect(folder.films == [] && Set(folder.names).isSuperset(of: Folder.others))
    }

    @Test func soMuchIsKept() throws {
        let folder = try Folder(films: [(10, 400_000), (20, 400_000), (30, 400_000)])
        let new = try folder.keep(space: ByteCount(1_000_000), bytes: 150_000)
        #expect(folder.films == [Folder.name(0), Folder.name(1), new].sorted())
        // A film that is larger than the limit stays.
        let large = try folder.keep(space: ByteCount(1_000_000), bytes: 2_000_000)
        #expect(folder.films == [large])
        #expect(Set(folder.names).isSuperset(of: Folder.others))
    }

    /// The clock of this machine has no battery. It dates a film 1970, or when the machine was switched off; later the network sets it.
    @Test(arguments: [60, 1_790_000_000] as [Int64]) func agesCountOnlyByARightClock(wrong: Int64) throws {
        let month = MediaTime.seconds(30 * 86_400)
        let folder = try Folder()
        let now = folder.clock.withLock { $0.seconds }
        func isAt(_ seconds: Int64, isRight: Bool) { folder.clock.withLock { $0 = WallClock(seconds: seconds, isRight: isRight) } }
        isAt(wrong, isRight: false)
        try folder.add(Folder.name(0), age: Double(now - wrong), bytes: 1000)
        let film = try folder.keep(age: month)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: Double(wrong))], ofItemAtPath: folder.path + "/" + film)
        // A wrong clock expires nothing, whatever it shows.
        isAt(now + 40 * 86_400, isRight: false)
        folder.folder.expire(age: month)
        #expect(folder.films.contains(film))
        // The first right clock dates the film. Another process reads that date from the disk.
        isAt(now, isRight: true)
        folder.folder.expire(age: month)
        #expect(folder.films.contains(film), "thrown away because it is from \(wrong)")
        isAt(now + 29 * 86_400, isRight: true)
        folder.folder.expire(age: month)
        #expect(folder.films.contains(film))
        isAt(now + 31 * 86_400, isRight: true)
        folder.folder.expire(age: month)
        #expect(!folder.films.contains(film), "it is a month old now")
        #expect(Set(folder.names).isSuperset(of: Folder.others))
    }

    /// The film kept last is the newest, whatever the clocks show.
    @Test func theOrderOfKeepingCounts() throws {
        let folder = try Folder()
        var kept: [String] = []
        for seconds in [1_790_000_000, 60, 1_780_000_000, 120] as [Int64] {
            folder.clock.withLock { $0 = WallClock(seconds: seconds, isRight: false) }
            kept.append(try folder.keep(number: 3))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: Double(seconds))], ofItemAtPath: folder.path + "/" + kept.last!)
        }
        #expect(folder.films == kept.dropFirst().sorted())
        // kiosk ignores a damaged list.
        try Data([0xFF, 0, 10, 32, 10] + Array("../a 1\nfilm-2026 x y\n".utf8)).write(to: URL(fileURLWithPath: folder.path + "/.films"))
        let last = try folder.keep(number: 2)
        #expect(folder.films.count == 2 && folder.films.contains(last))
    }

    /// If kiosk cannot write to the folder, it deletes nothing, and the film stays with the drafts.
    @Test func aFolderThatCannotBeWrittenTo() throws {
        // Not even root can create files there.
        #expect(throws: CaptureError.self) { try FilmFolder("/sys/kernel/films").nextPath() }
        #expect(throws: CaptureError.self) { try FilmFolder("/dev/null/films").nextPath() }
        #expect(FilmFolder("/dev/null/films").tidy(reviews: false, .init()) == ([], []))
        do throws(CaptureError) { _ = try FilmFolder("/dev/null/films").nextPath() } catch {
            #expect("\(error)".contains("/dev/null/films"), "\(error)")
        }
        let folder = try Folder(films: [(10, 1000), (20, 1000)])
        let draft = try folder.folder.nextPath()
        try Data("film".utf8).write(to: URL(fileURLWithPath: draft))
        // A folder with the film's name is in the way; no file replaces it.
        let name = String(draft.split(separator: "/").last!)
        try FileManager.default.createDirectory(atPath: folder.path + "/" + name, withIntermediateDirectories: false)
        #expect(throws: CaptureError.self) { try folder.folder.keep(draft, FilmFolder.Limits(number: 1)) }
        #expect(!FileManager.default.fileExists(atPath: draft))
        // The film is not lost. At the next start its name is free, and kiosk keeps it.
        // Only films that no visitor confirmed are discarded.
        try FileManager.default.removeItem(atPath: folder.path + "/" + name)
        #expect(folder.folder.tidy(reviews: true, .init()) == ([folder.path + "/" + name], []))
        #expect(Set(folder.films).isSuperset(of: [Folder.name(0), Folder.name(1)]))
    }

    /// The folder is on a disk that is plugged in later. kiosk creates it at the first recording, if its parent exists.
    @Test func aFolderThatIsNotThereYet() throws {
        let path = NSTemporaryDirectory() + "kiosk-disk-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let folder = FilmFolder(path + "/films")
        #expect(folder.tidy(reviews: true, .init()) == ([], []))
        folder.expire(age: .seconds(1))
        #expect(throws: CaptureError.self) { try folder.nextPath() }
        #expect(!FileManager.default.fileExists(atPath: path), "the place of a disk that is not there is filled on another")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try folder.nextPath().hasPrefix(path + "/films/.new/film-"))
    }

    @Test func aFilmGetsItsPlace() throws {
        let path = NSTemporaryDirectory() + "kiosk-films-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let folder = FilmFolder(path + "/")
        let draft = try folder.nextPath()
        #expect(draft.hasPrefix(path + "/.new/film-"))
        try Data("film".utf8).write(to: URL(fileURLWithPath: draft))
        #expect(try folder.nextPath() != draft)
        let kept = try folder.keep(draft, FilmFolder.Limits(number: 1))
        #expect(FileManager.default.fileExists(atPath: kept) && !FileManager.default.fileExists(atPath: draft))
    }

    /// After a power cut kiosk keeps all films, within the limits. With reviews it discards films that nobody confirmed.
    @Test(arguments: [false, true]) func afterAPowerCut(reviews: Bool) throws {
        let folder = try Folder(films: [(10, 1000), (20, 1000)])
        let drafts = folder.path + "/.new"
        try FileManager.default.createDirectory(atPath: drafts, withIntermediateDirectories: false)
        func write(_ name: String) throws { try Data("film".utf8).write(to: URL(fileURLWithPath: drafts + "/" + name)) }
        let (reviewed, wanted) = ("film-2026-11-24-181530.mp4", "film-2026-11-24-181531.mp4")
        let recorded = [".film-2026-11-24-181532.mp4.part", ".film-2026-11-24-181533.mp4.left"]
        for name in [reviewed, "kept-" + wanted, "notes.txt"] + recorded { try write(name) }
        let (kept, thrown) = folder.folder.tidy(reviews: reviews, .init(number: 2))
        let left = try FileManager.default.contentsOfDirectory(atPath: drafts).sorted()
        if reviews {
            #expect(kept == [folder.path + "/" + wanted])
            #expect(Set(thrown) == Set((recorded + [reviewed]).map { drafts + "/" + $0 }))
            #expect(left == ["notes.txt"])
        } else {
            #expect(Set(kept) == Set([folder.path + "/" + wanted, folder.path + "/" + reviewed]) && thrown == [])
            // These contain nothing that can be played.
            #expect(left == (recorded + ["notes.txt"]).sorted())
        }
        #expect(folder.films.count == 2 && folder.films.contains(wanted), "\(folder.films)")
    }
}
