import Testing

@testable import Bed

struct ReportTests {
    @Test func `what the director writes`() {
        let report = Report(
            """
            start 541696 55
            did 0 2541727
            sample 2542511 690000 68844 9 18 91230
            did 0 2591817
            held 2600000 51234
            did 1 3041807
            asked 8541734
            killed
            ended 8784327 137 1235552 77088
            terminal text on auto
            done
            """)
        #expect(report.start == 541_696 && report.asked == 8_541_734 && report.wasKilled && report.isComplete)
        #expect(report.done == [0: 2_541_727, 1: 3_041_807], "the first step of an event is when it was done")
        #expect(report.held.map(\.time) == [2_600_000] && report.held.map(\.late) == [51_234])
        #expect(
            report.samples == [
                .init(time: 2_542_511, cpu: 690_000, residentKilobytes: 68_844, threads: 9, descriptors: 18, shareKilobytes: 91_230)
            ])
        #expect(report.end == .init(time: 8_784_327, status: 137, cpu: 1_235_552, peakKilobytes: 77_088))
        #expect(report.terminal == "text on auto")
    }

    @Test func `a report that was cut off is not complete`() { #expect(!Report("start 1 2\nended 3 0 4 5").isComplete) }
}

struct TimelineTests {
    @Test func `the script is in the order of time`() {
        var at = ActionTimeline()
        at(2, .tap(10, 20), "tap")
        at(1, .key(.space))
        at(-0.2, .display(false, display: 1))
        at(2.01, .shell("ls /dev | wc -l"))
        #expect(
            at.script == [
                "at -200000 2 display off 1", "at 1000000 1 press 57", "at 1050000 1 release 57", "at 2000000 0 down 10 20",
                "at 2010000 3 shell ls /dev | wc -l", "at 2060000 0 up",
            ])
    }

    @Test func `a swipe is a way of many places`() {
        var at = ActionTimeline()
        at(0, .swipe(from: (100, 50), to: (300, 50)))
        #expect(at.script.count == 22 && at.script[1] == "at 12500 0 move 110 50" && at.script[20] == "at 250000 0 move 300 50")
    }
}

struct ResponseTests {
    private let clips = [NumberedClip("a", frames: 9, frameRate: 30), NumberedClip("b", frames: 9, from: 1001, frameRate: 30)]

    /// Returns the time of the answer to an event at vblank `event`, in vblanks. Each number lasts for two vblanks.
    private func answer(_ numbers: [Int], event: Int) -> Int? {
        let log = numbers.flatMap { [$0, $0] }.enumerated().map { Vblank(sequence: $0, time: .milliseconds($0 * 16), number: $1) }
        return Response.time(after: .milliseconds(event * 16 - 1), in: log, clips: clips).map { Int($0 / .milliseconds(16)) }
    }

    @Test func `a clip that goes on, and round, is no answer`() {
        #expect(answer([1, 2, 3, 4, 5, 6, 7, 8, 9, 1001, 1002], event: 3) == nil)
    }
    @Test func `a jump is`() { #expect(answer([1, 2, 3, 7, 8, 9], event: 3) == 6) }
    @Test func `the first frame of another clip is`() { #expect(answer([1, 2, 3, 1001, 1002], event: 3) == 6) }
    @Test func `standing still is, from the last new frame on`() {
        #expect(answer([1, 2, 3] + Array(repeating: 4, count: 9), event: 3) == 6)
    }
    @Test func `going on after standing still is`() { #expect(answer(Array(repeating: 4, count: 9) + [5, 6], event: 12) == 18) }

    @Test func `planes that change are`() {
        let plane = Vblank.Plane(
            plane: 35, framebuffer: 1, format: "XR24", source: .init(x: 0, y: 0, width: 8, height: 8),
            destination: .init(x: 0, y: 0, width: 8, height: 8), rotation: 1)
        var other = plane
        other.format = "NV12"
        var log = (0..<8).map { Vblank(sequence: $0, time: .milliseconds($0 * 16), number: 1 + $0 / 2, planes: [plane]) }
        log[3].planes[0].framebuffer = 2
        #expect(Response.time(after: .milliseconds(17), in: log, clips: clips) == nil)
        log[6].planes = [other]
        #expect(Response.time(after: .milliseconds(17), in: log, clips: clips) == .milliseconds(96))
    }
}

struct LineTests {
    @Test func `kiosk's own count`() throws {
        let line = "00:04:36 info kiosk: ended: 490 frames shown, 1 late, 2 dropped; 3 seams, the worst 4 vblanks late; 5 flips lost"
        let counts = try #require(Statistics(line))
        #expect(counts.shown == 490 && counts.late == 1 && counts.dropped == 2 && counts.seams == 3)
        #expect(counts.worstSeam == 4 && counts.flipsLost == 5 && counts.stalls == (0, .zero))
        let more = try #require(
            Statistics(
                line + "; A/V 5/46 ms, sound −1226 ppm; stood still 25 times, 724 ms in all; input 21/48 ms; never less than 0 frames"))
        #expect(more.synchrony ?? (0, 0) == (5, 46) && more.soundChange == -1226 && more.stalls == (25, .milliseconds(724)))
        #expect(more.inputLatency ?? (0, 0) == (21, 48) && counts.inputLatency == nil)
        #expect(Statistics("asked to quit") == nil)
    }

    @Test func `a line of the log`() {
        let line = Record.LogLine("1855714 00:25:32 info audio: configured", start: 855_714)
        #expect(line?.time == .seconds(1) && line?.text == "00:25:32 info audio: configured")
    }

    @Test func `a picture`() throws {
        let picture = try #require(Picture(ppm: Array("P6 2 1 255\n".utf8) + [255, 0, 0, 10, 32, 10]))
        #expect(picture.width == 2 && picture[0, 0] == .init(255, 0, 0) && picture[1, 0] == .init(10, 32, 10))
        #expect(Picture(ppm: Array("P6 2 1 255\n".utf8) + [255, 0, 0]) == nil)
    }
}
