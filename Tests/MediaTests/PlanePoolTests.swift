import CKioskFFmpeg
import Glibc
import KioskPlatform
import TestSupport
import Testing

@testable import KioskMedia

/// Decoding into a display's memory: the same pictures, and memory that is used again when nobody uses it any more.
@Suite(.serialized) struct PlanePoolTests {
    /// Memory as a display has it.
    private final class Memory: Sendable {
        let base: UInt
        init(_ byteCount: Int) {
            var pointer: UnsafeMutableRawPointer?
            posix_memalign(&pointer, 4096, byteCount)
            base = UInt(bitPattern: pointer)
        }
        deinit { free(UnsafeMutableRawPointer(bitPattern: base)) }
    }

    private static func memory(width: Int, height: Int, gap: Int = 0) -> PlaneMemory {
        let room = PlanePool.room(width: width, height: height)
        let pitch = room.width + gap
        let memory = Memory(pitch * room.height * 3 / 2)
        return PlaneMemory(
            base: UnsafeMutableRawPointer(bitPattern: memory.base)!, byteCount: pitch * room.height * 3 / 2, planeCount: 3,
            offsets: [0, pitch * room.height, pitch * room.height * 5 / 4], strides: [pitch, pitch / 2, pitch / 2], owner: memory)
    }

    /// A pool for a size that no other suite has, of so many buffers.
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
        init(_ frame: consuming VideoFrame, _ number: Int) {
            self.frame = frame
            self.number = number
        }
    }

    private func clip(_ codec: [String], _ name: String) throws -> String {
        try Clips.numbered("plane-\(name)", frames: 60, size: "336x190", sound: false, extra: codec)
    }

    /// How many of its 60 pictures lie in the pool; each is software's to the bit, and stays as it is while it is held.
    private func play(_ path: String, _ pool: PlanePool, threads: Int, holding most: Int = 15) throws -> Int {
        var plain = try MediaReader.open(path, samples: nil, decoderThreads: threads)
        pool.offer()
        var reader = try MediaReader.open(path, samples: nil, decoderThreads: threads)
        var (count, inside) = (0, 0)
        var held: [Held] = []
        while let next = reader.nextFrame(), let expected = plain.nextFrame() {
            count += 1
            let frame = next.intoFrame()
            if pool.memory(of: frame) != nil { inside += 1 }
            #expect(frame.takesPlaneMemory && frame.difference(from: expected.frame)?.greatest == 0, "\(count)")
            held.append(Held(frame, burnedInNumber(expected.frame)))
            if held.count > most {
                #expect(burnedInNumber(held[0].frame) == held[0].number)
                held.removeFirst()
            }
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

    @Test func `where there is no more, decoders have their own`() throws {
        let pool = pool(336, 190, most: 8)
        let inside = try play(clip(Self.codecs[0].options, Self.codecs[0].name), pool, threads: 3)
        #expect(inside > 0 && inside < 60 && pool.usedCount == 0)
    }

    @Test func `memory that does not fit is not used`() throws {
        let path = try clip(Self.codecs[0].options, Self.codecs[0].name)
        #expect(try play(path, pool(336, 190, gap: 4), threads: 1) == 0, "rows of another alignment")
        #expect(try play(path, pool(336, 188), threads: 1) == 0, "too small")
        #expect(try play(path, pool(352, 208), threads: 1) == 0, "for pictures of another size, though there is room")
    }

    /// Its last picture is the last that holds it.
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
