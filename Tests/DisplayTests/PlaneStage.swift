import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

/// An output and its screen, with the engine's part.
final class PlaneStage {
    struct Unexpected: Error {}

    let screen: PlaneScreen
    let output: DisplayOutput
    private var id: UInt64 = 0

    init(_ screen: PlaneScreen, _ settings: DisplaySettings = DisplaySettings()) {
        self.screen = screen
        output = DisplayOutput(settings, screen: screen)
    }

    deinit { output.close() }

    /// Prepares a gray picture.
    func prepare(_ luma: Int = 126) throws -> PreparedScene {
        guard case .prepared(let scene) = output.prepare(Scene(Pictures.solid(luma, 128, 128, 8, 8))) else { throw Unexpected() }
        return scene
    }

    /// Prepares a picture.
    func prepare(_ frame: consuming VideoFrame, _ gravity: VideoGravity = .resize) throws -> PreparedScene {
        guard case .prepared(let scene) = output.prepare(Scene(frame, gravity: gravity)) else { throw Unexpected() }
        return scene
    }

    /// Shows a picture at the next vblank.
    func show(_ frame: consuming VideoFrame, _ gravity: VideoGravity = .resize) throws {
        guard case .queued = commit(try prepare(frame, gravity)) else { throw Unexpected() }
        try flip()
    }

    func commit(_ scene: PreparedScene) -> CommitResult {
        id += 1
        return output.commit(scene, id: id)
    }

    func commitOverlay() -> CommitResult {
        id += 1
        return output.commitOverlay(id: id)
    }

    /// The vblank after a commit. Its flip must be that of the last commit.
    func flip() throws {
        screen.vblank()
        guard case .flipped(let flip) = output.wait(until: .now), flip.id == id else { throw Unexpected() }
    }

    /// Shows a gray picture at the next vblank.
    func show(_ luma: Int = 126) throws {
        guard case .queued = commit(try prepare(luma)) else { throw Unexpected() }
        try flip()
    }

    /// Shows the overlay at the next vblank.
    func showOverlay() throws {
        guard case .queued = commitOverlay() else { throw Unexpected() }
        try flip()
    }
}
