import CDRM
import Glibc
import Media
import Platform
import Playback
import Synchronization
import Testing
import Vocabulary

@testable import Display

/// An output with an overlay, on planes and in the picture: what a viewer sees at each vblank.
@Suite struct OverlayOutputTests {
    struct Unexpected: Error {}

    /// An output and its screen, and an engine's part with both.
    private final class Stage {
        let screen: PlaneScreen
        let output: DisplayOutput
        private var id: UInt64 = 0

        init(_ screen: PlaneScreen, _ settings: DisplaySettings = DisplaySettings()) {
            self.screen = screen
            output = DisplayOutput(settings, screen: screen)
        }

        deinit { output.close() }

        /// A gray picture, ready to be committed.
        func prepare(_ luma: Int = 126) throws -> PreparedScene {
            guard case .prepared(let scene) = output.prepare(Scene(Pictures.solid(luma, 128, 128, 8, 8))) else { throw Unexpected() }
            return scene
        }

        func commit(_ scene: PreparedScene) -> CommitResult {
            id += 1
            return output.commit(scene, id: id)
        }

        func commitOverlay() -> CommitResult {
            id += 1
            return output.commitOverlay(id: id)
        }

        /// The vblank after a commit.
        func flip() throws {
            screen.vblank()
            guard case .flipped(let flip) = output.wait(until: .now), flip.id == id else { throw Unexpected() }
        }

        /// A picture at the next vblank.
        func show(_ luma: Int = 126) throws {
            guard case .queued = commit(try prepare(luma)) else { throw Unexpected() }
            try flip()
        }

        /// The overlay at the next vblank.
        func showOverlay() throws {
            guard case .queued = commitOverlay() else { throw Unexpected() }
            try flip()
        }
    }

    private let green = Surface(0xff00_ff00, 10, 6)

    private func overlay(_ surface: Surface, _ x: Int = 4, _ y: Int = 4, alpha: Double = 1) -> Overlay {
        Overlay(pictures: [.init(surface: surface, x: x, y: y, alpha: alpha)])
    }

    private let gray: UInt32 = 0x80_8080

    @Test func onAPlaneItChangesWithThePictureOrAlone() throws {
        let planes = MemoryPlanes(64, 36, overlays: 2)
        let stage = Stage(PlaneScreen(planes: planes))
        try stage.show()
        #expect(stage.output.setOverlay(overlay(green)) == .plane)
        #expect(near(stage.screen.seen(5, 5), gray) && stage.screen.shows.isEmpty)
        // A frame carries it.
        try stage.show(235)
        #expect(stage.screen.seen(5, 5) == 0x00_ff00 && near(stage.screen.seen(20, 5), 0xff_ffff))
        // Without a frame it comes alone; the picture stays.
        #expect(stage.output.setOverlay(overlay(Surface(0xffff_0000, 10, 6), 20, 20)) == .plane)
        try stage.showOverlay()
        #expect(stage.screen.seen(21, 21) == 0xff_0000 && near(stage.screen.seen(5, 5), 0xff_ffff))
        // Away again.
        #expect(stage.output.setOverlay(Overlay()) == .plane)
        try stage.showOverlay()
        #expect(stage.screen.shows.isEmpty && near(stage.screen.seen(21, 21), 0xff_ffff) && planes.held.isEmpty)
        // Nothing is asked of the driver for pictures alone, and the same arrangement is asked for once.
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
            let stage = Stage(PlaneScreen(planes: MemoryPlanes(64, 36, overlays: overlays)), settings)
            #expect(stage.output.setOverlay(overlay(surface, 3, 2, alpha: 0.75)) == (overlays > 0 ? .plane : .blended))
            try stage.show()
            #expect(stage.screen.shows.isEmpty == (overlays == 0))
            seen.append(stage.screen.seen)
        }
        // Both ways look the same, to a hair.
        #expect(zip(seen[0], seen[1]).allSatisfy { near($0, $1, 3) })
        #expect(Set(seen[0]).count > 20)
    }

    @Test func withoutPlanesItIsInThePicture() throws {
        let stage = Stage(PlaneScreen())
        let before = try stage.prepare()
        #expect(stage.output.setOverlay(overlay(green)) == .blended)
        guard case .queued = stage.commit(before) else { throw Unexpected() }
        try stage.flip()
        #expect(near(stage.screen.seen(5, 5), gray))
        try stage.show()
        #expect(stage.screen.seen(5, 5) == 0x00_ff00)
        guard case .stale = stage.commitOverlay() else { throw Unexpected() }
        #expect(stage.output.setOverlay(Overlay()) == .blended)
        try stage.show()
        #expect(near(stage.screen.seen(5, 5), gray))
    }

    /// What is larger than the memory that there is for it, and what the driver refuses.
    @Test func whatCannotBeOnPlanesIsInThePicture() throws {
        let refusing = MemoryPlanes(64, 36, overlays: 2)
        refusing.refuses = { _ in true }
        let stage = Stage(PlaneScreen(planes: refusing))
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
        let large = Stage(PlaneScreen(width, height, planes: planes))
        #expect(large.output.setOverlay(overlay(Surface(0x8080_8080, width, 700), 0, 0)) == .blended)
        #expect(planes.made.isEmpty)
        #expect(large.output.setOverlay(overlay(Surface(0x8080_8080, width, 300), 0, 0)) == .plane)
    }

    /// With every change as fast as vblanks allow, and never a buffer written that is on the screen.
    @Test(arguments: [300, 430]) func theMemoryOfAnOverlayHasALimit(height: Int) throws {
        let planes = MemoryPlanes(1920, 1080, overlays: 3)
        let stage = Stage(PlaneScreen(1920, 1080, planes: planes))
        try stage.show()
        let colours: [UInt32] = [0xffff_0000, 0xff00_ff00, 0xff00_00ff, 0xffff_ff00, 0xffff_00ff]
        let surfaces = colours.map { Surface($0, 1920, height) }
        for (index, surface) in (surfaces + surfaces).enumerated() {
            #expect(stage.output.setOverlay(overlay(surface, 0, 0)) == .plane)
            let before = stage.screen.seen(7, 7)
            guard case .queued = stage.commitOverlay() else { throw Unexpected() }
            #expect(stage.screen.seen(7, 7) == before)
            try stage.flip()
            #expect(stage.screen.seen(7, 7) == colours[index % 5] & 0xff_ffff)
        }
        let used = planes.made.reduce(0) { $0 + $1.byteCount }
        #expect(used + surfaces[0].pixels.count * 4 <= OverlayPlanes.memoryLimit(width: 1920, height: 1080), "\(used)")
        #expect(planes.made.count <= 3)
    }

    /// While one is on the screen and one on its way, the third can be drawn.
    @Test func aThirdBufferWhereThereIsRoom() throws {
        let planes = MemoryPlanes(64, 36, overlays: 1)
        let stage = Stage(PlaneScreen(planes: planes))
        _ = stage.output.setOverlay(overlay(green))
        try stage.show()
        _ = stage.output.setOverlay(overlay(Surface(0xffff_0000, 10, 6)))
        guard case .queued = stage.commitOverlay() else { throw Unexpected() }
        #expect(stage.output.setOverlay(overlay(Surface(0xff00_00ff, 10, 6))) == .plane)
        try stage.flip()
        #expect(stage.screen.seen(5, 5) == 0xff_0000)
        try stage.showOverlay()
        #expect(stage.screen.seen(5, 5) == 0x00_00ff && planes.made.count == 3)
    }

    @Test func aBusyDriverLosesNoOverlay() throws {
        let stage = Stage(PlaneScreen(planes: MemoryPlanes(64, 36, overlays: 1)))
        _ = stage.output.setOverlay(overlay(green))
        let frame = try stage.prepare()
        stage.screen.isBusy = true
        guard case .busy = stage.commit(frame), case .busy = stage.commitOverlay() else { throw Unexpected() }
        stage.screen.isBusy = false
        guard case .queued = stage.commit(frame) else { throw Unexpected() }
        try stage.flip()
        #expect(stage.screen.seen(5, 5) == 0x00_ff00)
    }

    /// The test was passed and the flip is not: the picture goes on, the overlay goes into it.
    @Test func aFlipThatIsRefusedWithTheOverlay() throws {
        let stage = Stage(PlaneScreen(planes: MemoryPlanes(64, 36, overlays: 1)))
        _ = stage.output.setOverlay(overlay(green))
        try stage.show()
        stage.screen.refusesOverlays = true
        _ = stage.output.setOverlay(overlay(Surface(0xffff_0000, 10, 6)))
        guard case .queued = stage.commit(try stage.prepare()) else { throw Unexpected() }
        guard case .changed = stage.output.wait(until: .now) else { throw Unexpected() }
        try stage.flip()
        #expect(stage.screen.hidden == [40] && stage.screen.shows.isEmpty)
        try stage.show()
        #expect(stage.screen.seen(5, 5) == 0xff_0000)
        #expect(stage.output.setOverlay(overlay(green)) == .blended)
    }

    /// From the plane into the picture, where it grows: never in both, never in none.
    @Test func itLeavesThePlaneWithThePictureThatHasIt() throws {
        let planes = MemoryPlanes(64, 36, overlays: 1)
        planes.refuses = { $0.shows[0].place.width > 20 }
        let stage = Stage(PlaneScreen(planes: planes))
        let half = Surface(0x8000_8000, 10, 6)
        _ = stage.output.setOverlay(overlay(half))
        try stage.show()
        let once = stage.screen.seen(5, 5)
        let before = try stage.prepare()
        var larger = overlay(half)
        larger.pictures.append(.init(surface: half, x: 40, y: 20))
        #expect(stage.output.setOverlay(larger) == .blended)
        guard case .queued = stage.commit(before) else { throw Unexpected() }
        try stage.flip()
        #expect(stage.screen.seen(5, 5) == once && !stage.screen.shows.isEmpty)
        try stage.show()
        #expect(near(stage.screen.seen(5, 5), once) && near(stage.screen.seen(41, 21), once) && stage.screen.shows.isEmpty)
        // It stays there as long as pictures with it may be seen.
        #expect(stage.output.setOverlay(overlay(half)) == .blended)
        #expect(stage.output.setOverlay(Overlay()) == .blended)
        try stage.show()
        try stage.show()
        #expect(stage.output.setOverlay(overlay(half)) == .plane)
    }

    @Test func aCursorPlaneTakesWhatFits() throws {
        let planes = MemoryPlanes(64, 36, overlays: 0, cursor: .init(width: 16, height: 16))
        let stage = Stage(PlaneScreen(planes: planes))
        #expect(stage.output.setOverlay(overlay(green, 55, 31)) == .plane)
        try stage.show()
        #expect(stage.screen.seen(56, 32) == 0x00_ff00 && near(stage.screen.seen(54, 32), gray))
        #expect(planes.made.allSatisfy { ($0.pixels.width, $0.pixels.height) == (16, 16) })
        #expect(stage.output.setOverlay(overlay(Surface(0xff00_ff00, 17, 6))) == .blended)
        try stage.show()
        #expect(stage.screen.seen(20, 9) == 0x00_ff00 && stage.screen.shows.isEmpty)
    }

    @Test func snapshotsHaveWhatLiesOverThePicture() throws {
        let stage = Stage(PlaneScreen(planes: MemoryPlanes(64, 36, overlays: 1)))
        _ = stage.output.setOverlay(overlay(Surface(patternOf: 13, 7), alpha: 0.75))
        try stage.show()
        let drawn = try #require(stage.output.shared.withLock { $0.overlay.onScreen.drawn })
        let buffer = stage.output.shared.withLock { $0.buffers[$0.pool.onScreen!] }
        let copy = ScreenPixels(drawn.over(buffer.pixels))
        let seen = stage.screen.seen
        #expect((0..<64 * 36).allSatisfy { near(copy[$0 % 64, $0 / 64], seen[$0], 3) })
        let path = "/tmp/kiosk-overlay-\(getpid()).png"
        defer { unlink(path) }
        try stage.output.snapshot(to: path)
        #expect(access(path, R_OK) == 0)
    }

    // MARK: Turning

    /// The quarters of the picture at the corners of scan-out: red, green above blue, white.
    private func corners(_ screen: PlaneScreen) -> [UInt32] {
        [screen.seen(1, 1), screen.seen(62, 1), screen.seen(1, 34), screen.seen(62, 34)].map { pixel in
            [0xff0000, 0x00ff00, 0x0000ff, 0xffffff].first { near(pixel, $0, 8) } ?? pixel
        }
    }
    private let upright: [UInt32] = [0xff0000, 0x00ff00, 0x0000ff, 0xffffff]
    private let halfTurned: [UInt32] = [0xffffff, 0x0000ff, 0x00ff00, 0xff0000]

    private func prepareQuarters(_ output: DisplayOutput) throws -> PreparedScene {
        guard case .prepared(let scene) = output.prepare(Scene(Pictures.quarters(64, 36))) else { throw Unexpected() }
        return scene
    }

    @Test(arguments: [2, 0]) func aTurnComesWithOneFrame(overlays: Int) throws {
        let stage = Stage(PlaneScreen(planes: MemoryPlanes(64, 36, overlays: overlays)))
        let told = Mutex<[Rotation]>([])
        stage.output.observeRotation { turn in told.withLock { $0.append(turn) } }
        let (output, generation) = (stage.output, stage.output.generation)
        _ = output.setOverlay(overlay(Surface(0xffff_00ff, 6, 6), 20, 10))
        guard case .queued = stage.commit(try prepareQuarters(output)) else { throw Unexpected() }
        try stage.flip()
        let before = try prepareQuarters(output)
        output.setRotation(.clockwise180)
        _ = output.wait(until: .now)
        // What lies ready is shown as it is, and everything else stays with it.
        guard case .queued = stage.commit(before) else { throw Unexpected() }
        let turned = try prepareQuarters(output)
        try stage.flip()
        #expect(corners(stage.screen) == upright && stage.screen.seen(21, 11) == 0xff_00ff)
        #expect(output.rotation == .none && told.withLock { $0 } == [.none] && output.generation == generation)
        // Then all turns at one vblank.
        guard case .queued = stage.commit(turned) else { throw Unexpected() }
        #expect(told.withLock { $0 } == [.none])
        try stage.flip()
        #expect(corners(stage.screen) == halfTurned && stage.screen.seen(64 - 21, 36 - 11) == 0xff_00ff)
        #expect(stage.screen.seen(21, 11) != 0xff_00ff)
        #expect(output.rotation == .clockwise180 && told.withLock { $0 } == [.none, .clockwise180])
    }

    /// The engine is asked for what is on the screen, once; what was turned otherwise is not shown any more then.
    @Test func inAPauseThePictureIsAskedForAgain() throws {
        let stage = Stage(PlaneScreen())
        let output = stage.output
        guard case .queued = stage.commit(try prepareQuarters(output)) else { throw Unexpected() }
        try stage.flip()
        let ready = try prepareQuarters(output)
        output.rotate(nil)
        output.rotate(nil)
        guard case .woken = output.wait(until: nil), case .changed = output.wait(until: .now + .seconds(10)) else { throw Unexpected() }
        guard case .deadline = output.wait(until: .now + .milliseconds(150)) else { throw Unexpected() }
        guard case .queued = stage.commit(try prepareQuarters(output)) else { throw Unexpected() }
        try stage.flip()
        #expect(corners(stage.screen) == halfTurned)
        guard case .stale = stage.commit(ready), case .changed = output.wait(until: .now) else { throw Unexpected() }
        _ = (try stage.prepare(), try stage.prepare())
    }

    /// Controls that were drawn for a landscape do not stand over a portrait; those that are drawn for that come with its first picture.
    @Test(arguments: [2, 0]) func anOverlayBelongsToAShapeOfTheScreen(overlays: Int) throws {
        let stage = Stage(PlaneScreen(planes: MemoryPlanes(64, 36, overlays: overlays)))
        let purple = Surface(0xffff_00ff, 6, 6)
        _ = stage.output.setOverlay(Overlay(pictures: [.init(surface: purple, x: 0, y: 0)], width: 64, height: 36))
        try stage.show()
        #expect(stage.screen.seen(1, 1) == 0xff_00ff)
        stage.output.setRotation(.clockwise90)
        _ = stage.output.wait(until: .now)
        try stage.show()
        #expect(!stage.screen.seen.contains(0xff_00ff))
        _ = stage.output.setOverlay(Overlay(pictures: [.init(surface: purple, x: 0, y: 0)], width: 36, height: 64))
        try stage.show()
        // The viewer's top left corner.
        #expect(stage.screen.seen(62, 1) == 0xff_00ff && stage.screen.seen(1, 1) != 0xff_00ff)
        // Drawn before the turn is on the screen, it waits for it.
        stage.output.setRotation(.clockwise180)
        _ = stage.output.wait(until: .now)
        _ = stage.output.setOverlay(Overlay(pictures: [.init(surface: purple, x: 0, y: 0)], width: 64, height: 36))
        if overlays > 0 {
            guard case .busy = stage.commitOverlay() else { throw Unexpected() }
        }
        #expect(stage.screen.seen(62, 1) == 0xff_00ff)
        try stage.show()
        #expect(stage.screen.seen(62, 34) == 0xff_00ff && stage.screen.seen(62, 1) != 0xff_00ff)
    }

    @Test func whatTheDisplayMeasuresCanBeConfigured() {
        var settings = DisplaySettings()
        #expect(DisplayOutput(settings, screen: PlaneScreen()).mode?.physicalWidth == nil)
        settings.physicalSize = PhysicalSize("154x86")
        let mode = DisplayOutput(settings, screen: PlaneScreen()).mode
        #expect(mode?.physicalWidth == 154 && mode?.physicalHeight == 86)
    }
}
