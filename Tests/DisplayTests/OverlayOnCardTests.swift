import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

/// Numbered pictures and an overlay on a real card, as fast as its vblanks. It runs only in the test bed. BedTests.Overlays checks the
/// scanned-out pictures by the kernel's log. Elsewhere no test may draw on the screen.
@Suite(.enabled(if: getenv("KIOSK_TEST_CARD") != nil, "in the test bed only")) struct OverlayOnCardTests {
    struct Unexpected: Error {}

    /// Returns a picture with number cells at the bottom left, most significant bit first, as in the clips. Upside down, it also has a
    /// number: 1000 more.
    private func picture(_ number: Int) -> VideoFrame {
        Pictures.make(AV_PIX_FMT_YUV420P, 320, 180) { plane, x, y in
            if plane > 0 { return 128 }
            if y >= 172, x < 128 { return number >> (15 - x / 8) & 1 == 1 ? 235 : 16 }
            if y < 8, x >= 192 { return (number + 1000) >> (15 - (319 - x) / 8) & 1 == 1 ? 235 : 16 }
            return 126
        }
    }

    /// Returns a bar across the screen, too large for a cursor, and a disc. The disc moves with every step. Every third step is empty.
    private func overlay(_ step: Int) -> Overlay {
        if step % 3 == 0 { return Overlay() }
        let bar = Surface(step % 2 == 0 ? 0xffff_0000 : 0xff00_ff00, 1280, 60)
        let disc = Surface(0x8000_0080, 120, 120)
        let middle = Overlay.Picture(surface: disc, x: 500 + step % 50, y: 300)
        if placement == "cursor" { return Overlay(pictures: [middle]) }
        // Two planes for all of this would take too much memory.
        if placement == "mixed" {
            let (top, bottom) = (Surface(0x8080_8080, 1920, 94), Surface(0x8080_8080, 1920, 200))
            return Overlay(pictures: [.init(surface: top, x: 0, y: 0), middle, .init(surface: bottom, x: 0, y: 880)])
        }
        return Overlay(pictures: [.init(surface: bar, x: 0, y: 100), middle])
    }

    /// An output on the card, with the engine's part.
    final class Stage {
        let output: DisplayOutput
        private var id: UInt64 = 0
        private var sequences: [UInt64] = []

        init(_ path: PicturePathChoice = .automatic) {
            var settings = DisplaySettings()
            settings.picturePath = path
            let isLarge = getenv("KIOSK_TEST_CARD").map { ["mixed", "parted"].contains(String(cString: $0)) } ?? false
            settings.mode = isLarge ? .size(width: 1920, height: 1080, refresh: nil) : .size(width: 1280, height: 720, refresh: nil)
            output = DisplayOutput.open(settings)
        }

        /// Commits, and waits until the commit is on the screen.
        func show(_ commit: (UInt64) -> CommitResult) throws {
            id += 1
            guard case .queued = commit(id) else { throw Unexpected() }
            while true {
                switch output.wait(until: .now + .seconds(1)) {
                case .flipped(let flip) where flip.id == id:
                    sequences.append(flip.sequence ?? 0)
                    return
                case .flipped, .woken, .bufferFreed, .changed: continue
                case .deadline: throw Unexpected()
                }
            }
        }

        func prepare(_ picture: consuming VideoFrame) throws -> PreparedScene {
            guard case .prepared(let scene) = output.prepare(Scene(picture, gravity: .resize)) else { throw Unexpected() }
            return scene
        }

        func show(_ picture: consuming VideoFrame) throws {
            let scene = try prepare(picture)
            try show { output.commit(scene, id: $0) }
        }

        /// Closes the output. No vblank may have been missed: computing takes no time in the bed's virtual clock.
        func close() {
            for (a, b) in zip(sequences, sequences.dropFirst()) { #expect(b == a + 1) }
            output.close()
        }
    }

    private let placement = getenv("KIOSK_TEST_CARD").map { String(cString: $0) }

    @Test func overPictures() throws {
        let stage = Stage()
        let output = stage.output
        let isPlane = output.setOverlay(overlay(1)) == .plane
        #expect(isPlane == (placement != "blended"))
        _ = output.setOverlay(Overlay())
        for number in 1...300 {
            if number % 5 == 0 { #expect((output.setOverlay(overlay(number / 5)) == .plane) == isPlane) }
            try stage.show(picture(number))
            guard number % 15 == 7 else { continue }
            // Change the overlay without a new picture.
            #expect((output.setOverlay(overlay(number * 3 + 1)) == .plane) == isPlane)
            if isPlane { try stage.show { output.commitOverlay(id: $0) } } else { try stage.show(picture(number)) }
        }
        stage.close()
    }

    /// A layer too large for planes is blended into the pictures; the disc in front is on a plane. The disc moves with every fifth picture,
    /// and alone. The blended layer changes with every twentieth picture.
    @Test func parted() throws {
        let stage = Stage()
        let output = stage.output
        let rears = [Surface(0x4040_0000, 1920, 700), Surface(0x4000_0040, 1920, 700)]
        func layers(_ number: Int, x: Int) -> Overlay {
            let disc = Overlay.Picture(surface: Surface(0x8000_0080, 120, 120), x: x, y: 300)
            return Overlay(pictures: [.init(surface: rears[number / 20 % 2], x: 0, y: 0), disc])
        }
        var paintings: [UInt64] = []
        func give(_ overlay: Overlay) throws {
            guard case .both(let painting) = output.setOverlay(overlay) else { throw Unexpected() }
            if paintings.last != painting { paintings.append(painting) }
        }
        for number in 1...30 {
            if number == 1 || number % 5 == 0 { try give(layers(number, x: 500 + number / 5 * 2)) }
            try stage.show(picture(number))
            guard number % 15 == 7 else { continue }
            try give(layers(number, x: 1500 + number / 5 * 2))
            try stage.show { output.commitOverlay(id: $0) }
        }
        #expect(paintings.count == 2)
        stage.close()
    }

    /// Rotates by 180 degrees after 50 pictures; the last two are already prepared when the rotation is requested. Rotates back in a pause
    /// after 100.
    @Test func turning() throws {
        let stage = Stage()
        let output = stage.output
        #expect((output.setOverlay(overlay(1)) == .plane) == (placement != "blended"))
        for number in 1...48 { try stage.show(picture(number)) }
        let ready = [try stage.prepare(picture(49)), try stage.prepare(picture(50))]
        output.setRotation(.clockwise180)
        for scene in ready { try stage.show { output.commit(scene, id: $0) } }
        for number in 51...100 { try stage.show(picture(number)) }
        output.rotate(.some(.none))
        while true { if case .changed = output.wait(until: .now + .seconds(1)) { break } }
        let scene = try stage.prepare(picture(100))
        guard case .queued = output.commit(scene, id: 1 << 32) else { throw Unexpected() }
        while true { if case .flipped = output.wait(until: .now + .seconds(1)) { break } }
        stage.close()
    }

    /// Another terminal takes the screen and gives it back: the overlay is back with the first picture.
    @Test func comingBack() throws {
        let stage = Stage()
        let output = stage.output
        #expect((output.setOverlay(overlay(1)) == .plane) == (placement != "blended"))
        for number in 1...10 { try stage.show(picture(number)) }
        output.seat.switchTerminal(wantsOut: true, cameBack: false)
        while output.mode != nil { _ = output.wait(until: .now + .milliseconds(10)) }
        usleep(200_000)
        output.seat.switchTerminal(wantsOut: false, cameBack: true)
        while output.mode == nil { _ = output.wait(until: .now + .milliseconds(10)) }
        for number in 11...20 { try stage.show(picture(number)) }
        output.close()
    }
}
