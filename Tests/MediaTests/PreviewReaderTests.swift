import CKioskFFmpeg
import KioskPlatform
import TestSupport
import Testing

@testable import KioskMedia

/// Small pictures for the slider: their frame, their shape, and sources that have none.
@Suite struct PreviewReaderTests {
    /// Returns the preview at a time; nil if there is none.
    private func preview(of path: String, at seconds: Double, _ width: Int = 320, _ height: Int = 320) throws -> PreviewReader.Preview? {
        guard var reader = try PreviewReader.open(path, fitting: width, height) else { return nil }
        return try reader.preview(at: .seconds(seconds))
    }

    /// Opens a file that has previews.
    private func open(
        _ path: String, _ width: Int, _ height: Int, interruption: Interruption = Interruption()
    ) throws -> PreviewReader {
        guard let reader = try PreviewReader.open(path, fitting: width, height, interruption: interruption) else {
            throw MediaError(path, .nothingToPlay)
        }
        return reader
    }

    private func number(_ picture: SmallPicture) -> Int {
        burnedInNumber(width: picture.width, height: picture.height) { Int(picture.pixels[$1 * picture.width + $0] >> 8 & 255) }
    }

    /// The key frames of the three seconds are frames 1, 31 and 61.
    @Test(arguments: ["mp4", "mkv", "avi"]) func `the key frame nearest to a time`(suffix: String) throws {
        let path = try Clips.numbered("keys.\(suffix)", frames: 90, extra: ["-g", "30", "-bf", suffix == "avi" ? "0" : "3"])
        var reader = try open(path, 320, 180)
        let expected: [(Double, Int)] = [
            (0, 1), (0.45, 1), (0.55, 31), (1, 31), (1.45, 31), (1.55, 61), (2.9, 61), (100, 61), (-1, 1), (0.2, 1),
        ]
        for (time, number) in expected {
            let found = try reader.preview(at: .seconds(time))
            let preview = try #require(found, "at \(time)")
            #expect(self.number(preview.picture) == number, "at \(time)")
            // AVI gives the first frame the time of its decoding, and later ones the time of their presentation.
            #expect(abs(preview.time.seconds - Double(number - 1) / 30) < (suffix == "avi" ? 0.034 : 0.002), "at \(time)")
            #expect(preview.span.contains(.seconds(max(time, 0))))
            // Every time in the span has the same picture: kiosk need not decode it again.
            for other in [0.1, 0.9, 1.4, 1.6, 2.5] where preview.span.contains(.seconds(other)) {
                #expect(abs(other - preview.time.seconds) < 0.6 || number == 61, "\(preview.span) of \(number)")
            }
        }
    }

    /// MPEG-TS and -PS have no index: the preview is the key frame that a seek leads to.
    @Test(arguments: ["long.ts", "mpeg2.ts", "mpeg2.mpg"]) func `a key frame near a time where there is no index`(name: String) throws {
        let path = try Clips.named(name)
        for time in [0, 0.3, 0.6] {
            let preview = try #require(try preview(of: path, at: time), "at \(time)")
            #expect(abs(preview.time.seconds - time) <= 1.1)
            #expect(preview.span.contains(.seconds(time)) && preview.span.contains(preview.time))
            let clip = try #require(Gallery.moving.first { $0.name == name })
            let rate = try #require(clip.rate)
            #expect(abs(Double(number(preview.picture) - 1) / rate - preview.time.seconds) < 0.002)
        }
        #expect(try preview(of: path, at: 100) != nil, "behind the end it is the last one")
    }

    @Test(arguments: [("thirty.mp4", 320, 180), ("corners.mp4", 240, 180), ("turned-90.mp4", 101, 180), ("anamorphic.mp4", 320, 180)])
    func `a picture keeps its shape and stands upright`(name: String, width: Int, height: Int) throws {
        let preview = try #require(try preview(of: Clips.named(name), at: 0, 320, 180))
        #expect(abs(preview.picture.width - width) <= 1 && preview.picture.height == height)
        if name != "corners.mp4" { #expect(number(preview.picture) == 1) }
    }

    @Test(arguments: ["turned-90.mp4", "turned-180.mp4", "turned-270.mp4"]) func `turned clips are read upright`(name: String) throws {
        let preview = try #require(try preview(of: Clips.named(name), at: 0, 180, 320))
        #expect((preview.picture.width, preview.picture.height) == (180, 320))
        #expect(number(preview.picture) == 1)
    }

    /// Clockwise from the top left: red, green, yellow, blue.
    @Test func `colours are in their places`() throws {
        let picture = try #require(try preview(of: Clips.named("corners.mp4"), at: 0, 640, 480)).picture
        let corners = [(4, 4), (635, 4), (635, 475), (4, 475)].map { picture.pixels[$1 * picture.width + $0] }
        for (found, expected) in zip(corners, [0xFFFF_0000, 0xFF00_FF00, 0xFFFF_FF00, 0xFF00_00FF] as [UInt32]) {
            for shift in [0, 8, 16, 24] as [UInt32] {
                let difference = Int(found >> shift & 255) - Int(expected >> shift & 255)
                #expect(abs(difference) < 40, "\(String(found, radix: 16)), \(String(expected, radix: 16))")
            }
        }
    }

    @Test func `every moving clip of the gallery has previews, opaque ones`() throws {
        for clip in Gallery.moving + Gallery.mixed where !["animation.gif", "animation.apng"].contains(clip.name) {
            for time in [0, clip.seconds / 2, clip.seconds] {
                let found = try preview(of: Clips.named(clip.name), at: time, 200, 112)
                let picture = try #require(found, "\(clip.name) at \(time)").picture
                #expect((1...200).contains(picture.width) && (1...112).contains(picture.height), "\(clip.name)")
                #expect(picture.pixels.count == picture.width * picture.height && picture.pixels.allSatisfy { $0 >> 24 == 255 })
            }
        }
    }

    @Test(
        arguments: [
            "still.png", "still.jpg", "still.webp", "animation.gif", "animation.apng", "sound-only.m4a", "sound-only.mp3",
            "sound-only.flac",
        ])
    func `stills, animations and sound have none`(name: String) throws { #expect(try preview(of: Clips.named(name), at: 0) == nil) }

    @Test(arguments: ["http://127.0.0.1:1/a.mp4", "rtsp://127.0.0.1:1/a"])
    func `what has a URL is not opened`(url: String) throws { #expect(try preview(of: url, at: 0) == nil) }

    @Test(arguments: ["no-moov.mp4", "header-only.mp4", "empty.mp4", "text.mp4", "/nowhere/clip.mp4", "/tmp", "/dev/zero"])
    func `what cannot be played says why`(name: String) throws {
        let path = name.hasPrefix("/") ? name : try Clips.named(name)
        #expect(throws: MediaError.self) { _ = try preview(of: path, at: 0) }
    }

    @Test(arguments: ["truncated.mp4", "truncated.mkv", "truncated.ts", "flipped.mp4", "flipped.ts"])
    func `what is damaged further on has previews where it can be decoded`(name: String) throws {
        var reader = try open(Clips.named(name), 200, 112)
        for time in [0, 0.3, 0.9, 5] { _ = try reader.preview(at: .seconds(time)) }
        let first = try reader.preview(at: .zero)
        #expect(first != nil)
    }

    @Test func `damaged files neither crash nor hang`() throws {
        let originals = try ["mp4", "mkv", "ts", "avi"].map {
            try Clips.bytes(Clips.numbered("small-keys.\($0)", frames: 16, size: "256x64", sound: false, extra: ["-g", "4", "-bf", "0"]))
        }
        var random = SplitMix(state: 7)
        let start = HostTime.now
        for round in 0..<240 {
            var bytes = originals[round % originals.count]
            if round / originals.count % 3 == 0 {
                bytes = Array(bytes.prefix(random.below(bytes.count)))
            } else {
                let header = round / originals.count % 3 == 1 ? min(2048, bytes.count) : bytes.count
                for _ in 0..<(1 + random.below(32)) { bytes[random.below(header)] = UInt8(random.below(256)) }
            }
            let path = try Clips.file("mutated-keys", bytes)
            guard var reader = try? PreviewReader.open(path, fitting: 64, 64) else { continue }
            for time in [MediaTime.seconds(0.3), .seconds(1e9), .zero] { _ = try? reader.preview(at: time) }
        }
        #expect(HostTime.now - start < .seconds(120), "a bound against hanging, not a measure of speed")
    }

    @Test func `what is cancelled ends`() throws {
        let interruption = Interruption()
        var reader = try open(Clips.named("keyframes.mp4"), 64, 64, interruption: interruption)
        interruption.cancel()
        do throws(MediaError) {
            _ = try reader.preview(at: .seconds(1))
            Issue.record("it went on")
        } catch {
            #expect(error.reason == .cancelled)
        }
    }

    @Test func `one that takes too much memory is refused`() throws {
        let path = try Clips.named("thirty.mp4")
        #expect(throws: MediaError.self) { _ = try PreviewReader.open(path, fitting: 64, 64, pictureMemory: 1000) }
    }

    @Test(arguments: [(320, 180, 0), (160, 90, 1), (90, 160, 1), (161, 90, 0), (80, 45, 2), (10, 10, 3), (400, 300, 0)])
    func `a codec that can is told to decode a smaller picture`(width: Int, height: Int, halvings: Int) {
        let picture = PictureMemory(width: 320, height: 180, bitsPerPixel: 12)
        #expect(picture.reduction(to: (width, height), atMost: 3) == halvings)
        #expect(picture.reduction(to: (width, height), atMost: 0) == 0)
    }
}

/// The title in a file's tags.
@Suite struct TitleTests {
    @Test(arguments: ["mp4", "mkv", "mp3", "flac", "ogg"]) func `the tag of each container`(suffix: String) throws {
        let sound = ["-f", "lavfi", "-i", "sine=r=48000:d=0.2"] + (suffix == "ogg" ? ["-c:a", "libopus"] : [])
        let path = try Clips.make("titled.\(suffix)", sound + ["-metadata", "title=Autumn in the harbour"])
        let reader = try MediaReader.open(path, samples: AudioFormat(sampleRate: 48000, channelCount: 2))
        #expect(reader.description.title == "Autumn in the harbour")
    }

    @Test func `a file without one has none`() throws {
        let reader = try MediaReader.open(Clips.named("thirty.mp4"), samples: nil)
        #expect(reader.description.title == nil)
    }

    @Test(
        arguments: [
            ("plain", "plain"), ("two\nlines\r\n", "two lines"), ("\u{1B}[31mred\u{07}", "[31mred"), ("  wide \t gap ", "wide gap"),
            ("", nil), (" \n\u{85}\u{7F}", nil), ("סתיו בנמל", "סתיו בנמל"), ("港の秋", "港の秋"), ("می‌خواهم", "می‌خواهم"),
        ] as [(String, String?)])
    func `control characters are blanks`(tag: String, title: String?) { #expect(tag.asTitle == title) }

    @Test func `one of 200 characters is whole, a longer one ends with an ellipsis`() {
        let fits = String(repeating: "a", count: 200)
        #expect(fits.asTitle == fits)
        #expect((fits + " ").asTitle == fits)
        #expect((fits + "a").asTitle == String(repeating: "a", count: 199) + "…")
        let marks = "e" + String(repeating: "\u{301}", count: 100_000)
        #expect(marks.asTitle?.unicodeScalars.count == 200)
    }
}
