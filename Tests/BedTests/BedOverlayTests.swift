import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// Drawn overlays over the picture, as Display shows them. DisplayTests.OverlayOnCardTests plays in the guest.
    @Suite struct Overlays {
        /// Plays one of those tests in the guest, with the overlay in its placement.
        private func run(_ test: String, _ placement: String, _ clips: [NumberedClip]) async throws -> Record {
            let machine = Machine { machine in
                (machine.time, machine.recordsSound, machine.hasKeyboard, machine.hasTouchScreen) = (.free, false, false, false)
                if placement == "cursor" { machine.overlays = 0 }
                if ["mixed", "parted"].contains(placement) { machine.mode = Machine.Mode(width: 1920, height: 1080) }
            }
            // The legacy calls know no planes.
            let start = "export KIOSK_TEST_CARD=\(placement)\(placement == "blended" ? " KIOSK_KMS=legacy" : ""); exec \"$@\""
            let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let command = ["sh", "-c", start, "sh", tests, "--testing-library", "swift-testing", "--filter", "OverlayOnCardTests/\(test)"]
            let record = try await Bed.run("\(test) \(placement)", for: .seconds(60), playing: clips, .command(command), on: machine)
            #expect(record.status == 0, "\(record.log.map(\.text).joined(separator: "\n"))")
            return record
        }

        /// The numbers stay right and no frame stands too long, with any placement of the overlay: planes, the cursor's plane, the picture.
        /// On planes, the overlay changes at its intended vblanks, with pictures and alone.
        @Test(arguments: Proof.some(["plane", "blended", "cursor", "mixed"], 2)) func `over pictures`(placement: String) async throws {
            let record = try await run("overPictures", placement, [NumberedClip("upright", frames: 300, frameRate: 60)])
            let frames = record.frames
            #expect(frames.map(\.number) == Array(1...300))
            // The last one stands until the console returns.
            for frame in frames.dropLast() { #expect(frame.vblanks == (frame.number % 15 == 7 ? 2 : 1), "\(frame)") }

            // The pictures at which the overlay changes: with a picture, and alone after it.
            var (expected, step, last) = ([Int](), 0, false)
            for number in 1...300 {
                let before = step
                if number % 5 == 0 { step = number / 5 }
                if step != before, step % 3 != 0 || last { expected.append(number) }
                if step != before { last = step % 3 != 0 }
                guard number % 15 == 7 else { continue }
                (step, last) = (number * 3 + 1, true)
                expected.append(number)
            }
            let changes = record.overlayChanges()
            let seen = changes.compactMap { change in record.vblanks.first { $0.sequence == change.sequence }?.number }
            if placement == "blended" {
                #expect(changes.isEmpty)
            } else {
                #expect(seen.filter { (1...300).contains($0) } == expected)
                #expect(changes.contains { $0.kind == .hidden } && changes.contains { $0.kind == .changed })
                #expect(record.vblanks.last?.overlays.isEmpty == true)
            }
        }

        /// If planes can show only the front of the overlay, one plane shows it over pictures that contain the rest. The front is in its
        /// place at every vblank, and none is lost while the rest changes.
        @Test func `the front on a plane, the rest in the picture`() async throws {
            let record = try await run("parted", "parted", [NumberedClip("upright", frames: 30, frameRate: 60)])
            let frames = record.frames
            #expect(frames.map(\.number) == Array(1...30))
            for frame in frames.dropLast() { #expect(frame.vblanks == (frame.number % 15 == 7 ? 2 : 1), "\(frame)") }
            var last = 0
            for vblank in record.vblanks where record.isFrame(vblank.number) && vblank.number < 30 {
                let isAlone = vblank.number == last && vblank.number % 15 == 7
                // An overlay that came alone stays until the next fifth picture.
                let wasAlone = vblank.number % 15 > 7 && vblank.number % 15 < 10
                let x = (isAlone || wasAlone ? 1500 : 500) + vblank.number / 5 * 2
                #expect(vblank.overlays.map(\.destination.x) == [x], "\(vblank)")
                last = vblank.number
            }
            #expect(record.vblanks.last?.overlays.isEmpty == true)
        }

        /// Picture and overlay are upside down from one vblank on. No vblank is lost or dark.
        @Test(arguments: ["plane", "blended"]) func `turning at one frame`(placement: String) async throws {
            let clips = [
                NumberedClip("upright", frames: 100, frameRate: 60), NumberedClip("upside down", frames: 100, from: 1001, frameRate: 60),
            ]
            let record = try await run("turning", placement, clips)
            let frames = record.frames
            #expect(frames.map(\.number) == Array(1...50) + Array(1051...1100) + [100])
            for frame in frames.dropLast(2) { #expect(frame.vblanks == 1, "\(frame)") }
            for frame in frames.dropFirst() { #expect(frame.vblanksBefore == 0, "\(frame)") }
            guard placement == "plane" else { return }
            // The overlay stays to the end, and is not over the console.
            #expect(record.vblanks.last { record.isFrame($0.number) }?.overlays.isEmpty == false)
            #expect(record.vblanks.last?.overlays.isEmpty == true)
            // The bar is 60 pixels high, 100 from the viewer's top.
            for vblank in record.vblanks where record.isFrame(vblank.number) {
                let bar = try #require(vblank.overlays.first { $0.destination.width == 1280 })
                #expect(bar.destination.y == (vblank.number > 1000 ? 560 : 100), "\(vblank)")
            }
        }

        /// No part of the overlay lies over another terminal, and all of it over the picture that returns.
        @Test(arguments: ["plane", "blended"]) func `another terminal and back`(placement: String) async throws {
            let record = try await run("comingBack", placement, [NumberedClip("upright", frames: 20, frameRate: 60)])
            #expect(record.frames.map(\.number) == Array(1...20))
            guard placement == "plane" else { return }
            for vblank in record.vblanks where record.isFrame(vblank.number) && vblank.number != 10 {
                #expect(vblank.overlays.count == 2, "\(vblank)")
            }
        }
    }
}
