import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskExportCore

/// The rate at which a film shows every picture of a clip.
@Suite struct FilmRateTests {
    /// Returns the times of pictures that last so many milliseconds each, with each run repeated `count` times.
    private func times(_ runs: [(steps: [Double], count: Int)]) -> [MediaTime] {
        var time = 0.0
        return runs.flatMap { run in (0..<run.count).flatMap { _ in run.steps } }.map { step in
            defer { time += step }
            return .seconds(time / 1000)
        }
    }

    private func rate(of times: [MediaTime]) -> FrameRate? { FilmRate.choice(for: times)?.rate }

    @Test(
        "A clip whose pictures follow each other evenly keeps its rate",
        arguments: [
            ("25", 25, 1), ("29.97", 30000, 1001), ("12.5", 12500, 1000), ("15", 15, 1), ("48", 48, 1), ("59.94", 60000, 1001),
            ("60", 60, 1),
        ])
    func even(_ name: String, _ numerator: Int, _ denominator: Int) throws {
        let rate = try #require(FrameRate(numerator, denominator))
        #expect(self.rate(of: (0..<400).map { rate.time(of: $0) }) == rate)
        // Matroska rounds times to milliseconds.
        let rounded = (0..<400).map { MediaTime.milliseconds(Int64((rate.time(of: $0).seconds * 1000).rounded())) }
        let found = try #require(self.rate(of: rounded))
        #expect(abs(found.hertz / rate.hertz - 1) < 0.001, "\(found)")
    }

    @Test func aClipThatIsFastInPlacesGetsThatRate() {
        #expect(rate(of: times([([100], 20), ([1000 / 30.0], 60)])) == FrameRate(30))
        #expect(rate(of: times([([40], 100), ([20], 10), ([40], 100)])) == FrameRate(50))
        #expect(rate(of: times([([500], 40), ([1000 / 60.0], 200)])) == FrameRate(60))
        // Slower than the slowest film.
        #expect(rate(of: times([([1000], 40)])) == FrameRate(10))
    }

    @Test func aTelephoneThatWaversGetsAUsualRate() {
        // 29.97 a second, give or take 4 ms, and for a second half as many pictures, as in the dark.
        let steps = [31.2, 36.1, 33.0, 33.6, 30.1, 36.2, 33.37, 33.37]
        let found = rate(of: times([(steps, 40), ([66.7], 15), (steps, 40)]))
        #expect([FrameRate(30000, 1001), FrameRate(30)].contains(found), "\(found.map { "\($0)" } ?? "none")")
        // About 60 a second.
        let fast = rate(of: times([([15.6, 17.9, 16.2, 17.0], 100), ([33.4], 10), ([15.6, 17.9, 16.2, 17.0], 100)]))
        #expect([FrameRate(60000, 1001), FrameRate(60)].contains(fast), "\(fast.map { "\($0)" } ?? "none")")
    }

    @Test func noFilmHasMoreThanSixty() {
        #expect(rate(of: times([([1000 / 120.0], 240)])) == FrameRate(60))
        #expect(rate(of: times([([10], 240)])) == FrameRate(50))
        #expect(
            FilmRate.choice(for: times([([1000 / 240.0], 400), ([1000 / 30.0], 100)])) == .init(rate: FrameRate(60)!, isTooLow: true))
        #expect(FilmRate.choice(forAverage: 120) == .init(rate: FrameRate(60)!, isTooLow: true))
        #expect(FilmRate.choice(forAverage: 4) == .init(rate: FrameRate(10)!))
    }

    @Test func tooFewPicturesHaveNone() {
        #expect(rate(of: []) == nil && rate(of: [.zero]) == nil && rate(of: [.zero, .zero]) == nil)
    }

    // MARK: Files

    /// Makes numbered pictures, 20 at ten a second and then 60 at thirty.
    static func varying(_ name: String, extra: [String] = []) throws -> String {
        let picture = try Clips.numbered("varying-even.mp4", frames: 80, rate: 30, sound: false)
        return try Clips.make(
            name,
            ["-i", picture, "-vf", "settb=1/15360,setpts='if(lt(N\\,20)\\,N*1536\\,20*1536+(N-20)*512)'", "-fps_mode", "vfr"]
                + ["-enc_time_base", "1/15360", "-pix_fmt", "yuv420p", "-c:v", "libx264"] + extra)
    }

    @Test(arguments: ["mp4", "mkv", "ts"]) func timesArePresentationTimes(_ kind: String) throws {
        let path = try Self.varying("varying.\(kind)", extra: ["-bf", "2"])
        var reader = try MediaReader.open(path, samples: nil)
        let read = reader.pictureTimes()
        let times = try #require(read)
        #expect(times.count == 80)
        for (index, time) in times.enumerated() {
            let expected = index < 20 ? Double(index) / 10 : 2 + Double(index - 20) / 30
            #expect(abs(time.seconds - expected) < 0.0012, "\(index) \(time)")
        }
    }

    @Test func timesOfAnEvenFileAreThoseOfItsIndex() throws {
        let clip = try #require(Gallery.moving.first { $0.name == "ntsc.mp4" })
        var reader = try MediaReader.open(Clips.named(clip.name), samples: nil)
        let read = reader.pictureTimes()
        let times = try #require(read)
        #expect(times.count == clip.frameCount)
        // That has read no packets: the first picture still comes.
        let first = reader.nextFrame()?.time
        #expect(first == .zero)
        var cancelled = try MediaReader.open(try Self.varying("varying.mp4", extra: ["-bf", "2"]), samples: nil)
        let nothing = cancelled.pictureTimes(isCancelled: { true })
        #expect(nothing == nil)
    }

    @Test(arguments: ["mp4", "mkv"]) func noPictureOfAVaryingClipIsLost(_ kind: String) throws {
        let path = try Self.varying("varying.\(kind)", extra: ["-bf", "2"])
        let (film, report) = try ExportSessionTests.film(try ExportSessionTests.arrangement([path]))
        #expect(report.rate == FrameRate(30) && report.pictures == 120 && !report.isRateVarying)
        #expect(film.order == Array(1...80))
        // The same after a clip that ends between two vblanks.
        let before = try Clips.numbered("varying-before.mp4", frames: 27, from: 201, rate: 25, sound: false)
        var both = try ExportSessionTests.arrangement([before, path])
        both.clips[0].duration = .milliseconds(1050)
        #expect(try ExportSessionTests.film(both).film.order.suffix(80) == Array(1...80))
    }

    @Test func aCopySaysHowManyPicturesItHas() throws {
        let path = try Self.varying("varying.mp4", extra: ["-bf", "2"])
        let (film, report) = try ExportSessionTests.film(try ExportSessionTests.arrangement([path]), copies: true)
        #expect(report.pictures == 80 && report.encoder == "copy" && report.isRateVarying && report.rate == FrameRate(30))
        #expect(film.numbers == Array(1...80))
        let even = try Clips.numbered("varying-even.mp4", frames: 80, rate: 30, sound: false)
        let plain = try ExportSessionTests.film(try ExportSessionTests.arrangement([even, even]), copies: true).report
        #expect(plain.pictures == 160 && !plain.isRateVarying)
    }
}
