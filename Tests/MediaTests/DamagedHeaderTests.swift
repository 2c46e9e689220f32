import CKioskFFmpeg
import Glibc
import KioskPlatform
import TestSupport
import Testing

@testable import KioskMedia

/// Impossible numbers in headers and timestamps. kiosk must read each file to its end without a trap, a hang or exhausted memory.
@Suite struct DamagedHeaderTests {
    private static let format = AudioFormat(sampleRate: 48_000, channelCount: 2)

    /// Reads everything; returns the frames' numbers, the number of samples and the description.
    private func readAll(_ path: String, threads: Int = 1) throws -> (frames: [Int], samples: Int, description: AssetDescription) {
        var reader = try MediaReader.open(path, samples: Self.format, decoderThreads: threads)
        var samples = [Float](repeating: 0, count: 2 * 2048)
        var (numbers, total): ([Int], Int) = ([], 0)
        // Reads sound and picture in turn, as the player does. Bounded, because an absurd gap may be filled with endless silence.
        for _ in 0..<500 {
            let number = nextNumber(&reader)
            if let number { numbers.append(number) }
            let count = samples.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
            total += count
            if number == nil, count == 0 { break }
        }
        for target in [MediaTime.seconds(0.5), MediaTime(nanoseconds: .max / 4), .zero] {
            _ = try? reader.seek(to: target, precision: .exact)
            _ = reader.nextFrame()
        }
        return (numbers, total, reader.description)
    }

    private func nextNumber(_ reader: inout MediaReader) -> Int? {
        guard let frame = reader.nextFrame() else { return nil }
        return burnedInNumber(frame.frame)
    }

    /// Flips each bit of the length in a Matroska header in turn.
    @Test func matroskaDuration() throws {
        let clean = try Clips.bytes(
            try Clips.make("four.mkv", ["-f", "lavfi", "-i", "testsrc2=s=64x64:r=10:d=4", "-c:v", "mpeg4", "-g", "10"]))
        let place = try #require(clean.firstIndex(of: [0x44, 0x89, 0x88])) + 3
        for bit in 0..<64 {
            var bytes = clean
            bytes[place + bit / 8] ^= 1 << (bit % 8)
            let found = try readAll(try Clips.file("duration.mkv", bytes))
            #expect(found.frames.count == 40, "bit \(bit)")
            #expect(found.description.duration.map { $0 <= .longestPlausible } ?? true)
        }
    }

    @Test(arguments: [Int32.max, 1 << 20, 0, -1])
    func aviScale(scale: Int32) throws {
        var bytes = try Clips.bytes(try Clips.named("mpeg4.avi"))
        let header = try #require(bytes.firstIndex(of: Array("strh".utf8)))
        bytes.replace(at: header + 28, with: scale.littleEndian)
        #expect(try readAll(try Clips.file("scale-\(scale).avi", bytes)).frames.count == 24)
    }

    /// The position of the last sound in an Ogg file, in samples.
    @Test(arguments: [Int64(1) << 62, .max, .min + 1, 1 << 50])
    func oggGranule(position: Int64) throws {
        var bytes = try Clips.bytes(try Clips.named("sound-only.opus"))
        let pages = bytes.indices.filter { bytes[$0...].starts(with: Array("OggS".utf8)) }
        for page in pages.dropFirst(2) {
            bytes.replace(at: page + 6, with: position.littleEndian)
            bytes.replace(at: page + 22, with: UInt32(0))
            let segments = bytes[(page + 27)..<(page + 27 + Int(bytes[page + 26]))]
            let end = segments.endIndex + segments.reduce(0) { $0 + Int($1) }
            bytes.replace(at: page + 22, with: oggChecksum(bytes[page..<end]).littleEndian)
        }
        let path = try Clips.file("granule-\(position).opus", bytes)
        do {
            #expect(try readAll(path).description.audio != nil)
        } catch let error as MediaError {
            // libavformat ignores positions that it takes for AV_NOPTS_VALUE and its neighbours.
            #expect(error.reason == .hasNoMedia && position.magnitude == .max / 2)
        }
    }

    private func oggChecksum(_ page: ArraySlice<UInt8>) -> UInt32 {
        page.reduce(0) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte) << 24) { sum, _ in sum & 0x8000_0000 != 0 ? sum << 1 ^ 0x04c1_1db7 : sum << 1 }
        }
    }

    @Test func timesAreClamped() {
        let nanoseconds = shim_rational(1, 1_000_000_000)
        #expect(MediaTime(ticks: 90_000, of: shim_rational(1, 90_000)) == .seconds(1))
        #expect(MediaTime(ticks: kAV_NOPTS_VALUE, of: nanoseconds) == nil && MediaTime(ticks: .max, of: nanoseconds) == nil)
        #expect(MediaTime(ticks: 1, of: shim_rational(0, 0)) == nil && MediaTime(ticks: 1, of: shim_rational(-1, 1)) == nil)
        #expect(MediaTime(ticks: .max, of: shim_rational(.max, 1)) == nil && MediaTime(ticks: 1, of: shim_rational(1, -1)) == nil)
        #expect(MediaTime(nanoseconds: .max).ticks(of: shim_rational(1, .max)) == .max)
        #expect(MediaTime(nanoseconds: .min).ticks(of: shim_rational(1, .max)) == .min + 1)
        #expect(shim_rational(30, 1).frameDuration == MediaTime(nanoseconds: 33_333_333))
        #expect(shim_rational(1, .max).frameDuration == nil && shim_rational(.max, 1).frameDuration == nil)
        #expect(shim_rational(0, 0).frameDuration == nil)
    }

    /// Sample rates and channel counts that no sound has.
    @Test(arguments: [(24, 1), (24, 3999), (24, 768_001), (24, Int32.max), (22, 65)])
    func soundOutOfRange(place: Int, value: Int32) throws {
        var bytes = try Clips.bytes(
            try Clips.make("plain.wav", ["-f", "lavfi", "-i", "sine=d=1", "-bitexact", "-c:a", "pcm_u8"]))
        if place == 24 { bytes.replace(at: 24, with: value.littleEndian) } else { bytes.replace(at: 22, with: UInt16(value).littleEndian) }
        let path = try Clips.file("range-\(place)-\(value).wav", bytes)
        let expected: MediaError.Reason =
            place == 24 ? .soundOutOfRange(sampleRate: Int(value), channelCount: 1) : .soundOutOfRange(sampleRate: 44_100, channelCount: 65)
        #expect(reason(path) == expected)
    }

    /// One packet that holds the whole file becomes sound in pieces.
    @Test func soundIsConvertedInPieces() throws {
        // FLAC's largest block at the lowest rate: sixteen seconds. Each call converts roughly the requested part.
        let path = try Clips.make(
            "slow.flac", ["-f", "lavfi", "-i", "sine=d=60:r=4000", "-frame_size", "65535", "-c:a", "flac"])
        var reader = try MediaReader.open(path, samples: Self.format)
        var samples = [Float](repeating: 0, count: 2 * 2048)
        var (total, most) = (0, 0)
        while true {
            let count = samples.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
            if count == 0 { break }
            total += count
            most = max(most, reader.heldSamples)
        }
        #expect(total == 60 * 48_000)
        #expect(most < 2 * 40_000)
    }

    /// Every packet's duration is a sample shorter than its content: the surplus must not accumulate.
    @Test func paddingDoesNotPileUp() throws {
        let path = try Clips.make("minute.mp4", ["-f", "lavfi", "-i", "sine=d=60:r=48000", "-ac", "2", "-c:a", "aac"])
        var bytes = try Clips.bytes(path)
        let table = try #require(bytes.firstIndex(of: Array("stts".utf8)))
        bytes.replace(at: table + 16, with: UInt32(1023).bigEndian)
        var reader = try MediaReader.open(try Clips.file("padded.mp4", bytes), samples: Self.format)
        var samples = [Float](repeating: 0, count: 2 * 2048)
        var (total, most) = (0, 0)
        while true {
            let count = samples.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
            if count == 0 { break }
            total += count
            most = max(most, reader.heldSamples)
        }
        #expect(total > 59 * 48_000)
        #expect(most < 2 * 16_384, "\(most)")
    }

    /// Two frames near the end cannot be decoded. The frame behind them, already in another thread, must still come out.
    @Test(arguments: [1, 4])
    func picturesBehindAnErrorNearTheEnd(threads: Int) throws {
        var bytes = try Clips.bytes(
            try Clips.numbered(
                "intra.mp4", frames: 20, sound: false,
                extra: ["-g", "1", "-bf", "0", "-x264-params", "slices=1:sliced-threads=0:threads=1"]))
        // The units in the file, each behind its length; those of type 5 are pictures.
        var unit = try #require(bytes.firstIndex(of: Array("mdat".utf8))) + 4
        var pictures: [Int] = []
        while unit + 4 < bytes.count, pictures.count < 20 {
            let length = bytes[unit..<(unit + 4)].reduce(0) { $0 << 8 | Int($1) }
            if bytes[unit + 4] & 31 == 5 { pictures.append(unit) }
            unit += 4 + length
        }
        try #require(pictures.count == 20)
        for index in 17...18 { bytes.replace(at: pictures[index], with: UInt32(0x7fff_ffff).bigEndian) }
        let found = try readAll(try Clips.file("intra-\(threads).mp4", bytes), threads: threads)
        #expect(found.frames == Array(1...17) + [20])
    }

    // MARK: Memory

    @Test func memoryIsAQuarterOfTheSmallestLimit() {
        let meminfo = "MemTotal:        1024000 kB\nMemFree:          27232 kB\n"
        #expect(MemoryLimit.bytes(meminfo: meminfo, controlGroups: [nil, "max\n"]) == 256_000 << 10)
        #expect(MemoryLimit.bytes(meminfo: meminfo, controlGroups: ["max\n", "536870912\n", "9223372036854771712\n"]) == 128 << 20)
        #expect(MemoryLimit.bytes(meminfo: nil, controlGroups: []) == 128 << 20)
        #expect(MemoryLimit.bytes(meminfo: "nonsense", controlGroups: ["0"]) == 128 << 20)
    }

    @Test func pictureMemory() {
        // 2²⁶ pixels of 64 bits: 512 MB, as much again in the decoder, and a copy of 256 MB.
        let hostile = PictureMemory(width: 8192, height: 8192, bitsPerPixel: 64, isCopied: true)
        #expect(hostile.bytes(reducedBy: 0) == 1280 << 20)
        #expect(hostile.pixels(within: 1280 << 20, reducedBy: 0) == 1 << 26)
        let photograph = PictureMemory(width: 8000, height: 6000, bitsPerPixel: 12)
        #expect(photograph.bytes(reducedBy: 0) == 144_000_000 && photograph.bytes(reducedBy: 1) == 36_000_000)
        #expect(photograph.pixels(within: 36_000_000, reducedBy: 1) == 48_000_000)
        let progressive = PictureMemory(width: 8000, height: 6000, bitsPerPixel: 12, isProgressive: true)
        #expect(progressive.bytes(reducedBy: 3) == 146_250_000)
        let absurd = PictureMemory(width: Int(Int32.max), height: Int(Int32.max), bitsPerPixel: 128, count: 20)
        #expect(absurd.bytes(reducedBy: 0) == .max && absurd.pixels(within: 1 << 27, reducedBy: 0) > 0)
    }

    /// kiosk decodes a photograph smaller if it is too large for the machine, and refuses it if its codec cannot scale.
    @Test func largeStills() throws {
        let source = ["-f", "lavfi", "-i", "testsrc2=s=2000x1200", "-frames:v", "1", "-update", "1"]
        let photograph = try Clips.make("large.jpg", source + ["-pix_fmt", "yuvj420p"])
        for (memory, width) in [(8 << 20, 2000), (2 << 20, 1000), (1 << 19, 500), (1 << 17, 250)] {
            var reader = try MediaReader.open(photograph, samples: nil, pictureMemory: memory)
            #expect(reader.description.video?.width == 2000)
            #expect(reader.nextFrame()?.frame.width == width)
        }
        #expect(reason(photograph, pictureMemory: 1 << 16) == .pictureTooLarge(width: 2000, height: 1200, megabytes: 1))
        let drawing = try Clips.make("large.png", source)
        #expect(reason(drawing, pictureMemory: 8 << 20) == .pictureTooLarge(width: 2000, height: 1200, megabytes: 14))
        #expect(reason(drawing, pictureMemory: 16 << 20) == nil)
    }

    /// If memory is too short for a frame in each thread, fewer threads decode.
    @Test func fewerThreadsTakeLess() throws {
        let clip = try Clips.numbered("threads.mp4", frames: 10)
        let picture = 320 * 180 * 3 / 2
        #expect(reason(clip, pictureMemory: 4 * picture, threads: 4) == nil)
        #expect(reason(clip, pictureMemory: 3 * picture, threads: 4) == .pictureTooLarge(width: 320, height: 180, megabytes: 1))
    }

    private func reason(_ path: String, pictureMemory: Int = MemoryLimit.ofItem, threads: Int = 1) -> MediaError.Reason? {
        do throws(MediaError) {
            _ = try MediaReader.open(path, samples: Self.format, decoderThreads: threads, pictureMemory: pictureMemory)
            return nil
        } catch {
            return error.reason
        }
    }
}

extension [UInt8] {
    /// Returns the index at which `bytes` first occur.
    func firstIndex(of bytes: [UInt8]) -> Int? { indices.first { self[$0...].starts(with: bytes) } }

    mutating func replace<Value: FixedWidthInteger>(at place: Int, with value: Value) {
        Swift.withUnsafeBytes(of: value) { replaceSubrange(place..<(place + $0.count), with: $0) }
    }
}
