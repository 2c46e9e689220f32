import KioskPlatform
import Testing

@testable import KioskPlayback

@Suite struct InputLatencyTests {
    private func at(_ milliseconds: Int64) -> HostTime { HostTime(nanoseconds: milliseconds * 1_000_000) }

    /// Returns the time within which half of the latencies lie, and the time for all of them.
    private func told(_ histogram: TimeHistogram) -> [MediaTime?] { [histogram.span(within: 0.5), histogram.span(within: 1)] }

    @Test func aSeekIsSeenWithTheFirstFrameOfItsGeneration() {
        var (latency, histogram) = (InputLatency(), TimeHistogram(upTo: .seconds(2)))
        latency.moved(at: at(100), shownBy: 3)
        latency.shown(2, at: at(110), into: &histogram)
        #expect(histogram.total == 0, "a frame that was under way")
        latency.shown(3, at: at(140), into: &histogram)
        latency.shown(3, at: at(160), into: &histogram)
        #expect(told(histogram) == [.milliseconds(40), .milliseconds(40)] && histogram.total == 1)
    }

    @Test func skipsInARowAreSeenTogether() {
        var (latency, histogram) = (InputLatency(), TimeHistogram(upTo: .seconds(2)))
        for (number, time) in [100, 120, 130].enumerated() { latency.moved(at: at(Int64(time)), shownBy: UInt64(number + 1)) }
        latency.shown(3, at: at(150), into: &histogram)
        #expect(told(histogram) == [.milliseconds(30), .milliseconds(50)] && histogram.total == 3)
    }

    @Test func aSeekThatWaitsIsSeenWithTheNextGeneration() {
        var (latency, histogram) = (InputLatency(), TimeHistogram(upTo: .seconds(2)))
        latency.moved(at: at(100), shownBy: 1)
        latency.moved(at: at(120), shownBy: 2)
        latency.shown(1, at: at(130), into: &histogram)
        #expect(histogram.total == 1)
        latency.shown(2, at: at(190), into: &histogram)
        #expect(told(histogram) == [.milliseconds(30), .milliseconds(70)])
    }

    @Test func whatIsDroppedOrNotSeenIsNotCounted() {
        var (latency, histogram) = (InputLatency(), TimeHistogram(upTo: .seconds(2)))
        latency.moved(at: at(100), shownBy: 1)
        latency.moved(at: at(120), shownBy: 2)
        latency.dropped(after: 1)
        latency.shown(1, at: at(130), into: &histogram)
        latency.shown(2, at: at(900), into: &histogram)
        #expect(histogram.total == 1)
        latency.moved(at: at(1000), shownBy: 3)
        latency.shown(3, at: nil, into: &histogram)
        latency.shown(3, at: at(1900), into: &histogram)
        #expect(histogram.total == 1, "there was no display")
    }

    @Test func aPlayIsSeenWithTheNextFrame() {
        var (latency, histogram) = (InputLatency(), TimeHistogram(upTo: .seconds(2)))
        latency.played(at: at(100))
        latency.paused()
        latency.shown(0, at: at(120), into: &histogram)
        #expect(histogram.total == 0)
        latency.played(at: at(200))
        latency.shown(0, at: at(250), into: &histogram)
        latency.shown(0, at: at(280), into: &histogram)
        #expect(told(histogram) == [.milliseconds(50), .milliseconds(50)])
    }

    @Test func anOverlayIsSeenWithTheCommitThatHasItOrANewerOne() {
        var (latency, histogram) = (InputLatency(), TimeHistogram(upTo: .seconds(2)))
        latency.overlaid(at: at(100), shownBy: 1)
        latency.overlaid(at: at(110), shownBy: 2)
        latency.overlayShown(0, at: at(120), into: &histogram)
        #expect(histogram.total == 0)
        latency.overlayShown(2, at: at(130), into: &histogram)
        latency.overlayShown(2, at: at(140), into: &histogram)
        #expect(told(histogram) == [.milliseconds(20), .milliseconds(30)] && histogram.total == 2)
        latency.overlaid(at: at(200), shownBy: 3)
        latency.overlayShown(3, at: nil, into: &histogram)
        latency.overlayShown(3, at: at(300), into: &histogram)
        #expect(histogram.total == 2, "there was no display")
        for number in 0..<1000 { latency.overlaid(at: at(Int64(number)), shownBy: 9) }
        latency.overlayShown(9, at: at(1000), into: &histogram)
        #expect(histogram.total == 34)
    }

    @Test func howManyAreKeptIsBounded() {
        var (latency, histogram) = (InputLatency(), TimeHistogram(upTo: .seconds(2)))
        for number in 0..<1000 { latency.moved(at: at(Int64(number)), shownBy: 1) }
        latency.shown(1, at: at(1000), into: &histogram)
        #expect(histogram.total == 32 && histogram.span(within: 1) == .milliseconds(32))
    }

    @Test func spansAreCountedToTheMillisecondAbove() {
        var histogram = TimeHistogram(upTo: .milliseconds(20))
        #expect(histogram.span(within: 0.5) == nil)
        for milliseconds in 1...100 { histogram.count(.milliseconds(Int64(milliseconds))) }
        histogram.count(MediaTime(nanoseconds: -1))
        #expect(histogram.total == 101)
        #expect(histogram.span(within: 0) == .zero && histogram.span(within: 0.1) == .milliseconds(10))
        #expect(histogram.span(within: 0.5) == .milliseconds(20), "longer ones count as the longest")
        histogram.count(.seconds(.infinity))
        #expect(histogram.span(within: 1) == .milliseconds(20))
    }
}
