import Glibc
import KioskPlatform

/// How a picture is brought to the screen of a DRM card.
enum FlipMethod: CaseIterable {
    /// A commit that does not block; an event says when it is on the screen.
    case event
    /// A commit that blocks until it is on the screen, for drivers that refuse the other kind.
    case blocking
}

/// What was refused on one display, and what is left to try. Pure; ``DisplayFinder`` keeps one for each display.
///
/// A driver, or a cable, can refuse a mode in two ways. It refuses the modeset: after ``maximum`` times another mode is tried. Or it takes
/// the modeset and refuses the flips after it: then the other ``FlipMethod`` is tried in the same mode, then another mode. Each try
/// activates the display anew, which people see; so after ``maximumModes`` modes, or when there are no more, the display rests. Once in
/// ``pause`` the first choice is tried again, for a driver that has recovered.
struct Refusals {
    /// After so many refusals something else is tried.
    static let maximum = 3
    /// After so many modes in which every flip was refused the display rests.
    static let maximumModes = 4
    /// How long it rests.
    static let pause = MediaTime.seconds(60)

    enum Verdict: Equatable {
        /// There is something to try.
        case drive
        /// Nothing is left to try, for the first time.
        case rests
        /// It has been so before.
        case restsStill
    }

    private var modesets: [ConnectorMode: Int] = [:]
    private var flips: [ConnectorMode: [FlipMethod: Int]] = [:]
    /// The first mode in which every flip was refused.
    private var firstChoice: ConnectorMode?
    private var restsSince: HostTime?
    /// Whether it has rested before, and nothing has worked since.
    private(set) var hasRested = false

    /// A modeset was refused.
    mutating func refusedModeset(_ mode: ConnectorMode) { modesets[mode, default: 0] += 1 }

    /// A flip was refused by a driver that had taken the modeset. `isFirst`: it was the first one, which counts twice: it says more than
    /// one after others, but can be due to another program that changed the mode in between.
    mutating func refusedFlip(_ mode: ConnectorMode, _ method: FlipMethod, isFirst: Bool) {
        flips[mode, default: [:]][method, default: 0] += isFirst ? 2 : 1
        if refusesFlips(mode), firstChoice == nil { firstChoice = mode }
    }

    /// Flips have been taken for so long that what was refused before is over.
    mutating func proved() { (flips, firstChoice, restsSince, hasRested) = ([:], nil, nil, false) }

    /// Whether a mode is to be left out.
    func leavesOut(_ mode: ConnectorMode) -> Bool { modesets[mode, default: 0] >= Self.maximum || refusesFlips(mode) }

    /// How to flip in `mode`.
    func method(in mode: ConnectorMode) -> FlipMethod { FlipMethod.allCases.first { isLeft($0, in: mode) } ?? .event }

    /// Whether to drive a display that offers `modes`.
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
