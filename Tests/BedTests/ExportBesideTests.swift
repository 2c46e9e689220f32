import Bed
import Foundation
import Testing

extension BedTests {
    /// A film that is made while the player plays, on the one processor that there is.
    @Suite struct ExportBeside {
        /// In virtual time, in which computing takes as long as it does, and the host cannot be in the way.
        @Test func `a film is made beside the player, and no vblank is missed`() async throws {
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let short = try BedGallery.clip("loop30", frames: 30, frameRate: 30)
            let film = NSTemporaryDirectory() + "kiosk-film-\(UUID().uuidString).mp4"
            defer { try? FileManager.default.removeItem(atPath: film) }
            let record = try await Bed.run(
                "export-beside", for: .seconds(14), playing: [clip], on: Machine { $0.time = .virtual }
            ) { at in
                let sources = Array(repeating: short.path, count: 6).joined(separator: " ")
                at(2, .shell("$(readlink /proc/$PLAYER/exe) export \(sources) -o \(film) --quiet; echo status=$?"), "export")
            }
            #expect(record.outputs["export"]?.contains("status=0") == true, "\(record.outputs)")
            #expect(FileManager.default.fileExists(atPath: film))
            #expect(record.wrongHolds == [])
            #expect(record.seams.count >= 2 && record.seams.allSatisfy(\.isClean), "\(record.seams)")
            #expect(record.statistics?.late == 0 && record.statistics?.dropped == 0)
            #expect(record.status == 0)
        }
    }
}

extension BedTests.ExportBeside {
    @Test func `a film is put together on the shelf, and programs see it come about`() async throws {
        let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
        let shorts = try [("loop30", 1), ("other30", 1001)].map { try BedGallery.clip($0.0, frames: 30, from: $0.1, frameRate: 30) }
        let folder = "/tmp/kiosk-bed-shelf-\(UUID().uuidString)", socket = folder + ".sock"
        defer { for path in [folder, socket] { try? FileManager.default.removeItem(atPath: path) } }
        try FileManager.default.createDirectory(atPath: folder + "/films", withIntermediateDirectories: true)
        for (name, short) in zip(["first", "second"], shorts) {
            try FileManager.default.copyItem(atPath: short.path, toPath: "\(folder)/\(name).mp4")
        }
        let configuration = KioskConfiguration(
            input: "[shelf]\nfolders = [\"\(folder)\"]\nexport-folder = \"\(folder)/films\"\ncache = \"off\"",
            control: "socket = \"\(socket)\"")
        let record = try await Bed.run(
            "shelf-film", for: .seconds(24), playing: [clip], .kiosk(configuration), on: Machine { $0.time = .virtual }
        ) { at in
            let ctl = "$(readlink /proc/$PLAYER/exe) ctl --socket \(socket)"
            at(1.5, .shell("\(ctl) watch export & w=$!; sleep 20; kill $w"), "watch")
            at(3, .shell("for c in first second first; do \(ctl) shelf add $c.mp4; done; \(ctl) shelf export"), "export")
            at(22, .shell("\(ctl) shelf film"), "film")
        }
        let events = try #require(record.outputs["watch"]).split(separator: "\n").filter { $0.contains("\"event\":\"export\"") }
        let shares = events.compactMap { $0.firstMatch(of: #/"done":([0-9.]+)/#).flatMap { Double($0.output.1) } }
        #expect(shares.first == 0 && shares == shares.sorted() && shares.count >= 2, "\(events)")
        let last = try #require(events.last, "\(record.outputs)")
        let match = try #require(last.firstMatch(of: #/"file":"([^"]+)"/#), "\(events)")
        let path = String(match.output.1).replacingOccurrences(of: "\\/", with: "/")
        #expect(path.hasPrefix(folder + "/films/film-") && path.hasSuffix(".mp4"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/films") == [String(path.split(separator: "/").last!)])
        #expect(record.outputs["film"]?.contains("state: done") == true, "\(record.outputs)")
        // All of the three clips, and nothing was missed on the screen meanwhile.
        let film = try BedTests.Recordings().times(path)
        #expect(film.count == 90 && abs((film.max() ?? 0) - 89.0 / 30) < 0.01, "\(film.count) pictures")
        #expect(record.wrongHolds == [] && record.seams.count >= 3 && record.seams.allSatisfy(\.isClean), "\(record.seams)")
        #expect(record.status == 0)
    }
}
