import Foundation
import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskExportCore

/// Types, indices, metadata and lengths of film files, by their bytes.
@Suite struct FilmFileTests {
    /// Returns the names of the boxes of a file, in order, and the brand of the first one.
    private func boxes(_ path: String) throws -> (names: [String], brand: String) {
        let bytes = try Clips.bytes(path)
        func text(_ place: Int) -> String { String(decoding: bytes[place..<place + 4], as: UTF8.self) }
        var names: [String] = [], place = 0
        while place + 8 <= bytes.count {
            names.append(text(place + 4))
            var size = bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
            if size == 1 { size = bytes[place + 8..<place + 16].reduce(0) { $0 << 8 | Int($1) } }
            if size < 8 { break }
            place += size
        }
        return (names.filter { $0 != "free" && $0 != "wide" }, text(8))
    }

    private func export(
        _ name: String, copies: Bool = false, type: FilmType? = nil, _ change: (inout Arrangement) -> Void = { _ in },
        _ look: (String, ExportSession.Report) throws -> Void
    ) throws {
        var arrangement = try ExportSessionTests.arrangement(["thirty.mp4"])
        change(&arrangement)
        let folder = try ExportFolder()
        var options = ExportSession.Options(output: folder.path + "/" + name)
        (options.copies, options.type) = (copies, type)
        let report = try ExportSession.run(arrangement, options)
        #expect(folder.names == [name])
        try look(options.output, report)
    }

    @Test(
        arguments: [("film.mov", nil, "qt  "), ("film.QT", nil, "qt  "), ("film.mp4", nil, "isom"), ("film", nil, "isom")]
            as [(String, FilmType?, String)])
    func `the name decides the type of a film`(_ name: String, _ type: FilmType?, _ brand: String) throws {
        for copies in [false, true] {
            try export(name, copies: copies) { path, _ in
                let (names, found) = try boxes(path)
                #expect(found == brand && names == ["ftyp", "moov", "mdat"], "\(name): \(names) \(found)")
                let film = try FilmWriterTests.read(path)
                #expect(film.numbers == Array(1...30) && film.times[0] == 0 && abs(film.end - 1) < 0.001)
                #expect(abs(film.left.count - 48000) < 1100)
            }
        }
    }

    @Test func `a type that is asked for beats the name`() throws {
        var brands: [String] = []
        try export("film.mp4", type: .mov) { path, _ in brands.append(try boxes(path).brand) }
        try export("film.mov", type: .mp4) { path, _ in brands.append(try boxes(path).brand) }
        #expect(brands == ["qt  ", "isom"])
    }

    @Test func `the index comes last if nobody loads the film`() throws {
        for name in ["film.mp4", "film.mov"] {
            try export(name, { $0.output.isIndexFirst = false }) { path, _ in
                let (names, numbers) = (try boxes(path).names, try FilmWriterTests.read(path).numbers)
                #expect(names == ["ftyp", "mdat", "moov"] && numbers == Array(1...30))
            }
        }
    }

    @Test func `a film tells its title, artist, album and date`() throws {
        for name in ["film.mp4", "film.mov"] {
            try export(
                name,
                {
                    ($0.output.title, $0.output.artist, $0.output.album) = ("Sömmer 🌞", "The museum", "2026")
                    ($0.output.date, $0.output.comment) = ("2026-05-01", "for all")
                }
            ) { path, _ in
                let metadata = try MediaReader.open(path, samples: nil).description.metadata
                #expect(metadata.title == "Sömmer 🌞" && metadata.artist == "The museum" && metadata.album == "2026", "\(metadata)")
                #expect(metadata.date == "2026-05-01", "\(metadata)")
            }
        }
    }

    @Test func `a film keeps within its length`() throws {
        let noise = try Clips.make(
            "noise.mp4", ["-f", "lavfi", "-i", "nullsrc=s=320x180:r=25:d=8,geq=random(1)*255:128:128", "-c:v", "libx264", "-crf", "30"])
        func change(_ arrangement: inout Arrangement, _ limit: Int64?) {
            arrangement.clips = [.init(.file(noise))]
            arrangement.output.byteLimit = limit
        }
        func length(_ path: String) throws -> Int { try Clips.bytes(path).count }
        var free = 0
        try export("film.mp4", { change(&$0, nil) }) { path, _ in free = try length(path) }
        let limit = Int64(free / 4)
        try export("film.mp4", { change(&$0, limit) }) { path, report in
            let limited = try length(path)
            #expect(limited <= limit && limited > Int(limit) / 3 && report.pictures == 200, "\(limited) of \(limit), \(free)")
        }
        // A limit that is not reached changes nothing.
        try export("film.mp4", { change(&$0, Int64(4 * free)) }) { path, _ in
            let same = try length(path)
            #expect(abs(same - free) < free / 50)
        }
        // Copied frames have the size that they have.
        let half = Int64(try length(noise) / 2)
        #expect {
            try export("film.mp4", copies: true, { change(&$0, half) }) { _, _ in }
        } throws: { error in
            if case ExportError.tooLong(_, half) = error { true } else { false }
        }
    }

    @Test func `a size that must not be exceeded scales down, never up, and also upright`() throws {
        func size(_ clip: String, _ width: Int, _ height: Int) throws -> PictureSize? {
            var size: PictureSize?
            try export(
                "film.mp4",
                {
                    $0.clips = [.init(.file((try? Clips.named(clip)) ?? ""))]
                    $0.output.largest = PictureSize(width: width, height: height)
                }
            ) { _, report in size = report.size }
            return size
        }
        #expect(try size("thirty.mp4", 160, 120) == PictureSize(width: 160, height: 90))
        #expect(try size("thirty.mp4", 1280, 720) == PictureSize(width: 320, height: 180))
        let upright = try #require(Gallery.moving.first { $0.name == "turned-90.mp4" })
        let scale = 160 / Double(max(upright.width, upright.height))
        let found = try #require(try size("turned-90.mp4", 160, 160))
        #expect(found.height == 160 && abs(Double(found.width) - Double(min(upright.width, upright.height)) * scale) <= 1, "\(found)")
    }
}
