internal import KioskPlatform
internal import KioskPlayback
internal import KioskVocabulary
internal import Synchronization

/// The display as the player has it that came first, once the player before has ended.
final class OwnedOutput: SceneOutput {
    private let output: any SceneOutput
    private let number: Int
    private let owner: DisplayOwner
    private let hasLeft = Atomic(false)

    /// `number` is the connection's.
    init(_ output: any SceneOutput, _ number: Int, _ owner: DisplayOwner) {
        (self.output, self.number, self.owner) = (output, number, owner)
    }

    func wait(until deadline: HostTime?) -> SceneOutputEvent { output.wait(until: deadline) }

    /// Waits for the player before to have ended, too.
    func waitUntilOpen() {
        output.waitUntilOpen()
        owner.begin(number) { hasLeft.load(ordering: .relaxed) }
    }

    /// The player ends. Where it has not had the display yet it is not to have it any more.
    func leave() {
        hasLeft.store(true, ordering: .relaxed)
        owner.look()
    }

    /// The display is the next player's, where this one has had it.
    func playerEnded() { owner.end(number) { output.playerEnded() } }

    var mode: DisplayMode? { output.mode }
    var generation: UInt64 { output.generation }
    var reportsVblank: Bool { output.reportsVblank }
    var heartbeat: Heartbeat? { output.heartbeat }
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

/// Who has a display that several players have one after the other. A player that was let go of takes a moment to end, and the
/// next one waits for that.
final class DisplayOwner: Sendable {
    /// The player whose threads use the display.
    private let present = Monitor<Int?>(nil)

    /// Waits until the display is that of `player`, or that has left.
    func begin(_ player: Int, hasLeft: () -> Bool) {
        _ = present.wait { present -> Bool? in
            if present == player || hasLeft() { return true }
            if present != nil { return nil }
            present = player
            return true
        }
    }

    /// Has all who wait look again whether they have left.
    func look() { present.signal { _ in } }

    /// Both threads of a player have ended: where it had the display, `body` is called and the next one has it.
    func end(_ player: Int, _ body: () -> Void) {
        guard present.withLock({ $0 == player }) else { return }
        body()
        present.signal { $0 = nil }
    }

    /// Waits until nobody has the display; false where it still is at `deadline`.
    func waitUntilFree(until deadline: HostTime) -> Bool { present.wait(until: deadline) { $0 == nil ? true : nil } ?? false }
}
