import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

let log = Logger(label: "display")

/// A display that kiosk drives: its buffers, and the flips between them. ``DisplayActivation`` has at most one. It drops the screen when
/// the display goes, and makes a new one when the display returns. All calls come from the presenter thread. The compositor thread writes
/// the buffers' pixels meanwhile; buffers may outlive the screen.
protocol Screen: AnyObject {
    var mode: DisplayMode { get }
    /// The buffers. The first is on the screen when the screen is made, and shows the background.
    var buffers: [ScanoutBuffer] { get }
    var reportsVblank: Bool { get }
    /// The clockwise rotation that a picture needs to stand upright on a panel that is built in rotated.
    var panelRotation: Rotation { get }
    /// The place of the display, for HDMI-CEC adapters; nil if the display cannot be a television.
    var television: CECPlace? { get }
    /// Readable when ``collect(at:)`` is due; nil for a screen that only uses its timer.
    var descriptor: Int32? { get }
    /// When to call ``collect(at:)`` even if the descriptor stays silent.
    var timer: HostTime? { get }
    /// The planes for drawn pictures; nil if there are none. The compositor thread may use them while the screen exists.
    var overlayPlanes: (any OverlayHardware)? { get }
    /// The planes for decoded pictures; nil if there are none. The compositor thread may use them while the screen exists.
    var videoPlanes: (any VideoHardware)? { get }
    /// Asks the driver to show a buffer, or `video` instead, from the next vblank on, together with a change of the overlay.
    func present(_ buffer: Int, video: VideoShow?, overlay: OverlayChange?, id: UInt64, at now: HostTime) -> ScreenAnswer
    /// Switches overlay planes off by any means; blocks.
    func hide(_ planes: [PlaneProperties])
    /// Switches the display off. The caller then drops the screen, and a new one drives the display again. Blocks.
    func turnOff() throws(DeviceError)
    /// Returns the events since the last call; nil if there are none.
    func collect(at now: HostTime) -> ScreenReport?
    /// Restores the former content of the screen.
    func restore()
}

extension Screen {
    var panelRotation: Rotation { .none }
    var television: CECPlace? { nil }
    var overlayPlanes: (any OverlayHardware)? { nil }
    var videoPlanes: (any VideoHardware)? { nil }
    func hide(_ planes: [PlaneProperties]) {}
    func turnOff() throws(DeviceError) {}
}

/// The answer to ``Screen/present(_:video:overlay:id:at:)``.
enum ScreenAnswer {
    case queued
    /// The driver refuses the overlay's change; it has queued the picture alone.
    case queuedWithoutOverlay(DeviceError)
    /// The driver refuses to show an unconverted picture; nothing is queued.
    case refusedVideo(DeviceError)
    case busy
    case lost(DeviceError)
}

/// An event of a screen.
enum ScreenReport {
    case flipped(Flip)
    case lost(DeviceError)
}

/// The number of a screen's buffers if it has the choice: one on the screen, one waiting for its flip, one in preparation.
let bufferCount = 3
