import KioskPlatform
import Testing

@testable import KioskPlayback

@Suite struct ScrubStateTests {
    private func at(_ seconds: Double) -> HostTime { HostTime(nanoseconds: Int64(seconds * 1e9)) }

    @Test func theTimeIsTheFingers() {
        var scrub = ScrubState()
        #expect(!scrub.isHeld && scrub.time(of: 1) == nil && scrub.until == nil)
        scrub.move(to: .seconds(3), of: 1, at: at(0))
        scrub.move(to: .seconds(2), of: 1, at: at(1))
        #expect(scrub.isHeld && scrub.time(of: 1) == .seconds(2) && scrub.time(of: 2) == nil)
        scrub.shown(1)
        #expect(scrub.isHeld, "its key frames are pictures of the same item")
        scrub.end()
        #expect(!scrub.isHeld && scrub.time(of: 1) == nil)
    }

    @Test(arguments: [2, nil] as [QueueItem.ID?]) func anotherItemEndsIt(item: QueueItem.ID?) {
        var scrub = ScrubState()
        scrub.move(to: .seconds(3), of: 1, at: at(0))
        scrub.shown(item)
        #expect(!scrub.isHeld)
    }

    @Test func aFingerThatIsNeverLiftedHoldsNothingForever() {
        var scrub = ScrubState()
        scrub.move(to: .seconds(3), of: 1, at: at(0))
        scrub.move(to: .seconds(4), of: 1, at: at(10))
        scrub.passed(at(29.9))
        #expect(scrub.isHeld && scrub.until == at(30))
        scrub.passed(at(30))
        #expect(!scrub.isHeld)
    }
}
