import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskPlayback

/// Checks of the overlays.
extension SimulationCheck {
    /// While there is a display, each change, or a later one, is on the screen within `periods` refresh periods. If play resumes at that
    /// moment, the next picture lay ready and must not be late: one period more is allowed.
    func overlaysAreSeen(within periods: Double) {
        let pictures = pictures
        func isAtPlay(_ time: Double) -> Bool {
            scenario.events.contains { event in
                guard case .command(.play) = event.event else { return false }
                let first = pictures.first { $0.time > event.time }?.time ?? event.time
                return event.time - 2 * period < time && time < max(first, event.time + 2 * period)
            }
        }
        var late: [(time: Double, value: Int, after: Double?)] = []
        for (index, change) in scenario.overlays.enumerated() where change.time > 1 && change.time < scenario.seconds - 1 {
            let later = scenario.overlays[index...]
            let seen = outcome.overlays.first { flip in
                flip.time > change.time && later.contains { $0.value == flip.value && $0.time < flip.time }
            }
            let took = seen.map { ($0.time - change.time) / period }
            if (took ?? .infinity) > periods + (isAtPlay(change.time) ? 1 : 0) { late.append((change.time, change.value, took)) }
        }
        expectNone(late, "overlays later than \(periods) periods")
        #expect(scenario.overlays.count >= 100, "enough to judge by", sourceLocation: location)
    }

    /// An overlay that was seen gives way to no earlier one.
    func overlaysDoNotGoBack() {
        let seen = outcome.overlays.filter { $0.value > 0 }
        expectNone(zip(seen, seen.dropFirst()).filter { $0.value > $1.value }.map(\.1), "overlays that go back")
    }

    /// The last overlay that was set is the last one on the screen.
    func theLastOverlayStays() {
        #expect(outcome.overlays.last?.value == scenario.overlays.last?.value, sourceLocation: location)
    }

    /// No picture came late or was left out.
    func noPictureIsMissed() {
        let told = outcome.snapshot?.statistics
        #expect(told?.framesLate == 0 && told?.framesDropped == 0 && told?.stalls == 0, sourceLocation: location)
    }
}
