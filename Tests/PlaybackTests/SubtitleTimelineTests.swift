import KioskPlatform
import Testing

@testable import KioskPlayback

/// The subtitles that lie over each picture.
@Suite struct SubtitleTimelineTests {
    private func overlay(_ x: Int) -> Overlay { Overlay(pictures: [.init(surface: Surface(width: 1, height: 1, pixels: [0]), x: x, y: 0)]) }

    private func seen(_ timeline: inout SubtitleTimeline, _ serial: UInt64?, _ milliseconds: Int64) -> String {
        guard let overlay = timeline.overlay(for: serial, at: .milliseconds(milliseconds)) else { return "as it is" }
        return overlay.pictures.first.map { "\($0.x)" } ?? "nothing"
    }

    @Test func theyChangeWithTheirPictures() {
        var timeline = SubtitleTimeline()
        #expect(!timeline.isInUse && seen(&timeline, 1, 0) == "as it is")
        _ = timeline.add(overlay(5), from: .milliseconds(100), of: 1)
        _ = timeline.add(Overlay(), from: .milliseconds(200), of: 1)
        _ = timeline.add(overlay(7), from: .milliseconds(200), of: 2)
        #expect(timeline.isInUse)
        #expect(seen(&timeline, 1, 66) == "as it is")
        #expect(seen(&timeline, 1, 100) == "5")
        #expect(seen(&timeline, 1, 133) == "as it is")
        // The picture of 200 ms was dropped.
        #expect(seen(&timeline, 1, 233) == "nothing")
        #expect(seen(&timeline, 2, 0) == "nothing")
        #expect(seen(&timeline, 2, 233) == "7")
        #expect(seen(&timeline, 2, 266) == "as it is")
    }

    /// A playthrough without subtitles removes those of the one before, and so does the bare background.
    @Test func theyEndWithTheirItem() {
        for next: UInt64? in [4, nil] {
            var timeline = SubtitleTimeline()
            _ = timeline.add(overlay(1), from: .zero, of: 3)
            #expect(seen(&timeline, 3, 40) == "1")
            #expect(seen(&timeline, next, 0) == "nothing")
            #expect(seen(&timeline, next, 40) == "as it is" && !timeline.isInUse)
        }
    }

    /// Subtitles drawn too late, and drawn again for a picture that is on the screen.
    @Test func whatIsNewerForTheSamePictureIsSeen() {
        var timeline = SubtitleTimeline()
        _ = timeline.add(overlay(1), from: .zero, of: 1)
        #expect(seen(&timeline, 1, 500) == "1")
        _ = timeline.add(overlay(2), from: .milliseconds(400), of: 1)
        #expect(seen(&timeline, 1, 500) == "2")
        _ = timeline.add(overlay(3), from: .milliseconds(900), of: 1)
        #expect(seen(&timeline, 1, 500) == "as it is")
        #expect(seen(&timeline, 1, 900) == "3")
    }

    /// The subtitles of the next playthroughs do not push out the present ones.
    @Test func severalPlaythroughsAhead() {
        var timeline = SubtitleTimeline()
        for serial in 1...3 as ClosedRange<UInt64> {
            _ = timeline.add(overlay(Int(serial)), from: .zero, of: serial)
            _ = timeline.add(Overlay(), from: .milliseconds(500), of: serial)
        }
        for serial in 1...3 as ClosedRange<UInt64> {
            #expect(seen(&timeline, serial, 0) == "\(serial)")
            #expect(seen(&timeline, serial, 500) == "nothing")
        }
        #expect(seen(&timeline, 3, 600) == "as it is")
    }

    /// The viewer chooses other subtitles while some wait for their pictures: the waiting ones never show.
    @Test func whatIsToldLaterTakesThePlaceOfWhatWasToCome() {
        var timeline = SubtitleTimeline()
        for time: Int64 in [0, 100, 200] { _ = timeline.add(overlay(Int(time)), from: .milliseconds(time), of: 1) }
        #expect(seen(&timeline, 1, 40) == "0")
        _ = timeline.add(overlay(7), from: .milliseconds(40), of: 1)
        #expect(seen(&timeline, 1, 40) == "7")
        // In a pause, again and again for the same picture.
        _ = timeline.add(Overlay(), from: .milliseconds(40), of: 1)
        #expect(seen(&timeline, 1, 40) == "nothing" && seen(&timeline, 1, 40) == "as it is")
        _ = timeline.add(overlay(8), from: .milliseconds(40), of: 1)
        #expect(seen(&timeline, 1, 40) == "8")
        #expect(seen(&timeline, 1, 100) == "as it is" && seen(&timeline, 1, 240) == "as it is")
    }

    /// The timeline keeps a limited number of subtitles.
    @Test func itIsBounded() {
        var timeline = SubtitleTimeline()
        var retired = 0
        for index in 0..<5000 { retired += timeline.add(overlay(index), from: .milliseconds(Int64(index)), of: 1).count }
        #expect(retired >= 5000 - 257)
        #expect(seen(&timeline, 1, 4999) == "4999")
    }
}
