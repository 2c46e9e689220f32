import KioskPlatform
import KioskPlayback
import Testing

@testable import KioskControlsCore

/// The next step of the preview thread, in simulated time.
@Suite final class PreviewScheduleTests {
    private var schedule = PreviewSchedule()
    private let picture = Surface(width: 1, height: 1, pixels: [0xFF00_0000])

    private func request(_ seconds: Double, of source: Path = "a.mp4", width: Int = 200) -> PreviewSchedule.Request {
        .init(source: source, time: .seconds(seconds), width: width, height: 112)
    }

    private func at(_ seconds: Double) -> HostTime { HostTime(nanoseconds: 0) + .seconds(seconds) }

    /// Returns the next step as a word and its media time.
    private func next(_ seconds: Double = 1) -> String {
        switch schedule.next(at: at(seconds)) {
        case .close: "close"
        case .decode(let request): "decode \(request.source) \(request.time.seconds)"
        case .deliver(let request, _): "deliver \(request.time.seconds)"
        case .wait(let until): until.map { "wait \(($0 - at(0)).seconds)" } ?? "wait"
        }
    }

    /// Has a picture decoded that is valid for half a second before and after its time. Returns whether it is to be delivered.
    private func decode(_ seconds: Double, of source: Path = "a.mp4") -> Bool {
        schedule.request(request(seconds, of: source), at: at(1))
        var step = next()
        if step == "close" { step = next() }
        #expect(step == "decode \(source) \(seconds)")
        return finish(seconds, of: source)
    }

    private func finished(_ request: PreviewSchedule.Request, _ result: PreviewSchedule.Result) -> Bool {
        schedule.finished(request, result)
    }

    private func finish(_ seconds: Double, of source: Path = "a.mp4") -> Bool {
        schedule.finished(
            request(seconds, of: source), .picture(picture, span: MediaTime.seconds(seconds - 0.5)...MediaTime.seconds(seconds + 0.5)))
    }

    @Test func `nothing is done before a finger scrubs`() { #expect(next() == "wait") }

    @Test func `of the requests that come while one is decoded only the newest is decoded`() {
        schedule.request(request(1), at: at(1))
        #expect(next() == "decode a.mp4 1.0")
        for time in [2.0, 3, 4] { schedule.request(request(time), at: at(1)) }
        #expect(finish(1), "the finger moves on, and is shown what there is")
        #expect(next() == "decode a.mp4 4.0")
        #expect(finish(4))
        #expect(next() == "wait 11.0")
    }

    @Test func `a picture that is there is not decoded again`() {
        #expect(decode(1))
        #expect(decode(5))
        schedule.request(request(1.4), at: at(1))
        #expect(next() == "deliver 1.4")
        schedule.request(request(1.6), at: at(1))
        #expect(next() == "decode a.mp4 1.6")
    }

    @Test func `sixteen pictures are kept, those that were used last`() {
        for time in 0..<16 { #expect(decode(Double(time) * 2)) }
        schedule.request(request(0), at: at(1))
        #expect(next() == "deliver 0.0")
        #expect(decode(32))
        for (time, step) in [(0.0, "deliver 0.0"), (2.0, "decode a.mp4 2.0")] {
            schedule.request(request(time), at: at(1))
            #expect(next() == step)
        }
    }

    @Test func `a finger that has left gets nothing`() {
        schedule.request(request(1), at: at(1))
        #expect(next() == "decode a.mp4 1.0")
        schedule.request(request(2), at: at(1))
        schedule.cancel()
        #expect(!finish(1))
        #expect(next() == "wait 11.0")
    }

    @Test func `another file closes the one that is open, and has pictures of its own`() {
        #expect(decode(1))
        schedule.request(request(1, of: "b.mp4"), at: at(2))
        #expect(next(2) == "close")
        #expect(next(2) == "decode b.mp4 1.0")
        #expect(finish(1, of: "b.mp4"))
        schedule.request(request(1), at: at(3))
        #expect(next(3) == "close")
        #expect(next(3) == "decode a.mp4 1.0")
    }

    @Test func `so does another size`() {
        #expect(decode(1))
        schedule.request(request(1, width: 300), at: at(2))
        #expect(next(2) == "close")
        #expect(next(2) == "decode a.mp4 1.0")
    }

    @Test func `a picture of the file before is not handed over`() {
        schedule.request(request(1), at: at(1))
        #expect(next() == "decode a.mp4 1.0")
        schedule.request(request(1, of: "b.mp4"), at: at(1))
        #expect(!finish(1))
        #expect(next() == "close")
        #expect(next() == "decode b.mp4 1.0")
    }

    @Test func `a file without pictures is tried once`() {
        schedule.request(request(1), at: at(1))
        #expect(next() == "decode a.mp4 1.0")
        #expect(!finished(request(1), .unusable))
        schedule.request(request(2), at: at(2))
        #expect(next(2) == "wait 12.0")
        #expect(decode(1, of: "b.mp4"))
    }

    @Test func `what was cancelled for a file that is no longer wanted is done again`() {
        schedule.request(request(1), at: at(1))
        #expect(next() == "decode a.mp4 1.0")
        schedule.request(request(1, of: "b.mp4"), at: at(1))
        schedule.request(request(3), at: at(1))
        #expect(!finished(request(1), .cancelled))
        #expect(next() == "decode a.mp4 3.0")
        #expect(!finished(request(3), .cancelled))
        #expect(next() == "decode a.mp4 3.0")
        schedule.cancel()
        #expect(!finished(request(3), .cancelled))
        #expect(next() == "wait 11.0")
    }

    @Test func `ten seconds after the last request file and pictures are let go`() {
        #expect(decode(1))
        schedule.cancel()
        #expect(next(10.9) == "wait 11.0")
        #expect(next(11) == "close")
        #expect(next(11) == "wait")
        #expect(decode(1))
    }
}
