import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

@Suite(.blocking) struct StatisticsTests {
    @Test func distancesAreToTheMillisecondAbove() {
        var histogram = TimeHistogram(upTo: .milliseconds(250))
        #expect(histogram.span(within: 0.5) == nil)
        for offset in [-0.0021, 0.0004, 0.0008, 0.003] { histogram.count(.seconds(offset)) }
        for _ in 0..<96 { histogram.count(.milliseconds(5)) }
        histogram.count(.seconds(-3))
        #expect(histogram.total == 101)
        #expect(histogram.span(within: 0) == .zero)
        #expect(histogram.span(within: 0.02) == .milliseconds(3))
        #expect(histogram.span(within: 0.5) == .milliseconds(5))
        #expect(histogram.span(within: 0.99) == .milliseconds(5))
        #expect(histogram.span(within: 1) == .milliseconds(250))
    }

    @Test func itemsAddUpToAll() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: try Reel.fifty())])
        #expect(stage.wait { stage.statistics.seams >= 5 })
        stage.stop()
        let all = stage.statistics
        #expect(Set(all.items.keys) == [0, 1])
        #expect(all.items.values.map(\.framesShown).reduce(0, +) == all.framesShown)
        #expect(all.items.values.map(\.framesDropped).reduce(0, +) == all.framesDropped)
        #expect(all.items.values.map(\.framesLate).reduce(0, +) == all.framesLate)
        #expect(all.items.values.map(\.seams).reduce(0, +) == all.seams)
        #expect(all.items[0]!.seams >= 2 && all.items[1]!.seams >= 2)
    }

    @Test func pictureAndSoundAreComparedWhileTheyRun() throws {
        let stage = Stage([PlaylistItem(source: try Reel.numberedSamples(seconds: 4))], audio: RecordingOutput())
        #expect(stage.wait(for: 60))
        _ = stage.pause()
        let count = stage.statistics.synchrony.total
        #expect(count > 20)
        _ = stage.wait(0.3) { false }
        #expect(stage.statistics.synchrony.total == count)
        // The bed judges how large it is.
        #expect(stage.statistics.synchrony.span(within: 0.5) != nil)
    }
}
