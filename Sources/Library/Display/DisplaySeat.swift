import KioskDisplayCore
public import KioskPlayer
import KioskVocabulary

/// The virtual terminal and the graphics cards, which all displays of a process share: KMS gives a card to one process at a time.
///
/// For one display there is `VideoOutput.display(_:)`. If a process has several displays, open all of them with one seat.
public final class DisplaySeat: Sendable {
    private let seat: Seat

    /// Takes the virtual terminal: the one on standard input, else the one on the screen. Releases it with the last display.
    public init() { seat = Seat.open() }

    /// Opens a display. Never fails: while there is no display, the output waits for one. The search runs in the background.
    public func open(_ settings: DisplayConfiguration = DisplayConfiguration()) -> VideoOutput {
        VideoOutput(DisplayOutput(settings.engine, on: seat, inBackground: true))
    }
}

/// The choice of a display, and its settings.
public struct DisplayConfiguration: Hashable, Sendable {
    /// A colour in sRGB, 0…255 for each part.
    public struct Color: Hashable, Sendable {
        /// The parts of the colour.
        public var red: UInt8, green: UInt8, blue: UInt8

        /// Creates a colour from its parts.
        public init(red: UInt8, green: UInt8, blue: UInt8) { (self.red, self.green, self.blue) = (red, green, blue) }

        /// No light.
        public static let black = Color(red: 0, green: 0, blue: 0)
    }

    /// The clockwise rotation of a picture, on a display that is itself rotated.
    public enum Turn: Int, Hashable, Sendable {
        /// No rotation.
        case none = 0
        /// A quarter, a half, three quarters.
        case clockwise90 = 90, clockwise180 = 180, clockwise270 = 270
    }

    /// The kernel's name of the connector, `HDMI-A-1` or `card1:HDMI-A-1`, or `/dev/fb0`; nil is the first one with a display.
    public var connector: String?
    /// `1920x1080` or `1920x1080@50`, as scanned out; nil is the display's preferred mode.
    public var mode: String?
    /// The rotation of pictures.
    public var rotation = Turn.none
    /// The colour beside pictures, and without one.
    public var background = Color.black

    /// Creates settings for the first connector with a display, in its preferred mode.
    public init() {}

    /// Creates settings for a connector.
    public init(connector: String) { self.connector = connector }

    var engine: DisplaySettings {
        DisplaySettings(
            connector: connector.flatMap(DisplayConnector.init) ?? .automatic, mode: mode.flatMap(DisplayModeChoice.init) ?? .preferred,
            rotation: Rotation(rawValue: rotation.rawValue) ?? .none,
            background: KioskVocabulary.Color(red: background.red, green: background.green, blue: background.blue))
    }
}

extension VideoOutput {
    /// Opens a display on a bare console: by KMS, or on a framebuffer device without KMS. Never fails: while there is no display, the
    /// output waits for one. Ignores an invalid name of a connector or a mode.
    public static func display(_ settings: DisplayConfiguration = DisplayConfiguration()) -> VideoOutput {
        DisplaySeat().open(settings)
    }

    /// Creates an output in memory at a simulated refresh: it is visible only through `png()`. For tests, and for machines without a
    /// display.
    public static func offscreen(width: Int = 1280, height: Int = 720, refreshRate: Double = 60) -> VideoOutput {
        let mode = DisplayModeChoice.size(
            width: min(max(width, 16), 16384), height: min(max(height, 16), 16384),
            refresh: refreshRate.isFinite ? min(max(refreshRate, 1), 1000) : 60)
        return VideoOutput(DisplayOutput.offscreen(DisplaySettings(connector: .offscreen, mode: mode)))
    }
}
