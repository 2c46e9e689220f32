import KioskInputCore
import KioskPlatform
import KioskVocabulary

/// The settings of the controls from the configuration.
package struct ControlsSettings: Hashable, Sendable {
    package var mode = ControlsMode.full
    package var theme = Theme()
    /// The controls that act: all, or on a locked screen those of the allowed parts.
    package var allowed = Set(Control.allCases)
    /// The commands of gestures; a gesture without an entry does nothing.
    package var gestures: [GestureName: Command] = [:]
    /// Whether a tap carries out the command of the item on the screen.
    package var mayTap = true
    /// The zones, from back to front.
    package var zones: [TouchZone] = []
    /// The length of a seek step.
    package var seekStep = MediaTime.seconds(10)
    /// The settings of the shelf.
    package var shelf = ShelfState.Settings()
    /// The time from the last touch until the controls hide; nil for never.
    package var hideDelay: MediaTime? = ControlsState.stay
    /// The size of everything; 1 is in millimetres of screen.
    package var scale = 1.0
    /// The title in place of the item's.
    package var title: String?
    /// Whether there is a button ``Control/back``.
    package var hasBack = false
    /// Whether ``Control/rotate`` rotates the display; otherwise it is only reported.
    package var rotatesDisplay = true
    /// Whether gestures and buttons are reported (``ControlsReport``).
    package var reports = false

    package init() {}

    /// Restricts the controls to those that `lock` allows.
    package mutating func apply(_ lock: InputLock) {
        allowed = allowed.filter { $0.part.map(lock.allows) ?? (lock.allowed == nil) }
        mayTap = lock.allows(GestureName.tap)
    }
}

/// News of the controls for the program around them.
package enum ControlsReport: Hashable, Sendable {
    /// A gesture beside the controls.
    case gesture(Gesture)
    /// A viewer has lifted a finger on ``Control/back`` or ``Control/rotate``.
    case button(Control)
    /// A viewer has made the player do this.
    case command(PlayerCommand)
    /// The controls appear, or begin to fade out.
    case isShown(Bool)
}

/// A zone of the display that may take its own taps.
package struct TouchZone: Hashable, Sendable {
    package var name: String
    package var region: Region
    package var takesTaps: Bool

    package init(name: String, region: Region, takesTaps: Bool = true) {
        (self.name, self.region, self.takesTaps) = (name, region, takesTaps)
    }
}
