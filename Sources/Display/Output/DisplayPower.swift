import KioskPlatform
import KioskVocabulary

/// Decides whether the display should be off: by the schedule, unless an order overrides it, and until someone touches the screen. A pure
/// value.
package struct DisplayPower: Hashable, Sendable {
    /// Whether the schedule says off.
    package var isNight = false
    /// The last order.
    package private(set) var order = DisplayOrder.auto
    /// How long the display stays on after the last touch; nil if a touch does not wake it.
    package var wakeTime: MediaTime?
    private var awakeUntil: HostTime?

    package init(wakeTime: MediaTime? = nil) { self.wakeTime = wakeTime }

    private var wantsDark: Bool { order == .off || order == .auto && isNight }

    /// Whether the display should be off.
    package func isDark(at now: HostTime) -> Bool { wantsDark && !(awakeUntil.map { now < $0 } ?? false) }

    /// When the display should go off, without further touches.
    package var nextChange: HostTime? { wantsDark ? awakeUntil : nil }

    /// Handles an order of a user or of the schedule.
    package mutating func ask(_ order: DisplayOrder) { (self.order, awakeUntil) = (order, nil) }

    /// Handles a touch. Returns true if the display was off: the user then saw nothing, and the touch only wakes it.
    package mutating func touched(at now: HostTime) -> Bool {
        guard wantsDark else { return false }
        let wasDark = isDark(at: now)
        if let wakeTime { awakeUntil = now + wakeTime }
        return wasDark
    }
}
