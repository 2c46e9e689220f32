import Foundation
import TestSupport
import Testing

/// Zones of a player that runs offscreen.
@Suite(.blocking) struct ZoneTests {
    private let folder: TestFolder
    private let socket: String

    init() throws {
        folder = try TestFolder()
        socket = folder.path + "/control.sock"
    }

    private func color(_ name: String, _ color: String) throws -> String {
        try Clips.make("zone-\(name).png", ["-f", "lavfi", "-i", "color=\(color):s=32x18,format=rgb24", "-frames:v", "1", "-update", "1"])
    }

    private func text(_ zones: String) throws -> String {
        """
        [display]
        connector = "offscreen"
        mode = "320x180"
        region = "0 0 50 100"
        gravity = "stretch"
        [audio]
        device = "off"
        [input]
        grab = false
        touch = false
        [control]
        socket = "\(socket)"
        [[playlist]]
        source = "\(try color("main", "0xff0000"))"

        """ + zones
    }

    private func zone(_ name: String, _ region: String, _ rest: String = "", _ sources: String...) -> String {
        "[[zone]]\nname = \"\(name)\"\nregion = \"\(region)\"\n\(rest)\n"
            + sources.map { "[[zone.playlist]]\nsource = \"\($0)\"\nduration = 3600\n" }.joined()
    }

    /// Returns the colours at the centres of the four quarters, clockwise from the top left, as 0xRRGGBB.
    private func quarters() throws -> [Int]? {
        let picture = folder.path + "/screen.png"
        guard let shot = try? KioskProcess(["screenshot", "--socket", socket, picture]), shot.status() == 0 else { return nil }
        let pixels = try Clips.bytes(Clips.make("\(UUID().uuidString).raw", ["-i", picture, "-f", "rawvideo", "-pix_fmt", "rgb24"]))
        guard pixels.count == 320 * 180 * 3 else { return nil }
        return [(80, 45), (240, 45), (240, 135), (80, 135)].map { x, y in
            (0..<3).reduce(0) { $0 << 8 | Int(pixels[(y * 320 + x) * 3 + $1]) }
        }
    }

    /// Waits until the quarters have these colours, within the error of a conversion.
    private func shows(_ wanted: [Int]) -> Bool {
        eventually(120) {
            guard let seen = try? quarters() else { return false }
            return zip(seen, wanted).allSatisfy { seen, wanted in
                [16, 8, 0].allSatisfy { abs((seen >> $0 & 0xff) - (wanted >> $0 & 0xff)) < 8 }
            }
        }
    }

    private func ctl(_ words: String...) throws -> (status: Int32?, output: String, errors: String) {
        let asked = try KioskProcess(["ctl", "--socket", socket] + words)
        return (asked.status(), asked.output, asked.errors)
    }

    @Test func eachShowsItsOwn() throws {
        let (blue, green, white) = (try color("blue", "0x0000ff"), try color("green", "0x00ff00"), try color("white", "0xffffff"))
        let first = zone("top right", "50 0 50 50", "", blue, green)
        let broken = zone("broken", "50 50 50 50", "background = \"#804020\"", folder.path + "/none.mp4")
        let configuration = try folder.file("test.conf", try text(first + broken))
        let kiosk = try KioskProcess(["--config", configuration])
        #expect(eventually(120) { FileManager.default.fileExists(atPath: socket) })
        // A zone with nothing to play shows its background, and harms no other zone.
        #expect(shows([0xff0000, 0x0000ff, 0x804020, 0xff0000]), "\((try? quarters()) ?? []), \(kiosk.errors)")
        #expect(kiosk.waits(for: "zone broken: nothing on the playlist can be played"))
        #expect(kiosk.waits(for: "zone top right: 160×90 pixels at 160,0, silent"))

        #expect(try ctl("zone", "top right", "next").status == 0)
        #expect(shows([0xff0000, 0x00ff00, 0x804020, 0xff0000]))
        let unknown = try ctl("zone", "left", "next")
        #expect(unknown.status == 1 && unknown.errors.contains("there is no zone “left” in kiosk.conf"), "\(unknown)")
        #expect(try ctl("zone", "top right").status == 1)

        // Zones rotate with the picture beneath, and pause while the display is off.
        #expect(try ctl("rotate", "180").status == 0 && shows([0xff0000, 0x00ff00, 0x804020, 0xff0000]))
        for (order, state) in [("off", "paused"), ("on", "playing")] {
            #expect(try ctl("display", order).status == 0)
            #expect(
                eventually(120) {
                    ((try? ctl("zone"))?.output ?? "").contains("\"name\":\"top right\",\"place\":2,\"seams\":0,\"state\":\"\(state)\"")
                })
        }
        let all = try ctl("zone")
        #expect(all.output.contains("top right") && all.output.contains("broken"), "\(all)")

        // A zone whose file exists takes the place of the broken one.
        try FileManager.default.copyItem(atPath: try color("white", "0xffffff"), toPath: folder.path + "/new.png")
        let second = zone("below", "50 50 50 50", "", folder.path + "/new.png")
        _ = try folder.file("test.conf", try text(zone("top right", "50 0 50 50", "", white) + second))
        // The item on the screen plays to its end.
        #expect(shows([0xff0000, 0x00ff00, 0xffffff, 0xff0000]), "\((try? quarters()) ?? [])")
        #expect(try ctl("zone", "top right", "next").status == 0)
        #expect(shows([0xff0000, 0xffffff, 0xffffff, 0xff0000]), "\((try? quarters()) ?? [])")
        // Move a zone, then remove it.
        _ = try folder.file("test.conf", try text(zone("top right", "0 50 50 50", "", white)))
        #expect(shows([0xff0000, 0x000000, 0x000000, 0xffffff]), "\((try? quarters()) ?? [])")
        _ = try folder.file("test.conf", try text(""))
        #expect(shows([0xff0000, 0x000000, 0x000000, 0xff0000]), "\((try? quarters()) ?? [])")
        #expect(kiosk.end() == 0)
        #expect(!kiosk.errors.contains("does not answer"), "\(kiosk.errors)")
    }

    @Test func checkOpensTheirItems() throws {
        let configuration = try folder.file(
            "test.conf", try text(zone("menu", "50 0 50 50", "", try color("blue", "0x0000ff"), "none.mp4")))
        let check = try KioskProcess(["check", "--config", configuration, "--display", "offscreen"])
        #expect(check.status() == 1)
        #expect(
            check.output.count(of: "in the zone “menu”") == 2 && check.output.contains("3 items, 1 cannot be played"), "\(check.output)")
    }
}

extension String {
    fileprivate func count(of text: String) -> Int { components(separatedBy: text).count - 1 }
}
