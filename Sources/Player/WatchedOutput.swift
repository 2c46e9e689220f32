internal import KioskPlatform
internal import KioskPlayback
internal import KioskVocabulary

/// The display as the player has it that came first. It tells the windows over that player's picture when vblanks are, and when the display
/// has changed.
final class WatchedOutput: KioskPlayback.VideoOutput {
    private let output: any KioskPlayback.VideoOutput
    private let vblank: LastVblank
    private let onChange: @Sendable () -> Void

    init(_ output: any KioskPlayback.VideoOutput, _ vblank: LastVblank, onChange: @escaping @Sendable () -> Void) {
        (self.output, self.vblank, self.onChange) = (output, vblank, onChange)
    }

    func wait(until deadline: HostTime?) -> VideoOutputEvent {
        let event = output.wait(until: deadline)
        switch event {
        case .flipped(let flip): vblank.note(flip.time)
        case .changed: onChange()
        default: break
        }
        return event
    }

    func waitUntilOpen() { output.waitUntilOpen() }
    var mode: DisplayMode? { output.mode }
    var generation: UInt64 { output.generation }
    var reportsVblank: Bool { output.reportsVblank }
    var rotation: Rotation { output.rotation }
    func setRotation(_ rotation: Rotation) { output.setRotation(rotation) }
    func prepare(_ scene: borrowing Scene) -> Preparation { output.prepare(scene) }
    func commit(_ prepared: PreparedScene, id: UInt64) -> CommitResult { output.commit(prepared, id: id) }
    func discard(_ prepared: PreparedScene) { output.discard(prepared) }
    func setOverlay(_ overlay: Overlay) -> OverlayPlacement { output.setOverlay(overlay) }
    func commitOverlay(id: UInt64) -> CommitResult { output.commitOverlay(id: id) }
    func wake() { output.wake() }
    func close() { output.close() }
}
