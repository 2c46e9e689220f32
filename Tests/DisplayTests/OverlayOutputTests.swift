import CKioskDRM
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Synchronization
import Testing

@testable import KioskDisplayCore

/// An output with an overlay, on planes and blended into the picture: the visible result at each vblank.
@Suite struct OverlayOutputTests {
    private let green = Surface(0xff00_ff00, 10, 6), half = Surface(0x8000_8000, 10, 6)

    private func overlay(_ surface: Surface, _ x: Int = 4, _ y: Int = 4, alpha: Double = 1) -> Overlay {
        Overlay(pictures: [.init(surface: surface, x: x, y: y, alpha: alpha)])
    }

    private let gray: UInt32 = 0x80_8080

    @Test func onAPlaneItChangesWithThePictureOrAlone() throws {
        let planes = MemoryPlanes(64, 36, overlays: 2)
        let stage = PlaneStage(PlaneScreen(planes: planes))
        try stage.show()
        #expect(stage.output.setOverlay(overlay(green)) == .plane)
        #expect(near(stage.screen.seen(5, 5), gray) && stage.screen.shows.isEmpty)
        // The overlay comes with a frame.
        try stage.show(235)
        #expect(stage.screen.seen(5, 5) == 0x00_ff00 && near(stage.screen.seen(20, 5), 0xff_ffff))
        // Without a frame, the overlay changes alone and the picture stays.
        #expect(stage.output.setOverlay(overlay(Surface(0xffff_0000, 10, 6), 20, 20)) == .plane)
        try stage.showOverlay()
        #expect(stage.screen.seen(21, 21) == 0xff_0000 && near(stage.screen.seen(5, 5), 0xff_ffff))
        // Remove it.
        #expect(stage.output.setOverlay(Overlay()) == .plane)
        try stage.showOverlay()
        #expect(stage.screen.shows.isEmpty && near(stage.screen.seen(21, 21), 0xff_ffff) && planes.held.isEmpty)
        // Pictures alone need no test by the driver, and each arrangement is tested once.
        let asked = planes.asked
        try stage.show()
        _ = stage.output.setOverlay(overlay(green))
        try stage.showOverlay()
        #expect(planes.asked == asked && planes.held == [40])
    }

    @Test(arguments: Rotation.allCases) func itIsTurnedAsThePictureIs(_ rotation: Rotation) throws {
        let surface = Surface(patternOf: 13, 7)
        var seen: [[UInt32]] = []
        for overlays in [2, 0] {
            var settings = DisplaySettings()
            settings.rotation = rotation
            let stage = PlaneStage(PlaneScreen(planes: MemoryPlanes(64, 36, overlays: overlays)), settings)
            #expect(stage.output.setOverlay(overlay(surface, 3, 2, alpha: 0.75)) == (overlays > 0 ? .plane : .blended))
            try stage.show()
            #expect(stage.screen.shows.isEmpty == (overlays == 0))
            seen.append(stage.screen.seen)
        }
        // Planes and blending look the same, within 3 of 255 levels.
        #expect(zip(seen[0], seen[1]).allSatisfy { near($0, $1, 3) })
        #expect(Set(seen[0]).count > 20)
    }

    @Test func withoutPlanesItIsInThePicture() throws {
        let stage = PlaneStage(PlaneScreen())
        let before = try stage.prepare()
        #expect(stage.output.setOverlay(overlay(green)) == .blended)
        guard case .queued = stage.commit(before) else { throw PlaneStage.Unexpected() }
        try stage.flip()
        #expect(near(stage.screen.seen(5, 5), gray))
        try stage.show()
        #expect(stage.screen.seen(5, 5) == 0x00_ff00)
        guard case .stale = stage.commitOverlay() else { throw PlaneStage.Unexpected() }
        #expect(stage.output.setOverlay(Overlay()) == .blended)
        try stage.show()
        #expect(near(stage.screen.seen(5, 5), gray))
    }

    /// An overlay beyond the memory limit, or refused by the driver, is blended into the picture.
    @Test func whatCannotBeOnPlanesIsInThePicture() throws {
        let refusing = MemoryPlanes(64, 36, overlays: 2)
        refusing.refuses = { _ in true }
        let stage = PlaneStage(PlaneScreen(planes: refusing))
        #expect(stage.output.setOverlay(overlay(green)) == .blended)
        #expect(refusing.asked > 0)
        try stage.show()
        #expect(stage.screen.seen(5, 5) == 0x00_ff00)
        for x in 0..<20 {
            _ = stage.output.setOverlay(Overlay())
            try stage.show()
            _ = stage.output.setOverlay(overlay(green, x, 9))
        }
        #expect(refusing.asked <= 2 * OverlayPlanes.mostRefusals)

        let (width, height) = (1920, 1080)
        let planes = MemoryPlanes(width, height, overlays: 2)
        let large = PlaneStage(PlaneScreen(width, height, planes: planes))
        #expect(large.output.setOverlay(overlay(Surface(0x8080_8080, width, 700), 0, 0)) == .blended)
        #expect(planes.made.isEmpty)
        #expect(large.output.setOverlay(overlay(Surface(0x8080_8080, width, 300), 0, 0)) == .plane)
        // Memory for another player's picture does not count.
        var window = overlay(Surface(0xff80_8080, width, height), 0, 0)
        #expect(large.output.setOverlay(window) == .blended)
        window.isOfPlayers = true
        window.pictures[0].y = 1
        #expect(large.output.setOverlay(window) == .plane)
    }

    /// An overlay that changes at every vblank stays within its memory limit. No buffer on the screen is written to.
    @Test(arguments: [300, 430]) func theMemoryOfAnOverlayHasALimit(height: Int) throws {
        let planes = MemoryPlanes(1920, 1080, overlays: 3)
        let stage = PlaneStage(PlaneScreen(1920, 1080, planes: planes))
        try stage.show()
        let colours: [UInt32] = [0xffff_0000, 0xff00_ff00, 0xff00_00ff, 0xffff_ff00, 0xffff_00ff]
        let surfaces = colours.map { Surface($0, 1920, height) }
        for (index, surface) in (surfaces + surfaces).enumerated() {
            #expect(stage.output.setOverlay(overlay(surface, 0, 0)) == .plane)
            let before = stage.screen.seen(7, 7)
            guard case .queued = stage.commitOverlay() else { throw PlaneStage.Unexpected() }
            #expect(stage.screen.seen(7, 7) == before)
            try stage.flip()
            #expect(stage.screen.seen(7, 7) == colours[index % 5] & 0xff_ffff)
        }
        let used = planes.made.reduce(0) { $0 + $1.byteCount }
        #expect(used + surfaces[0].pixels.count * 4 <= OverlayPlanes.memoryLimit(width: 1920, height: 1080), "\(used)")
        #expect(planes.made.count <= 3)
    }

    /// With one buffer on the screen and one committed, the third can be drawn into.
    @Test func aThirdBufferWhereThereIsRoom() throws {
        let planes = MemoryPlanes(64, 36, overlays: 1)
        let stage = PlaneStage(PlaneScreen(planes: planes))
        _ = stage.output.setOverlay(overlay(green))
        try stage.show()
        _ = stage.output.setOverlay(overlay(Surface(0xffff_0000, 10, 6)))
        guard case .queued = stage.commitOverlay() else { throw PlaneStage.Unexpected() }
        #expect(stage.output.setOverlay(overlay(Surface(0xff00_00ff, 10, 6))) == .plane)
        try stage.flip()
        #expect(stage.screen.seen(5, 5) == 0xff_0000)
        try stage.showOverlay()
        #expect(stage.screen.seen(5, 5) == 0x00_00ff && planes.made.count == 3)
    }

    @Test func aBusyDriverLosesNoOverlay() throws {
        let stage = PlaneStage(PlaneScreen(planes: MemoryPlanes(64, 36, overlays: 1)))
        _ = stage.output.setOverlay(overlay(green))
        let frame = try stage.prepare()
        stage.screen.isBusy = true
        guard case .busy = stage.commit(frame), case .busy = stage.commitOverlay() else { throw PlaneStage.Unexpected() }
        stage.screen.isBusy = false
        guard case .queued = stage.commit(frame) else { throw PlaneStage.Unexpected() }
        try stage.flip()
        #expect(stage.screen.seen(5, 5) == 0x00_ff00)
    }

    /// The driver passed the test and refuses the flip: the picture goes on, and the overlay is blended into it.
    @Test func aFlipThatIsRefusedWithTheOverlay() throws {
        let stage = PlaneStage(PlaneScreen(planes: MemoryPlanes(64, 36, overlays: 1)))
        _ = stage.output.setOverlay(overlay(green))
        try stage.show()
        stage.screen.refusesOverlays = true
        _ = stage.output.setOverlay(overlay(Surface(0xffff_0000, 10, 6)))
        guard case .queued = stage.commit(try stage.prepare()) else { throw PlaneStage.Unexpected() }
        guard case .changed = stage.output.wait(until: .now) else { throw PlaneStage.Unexpected() }
        try stage.flip()
        #expect(stage.screen.hidden == [40] && stage.screen.shows.isEmpty)
        try stage.show()
        #expect(stage.screen.seen(5, 5) == 0xff_0000)
        #expect(stage.output.setOverlay(overlay(green)) == .blended)
    }

    /// A growing overlay moves from its plane into the picture, without a vblank with both or with neither.
    @Test func itLeavesThePlaneWithThePictureThatHasIt() throws {
        let planes = MemoryPlanes(64, 36, overlays: 1)
        planes.refuses = { $0.shows[0].place.width > 20 }
        let stage = PlaneStage(PlaneScreen(planes: planes))
        _ = stage.output.setOverlay(overlay(half))
        try stage.show()
        let once = stage.screen.seen(5, 5)
        let before = try stage.prepare()
        let larger = overlay(Surface(0x8000_8000, 40, 6))
        #expect(stage.output.setOverlay(larger) == .blended)
        guard case .queued = stage.commit(before) else { throw PlaneStage.Unexpected() }
        try stage.flip()
        #expect(stage.screen.seen(5, 5) == once && !stage.screen.shows.isEmpty)
        try stage.show()
        #expect(near(stage.screen.seen(5, 5), once) && near(stage.screen.seen(41, 5), once) && stage.screen.shows.isEmpty)
        // It stays blended while pictures that contain it may be on the screen.
        #expect(stage.output.setOverlay(overlay(half)) == .blended)
        #expect(stage.output.setOverlay(Overlay()) == .blended)
        try stage.show()
        try stage.show()
        #expect(stage.output.setOverlay(overlay(half)) == .plane)
    }

    /// The only plane takes the front layer; the rear one is blended into the picture. Both change at the same vblank, whichever of them
    /// changes. Each is seen exactly once at every vblank.
    @Test func theFrontIsOnAPlaneAndTheRestInThePicture() throws {
        let planes = MemoryPlanes(64, 36, overlays: 1)
        planes.refuses = { $0.shows[0].place.width > 20 }
        let stage = PlaneStage(PlaneScreen(planes: planes))
        func both(_ x: Int, _ y: Int, rear: Int = 4) -> Overlay {
            Overlay(pictures: [.init(surface: half, x: rear, y: 4), .init(surface: half, x: x, y: y)])
        }
        _ = stage.output.setOverlay(overlay(half))
        try stage.show()
        let once = stage.screen.seen(5, 5)
        func isOnce(_ x: Int, _ y: Int) -> Bool { near(stage.screen.seen(x, y), once) }
        func isBare(_ x: Int, _ y: Int) -> Bool { near(stage.screen.seen(x, y), gray) }
        // The layer that was on the plane moves into the picture.
        let before = try stage.prepare()
        let first = stage.output.setOverlay(both(40, 20))
        guard case .both(let painting) = first else { throw PlaneStage.Unexpected() }
        guard case .queued = stage.commit(before) else { throw PlaneStage.Unexpected() }
        try stage.flip()
        #expect(isOnce(5, 5) && isBare(41, 21))
        guard case .busy = stage.commitOverlay() else { throw PlaneStage.Unexpected() }
        try stage.show()
        #expect(isOnce(5, 5) && isOnce(41, 21) && stage.screen.shows.count == 1)
        // The front layer moves alone, also over the rear one.
        #expect(stage.output.setOverlay(both(30, 20)) == first)
        try stage.showOverlay()
        #expect(isOnce(5, 5) && isBare(41, 21) && isOnce(31, 21))
        #expect(stage.output.setOverlay(both(4, 4)) == first)
        try stage.showOverlay()
        #expect(!isOnce(5, 5) && !isBare(5, 5) && isBare(31, 21))
        // The blended layer moves.
        let old = try stage.prepare()
        let second = stage.output.setOverlay(both(40, 20, rear: 20))
        guard case .both(let next) = second, next != painting else { throw PlaneStage.Unexpected() }
        guard case .queued = stage.commit(old) else { throw PlaneStage.Unexpected() }
        try stage.flip()
        #expect(isBare(21, 5) && isBare(41, 21) && !isOnce(5, 5))
        try stage.show()
        #expect(isBare(5, 5) && isOnce(21, 5) && isOnce(41, 21))
        let copy = ScreenPixels(try stage.output.capture().buffer)
        #expect((0..<64 * 36).allSatisfy { near(copy[$0 % 64, $0 / 64], stage.screen.seen[$0], 3) })
        // The front layer goes; the picture with the rear one stays the same.
        #expect(stage.output.setOverlay(Overlay(pictures: [both(0, 0, rear: 20).pictures[0]])) == .blended)
        try stage.show()
        #expect(isOnce(21, 5) && isBare(41, 21) && stage.screen.shows.isEmpty)
        #expect(stage.output.setOverlay(Overlay()) == .blended)
        try stage.show()
        #expect(isBare(21, 5))
    }

    /// The screen's next owner may not know about overlay planes.
    @Test func anotherTerminalHasNoOverlayOverIt() throws {
        let stage = PlaneStage(PlaneScreen(planes: MemoryPlanes(64, 36, overlays: 2)))
        _ = stage.output.setOverlay(overlay(green))
        try stage.show()
        stage.output.seat.switchTerminal(wantsOut: true, cameBack: false)
        _ = stage.output.wait(until: .now)
        #expect(stage.output.mode == nil && stage.screen.hidden == [40])
        #expect(stage.output.setOverlay(overlay(green)) == .blended)
    }

    @Test func aCursorPlaneTakesWhatFits() throws {
        let planes = MemoryPlanes(64, 36, overlays: 0, cursor: .init(width: 16, height: 16))
        let stage = PlaneStage(PlaneScreen(planes: planes))
        #expect(stage.output.setOverlay(overlay(green, 55, 31)) == .plane)
        try stage.show()
        #expect(stage.screen.seen(56, 32) == 0x00_ff00 && near(stage.screen.seen(54, 32), gray))
        #expect(planes.made.allSatisfy { ($0.pixels.width, $0.pixels.height) == (16, 16) })
        #expect(stage.output.setOverlay(overlay(Surface(0xff00_ff00, 17, 6))) == .blended)
        try stage.show()
        #expect(stage.screen.seen(20, 9) == 0x00_ff00 && stage.screen.shows.isEmpty)
    }

    /// Without the cursor, two planes would take too much memory, as one of them would cover most of the screen.
    @Test func aCursorPlaneHelpsOthers() throws {
        let surfaces = [Surface(0x8080_8080, 1920, 94), Surface(0xff00_ff00, 320, 88), Surface(0x8080_8080, 1920, 200)]
        let controls = Overlay(pictures: [
            .init(surface: surfaces[0], x: 0, y: 0), .init(surface: surfaces[1], x: 800, y: 496), .init(surface: surfaces[2], x: 0, y: 880),
        ])
        let few = PlaneStage(PlaneScreen(1920, 1080, planes: MemoryPlanes(1920, 1080, overlays: 2)))
        #expect(few.output.setOverlay(controls) == .both(painting: 1), "the bar at the top is in the picture")
        let planes = MemoryPlanes(1920, 1080, overlays: 2, cursor: .init(width: 512, height: 512))
        let stage = PlaneStage(PlaneScreen(1920, 1080, planes: planes))
        #expect(stage.output.setOverlay(controls) == .plane)
        try stage.show()
        #expect(stage.screen.shows.map(\.plane.id.rawValue) == [40, 41, 60])
        #expect(stage.screen.seen(801, 497) == 0x00_ff00 && near(stage.screen.seen(799, 497), gray))
        // The cursor reaches over the bar at the bottom, but the bar is drawn only once.
        #expect(stage.screen.seen(820, 900) == stage.screen.seen(100, 900))
        // A change in another plane leaves the cursor's buffer as it is.
        let before = planes.made.count
        var other = controls
        other.pictures[2].alpha = 0.5
        #expect(stage.output.setOverlay(other) == .plane && planes.made.count == before + 1)
        // If overlay planes suffice, the cursor stays unused.
        _ = stage.output.setOverlay(Overlay())
        try stage.showOverlay()
        #expect(stage.output.setOverlay(overlay(green)) == .plane)
        try stage.showOverlay()
        #expect(stage.screen.shows.map(\.plane.id.rawValue) == [40])
    }

    /// As on a panel 480 pixels wide.
    @Test func aCursorPlaneLargerThanTheScreen() throws {
        let planes = MemoryPlanes(64, 36, overlays: 0, cursor: .init(width: 128, height: 128))
        let stage = PlaneStage(PlaneScreen(planes: planes))
        #expect(stage.output.setOverlay(overlay(green, 50, 25)) == .plane)
        try stage.show()
        #expect(stage.screen.seen(51, 26) == 0x00_ff00 && near(stage.screen.seen(49, 26), gray))
    }

    @Test func snapshotsHaveWhatLiesOverThePicture() throws {
        let stage = PlaneStage(PlaneScreen(planes: MemoryPlanes(64, 36, overlays: 1)))
        _ = stage.output.setOverlay(overlay(Surface(patternOf: 13, 7), alpha: 0.75))
        try stage.show()
        let copy = ScreenPixels(try stage.output.capture().buffer)
        let seen = stage.screen.seen
        #expect((0..<64 * 36).allSatisfy { near(copy[$0 % 64, $0 / 64], seen[$0], 3) })
        let path = "/tmp/kiosk-overlay-\(getpid()).png"
        defer { unlink(path) }
        try stage.output.snapshot(to: path)
        #expect(access(path, R_OK) == 0)
    }

    @Test func whatTheDisplayMeasuresCanBeConfigured() {
        var settings = DisplaySettings()
        #expect(DisplayOutput(settings, screen: PlaneScreen()).mode?.physicalWidth == nil)
        settings.physicalSize = PhysicalSize("154x86")
        let mode = DisplayOutput(settings, screen: PlaneScreen()).mode
        #expect(mode?.physicalWidth == 154 && mode?.physicalHeight == 86)
    }
}
