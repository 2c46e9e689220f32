import KioskPlatform
import KioskVocabulary

/// What the configuration says about the controls.
package struct ControlsSettings: Hashable, Sendable {
    package var mode = ControlsMode.full
    package var theme = Theme()
    /// The controls that act: all, but where the screen is locked those of the parts on the list.
    package var allowed = Set(Control.allCases)
    /// What gestures do; of one that is not in it, nothing.
    package var gestures: [GestureName: Command] = [:]
    /// Whether a tap does what the item on the screen has it do.
    package var mayTap = true
    /// The zones, the rearmost first.
    package var zones: [TouchZone] = []
    /// How far a seek step goes.
    package var seekStep = MediaTime.seconds(10)
    /// What there is of a shelf.
    package var shelf = ShelfState.Settings()

    package init() {}

    /// Lets only those controls act that `lock` allows.
    package mutating func apply(_ lock: InputLock) {
        allowed = allowed.filter { lock.allows($0.part) }
        mayTap = lock.allows(GestureName.tap)
    }
}

/// A part of the display, whose taps may be its own.
package struct TouchZone: Hashable, Sendable {
    package var name: String
    package var region: Region
    package var takesTaps: Bool

    package init(name: String, region: Region, takesTaps: Bool = true) {
        (self.name, self.region, self.takesTaps) = (name, region, takesTaps)
    }
}
