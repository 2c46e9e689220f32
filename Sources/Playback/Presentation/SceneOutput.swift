import KioskMedia
import KioskPlatform
import KioskVocabulary

/// The mode that a display is driven in.
package struct DisplayMode: Hashable, Sendable {
    /// The visible pixels across and down as scanned out, before the configured rotation.
    package var width: Int, height: Int
    /// The nominal time from one vblank to the next.
    package var refreshPeriod: MediaTime
    /// The mode's name in log lines: `HDMI-A-1 1920x1080@60.00`.
    package var name: String
    /// The display's size across and down in millimetres, as scanned out, before any rotation. nil if the display reports none, or an
    /// implausible one.
    package var physicalWidth: Double?, physicalHeight: Double?

    /// Creates a mode from its parts.
    package init(
        width: Int, height: Int, refreshPeriod: MediaTime, name: String, physicalWidth: Double? = nil, physicalHeight: Double? = nil
    ) {
        self.width = width
        self.height = height
        self.refreshPeriod = refreshPeriod
        self.name = name
        self.physicalWidth = physicalWidth
        self.physicalHeight = physicalHeight
    }
}

/// A prepared scene that is ready to commit. It goes back to its output exactly once: through a ``SceneOutput/commit(_:id:)`` that accepts
/// it, or through ``SceneOutput/discard(_:)``.
package struct PreparedScene: Hashable, Sendable {
    /// The number of the output's buffer that holds the scene.
    package var buffer: Int
    /// The ``SceneOutput/generation`` of the output at the preparation. A scene of an older generation can no longer be committed.
    package var generation: UInt64

    /// Creates a token for `buffer` under `generation`. Only outputs do this.
    package init(buffer: Int, generation: UInt64) {
        self.buffer = buffer
        self.generation = generation
    }
}

/// The result of ``SceneOutput/prepare(_:)``.
package enum Preparation: Sendable {
    /// The scene is ready to commit.
    case prepared(PreparedScene)
    /// Every buffer is on the screen, waiting for its flip, or prepared already. The next flip frees one.
    case noSpareBuffer
    /// There is no display now. The output drew nothing.
    case noDisplay
}

/// The result of ``SceneOutput/commit(_:id:)``.
package enum CommitResult: Sendable {
    /// The scene is on the screen from the next vblank on. ``SceneOutputEvent/flipped(_:)`` reports this, or ``SceneOutputEvent/changed``
    /// if the display goes first. If neither arrives in time, the output reports an assumed flip by itself (``Flip/isAssumed``).
    case queued
    /// The flip before is still pending. The caller still has to commit or discard the scene.
    case busy
    /// The display has gone or changed since the preparation. The output has taken the scene back.
    case stale
}

/// The report that a scene is on the screen.
package struct Flip: Hashable, Sendable {
    /// The id that the caller passed to ``SceneOutput/commit(_:id:)``.
    package var id: UInt64
    /// The vblank from which on the scene is scanned out. An output without vblank events gives its paced estimate.
    package var time: HostTime
    /// The driver's vblank counter, if it has one. It can wrap and may jump.
    package var sequence: UInt64?
    /// Whether the output assumes the flip, because no event reported it in time. It has happened, or will.
    package var isAssumed: Bool

    /// Creates a flip from its parts.
    package init(id: UInt64, time: HostTime, sequence: UInt64?, isAssumed: Bool = false) {
        (self.id, self.time, self.sequence, self.isAssumed) = (id, time, sequence, isAssumed)
    }
}

/// The reason for which ``SceneOutput/wait(until:)`` returned.
package enum SceneOutputEvent: Sendable {
    case flipped(Flip)
    /// The display is gone, is back or has another mode. Read ``SceneOutput/mode`` and ``SceneOutput/generation`` again. Prepared scenes of
    /// the older generation are void; prepare them again.
    case changed
    /// Someone called ``SceneOutput/wake()``.
    case woken
    /// A scan-out buffer became spare without a flip: a snapshot no longer reads it.
    case bufferFreed
    /// The deadline has passed.
    case deadline
}

/// A display, or a stand-in for one, that shows ``Scene``s. The target Display implements it (KMS, fbdev, offscreen).
///
/// Two threads of the engine call it at the same time. The *compositor* calls ``prepare(_:)``, which does everything that takes time. The
/// *presenter* calls ``wait(until:)`` and ``commit(_:id:)``, which does nothing but the commit. ``wake()``, ``mode``, ``generation``,
/// ``rotation``, ``setRotation(_:)`` and ``discard(_:)`` come from any thread. No call except `wait` may block for longer than a conversion
/// takes.
///
/// The output borrows a scene for the call of ``prepare(_:)``; the engine owns the scene and may free it at any time. The prepared scene
/// may need more after the call: a scan-out buffer, a reference of its own to a decoder's surface. The output holds these until the flip
/// that replaces the scene has happened, until someone discards the scene, or until its generation ends. If no event reports that flip, the
/// output holds them until it takes the flip after it. It releases frames on the compositor's thread only, in a later ``prepare(_:)``.
/// Freeing an `AVFrame` can block in libavcodec's pool (13 ms were seen), and the presenter must not wait for that.
///
/// Several players may use an output, one after the other. ``OutputLease`` calls ``playerEnded()``, which takes back everything that the
/// player prepared and did not commit. So no player can keep a buffer.
///
/// Video and overlays change independently. The engine prepares the same frame again in a scene with other layers, or another frame with
/// the same layers. Losing the display is never an error but a state (`mode` nil), which the output tries to end by itself.
package protocol SceneOutput: AnyObject, Sendable {
    /// Waits until the output knows whether there is a display, for an output that opens in the background. Blocks for as long as a modeset
    /// takes. Both threads call it before anything else.
    func waitUntilOpen()
    /// The present mode; nil while there is no display.
    var mode: DisplayMode? { get }
    /// The generation of prepared scenes. It grows by one when they become void (display gone or back, mode changed).
    var generation: UInt64 { get }
    /// Whether flips carry the vblank's own time. If not, the engine paces by timer at the mode's refresh.
    var reportsVblank: Bool { get }

    /// The clockwise rotation from the viewer's picture to the scanned-out one, as it is on the screen now: the rotation of
    /// ``setRotation(_:)`` in addition to the panel's mounting.
    var rotation: Rotation { get }
    /// Rotates everything: all scenes prepared from now on, and the overlay with the first of them. Until then the last picture before
    /// stays on the screen. ``rotation`` changes with the flip that shows it. Any thread.
    func setRotation(_ rotation: Rotation)

    /// Prepares `scene` for the screen: orients its frames, scales them by their gravity, applies the configured rotation and stacks the
    /// layers. A frame that cannot be converted becomes background, and the output logs it once. Compositor thread.
    func prepare(_ scene: borrowing Scene) -> Preparation
    /// Commits a prepared scene, to be scanned out from the next vblank on. `id` must grow from call to call. Presenter thread.
    func commit(_ prepared: PreparedScene, id: UInt64) -> CommitResult
    /// Takes back a prepared scene that is not committed.
    func discard(_ prepared: PreparedScene)
    /// Takes over the overlay that lies over every scene. Does everything that takes time here: upload into a plane's buffer, rotation.
    /// Compositor thread.
    func setOverlay(_ overlay: Overlay) -> OverlayPlacement
    /// Commits the overlay alone, to be shown from the next vblank on over the unchanged picture. Call it only after
    /// ``OverlayPlacement/plane`` and ``OverlayPlacement/both(painting:)``. Returns and flips like ``commit(_:id:)``, and shares its ids.
    /// Presenter thread.
    func commitOverlay(id: UInt64) -> CommitResult
    /// Blocks until an event or until `deadline`. Also does the output's own upkeep (hot-plug, VT switches). Presenter thread.
    func wait(until deadline: HostTime?) -> SceneOutputEvent
    /// Ends the present ``wait(until:)``, or the next one.
    func wake()
    /// Ends a player's use of the output, after both its threads have ended. The output takes back prepared scenes that were not committed,
    /// and removes the player's overlay with the next commit. Another player may follow.
    func playerEnded()
    /// Restores the screen's earlier content. No other call may be under way or follow.
    func close()
    /// The heartbeat of the output's own work: the first look for a display, upkeep in ``wait(until:)``. nil if nothing in it can hang.
    var heartbeat: Heartbeat? { get }
}

extension SceneOutput {
    /// Returns at once, for an output that is open from the beginning.
    package func waitUntilOpen() {}
    /// nil, for an output that calls no driver.
    package var heartbeat: Heartbeat? { nil }
}

/// A display that several players share. The first player has the output itself; each other player has a window over the first one's
/// picture.
package protocol SharedSceneOutput: SceneOutput {
    /// Creates the output of a window. It passes each picture to `show`, with the times at which it expects the next one, if known
    /// (``PlaybackEngine/expectOverlay(in:by:)``). `background` fills the area around its pictures; nil takes the display's. After some
    /// sixty pictures the output calls `measured` once with the time that painting one takes.
    func makeWindow(
        background: Color?, show: @escaping @Sendable (Overlay.Picture?, _ next: Range<HostTime>?) -> Void,
        measured: @escaping @Sendable (MediaTime) -> Void
    ) -> any WindowSceneOutput
    /// The rotation of pictures and overlays prepared from now on.
    var nextRotation: Rotation { get }
    /// Rotates pictures; nil is another quarter clockwise.
    func rotate(_ rotation: Rotation?)
    /// Returns the ``nextRotation`` that `rotate(rotation)` would lead to.
    func rotation(after rotation: Rotation?) -> Rotation
    /// Returns the screen's content as a PNG file.
    func png() throws -> [UInt8]
    /// Sets the observer of the virtual terminal: its argument says whether kiosk may use the input devices, or another program has the
    /// terminal. Call it once.
    func observeTerminal(_ observer: @escaping @Sendable (Bool) -> Void)
    /// Sets the observer of the rotation of touches. Call it once.
    func observeRotation(_ observer: @escaping @Sendable (Rotation) -> Void)
}

/// The output of a player with a window over another player's picture.
package protocol WindowSceneOutput: SceneOutput {
    /// Sets the colour that fills the area around its pictures from now on. Any thread.
    func setBackground(_ color: Color)
}
