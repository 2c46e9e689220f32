import CKioskFFmpeg
import Glibc
import KioskPlatform
import TestSupport
import Testing

@testable import KioskMedia

/// Decoding into a display's memory: the pictures are unchanged, and memory is reused once nothing uses it any more.
@Suite(.serialized) struct PlanePoolTests {
    /// Memory like a display's.
    private final class Memory: Sendable {
        let base: UInt
        init(_ byteCount: Int) {
            var pointer: UnsafeMutableRawPointer?
            posix_memalign(&pointer, 4096, byteCount)
            base = UInt(bitPattern: pointer)
        }
        deinit { free(UnsafeMutableRawPointer(bitPattern: base)) }
    }

    private static func memory(width: Int, height: Int, gap: Int) -> PlaneMemory {
        let room = PlanePool.room(width: width, height: height)
        let pitch = room.width + gap
        let memory = Memory(pitch * room.height * 3 / 2)
        let layout = PictureLayout(
            byteCount: pitch * room.height * 3 / 2, planeCount: 3, strides: [pitch, pitch / 2, pitch / 2],
            offsets: [0, pitch * room.height, pitch * room.height * 5 / 4])
        return PlaneMemory(base: UnsafeMutableRawPointer(bitPattern: memory.base)!, layout, owner: memory)
    }

    /// Returns a pool of at most `most` buffers, for a size that no other suite uses. Its rows are `gap` bytes longer than in ordinary
    /// memory.
    private func pool(_ width: Int, _ height: Int, most: Int = 64, gap: Int = 0) -> PlanePool {
        let made = Monitor(1)
        return PlanePool(AV_PIX_FMT_YUV420P, width: width, height: height, first: Self.memory(width: width, height: height, gap: gap)) {
            made.withLock { count in
                count += 1
                return count <= most ? Self.memory(width: width, height: height, gap: gap) : nil
            }
        }
    }

    private final class Held {
        let frame: VideoFrame
        let number: Int
        init(_ frame: consuming VideoFrame) {
            number = burnedInNumber(frame)
            self.frame = frame
        }
    }

    private func clip(_ codec: [String], _ name: String) throws -> String {
        try Clips.numbered("plane-\(name)", frames: 60, size: "336x190", sound: false, extra: codec)
    }

    /// Returns how many of the clip's 60 pictures lie in the pool. The pool is offered before the decoder begins, or after `begin`
    /// pictures. Each picture must be the same as without a pool, and stay unchanged while it is held.
    private func play(_ path: String, _ pool: PlanePool, threads: Int, offeredAfter begin: Int = 0, closedAfter end: Int = 60) throws -> Int
    {
        var plain = try MediaReader.open(path, samples: nil, decoderThreads: threads)
        var expected: [Held] = []
        while let next = plain.nextFrame() { expected.append(Held(next.intoFrame())) }
        try #require(expected.count == 60)
        if begin == 0 { pool.offer() }
        var reader = try MediaReader.open(path, samples: nil, decoderThreads: threads)
        var (count, inside) = (0, 0)
        var held: [Held] = []
        while let next = reader.nextFrame(), count < 60 {
            let frame = next.intoFrame()
            let takesPlaneMemory = frame.takesPlaneMemory
            #expect(takesPlaneMemory && frame.difference(from: expected[count].frame)?.greatest == 0, "\(count)")
            if pool.memory(of: frame) != nil { inside += 1 }
            held.append(Held(frame))
            if held.count > 15 {
                #expect(burnedInNumber(held[0].frame) == held[0].number)
                held.removeFirst()
            }
            count += 1
            if count == begin { pool.offer() }
            if count == end { pool.close() }
        }
        #expect(count == 60)
        pool.close()
        return inside
    }

    static let codecs: [(name: String, options: [String])] = [
        ("h264.mp4", ["-c:v", "libx264", "-bf", "3", "-refs", "5"]), ("hevc.mp4", ["-c:v", "libx265", "-x265-params", "log-level=error"]),
        ("vp9.webm", ["-c:v", "libvpx-vp9", "-deadline", "realtime", "-b:v", "1M"]), ("mpeg2.ts", ["-c:v", "mpeg2video", "-b:v", "4M"]),
        ("mpeg4.mp4", ["-c:v", "mpeg4", "-b:v", "4M"]), ("vp8.webm", ["-c:v", "libvpx", "-b:v", "1M"]),
    ]

    @Test(arguments: [0, 1, 2, 3, 4, 5], [1, 3]) func `the same pictures, without a copy`(codec: Int, threads: Int) throws {
        let (name, options) = Self.codecs[codec]
        let pool = pool(336, 190)
        #expect(try play(clip(options, name), pool, threads: threads) == 60)
        #expect(pool.usedCount == 0)
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5], [1, 3]) func `the same pictures, with rows of a driver's own`(codec: Int, threads: Int) throws {
        let (name, options) = Self.codecs[codec]
        let pool = pool(336, 190, gap: 128)
        #expect(try play(clip(options, name), pool, threads: threads) == 60)
        #expect(pool.usedCount == 0)
    }

    /// Predicted pictures have the memory layout of their references. Runs each codec with one thread or with three; make test-all runs
    /// both.
    @Test(arguments: Proof.some([(0, 3), (1, 1), (2, 3), (3, 1), (4, 3), (5, 1), (0, 1), (1, 3), (2, 1), (3, 3), (4, 1), (5, 3)], 6))
    func `a pool that comes in mid-stream, and goes`(codec: Int, threads: Int) throws {
        let (name, options) = Self.codecs[codec]
        let path = try clip(options, name)
        let inside = try play(path, pool(336, 190), threads: threads, offeredAfter: 10, closedAfter: 40)
        #expect(inside > 15 && inside < 45)
        #expect(try play(path, pool(336, 190, gap: 128), threads: threads, offeredAfter: 10, closedAfter: 40) == 0)
        #expect(try play(path, pool(336, 190, gap: 128), threads: threads, closedAfter: 30) > 20)
    }

    @Test(arguments: [0, 128]) func `where there is no more, decoders have their own`(gap: Int) throws {
        let pool = pool(336, 190, most: 8, gap: gap)
        let inside = try play(clip(Self.codecs[0].options, Self.codecs[0].name), pool, threads: 3)
        #expect(inside > 0 && inside < 60 && pool.usedCount == 0)
    }

    /// One size's pool has the row length of ordinary memory, the other's does not. One pool is offered after the stream has begun.
    @Test(arguments: [["-c:v", "libx264", "-bf", "3", "-refs", "5"], ["-c:v", "mpeg2video", "-b:v", "4M", "-bf", "2"]], [1, 3])
    func `the size changes in mid-stream`(options: [String], threads: Int) throws {
        var bytes: [UInt8] = []
        for (index, size) in ["336x190", "352x208", "336x190"].enumerated() {
            let name = "plane-\(options[1])-\(index).ts"
            bytes += try Clips.bytes(Clips.numbered(name, frames: 20, from: 1 + 20 * index, size: size, sound: false, extra: options))
        }
        let path = try Clips.file("plane-sizes-\(options[1]).ts", bytes)
        var plain = try MediaReader.open(path, samples: nil, decoderThreads: threads)
        var expected: [Held] = []
        while let next = plain.nextFrame() { expected.append(Held(next.intoFrame())) }
        // libavcodec's MPEG-2 decoder drops the frame that it holds back when the size changes.
        #expect(expected.count >= 58)
        let pools = [pool(336, 190), pool(352, 208, gap: 128)]
        pools[1].offer()
        var reader = try MediaReader.open(path, samples: nil, decoderThreads: threads)
        var (count, inside) = (0, [0, 0])
        while let next = reader.nextFrame() {
            for (index, pool) in pools.enumerated() where pool.memory(of: next.frame) != nil { inside[index] += 1 }
            #expect(count < expected.count && next.frame.difference(from: expected[count].frame)?.greatest == 0, "\(count)")
            count += 1
            if count == 5 { pools[0].offer() }
        }
        for pool in pools { pool.close() }
        #expect(count == expected.count && inside[0] > 20 && inside[0] < 40 && inside[1] >= 19)
    }

    @Test func `memory that does not fit is not used`() throws {
        let path = try clip(Self.codecs[0].options, Self.codecs[0].name)
        #expect(try play(path, pool(336, 190, gap: 4), threads: 1) == 0, "rows of another alignment")
        #expect(try play(path, pool(336, 188), threads: 1) == 0, "too small")
        #expect(try play(path, pool(352, 208), threads: 1) == 0, "for pictures of another size, though there is room")
    }

    /// The pool's last picture is its last owner.
    @Test func `a pool that is closed meanwhile`() throws {
        let pool = pool(336, 190)
        pool.offer()
        var reader: MediaReader? = try MediaReader.open(clip(Self.codecs[0].options, Self.codecs[0].name), samples: nil)
        guard let next = reader?.nextFrame() else { throw NoPicture() }
        let frame = next.intoFrame()
        pool.close()
        guard let later = reader?.nextFrame() else { throw NoPicture() }
        reader = nil
        #expect(pool.memory(of: frame) != nil && burnedInNumber(frame) == 1 && burnedInNumber(later.frame) == 2)
        #expect(pool.usedCount >= 1)
        _ = consume frame
        _ = consume later
        #expect(pool.usedCount == 0)
    }

    private struct NoPicture: Error {}

    @Test func `what a filter has drawn does not lie there`() throws {
        let path = try Clips.interlaced(
            "plane-interlaced.ts", fields: 40, encode: ["-c:v", "mpeg2video", "-b:v", "4M", "-flags", "+ildct+ilme"])
        var reader = try MediaReader.open(path, samples: nil)
        guard let next = reader.nextFrame() else { throw NoPicture() }
        let takesPlaneMemory = next.frame.takesPlaneMemory
        #expect(!takesPlaneMemory)
    }
}
