import KioskMedia
import KioskPlatform
import KioskVocabulary

/// The mode a display is being driven in.
package struct DisplayMode: Hashable, Sendable {
    /// Visible pixels across and down as scanned out, before the configured rotation.
    package var width: Int, height: Int
    /// Nominal time from one vblank to the next.
    package var refreshPeriod: MediaTime
    /// What to call it in a log line: `HDMI-A-1 1920x1080@60.00`.
    package var name: String
    /// What the display measures across and down in millimetres, as scanned out, before any rotation; nil when it does not say, or says
    /// nonsense.
    package var physicalWidth: Double?, physicalHeight: Double?

    /// A mode from its parts.
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

/// A scene that has been prepared and can be committed. Goes back to its output exactly once: through ``SceneOutput/commit(_:id:)``, when
/// that takes it, or through ``SceneOutput/discard(_:)``.
package struct PreparedScene: Hashable, Sendable {
    /// Which of the output's buffers it lies in.
    package var buffer: Int
    /// The output's ``SceneOutput/generation`` it was prepared for; a scene of an older one can no longer be committed.
    package var generation: UInt64

    /// A token for `buffer` under `generation`; made by outputs only.
    package init(buffer: Int, generation: UInt64) {
        self.buffer = buffer
        self.generation = generation
    }
}

/// The answer to ``SceneOutput/prepare(_:)``.
package enum Preparation: Sendable {
    /// The scene can be committed.
    case prepared(PreparedScene)
    /// Every buffer is on the screen, waiting for its flip, or prepared already. One becomes free with the next flip.
    case noSpareBuffer
    /// There is no display now; nothing was drawn.
    case noDisplay
}

/// The answer to ``SceneOutput/commit(_:id:)``.
package enum CommitResult: Sendable {
    /// It will be on the screen from the next vblank on, which ``SceneOutputEvent/flipped(_:)`` will report; or, where the display goes
    /// first, ``SceneOutputEvent/changed``. An output that hears of neither in time says so by itself (``Flip/isAssumed``).
    case queued
    /// The flip before is still pending; the scene is still the caller's to commit or discard.
    case busy
    /// The display has gone or changed since the scene was prepared; the output has taken the scene back.
    case stale
}

/// A scene is on the screen.
package struct Flip: Hashable, Sendable {
    /// The id that was given to ``SceneOutput/commit(_:id:)``.
    package var id: UInt64
    /// The vblank from which on the scene is scanned out. For an output without vblank events, its paced estimate.
    package var time: HostTime
    /// The vblank counter, when the driver counts; it can wrap and may jump.
    package var sequence: UInt64?
    /// Nobody has told of it in time: it has happened, or will.
    package var isAssumed: Bool

    /// A flip from its parts.
    package init(id: UInt64, time: HostTime, sequence: UInt64?, isAssumed: Bool = false) {
        (self.id, self.time, self.sequence, self.isAssumed) = (id, time, sequence, isAssumed)
    }
}

/// What ``SceneOutput/wait(until:)`` woke up for.
package enum SceneOutputEvent: Sendable {
    case flipped(Flip)
    /// Display gone, come back or in another mode: read ``SceneOutput/mode`` and ``SceneOutput/generation`` anew; prepared
    /// scenes of the older generation are void, and what should be seen must be prepared again.
    case changed
    /// ``SceneOutput/wake()`` was called.
    case woken
    /// A scan-out buffer has become spare without a flip: it is no longer read for a snapshot.
    case bufferFreed
    /// The deadline has passed.
    case deadline
}

/// A display, or what stands for one: it shows ``Scene``s. The target Display implements it (KMS, fbdev, offscreen).
///
/// Two threads of the engine call it at the same time. The *compositor* calls ``prepare(_:)``, which does whatever takes time. The
/// *presenter* calls ``wait(until:)`` and ``commit(_:id:)``, which does nothing but the commit. ``wake()``, ``mode``, ``generation``,
/// ``rotation``, ``setRotation(_:)`` and ``discard(_:)`` come from any thread. No call but `wait` may block for longer than a conversion takes.
///
/// A scene is borrowed for the call of ``prepare(_:)`` and stays the engine's, which may free it at any time. What the prepared scene
/// needs after the call (a scan-out buffer, a reference of its own to a decoder's surface) the output holds until the flip that replaces
/// it has happened; where nobody told of that flip, until the flip after it is taken; or until the scene is discarded or its generation
/// ends. It lets go of frames on the compositor's thread only, in a later ``prepare(_:)``: to free an `AVFrame` can block in libavcodec's
/// pool (13 ms were seen), and the presenter must not wait for that.
///
/// Several players may have an output, one after the other. All that one of them has prepared and not committed is the output's again with
/// ``playerEnded()``, which ``OutputLease`` calls: no player can take a buffer with it.
///
/// Video and overlays change independently of each other: the engine prepares the same frame again in a scene with other layers, or
/// another frame with the same ones. Losing the display is never an error: it is a state (`mode` nil) that the output works at ending by
/// itself.
package protocol SceneOutput: AnyObject, Sendable {
    /// Returns once it is known whether there is a display, for an output that is opened in the background; blocks for as long as a modeset
    /// takes. Both threads call it before anything else.
    func waitUntilOpen()
    /// The present mode; nil while there is no display.
    var mode: DisplayMode? { get }
    /// Grows by one whenever prepared scenes lose their meaning (display gone or back, mode changed).
    var generation: UInt64 { get }
    /// Whether flips are reported with the vblank's own time. Without it the engine paces by timer at the mode's refresh.
    var reportsVblank: Bool { get }

    /// The clockwise rotation from what a viewer sees to what is scanned out, as it is on the screen now: what ``setRotation(_:)`` asked for on
    /// top of how the panel is built in.
    var rotation: Rotation { get }
    /// Rotates everything: scenes prepared from now on, and the overlay with the first of them; the last picture before stays on the screen
    /// until then. ``rotation`` changes with the flip that shows it. Any thread.
    func setRotation(_ rotation: Rotation)

    /// Makes `scene` ready for the screen: its frames oriented, scaled as their gravity says, rotated by the configured rotation, its
    /// layers over each other. A frame that cannot be converted is drawn as background and logged once. Compositor thread.
    func prepare(_ scene: borrowing Scene) -> Preparation
    /// Asks for a prepared scene to be scanned out from the next vblank on. `id` must grow from call to call. Presenter thread.
    func commit(_ prepared: PreparedScene, id: UInt64) -> CommitResult
    /// Gives back a prepared scene that is not committed.
    func discard(_ prepared: PreparedScene)
    /// Takes over what lies over every scene. What takes time (upload into a plane's buffer, rotating by the rotation) is done here.
    /// Compositor thread.
    func setOverlay(_ overlay: Overlay) -> OverlayPlacement
    /// Asks for the overlay alone to be shown from the next vblank on, the picture unchanged. Only after ``OverlayPlacement/plane`` and
    /// ``OverlayPlacement/both(painting:)``. Answers and flips like ``commit(_:id:)``, with which it shares the ids. Presenter thread.
    func commitOverlay(id: UInt64) -> CommitResult
    /// Blocks until something happens, at the latest until `deadline`. Also does the output's own upkeep (hot-plug, VT switches).
    /// Presenter thread.
    func wait(until deadline: HostTime?) -> SceneOutputEvent
    /// Ends the ``wait(until:)`` that is under way, or the next one.
    func wake()
    /// A player is done with the output, and both its threads have ended: what was prepared and not committed is taken back, and what lay over
    /// its scenes is gone with the next commit. Another player may follow.
    func playerEnded()
    /// Restores what was on the screen before. No other call may follow or be under way.
    func close()
    /// The beats of what the output does by itself: the first look for a display, upkeep in ``wait(until:)``. Nil where there is nothing that can
    /// hang.
    var heartbeat: Heartbeat? { get }
}

extension SceneOutput {
    /// An output that is open from the beginning.
    package func waitUntilOpen() {}
    /// An output that calls no driver.
    package var heartbeat: Heartbeat? { nil }
}

/// A display that several players have at the same time: the first has the output itself, each other one a window over that one's picture.
package protocol SharedSceneOutput: SceneOutput {
    /// A window's output, which shows what it has to by `show`, and says when the next picture is to be expected, where it is known
    /// (``PlaybackEngine/expectOverlay(in:by:)``). What its pictures leave free is `background`, nil for the display's. `measured` is told once how long
    /// a picture takes to be painted, when some sixty have been.
    func makeWindow(
        background: Color?, show: @escaping @Sendable (Overlay.Picture?, _ next: Range<HostTime>?) -> Void,
        measured: @escaping @Sendable (MediaTime) -> Void
    ) -> any WindowSceneOutput
    /// What is on the screen, as a PNG file.
    func png() throws -> [UInt8]
    /// Whether input devices are ours, as another program may have the virtual terminal; called once.
    func observeTerminal(_ observer: @escaping @Sendable (Bool) -> Void)
    /// The rotation of touches; called once.
    func observeRotation(_ observer: @escaping @Sendable (Rotation) -> Void)
}

/// The output of a player that has a window over another one's picture.
package protocol WindowSceneOutput: SceneOutput {
    /// What its pictures leave free is of this colour from now on. From any thread.
    func setBackground(_ color: Color)
}
