internal import KioskPlatform
internal import KioskPlayback
internal import KioskVocabulary
internal import Synchronization

/// The display as seen by its first player, once the previous player has ended.
final class OwnedOutput: SceneOutput {
    private let output: any SceneOutput
    private let number: Int
    private let owner: DisplayOwner
    private let hasLeft = Atomic(false)

    /// `number` is that of the connection.
    init(_ output: any SceneOutput, _ number: Int, _ owner: DisplayOwner) {
        (self.output, self.number, self.owner) = (output, number, owner)
    }

    func wait(until deadline: HostTime?) -> SceneOutputEvent { output.wait(until: deadline) }

    /// Also waits for the end of the previous player.
    func waitUntilOpen() {
        output.waitUntilOpen()
        owner.begin(number) { hasLeft.load(ordering: .relaxed) }
    }

    /// Says that the player ends: a player that still waits for the display no longer gets it.
    func leave() {
        hasLeft.store(true, ordering: .relaxed)
        owner.look()
    }

    /// Passes the display to the next player, if this one had it.
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

/// The ownership of a display that several players have one after the other. A released player takes a moment to end, and the next one
/// waits for that.
final class DisplayOwner: Sendable {
    /// The player whose threads use the display.
    private let present = Monitor<Int?>(nil)

    /// Waits until `player` has the display, or has left.
    func begin(_ player: Int, hasLeft: () -> Bool) {
        _ = present.wait { present -> Bool? in
            if present == player || hasLeft() { return true }
            if present != nil { return nil }
            present = player
            return true
        }
    }

    /// Makes all waiting players check again whether they have left.
    func look() { present.signal { _ in } }

    /// Says that both threads of a player have ended. If it had the display, calls `body` and frees the display for the next one.
    func end(_ player: Int, _ body: () -> Void) {
        guard present.withLock({ $0 == player }) else { return }
        body()
        present.signal { $0 = nil }
    }

    /// Waits until the display is free; false if it is still in use at `deadline`.
    func waitUntilFree(until deadline: HostTime) -> Bool { present.wait(until: deadline) { $0 == nil ? true : nil } ?? false }
}
