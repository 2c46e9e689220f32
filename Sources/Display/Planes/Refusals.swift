import Glibc
import KioskPlatform

/// The way to flip on a DRM card.
enum FlipMethod: CaseIterable {
    /// A nonblocking commit; an event reports the flip.
    case event
    /// A commit that blocks until the flip, for drivers that refuse the other kind.
    case blocking
}

/// The driver's refusals on one display, and the choices left to try. Pure; ``DisplayFinder`` keeps one for each display.
///
/// A driver or a cable can refuse a mode in two ways. It refuses the modeset: after ``maximum`` refusals kiosk tries another mode. Or it
/// takes the modeset and refuses the flips: kiosk then tries the other ``FlipMethod`` in the same mode, then another mode. Each try
/// activates the display anew, visibly. So the display rests after ``maximumModes`` modes, or when no mode is left. Every ``pause`` kiosk
/// retries the first choice, for a driver that has recovered.
struct Refusals {
    /// The number of refusals before kiosk tries something else.
    static let maximum = 3
    /// The number of modes without any accepted flip before the display rests.
    static let maximumModes = 4
    /// The length of the rest.
    static let pause = MediaTime.seconds(60)

    enum Verdict: Equatable {
        /// There is something to try.
        case drive
        /// Nothing is left to try, for the first time.
        case rests
        /// Nothing is left to try, as before.
        case restsStill
    }

    private var modesets: [ConnectorMode: Int] = [:]
    private var flips: [ConnectorMode: [FlipMethod: Int]] = [:]
    /// The first mode in which every flip was refused.
    private var firstChoice: ConnectorMode?
    private var restsSince: HostTime?
    /// Whether it has rested before, and nothing has worked since.
    private(set) var hasRested = false

    /// Records a refused modeset.
    mutating func refusedModeset(_ mode: ConnectorMode) { modesets[mode, default: 0] += 1 }

    /// Records a flip that the driver refused after it took the modeset. `isFirst`: it was the first flip. That counts twice, as it means
    /// more than a refusal after accepted flips. Another program that changed the mode in between can also cause it.
    mutating func refusedFlip(_ mode: ConnectorMode, _ method: FlipMethod, isFirst: Bool) {
        flips[mode, default: [:]][method, default: 0] += isFirst ? 2 : 1
        if refusesFlips(mode), firstChoice == nil { firstChoice = mode }
    }

    /// Forgets earlier refusals, after the driver has taken flips for long enough.
    mutating func proved() { (flips, firstChoice, restsSince, hasRested) = ([:], nil, nil, false) }

    /// Whether to leave out a mode.
    func leavesOut(_ mode: ConnectorMode) -> Bool { modesets[mode, default: 0] >= Self.maximum || refusesFlips(mode) }

    /// Returns how to flip in `mode`.
    func method(in mode: ConnectorMode) -> FlipMethod { FlipMethod.allCases.first { isLeft($0, in: mode) } ?? .event }

    /// Decides whether to drive a display that offers `modes`.
    mutating func verdict(on modes: [ConnectorMode], at now: HostTime) -> Verdict {
        let refused = Set(modes.filter(refusesFlips))
        guard !refused.isEmpty, refused.count >= Self.maximumModes || modes.allSatisfy(leavesOut) else { return .drive }
        guard let since = restsSince else {
            defer { (restsSince, hasRested) = (now, true) }
            return hasRested ? .restsStill : .rests
        }
        guard now - since >= Self.pause else { return .restsStill }
        restsSince = nil
        if let firstChoice { flips[firstChoice]?[.event] = Self.maximum - 1 }
        return .drive
    }

    private func isLeft(_ method: FlipMethod, in mode: ConnectorMode) -> Bool { flips[mode]?[method] ?? 0 < Self.maximum }
    private func refusesFlips(_ mode: ConnectorMode) -> Bool { !FlipMethod.allCases.contains { isLeft($0, in: mode) } }
}
