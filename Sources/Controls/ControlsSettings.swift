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

    package init() {}

    /// Restricts the controls to those that `lock` allows.
    package mutating func apply(_ lock: InputLock) {
        allowed = allowed.filter { lock.allows($0.part) }
        mayTap = lock.allows(GestureName.tap)
    }
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
