import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing
import VADriver

@testable import KioskMedia

extension HardwareDecodingTests {
    /// Interlaced video that Tests/VADriver decodes and its filter deinterlaces: each field comes once, at its time, whatever fails.
    @Suite struct Fields {
        init() {
            DecoderShelf.clear()
            va_driver_reset()
            HardwareHistory.forgive()
        }

        private func clip(bottomFirst: Bool = false) throws -> String {
            let x264 = ["-pix_fmt", "yuv420p", "-c:v", "libx264", "-g", "20", "-bf", "2"]
            let order = ["-x264opts", bottomFirst ? "bff=1" : "tff=1"]
            return try Clips.interlaced(
                "hardware-fields-\(bottomFirst ? "bottom" : "top").mp4", fields: 120, bottomFirst: bottomFirst, size: "320x240",
                encode: x264 + order)
        }

        private func open(
            _ path: String, _ setting: DecoderSetting = .hardware, _ mode: MediaReader.Deinterlacing = .fields
        ) throws -> MediaReader {
            try MediaReader.open(
                path, samples: nil, decoderThreads: 2, decoder: DecoderWish(setting, device: "/dev/null"), deinterlacing: mode)
        }

        private struct Seen: Equatable {
            var numbers: [Int] = []
            var times: [MediaTime] = []
            var surfaces = 0
        }

        private func read(_ reader: inout MediaReader, holding most: Int = 0) -> Seen {
            final class Held {
                let frame: VideoFrame
                init(_ frame: consuming VideoFrame) { self.frame = frame }
            }
            var seen = Seen()
            var held: [Held] = []
            while let next = reader.nextFrame() {
                seen.times.append(next.time)
                let frame = next.intoFrame()
                if frame.surface != nil { seen.surfaces += 1 }
                if let plain = frame.downloaded() { seen.numbers.append(burnedInNumber(plain)) }
                held.append(Held(frame))
                if held.count > most { held.removeFirst() }
            }
            return seen
        }

        @Test("The device makes a picture of each field, at software's times", arguments: [false, true]) func fields(
            bottomFirst: Bool
        ) throws {
            var reader = try open(try clip(bottomFirst: bottomFirst))
            #expect(reader.decoder == "vaapi (test driver)" && reader.description.video?.isDeinterlaced == true)
            var software = try open(try clip(bottomFirst: bottomFirst), .software)
            let (seen, expected) = (read(&reader, holding: PicturePool.extra), read(&software))
            #expect(seen.numbers == Array(1...120) && seen.surfaces == 120 && seen.times == expected.times)
            #expect(expected.numbers == Array(1...120) && expected.surfaces == 0)
            #expect(reader.problems.isEmpty && va_driver_calls("Filter") >= 120)
        }

        @Test("Or of each frame, or shows them as they are") func frames() throws {
            var reader = try open(try clip(), .hardware, .frames)
            var seen = read(&reader)
            #expect(seen.surfaces == 60 && seen.numbers == stride(from: 1, to: 120, by: 2).map { $0 })
            let calls = va_driver_calls("Filter")
            reader = try open(try clip(), .hardware, .off)
            seen = read(&reader)
            #expect(calls >= 60 && seen.surfaces == 60 && seen.times.count == 60 && va_driver_calls("Filter") == calls)
        }

        @Test("Seeks meet their field") func seeks() throws {
            var reader = try open(try clip())
            #expect(read(&reader).numbers == Array(1...120))
            for field in [60, 11, 100, 0] {
                let time = MediaTime.milliseconds(Int64(20 * field))
                #expect(try reader.seek(to: time, precision: .exact) == time)
                let seen = read(&reader)
                #expect(seen.numbers == Array(field + 1...120) && seen.surfaces == seen.numbers.count, "\(field): \(seen.numbers)")
            }
            #expect(reader.problems.isEmpty)
        }

        struct Fault: Sendable, CustomTestStringConvertible {
            var call: String, first: Int
            var testDescription: String { "\(call) \(first)" }
        }
        static let faults = [
            ("Filter", [1, 2, 30, 31, 119]), ("Export", [1, 2, 40]), ("EndPicture", [1, 25]), ("SyncSurface", [1, 50]),
        ].flatMap {
            call, firsts in firsts.map { Fault(call: call, first: $0) }
        }

        @Test("Whatever fails, each field comes once and in order, and it is said", arguments: faults) func fault(_ fault: Fault) throws {
            var software = try open(try clip(), .software)
            let expected = read(&software)
            va_driver_fail(fault.call, Int32(fault.first), 1_000_000)
            var reader = try open(try clip())
            let seen = read(&reader)
            if fault.call != "SyncSurface" { #expect(seen.numbers == expected.numbers) }
            #expect(seen.times == expected.times)
            #expect(reader.decoder == "software" && reader.problems.count == 1, "\(reader.problems)")
        }

        @Test("A progressive stream needs no filter") func progressive() throws {
            var reader = try open(
                try Clips.numbered("hardware.mp4", frames: 120, size: "320x240", sound: false, extra: ["-g", "50", "-sc_threshold", "0"]))
            #expect(read(&reader).surfaces == 120 && va_driver_calls("Filter") == 0)
        }
    }
}
