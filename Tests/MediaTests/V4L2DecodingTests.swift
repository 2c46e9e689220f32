import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing
import V4L2Driver

@testable import KioskMedia

extension HardwareDecodingTests {
    /// Decoding with Tests/V4L2Driver, a stateful V4L2 decoder without a device: whichever call fails, each frame comes once and in order.
    /// The device exists for the whole process, and other suites would decode with it: run this suite alone (`make unit` does so).
    @Suite(
        .enabled(
            if: getenv("KIOSK_TEST_V4L2") != nil, "by themselves only: KIOSK_TEST_V4L2=1 swift test --filter HardwareDecodingTests.V4L2"))
    final class V4L2 {
        private static let name = "v4l2 (h264_v4l2m2m)"

        init() {
            DecoderShelf.clear()
            HardwareHistory.forgive()
            v4l2_driver_reset()
            v4l2_driver_plug(1)
            // A call of the previous test may still be hanging.
            let deadline = HostTime.now + .seconds(120)
            while DriverCall.hangs("h264_v4l2m2m"), HostTime.now < deadline { usleep(10_000) }
        }

        deinit { v4l2_driver_plug(0) }

        private func clip(_ name: String = "hardware.mp4", size: String = "320x240") throws -> String {
            try Clips.numbered(name, frames: 120, size: size, sound: false, extra: ["-g", "50", "-sc_threshold", "0"])
        }

        /// Opens a clip. The driver itself is fast, but a busy host may stall it for a second, so the limit is 8 s. With `mayHang`, for
        /// tests in which the driver hangs, the players' own limit applies.
        private func open(_ path: String, _ setting: DecoderSetting = .hardware, mayHang: Bool = false) throws -> MediaReader {
            var wish = DecoderWish(setting, device: "/dev/dri/renderD191")
            if !mayHang { wish.driverLimit = .seconds(8) }
            return try MediaReader.open(path, samples: nil, decoderThreads: 2, decoder: wish)
        }

        /// The frames of an item.
        private struct Seen {
            var numbers: [Int] = []
            /// The number of frames that the hardware decoded.
            var pooled = 0
            /// The longest time that one frame took.
            var longest = MediaTime.zero
        }

        private final class Held {
            let frame: VideoFrame
            init(_ frame: consuming VideoFrame) { self.frame = frame }
        }

        private func read(_ reader: inout MediaReader, holding most: Int = 0, then: (Int) -> Void = { _ in }) -> Seen {
            var seen = Seen()
            var last: MediaTime?
            var held: [Held] = []
            var begin = HostTime.now
            while let next = reader.nextFrame() {
                seen.longest = max(seen.longest, HostTime.now - begin)
                if let last { #expect(next.time > last) }
                last = next.time
                let frame = next.intoFrame()
                seen.numbers.append(burnedInNumber(frame))
                if frame.isPooled { seen.pooled += 1 }
                held.append(Held(frame))
                if held.count > most { held.removeFirst() }
                then(seen.numbers.count)
                begin = .now
            }
            return seen
        }

        // MARK: When all is well

        @Test("Pictures and times are software's, to the bit") func equal() throws {
            var reader = try open(try clip())
            var software = try open(try clip(), .software)
            #expect(reader.decoder == Self.name && software.decoder == "software")
            var count = 0
            while let next = reader.nextFrame(), let expected = software.nextFrame() {
                count += 1
                #expect(next.time == expected.time && next.duration == expected.duration)
                #expect(next.frame.isPooled && next.frame.surface == nil && next.frame.width == 320 && next.frame.height == 240)
                #expect(next.frame.difference(from: expected.frame)?.greatest == 0)
            }
            #expect(count == 120 && reader.problems.isEmpty)
        }

        @Test("Colours are the stream's, and rows that the driver adds are not seen") func colours() throws {
            let tall = try Clips.numbered(
                "hardware-v4l2.mp4", frames: 10, size: "320x180", sound: false,
                extra: ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"])
            var reader = try open(tall)
            guard let next = reader.nextFrame() else { throw CancellationError() }
            let frame = next.intoFrame()
            #expect(frame.isPooled && frame.height == 180)
            #expect(frame.av.pointee.colorspace == AVCOL_SPC_BT709 && frame.av.pointee.color_range == AVCOL_RANGE_MPEG)
        }

        @Test("As many pictures may be held as the engine holds, and the device is closed with the last") func pool() throws {
            do {
                var reader = try open(try clip())
                let seen = read(&reader, holding: PicturePool.extra)
                #expect(seen.numbers == Array(1...120) && seen.pooled == 120)
            }
            #expect(isFree() && v4l2_driver_decoders() == 0)
        }

        /// Returns whether all decoders become free. Another thread returns the frames.
        private func isFree() -> Bool {
            let deadline = HostTime.now + .seconds(120)
            while DecoderShelf.inUse > 0, HostTime.now < deadline { usleep(1000) }
            return DecoderShelf.inUse == 0
        }

        @Test("Seeks meet their picture") func seeks() throws {
            var reader = try open(try clip())
            for seconds in [3.0, 1.0, 2.5, 3.9, 0.5, 0] {
                #expect(try reader.seek(to: .seconds(seconds), precision: .exact) == .seconds(seconds))
                let seen = read(&reader)
                #expect(seen.numbers == Array((Int(seconds * 30) + 1)...120) && seen.pooled == seen.numbers.count, "\(seconds)")
            }
            // Also from the middle.
            _ = try reader.seek(to: .zero, precision: .exact)
            for _ in 1...20 { _ = reader.nextFrame() }
            _ = try reader.seek(to: .seconds(2), precision: .exact)
            #expect(read(&reader).numbers == Array(61...120))
            #expect(reader.decoder == Self.name && reader.problems.isEmpty)
        }

        // MARK: When something fails

        struct Fault: Sendable, CustomTestStringConvertible {
            var call: String
            var first: Int
            var count = 1_000_000
            var testDescription: String { "\(call) \(first)\(count == 1 ? " once" : "")" }
        }

        /// There are 16 buffers of coded data, and as many calls before the first frame.
        static let faults =
            [("QBUF", [1, 2, 60, 200]), ("DQBUF", [1, 2, 60, 200, 236]), ("POLL", [1, 2, 100, 300])].flatMap { call, firsts in
                firsts.flatMap { [Fault(call: call, first: $0), Fault(call: call, first: $0, count: 1)] }
            }
            + ["QUERYCAP", "S_FMT", "REQBUFS", "STREAMON", "ENUM_FMT"].flatMap { [Fault(call: $0, first: 1), Fault(call: $0, first: 2)] }
            + ["OPEN", "G_FMT", "SUBSCRIBE_EVENT"].map { Fault(call: $0, first: 1) } + [Fault(call: "DECODER_CMD", first: 2)]

        @Test("Whatever fails, each picture comes once and in order", arguments: faults) func fault(_ fault: Fault) throws {
            v4l2_driver_fail(fault.call, Int32(fault.first), Int32(fault.count), EIO)
            // Without this command the reader waits for the last frames in vain.
            var reader = try open(try clip(), mayHang: fault.call == "DECODER_CMD")
            let seen = read(&reader)
            #expect(seen.numbers == Array(1...120))
            #expect(seen.longest < DriverCall.openingLimit)
            #expect(reader.problems.count <= 1, "\(reader.problems)")
            if reader.decoder == "software", seen.pooled > 0, fault.count > 1, fault.call != "DECODER_CMD", fault.first != 236 {
                #expect(reader.problems.first?.hasPrefix("its hardware decoder, \(Self.name), failed (") == true, "\(reader.problems)")
            }
        }

        @Test("A device that is lost in mid-item", arguments: [1, 20, 100]) func lost(at picture: Int) throws {
            var reader = try open(try clip())
            let seen = read(&reader, holding: 6) { if $0 == picture { v4l2_driver_plug(0) } }
            #expect(seen.numbers == Array(1...120) && seen.pooled < 120)
            #expect(reader.decoder == "software" && reader.problems.count == 1, "\(reader.problems)")
        }

        @Test("A driver that hangs in mid-item holds it up for a second, and later items not at all", arguments: ["POLL", "DQBUF"])
        func hang(_ call: String) throws {
            v4l2_driver_fail(call, 150, 1, 0)
            var reader = try open(try clip(), mayHang: true)
            let seen = read(&reader)
            #expect(seen.numbers == Array(1...120) && (1..<120).contains(seen.pooled))
            #expect(seen.longest >= DriverCall.limit && seen.longest < DriverCall.limit + .seconds(60))
            #expect(
                reader.problems == [
                    "its hardware decoder, \(Self.name), failed (its driver did not answer for 1 s): decoded in software from here on"
                ])
            HardwareHistory.forgive()
            reader = try open(try clip())
            #expect(reader.decoder == "software")
            #expect(reader.problems.count == 1 && reader.problems[0].contains("has not answered since it was called last"))
            // kiosk uses the driver again once it answers.
            v4l2_driver_plug(1)
            let deadline = HostTime.now + .seconds(120)
            while DriverCall.hangs("h264_v4l2m2m"), HostTime.now < deadline { usleep(10_000) }
            reader = try open(try clip())
            #expect(reader.decoder == Self.name && read(&reader).numbers == Array(1...120))
            #expect(v4l2_driver_decoders() <= 1)
        }

        @Test("A driver that hangs when a picture is given back holds up nobody but the decoder") func hangAtReturn() throws {
            var reader = try open(try clip(), mayHang: true)
            var held: [Held] = []
            for _ in 1...12 {
                guard let next = reader.nextFrame() else { throw CancellationError() }
                held.append(Held(next.intoFrame()))
            }
            #expect(held.allSatisfy { $0.frame.isPooled })
            v4l2_driver_fail("QBUF", 1, 1, 0)
            let begin = HostTime.now
            held = []
            // The driver never answers this call.
            #expect(HostTime.now - begin < .seconds(60))
            let seen = read(&reader)
            #expect(seen.numbers == Array(13...120) && seen.longest < DriverCall.limit + .seconds(60), "\(seen)")
            #expect(reader.decoder == "software" && reader.problems.count == 1, "\(reader.problems)")
            // The driver answers after all.
            v4l2_driver_plug(1)
            #expect(isFree())
            let deadline = HostTime.now + .seconds(120)
            while DriverCall.hangs("h264_v4l2m2m"), HostTime.now < deadline { usleep(10_000) }
            HardwareHistory.forgive()
            reader = try open(try clip())
            #expect(reader.decoder == Self.name && read(&reader).numbers == Array(1...120))
        }

        @Test("A driver that hangs when it is opened, or at the first picture", arguments: ["QUERYCAP", "S_FMT", "STREAMON"])
        func hangAtOpening(_ call: String) throws {
            v4l2_driver_fail(call, 1, 1, 0)
            let begin = HostTime.now
            var reader = try open(try clip(), mayHang: true)
            let first = HostTime.now - begin
            #expect(first >= DriverCall.openingLimit && first < .seconds(10))
            #expect(read(&reader).numbers == Array(1...120))
            #expect(reader.problems.count == 1 && reader.problems[0].contains("did not answer for 2 s"), "\(reader.problems)")
        }

        @Test("Too few buffers, or all of them held") func exhaustion() throws {
            v4l2_driver_limit_buffers(0)
            var reader = try open(try clip())
            #expect(read(&reader).numbers == Array(1...120) && reader.decoder == "software")
            v4l2_driver_limit_buffers(4)
            HardwareHistory.forgive()
            reader = try open(try clip())
            #expect(read(&reader, holding: 2).numbers == Array(1...120))
            v4l2_driver_reset()
            HardwareHistory.forgive()
            reader = try open(try clip())
            let seen = read(&reader, holding: 80)
            #expect(seen.numbers == Array(1...120) && seen.pooled >= PicturePool.extra, "\(seen) \(reader.problems)")
            #expect(reader.decoder == "software" && reader.problems.count == 1)
        }

        @Test("A size that changes in mid-stream") func sizeChange() throws {
            let small = try Clips.numbered("hardware-small.ts", frames: 30, size: "320x240", sound: false)
            let large = try Clips.numbered(
                "hardware-later.ts", frames: 30, from: 31, size: "640x480", sound: false, extra: ["-output_ts_offset", "2"])
            var reader = try open(try Clips.file("hardware-v4l2-sizes.ts", try Clips.bytes(small) + Clips.bytes(large)))
            let seen = read(&reader, holding: 6)
            #expect(seen.numbers.count == 60 && Array(seen.numbers.prefix(30)) == Array(1...30), "\(seen) \(reader.problems)")
        }

        @Test("Without times of presentation software decodes") func noTimes() throws {
            let plain = try Clips.numbered("hardware-times.avi", frames: 60, size: "320x240", sound: false)
            var reader = try open(plain)
            #expect(read(&reader).numbers == Array(1...60))
        }

        @Test("A codec that the device does not have") func refusal() throws {
            let mpeg4 = try Clips.make("hardware-mpeg4.mp4", ["-f", "lavfi", "-i", "testsrc2=s=320x240:r=30:d=1", "-c:v", "mpeg4"])
            var reader = try open(mpeg4, .automatic)
            #expect(read(&reader).numbers.count == 30)
            #expect(reader.decoder == "software" && reader.problems.isEmpty)
        }

        // MARK: Seams

        /// Plays a clip repeatedly as the engine does: the next showing opens while the present one decodes. Returns the number of hardware
        /// frames of each showing. `isFreed` waits at each seam until the device is free, for a device with one decoder.
        private func play(seams: Int, isFreed: Bool = false) throws -> [Int] {
            var pooled: [Int] = []
            var present = try open(try clip())
            for number in 1...seams {
                var next = try open(try clip())
                let seen = read(&present)
                #expect(seen.numbers == Array(1...120), "showing \(number)")
                #expect(present.problems.isEmpty, "\(present.problems)")
                pooled.append(seen.pooled)
                swap(&present, &next)
                _ = consume next
                if isFreed { #expect(isFree()) }
            }
            return pooled
        }

        @Test("Two decoders at a seam") func twoDecoders() throws {
            #expect(try play(seams: 6).allSatisfy { $0 == 120 })
        }

        @Test("Where there is one decoder, the first picture is decoded in software and the others by it") func oneDecoder() throws {
            v4l2_driver_limit(1)
            let pooled = try play(seams: 6, isFreed: true)
            #expect(pooled[0] == 120 && pooled.dropFirst().allSatisfy { $0 == 119 }, "\(pooled)")
            #expect(isFree() && !DecoderShelf.isAwaited)
        }

        @Test("A device with one decoder is free when its last picture is") func heldPictures() throws {
            v4l2_driver_limit(1)
            var first: MediaReader? = try open(try clip())
            var held: Held?
            while let next = first?.nextFrame() { held = Held(next.intoFrame()) }
            first = nil
            #expect(held?.frame.isPooled == true && DecoderShelf.inUse == 1)
            var next = try open(try clip())
            let seen = read(&next) {
                guard $0 == 40 else { return }
                held = nil
                // Another thread returns the frames.
                #expect(isFree())
            }
            #expect(seen.numbers == Array(1...120) && (60...71).contains(seen.pooled), "\(seen.pooled)")
        }
    }
}
