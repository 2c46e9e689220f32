import KioskPlatform
import Testing

@testable import KioskDisplayCore

struct DisplayStateTests {
    static let mode = ConnectorMode(width: 1920, height: 1080, refresh: 60, isPreferred: true, isProgressive: true)
    static let tv = DisplayState.Target(display: "card0 HDMI-A-1", mode: mode)
    static let other = DisplayState.Target(display: "card0 HDMI-A-2", mode: mode)
    static let start = HostTime(nanoseconds: 1)

    struct Edge: CustomTestStringConvertible {
        var testDescription: String
        var from: DisplayState
        var event: @Sendable (inout DisplayState) -> DisplayState.Action
        var to: DisplayState
        var action: DisplayState.Action
    }

    static func saw(_ sighting: DisplayState.Sighting) -> @Sendable (inout DisplayState) -> DisplayState.Action {
        { $0.saw(sighting, at: start) }
    }

    static let ready = DisplayState.Sighting.ready(tv, linkIsBad: false)
    static let edges: [Edge] = [
        Edge(testDescription: "absent, nothing", from: .absent, event: saw(.nothing), to: .absent, action: .none),
        Edge(testDescription: "absent, modeless", from: .absent, event: saw(.modeless), to: .settling(since: start), action: .none),
        Edge(testDescription: "absent, ready", from: .absent, event: saw(ready), to: .absent, action: .activate(tv)),
        Edge(
            testDescription: "settling, modeless keeps its beginning", from: .settling(since: HostTime(nanoseconds: 0)),
            event: saw(.modeless), to: .settling(since: HostTime(nanoseconds: 0)), action: .none),
        Edge(
            testDescription: "settling, ready", from: .settling(since: start), event: saw(ready), to: .settling(since: start),
            action: .activate(tv)),
        Edge(testDescription: "settling, nothing", from: .settling(since: start), event: saw(.nothing), to: .absent, action: .none),
        Edge(testDescription: "active, the same", from: .active(tv), event: saw(ready), to: .active(tv), action: .none),
        Edge(
            testDescription: "active, bad link", from: .active(tv), event: saw(.ready(tv, linkIsBad: true)), to: .active(tv),
            action: .activate(tv)),
        Edge(
            testDescription: "active, another", from: .active(tv), event: saw(.ready(other, linkIsBad: false)), to: .active(tv),
            action: .activate(other)),
        Edge(testDescription: "active, gone", from: .active(tv), event: saw(.nothing), to: .absent, action: .deactivate),
        Edge(
            testDescription: "active, modeless", from: .active(tv), event: saw(.modeless), to: .settling(since: start), action: .deactivate),
        Edge(
            testDescription: "active, flip refused", from: .active(tv), event: { $0.lost(at: start) }, to: .blocked(failures: 0),
            action: .deactivate),
        Edge(
            testDescription: "active, modeset failed", from: .active(tv), event: { $0.failed() }, to: .blocked(failures: 1),
            action: .deactivate),
        Edge(testDescription: "absent, modeset failed", from: .absent, event: { $0.failed() }, to: .blocked(failures: 1), action: .none),
        Edge(
            testDescription: "blocked, failed again", from: .blocked(failures: 1), event: { $0.failed() }, to: .blocked(failures: 2),
            action: .none),
        Edge(
            testDescription: "blocked, ready", from: .blocked(failures: 3), event: saw(ready), to: .blocked(failures: 3),
            action: .activate(tv)
        ),
        Edge(testDescription: "blocked, nothing", from: .blocked(failures: 3), event: saw(.nothing), to: .absent, action: .none),
        Edge(
            testDescription: "blocked, lost", from: .blocked(failures: 3), event: { $0.lost(at: start) }, to: .blocked(failures: 3),
            action: .none),
        Edge(testDescription: "active, nothing left to try", from: .active(tv), event: saw(.resting), to: .resting, action: .deactivate),
        Edge(
            testDescription: "blocked, nothing left to try", from: .blocked(failures: 3), event: saw(.resting), to: .resting, action: .none),
        Edge(testDescription: "resting, still", from: .resting, event: saw(.resting), to: .resting, action: .none),
        Edge(testDescription: "resting, ready", from: .resting, event: saw(ready), to: .resting, action: .activate(tv)),
        Edge(testDescription: "resting, gone", from: .resting, event: saw(.nothing), to: .absent, action: .none),
        Edge(testDescription: "resting, modeset failed", from: .resting, event: { $0.failed() }, to: .blocked(failures: 1), action: .none),
        Edge(testDescription: "resting, VT leaves", from: .resting, event: { $0.leave() }, to: .away, action: .release),
        Edge(testDescription: "active, VT leaves", from: .active(tv), event: { $0.leave() }, to: .away, action: .release),
        Edge(testDescription: "away, leaves again", from: .away, event: { $0.leave() }, to: .away, action: .none),
        Edge(testDescription: "away, ready", from: .away, event: saw(ready), to: .away, action: .none),
        Edge(testDescription: "away, failed", from: .away, event: { $0.failed() }, to: .away, action: .none),
        Edge(testDescription: "away, VT comes back", from: .away, event: { $0.comeBack() }, to: .absent, action: .reacquire),
        Edge(testDescription: "active, is to be off", from: .active(tv), event: { $0.darken() }, to: .dark, action: .darken),
        Edge(testDescription: "absent, is to be off", from: .absent, event: { $0.darken() }, to: .dark, action: .none),
        Edge(testDescription: "away, is to be off", from: .away, event: { $0.darken() }, to: .away, action: .none),
        Edge(testDescription: "dark, ready", from: .dark, event: saw(ready), to: .dark, action: .none),
        Edge(testDescription: "dark, modeset failed", from: .dark, event: { $0.failed() }, to: .dark, action: .none),
        Edge(testDescription: "dark, flip refused", from: .dark, event: { $0.lost(at: start) }, to: .dark, action: .none),
        Edge(
            testDescription: "dark, is to be on", from: .dark, event: { $0.lighten() ? .none : .deactivate }, to: .absent, action: .none),
        Edge(
            testDescription: "absent, is to be on", from: .absent, event: { $0.lighten() ? .deactivate : .none }, to: .absent,
            action: .none),
        Edge(testDescription: "dark, VT leaves", from: .dark, event: { $0.leave() }, to: .away, action: .release),
        Edge(testDescription: "active, comes back unasked", from: .active(tv), event: { $0.comeBack() }, to: .active(tv), action: .none),
        Edge(
            testDescription: "absent, activated", from: .absent,
            event: {
                $0.activated(tv, at: start)
                return .none
            }, to: .active(tv), action: .none),
        Edge(
            testDescription: "away, activated too late", from: .away,
            event: {
                $0.activated(tv, at: start)
                return .none
            }, to: .away, action: .none),
    ]

    @Test(arguments: edges)
    func edge(_ edge: Edge) {
        var state = edge.from
        #expect(edge.event(&state) == edge.action)
        #expect(state == edge.to)
    }

    /// Activation succeeds, but the next flip is refused, again and again. Retries become as rare as after a failed activation, until the
    /// display has stayed active for a while.
    @Test func whatIsLostAtOnceIsTriedLessAndLessOften() throws {
        var (state, now) = (DisplayState.absent, Self.start)
        var waits: [Int64] = []
        for _ in 0..<6 {
            #expect(state.saw(Self.ready, at: now) == .activate(Self.tv))
            state.activated(Self.tv, at: now)
            now = now + .milliseconds(20)
            #expect(state.lost(at: now) == .deactivate)
            let wait = try #require(state.lookInterval(at: now))
            waits.append(wait.nanoseconds / 1_000_000)
            now = now + wait
        }
        #expect(waits == [125, 250, 500, 1000, 1000, 1000])
        state.activated(Self.tv, at: now)
        #expect(state.saw(Self.ready, at: now) == .none)
        #expect(state.lost(at: now + DisplayState.provingTime) == .deactivate && state == .blocked(failures: 0))
    }

    @Test func howOftenItIsLookedAt() {
        let now = Self.start
        #expect(DisplayState.absent.lookInterval(at: now) == .seconds(2))
        #expect(DisplayState.active(Self.tv).lookInterval(at: now) == .seconds(2))
        #expect(DisplayState.away.lookInterval(at: now) == nil && DisplayState.resting.lookInterval(at: now) == .seconds(2))
        let settling = DisplayState.settling(since: now)
        #expect(settling.lookInterval(at: now + .seconds(6.9)) == .milliseconds(250))
        #expect(settling.lookInterval(at: now + .seconds(7)) == .seconds(2))
        let waits = (0..<6).map { DisplayState.blocked(failures: $0).lookInterval(at: now)!.nanoseconds / 1_000_000 }
        #expect(waits == [125, 250, 500, 1000, 1000, 1000])
    }
}
