import KioskPlatform

/// The state of the display, and the reaction to its changes.
///
///     absent ──> settling ──> active       away: another program has the VT
///        ^──────────┴──── blocked <─┘      blocked: there is a display, but driving it failed; kiosk retries with back-off
///                           resting        resting: there is a display, but the driver has refused everything kiosk could try on it
///                           dark           dark: the display should be off, whatever is connected
///
/// A connected display may not be ready: its mode list can be empty while it boots, or while the kernel reads its EDID. During
/// ``settlingTime`` kiosk then looks at it often, and later as rarely as at an absent one. This type only decides. ``DisplayActivation``
/// looks, activates and deactivates, and reports back.
enum DisplayState: Equatable {
    case absent
    case settling(since: HostTime)
    case blocked(failures: Int)
    case resting
    /// `reactivated` is set if the display was lost or refused before.
    case active(Target, reactivated: Reactivation? = nil)
    case away
    case dark

    /// The display and mode to drive: enough to notice that the display has become another one.
    struct Target: Equatable {
        /// Device and connector.
        var display: String
        var mode: ConnectorMode
    }

    /// The number of failures before the activation succeeded. A display can take the mode and then refuse every flip, so failures may
    /// follow.
    struct Reactivation: Equatable {
        var failures: Int
        var time: HostTime
    }

    /// The result of a look at the connectors.
    enum Sighting: Equatable {
        case nothing
        /// Connected, without modes.
        case modeless
        /// Connected, but nothing is left to try for now (``Refusals``).
        case resting
        /// `linkIsBad`: the kernel asks for a full modeset (connector property `link-status`).
        case ready(Target, linkIsBad: Bool)
    }

    enum Action: Equatable {
        case none
        /// Drive the target with a full modeset, then report ``activated(_:at:)`` or ``failed()``.
        case activate(Target)
        /// Forget the screen; prepared scenes are void.
        case deactivate
        /// Switch the display off and forget the screen. Keep the card and the connector.
        case darken
        /// Forget the screen, drop the card's master, then release the VT.
        case release
        /// Become master again, then look.
        case reacquire
    }

    /// How long a connected display may have no modes before kiosk looks less often.
    static let settlingTime = MediaTime.seconds(7)

    /// A display that stays active this long has recovered from earlier failures.
    static let provingTime = MediaTime.seconds(5)

    /// Returns the time until the next look, unless something else triggers one.
    func lookInterval(at now: HostTime) -> MediaTime? {
        switch self {
        case .absent, .active, .resting: .seconds(2)
        case .settling(let since): now - since < Self.settlingTime ? .milliseconds(250) : .seconds(2)
        case .blocked(let failures): .milliseconds(min(125 << Int64(min(failures, 3)), 1000))
        case .away, .dark: nil
        }
    }

    /// Handles the result of a look at the connectors.
    mutating func saw(_ sighting: Sighting, at now: HostTime) -> Action {
        switch (self, sighting) {
        case (.away, _), (.dark, _): return .none
        case (.active(let present, _), .ready(let target, let linkIsBad)):
            return present == target && !linkIsBad ? .none : .activate(target)
        case (_, .ready(let target, _)): return .activate(target)
        case (.active, .nothing):
            self = .absent
            return .deactivate
        case (.active, .modeless):
            self = .settling(since: now)
            return .deactivate
        case (.active, .resting):
            self = .resting
            return .deactivate
        case (_, .resting):
            self = .resting
            return .none
        case (.settling, .modeless): return .none
        case (_, .modeless):
            self = .settling(since: now)
            return .none
        case (_, .nothing):
            self = .absent
            return .none
        }
    }

    /// Handles a successful modeset to `target`.
    mutating func activated(_ target: Target, at now: HostTime) {
        switch self {
        case .away, .dark: break
        case .blocked(let failures): self = .active(target, reactivated: Reactivation(failures: failures, time: now))
        case .active(_, let reactivated): self = .active(target, reactivated: reactivated)
        // It has recovered only after ``provingTime``.
        case .resting: self = .active(target, reactivated: Reactivation(failures: 0, time: now))
        case .absent, .settling: self = .active(target)
        }
    }

    /// Handles a failed modeset or an unavailable card. A screen that was active before is gone.
    mutating func failed() -> Action {
        switch self {
        case .away, .dark: return .none
        case .blocked(let failures):
            self = .blocked(failures: failures + 1)
            return .none
        case .active:
            self = .blocked(failures: 1)
            return .deactivate
        case .absent, .settling, .resting:
            self = .blocked(failures: 1)
            return .none
        }
    }

    /// Handles a refused flip: display, card or master is gone.
    mutating func lost(at now: HostTime) -> Action {
        guard case .active(_, let reactivated) = self else { return .none }
        if let reactivated, now - reactivated.time < Self.provingTime {
            self = .blocked(failures: reactivated.failures + 1)
        } else {
            self = .blocked(failures: 0)
        }
        return .deactivate
    }

    /// Handles the order to switch off.
    mutating func darken() -> Action {
        if self == .away || self == .dark { return .none }
        defer { self = .dark }
        return if case .active = self { .darken } else { .none }
    }

    /// Handles the order to switch on. Returns true if the caller should look for the display.
    mutating func lighten() -> Bool {
        guard self == .dark else { return false }
        self = .absent
        return true
    }

    /// Handles a switch to another VT.
    mutating func leave() -> Action {
        guard self != .away else { return .none }
        self = .away
        return .release
    }

    /// Handles the return of the VT.
    mutating func comeBack() -> Action {
        guard self == .away else { return .none }
        self = .absent
        return .reacquire
    }
}
