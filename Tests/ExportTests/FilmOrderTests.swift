import Foundation
import Glibc
import KioskConfiguration
import KioskMedia
import KioskReaders
import KioskVocabulary
import Testing

@testable import KioskExportCore

/// Films in the making when the player ended.
@Suite struct FilmOrderTests {
    /// A folder for films, and its files.
    private struct Films: ~Copyable {
        let path = FileManager.default.temporaryDirectory.path + "/kiosk-films-\(UUID().uuidString)"
        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }
        var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
        func write(_ name: String, _ text: String = "x") {
            _ = FileManager.default.createFile(atPath: "\(path)/\(name)", contents: Data(text.utf8))
        }
    }

    private static let clips = ["/srv/videos/a \"b\" \\ c.mp4", "/srv/vidéos/tab\there.mp4", "/srv/videos/a.mp4", "/srv/videos/a.mp4"]

    @Test func `what a film is made of is read as it was written`() throws {
        for music in [nil, "/srv/söng.m4a"] {
            let text = Arrangement.file(of: Self.clips, music: music)
            let read = try Arrangement.parse(Array(text.utf8), path: "x.toml", folder: "/")
            #expect(read.clips == Self.clips.map { .init(.file($0)) } && read.music == music.map { .init(source: $0) })
        }
    }

    @Test func `a film that is cut off is made again once, and its draft is removed`() throws {
        let films = try Films()
        func begin() -> (path: String, draft: String) {
            let order = FilmOrder.begin(in: films.path, clips: Self.clips, music: "/srv/song.m4a")
            films.write(String(FilmWriter.draftPath(of: order.path).split(separator: "/").last!))
            return (order.path, FilmWriter.draftPath(of: order.path))
        }
        // A process loses its lock when it ends. Here the lock goes with the value.
        let (path, draft) = begin()
        #expect(films.names.count == 2 && !films.names.contains { $0.hasPrefix("film") })
        var left = FilmOrder.tidy(films.path)
        #expect(left.givenUp.isEmpty && left.orders.map(\.path) == [path] && access(draft, F_OK) != 0)
        #expect(left.orders.first?.clips == Self.clips && left.orders.first?.music == "/srv/song.m4a")
        // While this order is being made again, no other process may take it.
        films.write(String(draft.split(separator: "/").last!))
        #expect(FilmOrder.tidy(films.path).orders.isEmpty && access(draft, F_OK) == 0)
        // The film is cut off again.
        left = FilmOrder.Leftovers()
        left = FilmOrder.tidy(films.path)
        #expect(left.orders.isEmpty && left.givenUp.map(\.path) == [path] && films.names == [])
        #expect(left.givenUp.first?.reason == "it was cut off a second time")
    }

    @Test func `an orderly end is not the film's fault`() throws {
        let films = try Films()
        var path: String? = FilmOrder.begin(in: films.path, clips: Self.clips, music: nil).path
        for _ in 0..<4 {
            let left = FilmOrder.tidy(films.path)
            #expect(left.orders.map(\.path) == [path])
            left.orders.first?.postpone()
        }
        let last = FilmOrder.tidy(films.path)
        last.orders.first?.end()
        path = nil
        #expect(films.names == [])
    }

    @Test func `one that is being made is left alone`() throws {
        let films = try Films()
        let order = FilmOrder.begin(in: films.path, clips: Self.clips, music: nil)
        films.write(String(FilmWriter.draftPath(of: order.path).split(separator: "/").last!))
        let before = films.names
        let left = FilmOrder.tidy(films.path)
        #expect(left.orders.isEmpty && left.givenUp.isEmpty && films.names == before)
        // A draft of another process without an order.
        let draft = "\(films.path)/.film-20200101-000000.mp4.part"
        films.write(".film-20200101-000000.mp4.part")
        let descriptor = open(draft, O_RDWR)
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        _ = FilmOrder.tidy(films.path)
        #expect(access(draft, F_OK) == 0)
        close(descriptor)
        #expect(FilmOrder.tidy(films.path).givenUp.map(\.path) == ["\(films.path)/film-20200101-000000.mp4"] && access(draft, F_OK) != 0)
        order.end()
        unlink(FilmWriter.draftPath(of: order.path))
        #expect(films.names == [])
    }

    @Test func `what is not of the shelf stays, a film that is whole, too`() throws {
        let films = try Films()
        let others = [
            ".film-2026-11-24-231500.mp4.part", ".my.mp4.part", ".film-20261124-231500.mp4.left", "film-20261124-231500.mp4", "film.toml",
        ]
        for name in others { films.write(name) }
        // Power cuts: one after a film got its name, but before the removal of its order; one while writing an order.
        films.write(".film-20261124-231500.mp4.toml", Arrangement.file(of: ["/srv/a.mp4"], music: nil))
        films.write(".film-20261124-111111.mp4.toml", "[[clip")
        let left = FilmOrder.tidy(films.path)
        #expect(left.orders.isEmpty && left.givenUp.map(\.path) == ["\(films.path)/film-20261124-111111.mp4"])
        #expect(films.names == others.sorted())
        #expect(FilmOrder.tidy(films.path + "/nowhere").orders.isEmpty)
    }

    @Test func `a folder for films is made where it is missing, and what stands in the way is said`() throws {
        let films = try Films()
        #expect(objection(toFilmsIn: films.path + "/new") == nil && objection(toFilmsIn: films.path + "/new") == nil)
        #expect(films.names == ["new"])
        #expect(objection(toFilmsIn: films.path + "/no/where") == "No such file or directory")
        films.write("file")
        #expect(objection(toFilmsIn: films.path + "/file") == "it is no folder")
        #expect(objection(toFilmsIn: "/proc/kiosk") != nil)
        // A caller that only asks creates nothing.
        #expect(objection(toFilmsIn: films.path + "/later", isAsking: true) == nil && films.names == ["file", "new"])
        #expect(objection(toFilmsIn: films.path, isAsking: true) == nil)
        let neither = "neither it nor the folder that it lies in exists"
        #expect(objection(toFilmsIn: films.path + "/no/where", isAsking: true) == neither)
        let inFile = objection(toFilmsIn: films.path + "/file/films", isAsking: true)
        #expect(inFile == "Not a directory")
    }
}
