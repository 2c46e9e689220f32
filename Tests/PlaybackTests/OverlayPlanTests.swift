import KioskPlatform
import Testing

@testable import KioskPlayback

/// 50 Hz; times are in vblanks.
@Suite struct OverlayPlanTests {
    private static let period = 1e9 / 50
    private static func time(_ vblanks: Double) -> HostTime { HostTime(nanoseconds: Int64((vblanks * period).rounded())) }

    /// Returns the step of a plan, by default at time 0.1 with a frame that takes 0.3 to prepare. Frames are due at the vblanks `ready`; a
    /// minus marks a stale one.
    private func step(
        now: Double = 0.1, takes: Double = 0.3, ready: [Double], queued: Double? = nil, screenIsStale: Bool = true, hasBuffer: Bool = true,
        awaitsFlip: Bool = false, isPlaying: Bool = true, isOlder: Bool = false, isPaced: Bool = true,
        isSettled: Bool = true
    ) -> OverlayPlan.Step {
        func frame(_ index: Int) -> OverlayPlan.Frame? {
            guard index < ready.count else { return nil }
            return .init(due: isPlaying ? Self.time(abs(ready[index])) : nil, isStale: ready[index] < 0, isOlder: isOlder)
        }
        let pacing = Pacing(anchor: Self.time(0), position: 0, step: Self.period, period: Self.period, isSettled: isSettled)
        return OverlayPlan(
            now: Self.time(now), composeTime: MediaTime(nanoseconds: Int64(takes * Self.period)),
            pacing: isPlaying && isPaced ? pacing : nil, isPlaying: isPlaying,
            first: frame(0), second: frame(1), next: isPlaying ? queued.map { Self.time(abs($0)) } : nil,
            hasQueued: queued.map { $0 > 0 } ?? false, screenIsStale: screenIsStale, hasBuffer: hasBuffer,
            awaitsFlip: awaitsFlip
        ).step
    }

    /// A frame at every vblank: no vblank is free, so the next frame brings the overlay.
    @Test func theNextFrameIsPreparedAgain() {
        #expect(step(ready: [-1], queued: 2) == .renew(0))
        #expect(step(ready: [1], queued: 2) == .none, "it is right already")
        #expect(step(ready: [-1], queued: 2, hasBuffer: false) == .none, "the only one there is stays ready")
    }

    /// A frame that would not be ready a quarter of a period before its vblank is shown as it is.
    @Test(arguments: [(0.3, 0.44, OverlayPlan.Step.renew(0)), (0.3, 0.46, .none), (0.6, 0.14, .renew(0)), (0.6, 0.16, .none)])
    func aFrameThatMightBeLateIsLeftAsItIs(takes: Double, now: Double, wanted: OverlayPlan.Step) {
        #expect(step(now: now, takes: takes, ready: [-1], queued: 2) == wanted)
    }

    /// Two frames ready, no buffer free: the plan gives up the later frame for its buffer if it can be ready again in time.
    @Test func theLaterFrameIsGivenUp() {
        #expect(step(now: 0.5, ready: [-2, -4], hasBuffer: false) == .giveUpLast, "to prepare the first again")
        #expect(step(ready: [2, 4], hasBuffer: false) == .giveUpLast, "to paint the one on the screen again")
        #expect(step(now: 1.2, takes: 0.5, ready: [-2, -2.4], hasBuffer: false) == .none)
        #expect(step(now: 0.5, ready: [2, 4], hasBuffer: false) == .none, "no vblank is free, and both are right")
        #expect(step(ready: [2, 2.5], screenIsStale: false, hasBuffer: false) == .none)
    }

    /// One or two vblanks are free before the next frame.
    @Test func theFrameOnTheScreenIsPaintedAgainWhereNothingIsDue() {
        #expect(step(ready: [3], queued: 5) == .repaint)
        #expect(step(ready: [-3], queued: 5) == .repaint, "the next one has its turn after that")
        #expect(step(ready: [2], queued: 4) == .repaint)
        #expect(step(now: 0.5, ready: [2], queued: 4) == .none, "it would come with the vblank of the next frame")
        #expect(step(now: 0.5, ready: [-2], queued: 4) == .renew(0))
        #expect(step(takes: 0.6, ready: [-1.8], queued: 4) == .renew(0), "no time would be left for the next one")
        #expect(step(ready: [2], queued: 4, awaitsFlip: true) == .none, "that vblank is taken")
        #expect(step(ready: [3], queued: 5, awaitsFlip: true) == .repaint)
        #expect(step(ready: [3], queued: 5, screenIsStale: false) == .none)
        #expect(step(ready: [3], queued: 5, hasBuffer: false) == .none)
        #expect(step(takes: 1.5, ready: [3], queued: 3.5) == .none, "what follows would have no buffer in time")
    }

    /// First the screen, then the next frame, then the later one.
    @Test func inThisOrder() {
        #expect(step(ready: [-3, -6]) == .repaint)
        #expect(step(ready: [-3, -6], screenIsStale: false) == .renew(0))
        #expect(step(ready: [3, -6], screenIsStale: false) == .renew(1))
        #expect(step(ready: [3, 6], screenIsStale: false) == .none)
    }

    /// A queued frame has to be composed anyway, and brings the overlay along.
    @Test func aFrameThatIsQueuedComesFirst() {
        #expect(step(ready: [], queued: 3) == .none)
        #expect(step(ready: [], queued: -3) == .repaint, "nothing is queued, and what stands stands until then")
        #expect(step(ready: [], queued: -1) == .none, "the next frame may still come in time")
        #expect(step(now: 1.1, ready: [], queued: -1) == .repaint, "it has not")
        #expect(step(ready: [], screenIsStale: true) == .repaint)
    }

    /// In a pause the screen comes first. Of two ready frames, one gives up its buffer.
    @Test func inAPause() {
        #expect(step(ready: [-1, -2], isPlaying: false) == .repaint)
        #expect(step(ready: [-1, -2], hasBuffer: false, isPlaying: false) == .giveUpLast)
        #expect(step(ready: [-1], hasBuffer: false, awaitsFlip: true, isPlaying: false) == .none, "one comes back with the flip")
        #expect(step(ready: [-1], hasBuffer: false, isPlaying: false) == .giveUpLast, "there are but two")
        #expect(step(ready: [], hasBuffer: false, isPlaying: false) == .none)
        #expect(step(ready: [-1, -2], screenIsStale: false, isPlaying: false) == .renew(0))
        #expect(step(ready: [-1, -2], screenIsStale: false, hasBuffer: false, isPlaying: false) == .giveUpLast)
        #expect(step(ready: [-1], screenIsStale: false, hasBuffer: false, isPlaying: false) == .none, "it stays ready")
        #expect(step(ready: [1, -2], screenIsStale: false, isPlaying: false) == .renew(1))
        #expect(step(ready: [1, 2], screenIsStale: false, isPlaying: false) == .none)
        #expect(step(ready: [-1], isPlaying: false, isOlder: true) == .renew(0), "or what is seen would go back when it plays")
        #expect(step(ready: [-1, -2], hasBuffer: false, isPlaying: false, isOlder: true) == .none)
    }

    /// When play has just begun, the next frame's due time is not known: soon.
    @Test func whenPlayingHasJustBegun() {
        #expect(step(ready: [-1], isPaced: false) == .renew(0))
        #expect(step(ready: [1], isPaced: false) == .none)
        #expect(step(ready: [-1, -2], hasBuffer: false, isPaced: false) == .none)
    }

    /// Then the clock gives the due time, as far as it knows it. The vblanks surely before it are free. The next frame must have the
    /// overlay, however much time there is.
    @Test func whenTheClockHasJustBegunToGo() {
        #expect(step(ready: [-3], queued: 5, isSettled: false) == .repaint)
        #expect(step(ready: [2, 4], hasBuffer: false, isSettled: false) == .giveUpLast)
        #expect(step(ready: [-1], queued: 2, isSettled: false) == .renew(0))
        #expect(step(now: 0.6, ready: [-1], queued: 2, isSettled: false) == .renew(0), "there may be more time than it says")
        #expect(step(now: 0.6, ready: [-1, -2], hasBuffer: false, isSettled: false) == .none)
    }

    @Test func theLongestOfLateIsWhatPreparingTakes() {
        var time = ComposeTime()
        #expect(time.expected(.milliseconds(10)) == .milliseconds(6), "before it is known")
        time.took(.milliseconds(4))
        #expect(time.expected(.milliseconds(10)) == .milliseconds(4))
        time.took(.milliseconds(12))
        #expect(time.expected(.milliseconds(10)) == .milliseconds(12))
        time.took(.milliseconds(4))
        #expect(time.expected(.milliseconds(10)) == MediaTime(nanoseconds: 11_875_000))
        for _ in 0..<200 { time.took(.milliseconds(4)) }
        #expect(time.expected(.milliseconds(10)) < .milliseconds(5))
    }

    @Test func whichVblankShowsWhat() {
        let pacing = Pacing(anchor: Self.time(10), position: 500, step: 100, period: Self.period)
        #expect(pacing.vblank(of: MediaTime(nanoseconds: 500)) == Self.time(10))
        #expect(pacing.vblank(of: MediaTime(nanoseconds: 501)) == Self.time(11))
        #expect(pacing.vblank(of: MediaTime(nanoseconds: 400)) == Self.time(9))
        #expect(pacing.vblank(after: Self.time(12.5)) == Self.time(13))
        #expect(pacing.vblank(of: MediaTime(nanoseconds: .max)) > Self.time(1e6), "what never comes")
        #expect(pacing.isBefore(Self.time(11), Self.time(12)) && !pacing.isBefore(Self.time(12), Self.time(12)))
    }
}
