import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

let log = Logger(label: "display")

/// A display that is being driven now: buffers, and the means to flip between them. ``DisplayActivation`` has at most one; when the
/// display goes it is dropped, and a new one made when it returns. All calls come from the presenter thread; the buffers' pixels are
/// written from the compositor thread meanwhile, and outlive the screen where they must.
protocol Screen: AnyObject {
    var mode: DisplayMode { get }
    /// The first of them is on the screen, showing background, when the screen is made.
    var buffers: [ScanoutBuffer] { get }
    var reportsVblank: Bool { get }
    /// The clockwise rotation that a picture needs to stand upright on a panel that is built in rotated.
    var panelRotation: Rotation { get }
    /// What an adapter for HDMI-CEC has to belong to; nil where it cannot be a television.
    var television: CECPlace? { get }
    /// Readable when ``collect(at:)`` has something to do; nil for a screen that goes by its timer alone.
    var descriptor: Int32? { get }
    /// When ``collect(at:)`` must be called even if the descriptor stays silent.
    var timer: HostTime? { get }
    /// Planes for drawn pictures; nil where there are none. They may be used from the compositor thread, as long as the screen is there.
    var overlayPlanes: (any OverlayHardware)? { get }
    /// Planes for pictures as they are decoded; nil where there are none. They may be used from the compositor thread, as long as the screen is
    /// there.
    var videoPlanes: (any VideoHardware)? { get }
    /// Asks for a buffer to be shown from the next vblank on, or for `video` in its place, and with it for a change of what lies over it.
    func present(_ buffer: Int, video: VideoShow?, overlay: OverlayChange?, id: UInt64, at now: HostTime) -> ScreenAnswer
    /// Switches overlay planes off, whatever it takes; blocks.
    func hide(_ planes: [PlaneProperties])
    /// Switches the display off; the screen is dropped then, and a new one drives it again. Blocks.
    func turnOff() throws(DeviceError)
    /// What has happened since the last call; nil when nothing has.
    func collect(at now: HostTime) -> ScreenReport?
    /// Puts back what was on the screen before.
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
    /// The driver refuses the change of the overlay; the picture alone is queued.
    case queuedWithoutOverlay(DeviceError)
    /// The driver refuses to show a picture that is not converted; nothing is queued.
    case refusedVideo(DeviceError)
    case busy
    case lost(DeviceError)
}

/// What a screen has to tell.
enum ScreenReport {
    case flipped(Flip)
    case lost(DeviceError)
}

/// Buffers a screen has where it may choose: one on the screen, one waiting for its flip, one being prepared.
let bufferCount = 3
