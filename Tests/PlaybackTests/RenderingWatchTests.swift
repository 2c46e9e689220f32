import KioskPlatform
import Testing

@testable import KioskPlayback

struct RenderingWatchTests {
    private func time(_ milliseconds: Int64) -> HostTime { HostTime(nanoseconds: 0) + .milliseconds(milliseconds) }

    @Test func `who renders nothing is overdue after two looks`() {
        var watch = RenderingWatch()
        #expect(watch.look(isLate: false, rendered: 100, piece: .milliseconds(20), at: time(0)) == .onTime)
        #expect(watch.look(isLate: true, rendered: 100, piece: .milliseconds(20), at: time(50)) == .late)
        #expect(watch.look(isLate: true, rendered: 100, piece: .milliseconds(20), at: time(70)) == .late)
        #expect(watch.look(isLate: true, rendered: 100, piece: .milliseconds(20), at: time(90)) == .overdue)
    }

    @Test func `a process that stood still is not overdue at its first look`() {
        var watch = RenderingWatch()
        #expect(watch.look(isLate: false, rendered: 100, piece: .milliseconds(20), at: time(0)) == .onTime)
        #expect(watch.look(isLate: true, rendered: 100, piece: .milliseconds(20), at: time(60_000)) == .late)
        #expect(watch.look(isLate: true, rendered: 120, piece: .milliseconds(20), at: time(60_100)) == .late, "it goes on")
        #expect(watch.look(isLate: false, rendered: 140, piece: .milliseconds(20), at: time(60_120)) == .onTime)
    }

    @Test func `a card that is being started has longer`() {
        var watch = RenderingWatch()
        for milliseconds in stride(from: 0, to: 140, by: 4) {
            #expect(watch.look(isLate: nil, rendered: 100, piece: .milliseconds(20), at: time(Int64(milliseconds))) == .onTime)
        }
        #expect(watch.look(isLate: nil, rendered: 100, piece: .milliseconds(20), at: time(141)) == .overdue)
    }
}
