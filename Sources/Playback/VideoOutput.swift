import Media
import Platform

/// The mode a display is being driven in.
public struct DisplayMode: Hashable, Sendable {
    /// Visible pixels across and down as scanned out, before the configured rotation.
    public var width: Int, height: Int
    /// Nominal time from one vblank to the next.
    public var refreshPeriod: MediaTime
    /// What to call it in a log line: `HDMI-A-1 1920x1080@60.00`.
    public var name: String

    /// A mode from its parts.
    public init(width: Int, height: Int, refreshPeriod: MediaTime, name: String) {
        self.width = width
        self.height = height
        self.refreshPeriod = refreshPeriod
        self.name = name
    }
}

/// A frame that lies converted in a scan-out buffer, ready to be flipped to. Goes back to its output exactly once, through
/// ``VideoOutput/present(_:id:)`` or ``VideoOutput/discard(_:)``.
public struct ComposedFrame: Hashable, Sendable {
    /// Which of the output's buffers.
    public var buffer: Int
    /// The output's ``VideoOutput/generation`` it was composed for; a frame of an older one can no longer be presented.
    public var generation: UInt64

    /// A token for `buffer` under `generation`; made by outputs only.
    public init(buffer: Int, generation: UInt64) {
        self.buffer = buffer
        self.generation = generation
    }
}

/// The answer to ``VideoOutput/compose(_:gravity:over:)``.
public enum Composition: Sendable {
    /// The picture is in a scan-out buffer.
    case composed(ComposedFrame)
    /// Every buffer is on the screen, waiting for its flip, or composed already. One becomes free with the next flip.
    case noSpareBuffer
    /// There is no display now; the picture was not drawn.
    case dark
}

/// The answer to ``VideoOutput/present(_:id:)``.
public enum Presentation: Sendable {
    /// It will be on screen from the next vblank on, which ``VideoOutputEvent/flipped(_:)`` will report.
    case queued
    /// The flip before is still pending; the frame is still the caller's to present or discard.
    case busy
    /// The display has gone or changed since the frame was composed; the output has taken the frame back.
    case stale
}

/// A frame reached the glass.
public struct Flip: Hashable, Sendable {
    /// The id that was given to ``VideoOutput/present(_:id:)``.
    public var id: UInt64
    /// The vblank from which on the frame is scanned out. For an output without vblank events, its paced estimate.
    public var time: HostTime
    /// The vblank counter, when the driver counts; it can wrap and may jump.
    public var sequence: UInt64?

    /// A flip from its parts.
    public init(id: UInt64, time: HostTime, sequence: UInt64?) {
        self.id = id
        self.time = time
        self.sequence = sequence
    }
}

/// What ``VideoOutput/wait(until:)`` woke up for.
public enum VideoOutputEvent: Sendable {
    case flipped(Flip)
    /// Display gone, come back or in another mode: read ``VideoOutput/mode`` and ``VideoOutput/generation`` anew; composed
    /// frames of the older generation are void, and what should be seen must be composed again.
    case changed
    /// ``VideoOutput/wake()`` was called.
    case woken
    /// The deadline has passed.
    case deadline
}

/// Glass: somewhere to put frames. Display implements it (KMS, fbdev, offscreen).
///
/// The engine calls ``compose(_:gravity:over:)`` on its compositor thread and ``wait(until:)``, ``present(_:id:)`` on its presenter thread,
/// at the same time; ``wake()``, ``mode``, ``generation`` and ``discard(_:)`` come from any thread. No call but `wait` may block for longer than a
/// conversion takes. Losing the display is never an error: it is a state (`mode` nil) that the output works at ending by itself.
public protocol VideoOutput: AnyObject, Sendable {
    /// The present mode; nil while there is no display.
    var mode: DisplayMode? { get }
    /// Grows by one whenever composed frames lose their meaning (display gone or back, mode changed).
    var generation: UInt64 { get }
    /// Whether flips are reported with the vblank's own time. Without it the engine paces by timer at the mode's refresh.
    var reportsVblank: Bool { get }

    /// Draws `frame`, or the bare background for nil, into a spare scan-out buffer: oriented, scaled as `gravity` says, turned by
    /// the configured rotation; mixed with `underlay`, while one item fades into the next. A frame that cannot be converted is drawn as background and
    /// logged once.
    func compose(_ frame: borrowing VideoFrame?, gravity: VideoGravity, over underlay: borrowing Underlay?) -> Composition
    /// Asks for `frame` to be scanned out from the next vblank on. `id` must grow from call to call.
    func present(_ frame: ComposedFrame, id: UInt64) -> Presentation
    /// Gives an unpresented frame's buffer back.
    func discard(_ frame: ComposedFrame)
    /// Blocks until something happens, at the latest until `deadline`. Also does the output's own upkeep (hot-plug, VT switches).
    func wait(until deadline: HostTime?) -> VideoOutputEvent
    /// Ends the ``wait(until:)`` that is under way, or the next one.
    func wake()
    /// Restores what was on the screen before. No other call may follow or be under way.
    func close()
}
