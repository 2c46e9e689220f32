import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Synchronization
import Testing

@testable import KioskDisplayCore

/// A screen that is rotated during playback: the visible result at each vblank.
@Suite struct RotatingTests {
    /// Returns the colours at the corners of the scanned-out picture: red, green above blue, white if upright.
    private func corners(_ screen: PlaneScreen) -> [UInt32] {
        [screen.seen(1, 1), screen.seen(62, 1), screen.seen(1, 34), screen.seen(62, 34)].map { pixel in
            [0xff0000, 0x00ff00, 0x0000ff, 0xffffff].first { near(pixel, $0, 8) } ?? pixel
        }
    }
    private let upright: [UInt32] = [0xff0000, 0x00ff00, 0x0000ff, 0xffffff]
    private let halfRotated: [UInt32] = [0xffffff, 0x0000ff, 0x00ff00, 0xff0000]

    private func prepareQuarters(_ output: DisplayOutput) throws -> PreparedScene {
        guard case .prepared(let scene) = output.prepare(Scene(Pictures.quarters(64, 36))) else { throw PlaneStage.Unexpected() }
        return scene
    }

    @Test(arguments: [2, 0]) func aRotationComesWithOneFrame(overlays: Int) throws {
        let stage = PlaneStage(PlaneScreen(planes: MemoryPlanes(64, 36, overlays: overlays)))
        let told = Mutex<[Rotation]>([])
        stage.output.observeRotation { rotation in told.withLock { $0.append(rotation) } }
        let (output, generation) = (stage.output, stage.output.generation)
        _ = output.setOverlay(Overlay(pictures: [.init(surface: Surface(0xffff_00ff, 6, 6), x: 20, y: 10)]))
        guard case .queued = stage.commit(try prepareQuarters(output)) else { throw PlaneStage.Unexpected() }
        try stage.flip()
        let before = try prepareQuarters(output)
        output.setRotation(.clockwise180)
        _ = output.wait(until: .now)
        let turned = try prepareQuarters(output)
        // A prepared picture is shown unrotated, with everything over it.
        guard case .queued = stage.commit(before) else { throw PlaneStage.Unexpected() }
        try stage.flip()
        #expect(corners(stage.screen) == upright && stage.screen.seen(21, 11) == 0xff_00ff)
        #expect(output.rotation == .none && told.withLock { $0 } == [.none] && output.generation == generation)
        // Then everything rotates at one vblank.
        guard case .queued = stage.commit(turned) else { throw PlaneStage.Unexpected() }
        #expect(told.withLock { $0 } == [.none])
        try stage.flip()
        #expect(corners(stage.screen) == halfRotated && stage.screen.seen(64 - 21, 36 - 11) == 0xff_00ff)
        #expect(stage.screen.seen(21, 11) != 0xff_00ff)
        #expect(output.rotation == .clockwise180 && told.withLock { $0 } == [.none, .clockwise180])
    }

    /// As for a rotation: a prepared picture keeps the old background, and the next one has the new. During a pause, the output requests a
    /// picture.
    @Test func aBackgroundComesWithOneFrame() throws {
        let stage = PlaneStage(PlaneScreen())
        let output = stage.output
        func prepare() throws -> PreparedScene {
            guard case .prepared(let scene) = output.prepare(Scene()) else { throw PlaneStage.Unexpected() }
            return scene
        }
        guard case .queued = stage.commit(try prepare()) else { throw PlaneStage.Unexpected() }
        try stage.flip()
        let ready = try prepare()
        output.setBackground(Color(red: 0x20, green: 0x40, blue: 0x60))
        _ = output.wait(until: .now)
        guard case .queued = stage.commit(ready) else { throw PlaneStage.Unexpected() }
        try stage.flip()
        #expect(stage.screen.seen(5, 5) == 0)
        guard case .changed = output.wait(until: .now + .seconds(120)) else { throw PlaneStage.Unexpected() }
        guard case .queued = stage.commit(try prepare()) else { throw PlaneStage.Unexpected() }
        try stage.flip()
        #expect(stage.screen.seen(5, 5) == 0x204060)
        guard case .deadline = output.wait(until: .now + .milliseconds(200)) else { throw PlaneStage.Unexpected() }
    }

    /// The output requests the picture from the engine once. A picture prepared for the old rotation is stale afterwards.
    @Test func inAPauseThePictureIsAskedForAgain() throws {
        let stage = PlaneStage(PlaneScreen())
        let output = stage.output
        guard case .queued = stage.commit(try prepareQuarters(output)) else { throw PlaneStage.Unexpected() }
        try stage.flip()
        let ready = try prepareQuarters(output)
        output.rotate(nil)
        output.rotate(nil)
        guard case .woken = output.wait(until: nil), case .changed = output.wait(until: .now + .seconds(120)) else {
            throw PlaneStage.Unexpected()
        }
        guard case .deadline = output.wait(until: .now + .milliseconds(150)) else { throw PlaneStage.Unexpected() }
        guard case .queued = stage.commit(try prepareQuarters(output)) else { throw PlaneStage.Unexpected() }
        try stage.flip()
        #expect(corners(stage.screen) == halfRotated)
        guard case .stale = stage.commit(ready), case .changed = output.wait(until: .now) else { throw PlaneStage.Unexpected() }
        _ = (try stage.prepare(), try stage.prepare())
    }

    /// Controls drawn for landscape are not shown over portrait. Controls drawn for portrait come with its first picture.
    @Test(arguments: [2, 0]) func anOverlayBelongsToAShapeOfTheScreen(overlays: Int) throws {
        let stage = PlaneStage(PlaneScreen(planes: MemoryPlanes(64, 36, overlays: overlays)))
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
        // An overlay drawn before the rotation is on the screen waits for it.
        stage.output.setRotation(.clockwise180)
        _ = stage.output.wait(until: .now)
        _ = stage.output.setOverlay(Overlay(pictures: [.init(surface: purple, x: 0, y: 0)], width: 64, height: 36))
        if overlays > 0 {
            guard case .busy = stage.commitOverlay() else { throw PlaneStage.Unexpected() }
        }
        #expect(stage.screen.seen(62, 1) == 0xff_00ff)
        try stage.show()
        #expect(stage.screen.seen(62, 34) == 0xff_00ff && stage.screen.seen(62, 1) != 0xff_00ff)
    }
}
