import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing
import VADriver

@testable import KioskMedia

extension HardwareDecodingTests {
    /// Decoders reused from one item to the next. Items open as in the engine: the next one while the present one decodes. Parallel suites
    /// open readers without hardware, and each of those frees the waiting decoder.
    @Suite(
        .enabled(
            if: getenv("KIOSK_TEST_DECODERS") != nil,
            "by themselves only: KIOSK_TEST_DECODERS=1 swift test --filter HardwareDecodingTests.Shelf"))
    struct Shelf {
        private var contexts: Int { Int(va_driver_calls("CreateContext")) }

        init() {
            DecoderShelf.clear()
            va_driver_reset()
            HardwareHistory.forgive()
        }

        private func clip(_ name: String = "hardware.mp4", size: String = "320x240") throws -> String {
            try Clips.numbered(name, frames: 120, size: size, sound: false, extra: ["-g", "50", "-sc_threshold", "0"])
        }

        private func hevc(_ name: String = "hardware-hevc.mp4", size: String = "320x240") throws -> String {
            let parameters = "keyint=50:open-gop=0:scenecut=0:log-level=error"
            return try Clips.numbered(
                name, frames: 120, size: size, sound: false, extra: ["-c:v", "libx265", "-x265-params", parameters, "-tag:v", "hvc1"])
        }

        private func open(_ path: String, _ setting: DecoderSetting = .hardware) throws -> MediaReader {
            try MediaReader.open(path, samples: nil, decoderThreads: 2, decoder: DecoderWish(setting, device: "/dev/null"))
        }

        /// Returns the numbers of all remaining frames, and how many lie in surfaces.
        private func read(_ reader: inout MediaReader) -> (numbers: [Int], surfaces: Int) {
            var (numbers, surfaces): ([Int], Int) = ([], 0)
            while let next = reader.nextFrame() {
                let frame = next.intoFrame()
                if frame.surface != nil { surfaces += 1 }
                if let plain = frame.downloaded() { numbers.append(burnedInNumber(plain)) }
            }
            return (numbers, surfaces)
        }

        /// Plays `clips` in turn for `seams` seams; returns the number of frames in surfaces for each showing.
        private func play(_ clips: [String], seams: Int, _ setting: DecoderSetting = .hardware) throws -> [Int] {
            var surfaces: [Int] = []
            var present = try open(clips[0], setting)
            for number in 1...seams {
                var next = try open(clips[number % clips.count], setting)
                let seen = read(&present)
                #expect(seen.numbers == Array(1...120), "showing \(number)")
                #expect(present.problems.isEmpty, "\(present.problems)")
                surfaces.append(seen.surfaces)
                HardwareHistory.forgive()  // the downloads in this test
                swap(&present, &next)
                _ = consume next
            }
            return surfaces
        }

        /// Returns the number of driver contexts created while `clips` play in turn.
        private func contexts(playing clips: [String], seams: Int) throws -> Int {
            DecoderShelf.clear()
            va_driver_reset()
            #expect(try play(clips, seams: seams).allSatisfy { $0 == 120 })
            return contexts
        }

        @Test("In a loop two decoders take turns") func loop() throws {
            #expect(try contexts(playing: [hevc()], seams: 20) == 2)
            // libavcodec creates a new H.264 context whenever the decoder restarts.
            #expect(try contexts(playing: [clip()], seams: 20) == 21)
        }

        @Test("Two files that agree share decoders, two that do not have their own") func twoFiles() throws {
            let same = try Clips.file("hardware-copy.mp4", try Clips.bytes(hevc()))
            #expect(try contexts(playing: [hevc(), same], seams: 6) == 2)
            // Each item gets the decoder of the item two before it, which is its own file's.
            let wide = try hevc("hardware-hevc-wide.mp4", size: "640x240")
            #expect(try contexts(playing: [hevc(), wide], seams: 6) == 2)
            let tall = try hevc("hardware-hevc-tall.mp4", size: "320x480")
            #expect(try contexts(playing: [hevc(), wide, tall], seams: 6) == 7)
        }

        @Test("A decoder that failed is not used again") func failure() throws {
            var reader = try open(try clip())
            va_driver_fail("EndPicture", 30, 1)
            #expect(read(&reader).numbers == Array(1...120))
            HardwareHistory.forgive()
            reader = try open(try clip())
            #expect(contexts == 2 && read(&reader).surfaces == 120)
        }

        @Test("Software frees the decoder that waits") func software() throws {
            var reader = try open(try clip())
            #expect(read(&reader).surfaces == 120)
            reader = try open(try clip(), .software)
            #expect(va_driver_surfaces() > 0)  // the previous reader's
            reader = try open(try clip(), .software)
            #expect(va_driver_surfaces() == 0)
            _ = consume reader
        }

        // MARK: One decoder only

        @Test(
            "Where there is one decoder, the first picture is decoded in software and the others by it",
            arguments: [DecoderSetting.hardware, .automatic])
        func oneDecoder(_ setting: DecoderSetting) throws {
            va_driver_limit_contexts(1)
            let surfaces = try play([clip()], seams: 20, setting)
            #expect(surfaces[0] == 120 && surfaces.dropFirst().allSatisfy { $0 == 119 }, "\(surfaces)")
            #expect(DecoderShelf.inUse == 0 && !DecoderShelf.isAwaited)
        }

        @Test("With files that do not agree, too") func oneDecoderForTwo() throws {
            va_driver_limit_contexts(1)
            let surfaces = try play([clip(), clip("hardware-wide.mp4", size: "640x240")], seams: 6)
            #expect(surfaces[0] == 120 && surfaces.dropFirst().allSatisfy { $0 == 119 }, "\(surfaces)")
        }

        @Test("Where it comes free in the middle of an item, hardware goes on behind the next key frame") func freeLater() throws {
            // The driver learns the numbers of the key frames.
            var other = try open(try clip())
            #expect(read(&other).surfaces == 120)
            other = try open(try clip(), .software)
            va_driver_limit_contexts(1)
            var busy: MediaReader? = try open(try clip())
            #expect(busy?.decoder == "vaapi (test driver)")
            other = try open(try clip())
            #expect(read(&other).surfaces == 0 && other.problems.isEmpty)
            other = try open(try clip())
            var numbers: [Int] = []
            var firstSurface = 0
            while let next = other.nextFrame() {
                let frame = next.intoFrame()
                if frame.surface != nil, firstSurface == 0 { firstSurface = numbers.count + 1 }
                if let plain = frame.downloaded() { numbers.append(burnedInNumber(plain)) }
                if numbers.count == 40 { busy = nil }
            }
            #expect(numbers == Array(1...120))
            #expect((51...60).contains(firstSurface), "\(firstSurface)")
        }

        @Test("A device that goes on refusing is tried once more, and then said") func refusesAlways() throws {
            var first = try open(try clip())
            va_driver_fail("CreateContext", 1, 1_000_000)
            var next = try open(try clip())
            #expect(next.problems.isEmpty)
            #expect(read(&first).surfaces == 120)
            first = try open(try Clips.numbered("hardware-plain.mp4", frames: 30, size: "320x240", sound: false), .software)
            DecoderShelf.clear()
            let seen = read(&next)
            #expect(seen.numbers == Array(1...120) && seen.surfaces == 0)
            #expect(
                next.problems.count == 1 && next.problems[0].hasPrefix("is decoded in software: vaapi (test driver): "), "\(next.problems)")
        }
    }
}
