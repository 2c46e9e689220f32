import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// A film made while the player plays, on the machine's only processor.
    @Suite struct ExportBeside {
        /// In virtual time in which computing takes its time, and the host cannot interfere.
        @Test(.thorough("virtual time in which computing takes time")) func `a film is made beside the player, and no vblank is missed`()
            async throws
        {
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
    /// Makes a folder with two clips, first.mp4 and second.mp4, and a folder for films. Returns it, and the path of a socket.
    private static func shelf() throws -> (folder: String, socket: String) {
        let folder = "/tmp/kiosk-bed-shelf-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/films", withIntermediateDirectories: true)
        for (name, source) in [("first", ("loop30", 1)), ("second", ("other30", 1001))] {
            let short = try BedGallery.clip(source.0, frames: 30, from: source.1, frameRate: 30)
            try FileManager.default.copyItem(atPath: short.path, toPath: "\(folder)/\(name).mp4")
        }
        return (folder, folder + ".sock")
    }

    @Test(.thorough("virtual time in which computing takes time")) func `the clips of a film are put in order with keys, on the screen`()
        async throws
    {
        let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
        let (folder, socket) = try Self.shelf()
        defer { for path in [folder, socket] { try? FileManager.default.removeItem(atPath: path) } }
        let configuration = KioskConfiguration(
            input: "[input.keys]\nf1 = \"shelf\"\n[shelf]\nfolders = [\"\(folder)\"]\nexport-folder = \"\(folder)/films\"\ncache = \"off\"",
            control: "socket = \"\(socket)\"")
        let record = try await Bed.run(
            "shelf-order", for: .seconds(12), playing: [clip], .kiosk(configuration), on: Machine { $0.time = .virtual }
        ) { at in
            let ctl = "$(readlink /proc/$PLAYER/exe) ctl --socket \(socket)"
            at(2, .shell("for c in first second first; do \(ctl) shelf add $c.mp4; done"), "add")
            at(4, .key(.f1))
            at(4.5, .key(.insert))
            at(5, .screenshot(), "film")
            // The second button of the first clip: Later.
            at(5.5, .key(.down))
            at(6, .key(.right))
            at(6.5, .screenshot(), "clip")
            at(7, .key(.enter))
            at(7.5, .screenshot(), "moved")
            at(8, .shell("\(ctl) shelf film"), "order")
            // Back to the film, from there to the shelf, and from there to the item that plays.
            for step in 0..<3 { at(9 + 0.3 * Double(step), .key(.escape)) }
        }
        let order = try #require(record.outputs["order"]).matches(of: #/(first|second)\.mp4/#).map { String($0.output.1) }
        #expect(order == ["second", "first", "first"], "\(record.outputs)")
        let pictures = try ["film", "clip", "moved"].map { try #require(record.screenshots[$0]) }
        #expect(pictures[0] != pictures[1] && pictures[1] != pictures[2] && pictures[0] != pictures[2])
        // After closing, the clip plays on.
        #expect(record.frames.contains { $0.time > .seconds(11) })
        #expect(record.wrongHolds(from: .seconds(11)) == [])
        #expect(record.status == 0)
    }

    @Test(.thorough("virtual time in which computing takes time"))
    func `a film is put together on the shelf, and programs see it come about`() async throws {
        let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
        let (folder, socket) = try Self.shelf()
        defer { for path in [folder, socket] { try? FileManager.default.removeItem(atPath: path) } }
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
