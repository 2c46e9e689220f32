import KioskPlatform
import KioskPlayback
import TestSupport
import Testing

@testable import KioskControlsCore

/// Tests the preview thread with real files.
@Suite(.blocking) struct PreviewsTests {
    private let pictures = Monitor([Previews.Picture]())

    private func previews() -> Previews { Previews { [pictures] picture in pictures.signal { $0.append(picture) } } }

    /// Waits for the requested picture of this time, and returns it.
    private func picture(at seconds: Double, of source: String) -> Previews.Picture? {
        pictures.wait(until: .now + .seconds(120)) { all in all.last { $0.time == .seconds(seconds) && $0.source == Path(source) } }
    }

    private func number(_ picture: Previews.Picture?) -> Int? {
        picture.map { picture in
            let surface = picture.surface
            return burnedInNumber(width: surface.width, height: surface.height) { Int(surface.pixels[$1 * surface.width + $0] >> 8 & 255) }
        }
    }

    @Test func `the nearest key frame is handed over, from one file and another`() throws {
        let (first, second) = try (
            Clips.named("keyframes.mp4"), Clips.numbered("other-keys.mkv", frames: 60, from: 501, extra: ["-g", "15"])
        )
        let previews = previews()
        for (source, time, expected) in [(first, 0.1, 1), (first, 1.1, 31), (second, 0.6, 516), (first, 1.9, 61), (second, 1.9, 546)] {
            previews.request(source: source, at: .seconds(time), size: (320, 320))
            let found = picture(at: time, of: source)
            #expect(number(found) == expected, "at \(time)")
            #expect(found.map { ($0.surface.width, $0.surface.height) == (320, 180) } == true)
        }
        previews.end()
    }

    @Test func `while a finger moves there are pictures, and the last one is of where it stops`() throws {
        let clip = try Clips.named("keyframes.mp4")
        let previews = previews()
        for step in 0...100 { previews.request(source: clip, at: .seconds(Double(step) * 0.029), size: (200, 200)) }
        #expect(number(picture(at: 2.9, of: clip)) == 61)
        #expect(pictures.withLock { $0.count } <= 101)
        previews.end()
    }

    @Test(arguments: [
        "sound-only.m4a", "still.png", "no-moov.mp4", "empty.mp4", "text.mp4", "/nowhere/at/all.mp4", "http://127.0.0.1:1/x.mp4",
    ])
    func `what has no pictures sends none, and does no harm`(name: String) throws {
        let bad = name.contains("/") ? name : try Clips.named(name)
        let clip = try Clips.named("keyframes.mp4")
        let previews = previews()
        previews.request(source: bad, at: .seconds(1), size: (200, 200))
        previews.request(source: bad, at: .seconds(2), size: (0, -5))
        previews.request(source: clip, at: .seconds(1), size: (200, 200))
        #expect(number(picture(at: 1, of: clip)) == 31)
        #expect(pictures.withLock { $0.allSatisfy { $0.source == Path(clip) } })
        previews.end()
    }

    @Test func `after its end nothing is sent`() throws {
        let clip = try Clips.named("keyframes.mp4")
        let previews = previews()
        previews.end()
        previews.request(source: clip, at: .seconds(1), size: (200, 200))
        #expect(pictures.wait(until: .now + .milliseconds(200)) { $0.isEmpty ? nil : true } == nil)
    }
}
