import Media
import Playback

/// What the configuration says about the display: the values of `[display]`, checked and typed.
public struct DisplaySettings: Sendable {
    /// Which kind of output to use.
    public enum Driver: String, Sendable, CaseIterable {
        /// KMS where a DRM card with connectors exists, else a framebuffer device, else whichever of the two appears first.
        case automatic = "auto"
        /// A DRM card and nothing else.
        case kms
        /// A framebuffer device (`/dev/fb0`) and nothing else.
        case framebuffer = "fbdev"
        /// No display at all: pictures in memory at a simulated refresh.
        case offscreen
    }

    /// Which kind of output to use.
    public var driver = Driver.automatic
    /// Which connector, where there are several.
    public var connector = ConnectorRequest.automatic
    /// Which of its modes.
    public var mode = ModeRequest.preferred
    /// The clockwise turn of everything shown, for screens that are mounted turned.
    public var rotation = Rotation.none
    /// Colour of bars and of the screen without a picture, 0xRRGGBB.
    public var background: UInt32 = 0
    /// The framebuffer device, for ``Driver/framebuffer``.
    public var framebufferPath = "/dev/fb0"
    /// Whether to play offscreen when the machine has neither a DRM card nor a framebuffer device (`kiosk --preview`). Decided
    /// once, when the output is opened.
    public var offscreenWhenAbsent = false
    /// The virtual terminal to take, such as `/dev/tty1`; nil is standard input where that is one, else the one on the screen.
    public var terminalPath: String?
    /// Whether to take a virtual terminal at all.
    public var takesTerminal = true

    /// The defaults.
    public init() {}
}
