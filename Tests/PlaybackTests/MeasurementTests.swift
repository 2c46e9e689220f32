import KioskPlatform
import Testing

@testable import KioskPlayback

@Suite struct MeasurementTests {
    private func at(_ milliseconds: Int64) -> HostTime { HostTime(nanoseconds: milliseconds * 1_000_000) }

    @Test func aMoveIsMeasuredOnceByTheFirstFrameOfItsGeneration() {
        var moves = MoveRecord()
        moves.requested(at: at(100), shownBy: 3, isSeek: true)
        #expect(moves.measured(2, at: at(120)) == nil)
        let measured = moves.measured(3, at: at(150))
        #expect(measured?.latency == .milliseconds(50) && measured?.isSeek == true)
        #expect(moves.measured(3, at: at(170)) == nil && moves.measured(4, at: at(180)) == nil)
    }

    @Test func aNewerRequestReplacesTheOneBefore() {
        var moves = MoveRecord()
        moves.requested(at: at(100), shownBy: 3, isSeek: true)
        moves.requested(at: at(130), shownBy: 4, isSeek: false)
        #expect(moves.measured(3, at: at(140)) == nil)
        let measured = moves.measured(5, at: at(150))
        #expect(measured?.latency == .milliseconds(20) && measured?.isSeek == false)
    }

    @Test func measuringLeavesOutWhatHasBeenSeen() {
        var moves = MoveRecord()
        moves.requested(at: at(100), shownBy: 3, isSeek: true)
        moves.shown(3, isSettled: true)
        moves.beginMeasuring()
        #expect(moves.measured(3, at: at(9000)) == nil)
        moves.requested(at: at(9100), shownBy: 4, isSeek: true)
        moves.beginMeasuring()
        #expect(moves.measured(4, at: at(9200))?.latency == .milliseconds(100))
    }

    @Test func aStallHasABeginningAndAnEnd() {
        var record = StallRecord()
        #expect(record.statusChanged(isDry: false, stalls: (0, .zero)) == nil)
        #expect(record.statusChanged(isDry: true, stalls: (1, .milliseconds(20))) == .began)
        #expect(record.statusChanged(isDry: false, stalls: (1, .milliseconds(420))) == .ended(.milliseconds(420)))
        #expect(record.statusChanged(isDry: true, stalls: (2, .milliseconds(430))) == .began)
        #expect(record.statusChanged(isDry: false, stalls: (2, .milliseconds(700))) == .ended(.milliseconds(280)))
    }

    @Test func theSilenceAfterTheLastItemIsNoStall() {
        var record = StallRecord()
        #expect(record.statusChanged(isDry: true, stalls: (0, .zero)) == nil)
        #expect(record.statusChanged(isDry: false, stalls: (0, .zero)) == nil)
    }
}
