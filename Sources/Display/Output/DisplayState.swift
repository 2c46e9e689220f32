import KioskPlatform

/// What is known of the display, and what to do when that changes.
///
///     absent ──> settling ──> active       away: the VT is someone else's
///        ^──────────┴──── blocked <─┘      blocked: there is a display, but driving it failed; tried again with back-off
///                           resting        resting: there is a display, but the driver has refused all that could be tried on it
///                           dark           dark: it is to be off, whatever there is
///
/// A display that is connected need not be ready: its mode list can still be empty while it boots or while its EDID is being read.
/// It is then given ``settlingTime``, looked at often; after that it is looked at as seldom as an absent one.
/// The type decides only. ``DisplayActivation`` looks, activates and deactivates as told, and reports back.
enum DisplayState: Equatable {
    case absent
    case settling(since: HostTime)
    case blocked(failures: Int)
    case resting
    /// `reactivated` where it had been lost or refused before.
    case active(Target, reactivated: Reactivation? = nil)
    case away
    case dark

    /// What to drive: enough to notice that it has become something else.
    struct Target: Equatable {
        /// Device and connector.
        var display: String
        var mode: ConnectorMode
    }

    /// How often driving it had failed when it was activated at last. For a display that takes the mode and then refuses every flip, that
    /// was not the end of it.
    struct Reactivation: Equatable {
        var failures: Int
        var time: HostTime
    }

    /// The answer to a look at the connectors.
    enum Sighting: Equatable {
        case nothing
        /// Connected, without modes.
        case modeless
        /// Connected, and nothing left to try on it for now (``Refusals``).
        case resting
        /// `linkIsBad`: the kernel asks for a full modeset (connector property `link-status`).
        case ready(Target, linkIsBad: Bool)
    }

    enum Action: Equatable {
        case none
        /// Drive the target with a full modeset, then report ``activated(_:at:)`` or ``failed()``.
        case activate(Target)
        /// Forget the screen: prepared scenes are void.
        case deactivate
        /// Switch the display off and forget the screen, keeping card and connector.
        case darken
        /// Forget the screen and let go of the card's master, then let the VT go.
        case release
        /// Become master again, then look.
        case reacquire
    }

    /// How long a connected display may take to have modes before it is looked at less often.
    static let settlingTime = MediaTime.seconds(7)

    /// A display that stays active for so long has got over what was before.
    static let provingTime = MediaTime.seconds(5)

    /// How long until the next look, when nothing else calls for one.
    func lookInterval(at now: HostTime) -> MediaTime? {
        switch self {
        case .absent, .active, .resting: .seconds(2)
        case .settling(let since): now - since < Self.settlingTime ? .milliseconds(250) : .seconds(2)
        case .blocked(let failures): .milliseconds(min(125 << Int64(min(failures, 3)), 1000))
        case .away, .dark: nil
        }
    }

    /// The connectors were looked at.
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

    /// The modeset to `target` succeeded.
    mutating func activated(_ target: Target, at now: HostTime) {
        switch self {
        case .away, .dark: break
        case .blocked(let failures): self = .active(target, reactivated: Reactivation(failures: failures, time: now))
        case .active(_, let reactivated): self = .active(target, reactivated: reactivated)
        // It has not recovered before it has stood for a while.
        case .resting: self = .active(target, reactivated: Reactivation(failures: 0, time: now))
        case .absent, .settling: self = .active(target)
        }
    }

    /// The modeset failed, or the card could not be had. The screen that was active before, if any, is gone.
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

    /// A flip was refused: display, card or master is gone.
    mutating func lost(at now: HostTime) -> Action {
        guard case .active(_, let reactivated) = self else { return .none }
        if let reactivated, now - reactivated.time < Self.provingTime {
            self = .blocked(failures: reactivated.failures + 1)
        } else {
            self = .blocked(failures: 0)
        }
        return .deactivate
    }

    /// It is to be off.
    mutating func darken() -> Action {
        if self == .away || self == .dark { return .none }
        defer { self = .dark }
        return if case .active = self { .darken } else { .none }
    }

    /// It is to be on again; true where it is to be looked for.
    mutating func lighten() -> Bool {
        guard self == .dark else { return false }
        self = .absent
        return true
    }

    /// The VT is to be given to someone else.
    mutating func leave() -> Action {
        guard self != .away else { return .none }
        self = .away
        return .release
    }

    /// The VT has come back.
    mutating func comeBack() -> Action {
        guard self == .away else { return .none }
        self = .absent
        return .reacquire
    }
}
