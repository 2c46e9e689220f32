import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// Pictures on planes as they were decoded: the kernel's report of each plane, and the numbers in it. vkms takes every format on every
    /// plane, and scales on request.
    @Suite struct Planes {
        /// A way to the screen.
        struct Way: CustomTestStringConvertible {
            var testDescription: String
            var path: String
            /// The format and the size of the decoded pictures.
            var pixels: String, size = "320x180"
            var displayScales = true
            /// The format and the size of each plane's source, from the lowest plane up.
            var expected: [String]
        }

        static let ways = [
            Way(testDescription: "YUV420, copied", path: "copy", pixels: "yuv420p", expected: ["YU12 320x180"]),
            Way(testDescription: "NV12, copied", path: "copy", pixels: "nv12", expected: ["NV12 320x180"]),
            Way(testDescription: "10 bits, copied as P010", path: "copy", pixels: "yuv420p10le", expected: ["P010 320x180"]),
            Way(
                testDescription: "bars, on a plane above", path: "copy", pixels: "nv12", size: "320x240",
                expected: ["XR24 1280x720", "NV12 320x240"]),
            Way(
                testDescription: "a display that does not scale", path: "copy", pixels: "nv12", displayScales: false,
                expected: ["YU12 1280x720"]),
            Way(testDescription: "scaled in software", path: "scale", pixels: "yuv420p", expected: ["YU12 1280x720"]),
            Way(testDescription: "converted", path: "convert", pixels: "nv12", expected: ["XR24 1280x720"]),
            Way(testDescription: "vkms by itself", path: "auto", pixels: "nv12", expected: ["XR24 1280x720"]),
        ]

        @Test(arguments: ways) func `two items, and nobody can tell`(way: Way) async throws {
            let clips = try [1, 1001].map { try BedGallery.raw(way.pixels, size: way.size, from: $0) }
            let machine = Machine { ($0.time, $0.planesScale) = (.free, way.displayScales) }
            let configuration = KioskConfiguration(display: "picture-path = \"\(way.path)\"")
            let area = way.size == "320x240" ? Vblank.Rectangle(x: 160, y: 0, width: 960, height: 720) : nil
            let record = try await Bed.run(
                "planes \(way.path) \(way.pixels)", for: .seconds(8), playing: clips, .kiosk(configuration), on: machine, area: area)
            #expect(record.seams.count >= 6 && record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(1)) == [])
            expectCountsToAgree(record)
            let wrong = record.vblanks.first { record.isFrame($0.number) && $0.planes.map(\.text) != way.expected }
            #expect(wrong == nil)
            #expect(record.terminal == "text on auto")
        }

        /// Pictures are copied, scaled and converted in turn. The path changes at a seam, and the seam stays clean.
        @Test(arguments: [true, false]) func `items of different formats and sizes`(displayScales: Bool) async throws {
            let clips =
                try [
                    ("mix-1.mp4", 30.0), ("mix-2.webm", 25), ("mix-3.mkv", 24000.0 / 1001), ("mix-6.mp4", 50), ("mix-7.mov", 24),
                    ("mix-10.mp4", 30),
                ].map { name, rate in
                    let number = Int(name.dropFirst(4).prefix { $0.isNumber })!
                    return NumberedClip(try BedGallery.path(name), frames: Int(rate.rounded()), from: 1000 * number + 1, frameRate: rate)
                } + [try BedGallery.raw("rgb24", from: 20001)]
            let machine = Machine { ($0.time, $0.planesScale) = (.free, displayScales) }
            let configuration = KioskConfiguration(display: "gravity = \"stretch\"\npicture-path = \"copy\"")
            let record = try await Bed.run("paths", for: .seconds(22), playing: clips, .kiosk(configuration), on: machine)
            #expect(record.seams.count >= 20 && record.seams.allSatisfy { $0.isClean }, "\(record.seams.filter { !$0.isClean })")
            expectCountsToAgree(record)
            let formats = Set(record.vblanks.filter { record.isFrame($0.number) }.map { $0.planes.map(\.text).joined(separator: " ") })
            let scaled: Set = ["YU12 1280x720", "YU16 1280x720", "YU24 1280x720", "XR24 1280x720"]
            #expect(
                formats
                    == (displayScales
                        ? [
                            "YU12 480x270", "YU12 320x240", "P010 320x180", "YU12 640x360", "YU16 1280x720", "YU24 321x179",
                            "XR24 1280x720",
                        ] : scaled))
        }

        /// The picture stays on its plane beneath controls on planes. If the controls have no plane, the player converts the picture while
        /// they are visible.
        @Test(arguments: [2, 0]) func `controls over it`(overlays: Int) async throws {
            let clips = try [1, 1001].map { try BedGallery.raw("nv12", from: $0) }
            let machine = Machine { ($0.time, $0.planesScale, $0.overlays) = (.free, true, overlays) }
            let configuration = KioskConfiguration(display: "picture-path = \"copy\"")
            let record = try await Bed.run("planes \(overlays)", for: .seconds(10), playing: clips, .kiosk(configuration), on: machine) {
                at in
                at(2.5, .key(.space), "pause")
                at(3.5, .key(.space), "play")
            }
            let shown = record.vblanks.filter { $0.time > .seconds(1) && record.isFrame($0.number) }
            let formats = Set(shown.map { $0.planes[0].format })
            if overlays > 0 {
                #expect(formats == ["NV12"] && shown.contains { !$0.overlays.isEmpty })
                #expect(record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            } else {
                #expect(formats == ["NV12", "XR24"] && record.vblanks.last { record.isFrame($0.number) }?.planes[0].format == "NV12")
                let late = record.seams.filter { $0.first.time > .seconds(8) }
                #expect(!late.isEmpty && late.allSatisfy { $0.isClean })
            }
        }

        /// A hardware decoder's memory; DisplayTests.SurfaceOnCardTests plays it in the guest. Each surface becomes a framebuffer once, and
        /// no visible surface is drawn into.
        @Test func `a decoder's memory`() async throws {
            let machine = Machine { ($0.time, $0.recordsSound, $0.hasKeyboard, $0.hasTouchScreen) = (.free, false, false, false) }
            let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let start = "export KIOSK_TEST_CARD=surface; exec \"$@\""
            let command = ["sh", "-c", start, "sh", tests, "--testing-library", "swift-testing", "--filter", "SurfaceOnCardTests"]
            let clips = [NumberedClip("surfaces", frames: 300, frameRate: 60)]
            let record = try await Bed.run("surfaces", for: .seconds(60), playing: clips, .command(command), on: machine)
            #expect(record.status == 0, "\(record.log.map(\.text).joined(separator: "\n"))")
            #expect(record.frames.map(\.number) == Array(1...300))
            for frame in record.frames.dropLast() { #expect(frame.vblanks == 1, "\(frame)") }
            let shown = record.vblanks.filter { record.isFrame($0.number) }
            #expect(shown.allSatisfy { $0.planes.map(\.text) == ["NV12 1280x720"] })
            #expect(Set(shown.map { $0.planes[0].framebuffer }).count <= 8)
        }

        /// In the host's time, in which copying takes its own.
        @Test(.thorough("real time")) func `in real time`() async throws {
            let clips = [
                try BedGallery.clip("a", frames: 150, frameRate: 30), try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30),
            ]
            let record = try await Bed.run(
                "planes", for: .seconds(13), playing: clips, .kiosk(KioskConfiguration(display: "picture-path = \"copy\"")), on: .measured)
            #expect(record.seams.map(\.first.number) == [1001, 1] && record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(2)) == [])
            expectCountsToAgree(record)
            #expect(record.vblanks.allSatisfy { !record.isFrame($0.number) || $0.planes.map(\.text) == ["YU12 1280x720"] })
        }
    }
}

extension Vblank.Plane {
    /// `NV12 320x180`.
    var text: String { "\(format) \(source.width)x\(source.height)" }
}
