import KioskPlatform
import KioskVocabulary

/// Whether the display is to be off: as the schedule has it, unless somebody has asked for something else, and until somebody touches something. A pure
/// value.
package struct DisplayPower: Hashable, Sendable {
    /// Whether the schedule has it off.
    package var isNight = false
    /// What was asked for last.
    package private(set) var order = DisplayOrder.auto
    /// How long after the last touch it is on; nil where a touch does not wake it.
    package var wakeTime: MediaTime?
    private var awakeUntil: HostTime?

    package init(wakeTime: MediaTime? = nil) { self.wakeTime = wakeTime }

    private var wantsDark: Bool { order == .off || order == .auto && isNight }

    /// Whether it is to be off.
    package func isDark(at now: HostTime) -> Bool { wantsDark && !(awakeUntil.map { now < $0 } ?? false) }

    /// When it is to be off by itself, if nobody touches anything until then.
    package var nextChange: HostTime? { wantsDark ? awakeUntil : nil }

    /// Somebody asks for something, or the schedule does.
    package mutating func ask(_ order: DisplayOrder) { (self.order, awakeUntil) = (order, nil) }

    /// Something is touched. True where nobody can have seen what: then it means nothing else.
    package mutating func touched(at now: HostTime) -> Bool {
        guard wantsDark else { return false }
        let wasDark = isDark(at: now)
        if let wakeTime { awakeUntil = now + wakeTime }
        return wasDark
    }
}
