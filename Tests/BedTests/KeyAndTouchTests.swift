import Bed
import Foundation
import Testing

extension BedTests {
    /// kiosk.conf's settings for keys and fingers, on real devices of the kernel.
    @Suite struct KeysAndTouches {
        let clip: NumberedClip
        let other: NumberedClip
        let machine = Machine { $0.time = .free }

        init() throws {
            clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            other = try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30)
        }

        private func configuration(_ input: String) -> Program { .kiosk(KioskConfiguration(input: input)) }

        @Test func `keys held for a second, chords and keys with an argument`() async throws {
            let program = configuration("[input.keys]\n\"hold q\" = \"item 2\"\nq = \"item 1\"\n\"m+n\" = \"pause\"\nspace = \"seek +1\"")
            let record = try await Bed.run("chords", for: .seconds(9), playing: [clip, other], program, on: machine) { at in
                at(1, .key(.space), "a second on")
                at(1.5, .press(.m), "one of two")
                at(1.56, .press(.n), "both")
                at(2, .release(.m))
                at(2, .release(.n))
                at(3, .key(.space), "paused still")
            }
            let jump = try #require(record.jump(after: "a second on"))
            #expect(jump.to - jump.from >= 30 && jump.time <= .milliseconds(34), "\(jump)")
            #expect(try #require(record.response(to: "both")) <= .milliseconds(34), "the chord pauses")
            #expect(record.frames.allSatisfy { $0.number < 1000 }, "neither key alone does anything")
        }

        @Test func `what a locked screen does not list does nothing`() async throws {
            let program = configuration("locked = true\nallow = [\"KEY_SPACE\", \"device Keyboard\"]\nallow-quit = true")
            let record = try await Bed.run("locked", for: .seconds(6), playing: [clip, other], program, on: machine) { at in
                at(1, .tap(640, 360), "tap")
                at(1.5, .swipe(from: (200, 360), to: (900, 360)), "swipe")
                at(2, .key(.n), "next")
                at(2.5, .key(.q), "quit")
                at(3.5, .key(.space), "pause")
            }
            let pause = record.time(of: "pause")
            let before = record.frames.filter { $0.time > .zero && $0.time <= pause }
            #expect(
                before.last.map { $0.number >= 90 && $0.number < 150 } == true
                    && record.wrongHolds.allSatisfy { $0.time >= pause - .milliseconds(34) })
            #expect(try #require(record.response(to: "pause")) <= .milliseconds(34))
        }

        /// The screen has no fault, and the picture is turned on it: the targets are in their places, and the matrix is the identity.
        @Test func `a touch screen is calibrated under a turned picture`() async throws {
            let folder = NSTemporaryDirectory() + "kiosk-calibrate-\(UInt64.random(in: 0 ... .max))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try Data("[display]\nmode = \"1280x720\"\nrotation = 90\n".utf8).write(to: URL(fileURLWithPath: folder + "/kiosk.conf"))
            let program = Program.command([try Bed.player(), "calibrate", "-c", folder + "/kiosk.conf", "--output", folder + "/rules"])
            // The picture's top left, top right, bottom right, bottom left and middle, on the panel.
            let places = [(1151, 72), (1151, 647), (128, 647), (128, 72), (640, 360)]
            let record = try await Bed.run("calibrate", for: .seconds(12), program, on: machine) { at in
                for (index, place) in places.enumerated() {
                    at(Double(index) + 3, .tap(place.0, place.1))
                    if index < 4 { at(Double(index) + 2.9, .screenshot(), "\(index)") }
                }
            }
            #expect(record.status == 0)
            let rules = String(decoding: try Data(contentsOf: URL(fileURLWithPath: folder + "/rules")), as: UTF8.self)
            let text = try #require(
                rules.firstMatch(of: /ATTRS\{name\}=="Bed Touchscreen", ENV\{LIBINPUT_CALIBRATION_MATRIX\}="([^"]*)"/)?.1)
            let matrix = text.split(separator: " ").compactMap { Double($0) }
            #expect(matrix.count == 6 && zip(matrix, [1, 0, 0, 0, 1, 0]).allSatisfy { abs($0 - $1) < 0.01 }, "\(text)")
            for index in 0..<4 {
                let picture = try #require(record.screenshots["\(index)"])
                for (other, place) in places.prefix(4).enumerated() {
                    let isLit = picture[place.0, place.1].isLike(Picture.Color(255, 255, 255))
                    #expect(isLit == (other == index), "target \(index) at \(place)")
                }
            }
        }
    }
}
