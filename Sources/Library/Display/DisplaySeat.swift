import KioskDisplayCore
public import KioskPlayer
import KioskVocabulary

/// The virtual terminal and the graphics cards, which all displays of a process have in common: KMS gives a card to one of them at a time.
///
/// For one display there is `VideoOutput.display(_:)`. Where a process has several, all are of one seat.
public final class DisplaySeat: Sendable {
    private let seat: Seat

    /// Takes the virtual terminal: the one on standard input, else the one on the screen. It goes back with the last display.
    public init() { seat = Seat.open() }

    /// Opens a display. Never fails: while there is none the output waits for one. The display is looked for in the background.
    public func open(_ settings: DisplayConfiguration = DisplayConfiguration()) -> VideoOutput {
        VideoOutput(DisplayOutput(settings.engine, on: seat, inBackground: true))
    }
}

/// Which display, and how it is driven.
public struct DisplayConfiguration: Hashable, Sendable {
    /// A colour: sRGB, 0…255 each.
    public struct Color: Hashable, Sendable {
        /// How much of each there is.
        public var red: UInt8, green: UInt8, blue: UInt8

        /// A colour from its parts.
        public init(red: UInt8, green: UInt8, blue: UInt8) { (self.red, self.green, self.blue) = (red, green, blue) }

        /// No light.
        public static let black = Color(red: 0, green: 0, blue: 0)
    }

    /// How a picture is rotated clockwise, on a display that was itself rotated.
    public enum Turn: Int, Hashable, Sendable {
        /// Not at all.
        case none = 0
        /// A quarter, a half, three quarters.
        case clockwise90 = 90, clockwise180 = 180, clockwise270 = 270
    }

    /// The connector by the kernel's name for it, `HDMI-A-1` or `card1:HDMI-A-1`, or `/dev/fb0`; nil is the first one with a display.
    public var connector: String?
    /// `1920x1080` or `1920x1080@50`, as scanned out; nil is what the display itself prefers.
    public var mode: String?
    /// How pictures are rotated.
    public var rotation = Turn.none
    /// What is seen beside pictures, and without one.
    public var background = Color.black

    /// The first connector with a display, in its own mode.
    public init() {}

    /// A connector.
    public init(connector: String) { self.connector = connector }

    var engine: DisplaySettings {
        DisplaySettings(
            connector: connector.flatMap(DisplayConnector.init) ?? .automatic, mode: mode.flatMap(DisplayModeChoice.init) ?? .preferred,
            rotation: Rotation(rawValue: rotation.rawValue) ?? .none,
            background: KioskVocabulary.Color(red: background.red, green: background.green, blue: background.blue))
    }
}

extension VideoOutput {
    /// Opens a display on a bare console: by KMS, or on a framebuffer device where there is no KMS. Never fails: while there is none the output
    /// waits for one. A name of a connector or a mode that has not the shape of one counts as none.
    public static func display(_ settings: DisplayConfiguration = DisplayConfiguration()) -> VideoOutput {
        DisplaySeat().open(settings)
    }

    /// An output in memory at a simulated refresh: nothing is seen of it but `png()`. For tests, and for machines
    /// without a display.
    public static func offscreen(width: Int = 1280, height: Int = 720, refreshRate: Double = 60) -> VideoOutput {
        let mode = DisplayModeChoice.size(
            width: min(max(width, 16), 16384), height: min(max(height, 16), 16384),
            refresh: refreshRate.isFinite ? min(max(refreshRate, 1), 1000) : 60)
        return VideoOutput(DisplayOutput.offscreen(DisplaySettings(connector: .offscreen, mode: mode)))
    }
}
