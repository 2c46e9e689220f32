import CKioskFFmpeg
import Foundation
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing
import VADriver

@testable import KioskMedia

/// Decoding with Tests/VADriver, a libva driver without a device: whichever call fails, each frame comes once and in order.
@Suite(.serialized) struct HardwareDecodingTests {
    /// The path that the driver accepts as a device.
    private static let device = "/dev/null"

    init() {
        DecoderShelf.clear()
        va_driver_reset()
        HardwareHistory.forgive()
    }

    private func fail(_ call: String, _ first: Int, count: Int = 1_000_000) { va_driver_fail(call, Int32(first), Int32(count)) }
    private func calls(_ call: String) -> Int { Int(va_driver_calls(call)) }

    private func clip() throws -> String {
        try Clips.numbered("hardware.mp4", frames: 120, size: "320x240", sound: false, extra: ["-g", "50", "-sc_threshold", "0"])
    }

    private func open(
        _ path: String, _ setting: DecoderSetting = .hardware, device: String = device, threads: Int = 2
    ) throws -> MediaReader {
        try MediaReader.open(path, samples: nil, decoderThreads: threads, decoder: DecoderWish(setting, device: device))
    }

    /// Returns the numbers of all remaining frames; downloads those in surfaces. Expects their times to increase.
    private func numbers(_ reader: inout MediaReader, holding most: Int = 0) -> [Int] {
        var numbers: [Int] = []
        var last: MediaTime?
        var held: [Held] = []
        while let next = reader.nextFrame() {
            if let last { #expect(next.time > last) }
            last = next.time
            let frame = next.intoFrame()
            numbers.append(number(frame.downloaded()))
            held.append(Held(frame))
            if held.count > most { held.removeFirst() }
        }
        return numbers
    }

    /// Returns the number in a frame; -1 if there is no frame.
    private func number(_ frame: consuming VideoFrame?) -> Int {
        switch consume frame {
        case .some(let frame): burnedInNumber(frame)
        case .none: -1
        }
    }

    /// A frame that the test holds.
    private final class Held {
        let frame: VideoFrame
        init(_ frame: consuming VideoFrame) { self.frame = frame }
    }

    // MARK: When all is well

    @Test("Pictures come from the device as dmabufs that displays understand, when they are drawn") func dmabufs() throws {
        va_driver_delay(2000)
        var reader = try open(try clip())
        #expect(reader.decoder == "vaapi (test driver)")
        var count = 0
        while let next = reader.nextFrame() {
            count += 1
            let frame = next.intoFrame()
            guard let surface = frame.surface?.pointee else {
                Issue.record("picture \(count) lies in no surface")
                return
            }
            #expect(surface.nb_layers == 1 && surface.layers.0.nb_planes == 2 && surface.nb_objects == 1)
            #expect(surface.layers.0.format == AVDRMFrameDescriptor.fourCC("NV12"))
            #expect(surface.layers.0.planes.0.offset == 0 && surface.layers.0.planes.1.offset > 0 && surface.layers.0.planes.1.pitch >= 320)
            #expect(frame.pixelFormat == AV_PIX_FMT_NV12 && frame.width == 320 && frame.height == 240)
            #expect(frame.isPooled && frame.byteCount == 320 * 240 * 3 / 2)
            // The content of the dmabuf itself, without the driver's help.
            #expect(number(surface) == count)
            guard let shared = frame.shared(), let plain = shared.downloaded() else {
                Issue.record("it cannot be downloaded")
                return
            }
            let isPlain = plain.surface == nil && plain.pixelFormat == AV_PIX_FMT_NV12 && !plain.isPooled
            let isSameTime = plain.av.pointee.pts == frame.av.pointee.pts
            #expect(isPlain && isSameTime && burnedInNumber(plain) == count)
        }
        #expect(count == 120 && reader.problems.isEmpty)
        #expect(calls("EndPicture") == 120)
    }

    /// Returns the number in the memory of a dmabuf.
    private func number(_ surface: AVDRMFrameDescriptor) -> Int {
        let (size, plane) = (Int(surface.objects.0.size), surface.layers.0.planes.0)
        guard let memory = mmap(nil, size, PROT_READ, MAP_SHARED, surface.objects.0.fd, 0), memory != MAP_FAILED else { return -1 }
        defer { munmap(memory, size) }
        return burnedInNumber(width: 320, height: 240) { x, y in
            Int(memory.load(fromByteOffset: plane.offset + y * plane.pitch + x, as: UInt8.self))
        }
    }

    @Test("As many pictures may be held as the engine holds, and all surfaces come back") func pool() throws {
        do {
            // With fewer references the decoder has surfaces to spare.
            let references = try Clips.numbered(
                "hardware-references.mp4", frames: 120, size: "320x240", sound: false, extra: ["-refs", "16", "-level", "5.1"])
            var reader = try open(references)
            #expect(numbers(&reader, holding: PicturePool.extra) == Array(1...120))
            #expect(reader.decoder == "vaapi (test driver)" && reader.problems.isEmpty)
        }
        DecoderShelf.clear()
        #expect(va_driver_surfaces() == 0)
    }

    @Test("Software is software") func software() throws {
        var reader = try open(try clip(), .software)
        #expect(numbers(&reader) == Array(1...120))
        #expect(reader.decoder == "software" && reader.problems.isEmpty)
        for call in ["CreateConfig", "CreateSurfaces", "CreateContext", "BeginPicture"] { #expect(calls(call) == 0) }
    }

    @Test("Two items are decoded at once") func twoReaders() throws {
        var first = try open(try clip())
        var second = try open(try clip())
        #expect(numbers(&first) == Array(1...120))
        #expect(numbers(&second) == Array(1...120))
        #expect(first.decoder == "vaapi (test driver)" && second.decoder == "vaapi (test driver)")
    }

    @Test("A size that changes in mid-stream") func sizeChange() throws {
        let small = try Clips.numbered("hardware-small.ts", frames: 30, size: "320x240", sound: false)
        let large = try Clips.numbered("hardware-large.ts", frames: 30, from: 31, size: "640x480", sound: false)
        let both = try Clips.file("hardware-sizes.ts", try Clips.bytes(small) + Clips.bytes(large))
        var reader = try open(both)
        let found = numbers(&reader)
        #expect(found.count == 60 && Array(found.prefix(30)) == Array(1...30))
        #expect(reader.decoder == "vaapi (test driver)")
        #expect(calls("CreateContext") == 2)
    }

    // MARK: When something fails

    struct Fault: Sendable, CustomTestStringConvertible {
        var call: String
        var first: Int
        var count = 1_000_000
        var testDescription: String { "\(call) \(first)\(count == 1 ? " once" : "")" }
    }

    /// The first call, one soon after the first frame, and one in the second group. There are several buffers for each frame. SyncSurface
    /// runs when a surface is given out (odd calls) and when the test downloads it.
    static let faults =
        [
            ("BeginPicture", [1, 7, 60]), ("RenderPicture", [1, 15, 120]), ("EndPicture", [1, 7, 60]), ("CreateBuffer", [1, 40, 300]),
            ("Export", [1, 7, 60]), ("SyncSurface", [1, 7, 121]),
        ].flatMap { call, firsts in
            firsts.flatMap { [Fault(call: call, first: $0), Fault(call: call, first: $0, count: 1)] }
        } + ["CreateConfig", "CreateSurfaces", "CreateContext"].map { Fault(call: $0, first: 1) }

    @Test("Whatever fails, each picture comes once and in order, and it is said", arguments: faults) func fault(_ fault: Fault) throws {
        fail(fault.call, fault.first, count: fault.count)
        var reader = try open(try clip())
        #expect(numbers(&reader) == Array(1...120))
        #expect(reader.decoder == "software")
        #expect(reader.problems.count == 1, "\(reader.problems)")
        let says = reader.problems.first ?? ""
        let isOpening = fault.first == 1
        #expect(
            says.hasPrefix(
                isOpening ? "is decoded in software: vaapi (test driver): " : "its hardware decoder, vaapi (test driver), failed ("))
    }

    @Test("With auto a device that refuses from the beginning is not worth a word, one that breaks down is") func automatic() throws {
        fail("CreateContext", 1)
        var reader = try open(try clip(), .automatic)
        #expect(numbers(&reader) == Array(1...120))
        #expect(reader.problems.isEmpty && reader.decoder == "software")
        va_driver_reset()
        fail("EndPicture", 30)
        reader = try open(try clip(), .automatic)
        #expect(numbers(&reader) == Array(1...120))
        #expect(reader.problems.count == 1)
    }

    @Test("What the hardware failed at is decoded in software for a while") func memory() throws {
        fail("EndPicture", 30, count: 1)
        var reader = try open(try clip())
        _ = numbers(&reader)
        fail("EndPicture", 0, count: 0)
        reader = try open(try clip())
        #expect(numbers(&reader) == Array(1...120))
        #expect(reader.decoder == "software" && calls("EndPicture") == 0)
        #expect(reader.problems.count == 1 && reader.problems[0].contains("failed a while ago"))
        HardwareHistory.forgive()
        reader = try open(try clip())
        #expect(reader.decoder == "vaapi (test driver)")
    }

    @Test("A profile or a codec that the device does not have") func refusal() throws {
        va_driver_offer(0)
        var reader = try open(try clip())
        #expect(numbers(&reader) == Array(1...120))
        #expect(reader.decoder == "software" && reader.problems.count == 1)
        va_driver_offer(1)
        let mpeg4 = try Clips.make("hardware-mpeg4.mp4", ["-f", "lavfi", "-i", "testsrc2=s=320x240:r=30:d=1", "-c:v", "mpeg4"])
        reader = try open(mpeg4, .automatic)
        #expect(numbers(&reader).count == 30)
        #expect(reader.decoder == "software" && reader.problems.isEmpty)
    }

    @Test("A device that is not there") func noDevice() throws {
        var reader = try open(try clip(), .automatic, device: "/dev/dri/renderD191")
        #expect(numbers(&reader) == Array(1...120))
        #expect(reader.decoder == "software" && reader.problems.isEmpty)
        reader = try open(try clip(), .hardware, device: "/dev/dri/renderD191")
        #expect(numbers(&reader) == Array(1...120))
        #expect(reader.problems.count == 1 && reader.problems[0].hasPrefix("is decoded in software: "))
    }

    @Test("Where too little is kept, software goes on at the next key frame") func gap() throws {
        var wish = DecoderWish(.hardware, device: Self.device)
        wish.keptBytes = 1000
        fail("EndPicture", 30)
        var reader = try MediaReader.open(try clip(), samples: nil, decoder: wish)
        let found = numbers(&reader)
        let before = Array(found.prefix { $0 < 51 })
        #expect(before.count > 10 && before == Array(1...before.count))
        #expect(Array(found.dropFirst(before.count)) == Array(51...120))
        #expect(reader.problems.count == 1 && reader.problems[0].hasSuffix(": decoded in software from here on, after a gap"))
    }

    @Test("A driver that hangs holds up one item for two seconds, and no other") func hang() throws {
        let begin = HostTime.now
        var reader = try open(try clip(), device: "/dev/zero")
        let first = HostTime.now - begin
        #expect(first >= HardwareDevice.timeLimit && first < .seconds(60))
        #expect(numbers(&reader) == Array(1...120))
        #expect(reader.problems == ["is decoded in software: vaapi: /dev/zero: its driver did not answer for 2 s"])
        // kiosk does not wait for the driver again, so this is faster whatever else the machine does.
        let second = HostTime.now
        reader = try open(try clip(), device: "/dev/zero")
        #expect(reader.decoder == "software" && HostTime.now - second < first)
    }

    @Test("Too few surfaces at the beginning, or all of them held") func exhaustion() throws {
        va_driver_limit_surfaces(3)
        var reader = try open(try clip())
        #expect(numbers(&reader) == Array(1...120))
        #expect(reader.decoder == "software")
        va_driver_reset()
        // FFmpeg 7 allocates more surfaces on demand, until the driver has no more.
        va_driver_limit_surfaces(60)
        reader = try open(try clip())
        #expect(numbers(&reader, holding: 80) == Array(1...120))
        #expect(reader.decoder == "software" && reader.problems.count == 1)
    }

    // MARK: Seeks

    @Test("Seeks meet their picture, before and after a failure") func seeks() throws {
        // The driver learns the numbers of the key frames.
        var reader = try open(try clip())
        #expect(numbers(&reader) == Array(1...120))
        for (failing, seconds) in [(false, 3.0), (false, 1.0), (false, 2.5), (true, 0.5), (false, 3.5), (false, 0)] {
            if failing { fail("EndPicture", 3) }
            #expect(try reader.seek(to: .seconds(seconds), precision: .exact) == .seconds(seconds))
            #expect(numbers(&reader) == Array((Int(seconds * 30) + 1)...120), "\(seconds)")
        }
        #expect(reader.decoder == "software" && reader.problems.count == 1)
    }

    @Test("A failure while frames are left out on the way to a seek's target") func failureWithinSeek() throws {
        var reader = try open(try clip())
        #expect(numbers(&reader) == Array(1...120))
        for first in [1, 5, 20] {
            va_driver_reset()
            reader = try open(try clip())
            fail("EndPicture", first)
            _ = try reader.seek(to: .seconds(3.2), precision: .exact)
            #expect(numbers(&reader) == Array(97...120))
            #expect(reader.decoder == "software")
        }
    }

    // MARK: Damage

    @Test("A damaged stream ends no worse than in software", arguments: [1, 2, 3, 4, 5]) func damage(seed: Int) throws {
        var bytes = try Clips.bytes(clip())
        var random = UInt64(seed)
        for _ in 0..<20 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let place = bytes.count / 10 + Int(random >> 33) % (bytes.count * 6 / 10)
            bytes[place] ^= UInt8(truncatingIfNeeded: random >> 20) | 1
        }
        let damaged = try Clips.file("hardware-damaged-\(seed).mp4", bytes)
        var software = try open(damaged, .software, threads: 1)
        let expected = numbers(&software).count
        var reader = try open(damaged, .automatic, threads: 1)
        #expect(numbers(&reader).count >= expected)
    }

    @Test("A file that is cut off") func truncation() throws {
        let whole = try Clips.numbered(
            "hardware-cut.mp4", frames: 120, size: "320x240", sound: false, extra: ["-movflags", "+faststart"])
        let cut = try Clips.file("hardware-cut-off.mp4", Array(try Clips.bytes(whole).dropLast(20_000)))
        var reader = try open(cut)
        var found = numbers(&reader)
        if reader.decoder == "software" { found.removeLast() }  // the truncated last frame
        #expect(found.count > 20 && found == Array(1...found.count))
    }
}
