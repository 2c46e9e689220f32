import CKioskFFmpeg
import CTestSupport
import Foundation
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskReaders

/// Pictures that a process draws into memory of a display. Files in memory replace that here.
@Suite(.blocking, .needs("a build without sanitizers, whose threads keep it from forking", !test_is_sanitized()))
struct LentPlanesTests {
    private final class Memory: Sendable {
        let file: SharedDescriptor
        let base: UInt
        private let count: Int

        init?(_ count: Int) {
            guard let file = Descriptor(adopting: test_memory_file(count, true)) else { return nil }
            let memory = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, file.raw, 0)
            guard let memory, memory != MAP_FAILED else { return nil }
            (self.file, base, self.count) = (SharedDescriptor(file), UInt(bitPattern: memory), count)
        }

        deinit { munmap(UnsafeMutableRawPointer(bitPattern: base), count) }
    }

    /// Makes a pool of at most `most` buffers, with `gap` more bytes a row than ordinary memory. No other suite uses pictures of its size.
    private func pool(_ width: Int, _ height: Int, most: Int = 64, gap: Int = 0, isShared: Bool = true) -> PlanePool {
        let room = PlanePool.room(width: width, height: height)
        let pitch = room.width + gap, bytes = pitch * room.height * 3 / 2
        let layout = PictureLayout(
            byteCount: bytes, planeCount: 3, strides: [pitch, pitch / 2, pitch / 2],
            offsets: [0, pitch * room.height, pitch * room.height * 5 / 4])
        let made = Monitor(0)
        return PlanePool(AV_PIX_FMT_YUV420P, width: width, height: height, layout) {
            let count = made.withLock { count in
                count += 1
                return count
            }
            guard count <= most, let memory = Memory(bytes) else { return nil }
            return PlaneMemory(base: UnsafeMutableRawPointer(bitPattern: memory.base)!, layout, owner: memory) {
                isShared ? memory.file : nil
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

    /// Returns which of a clip's 60 pictures lie in the pool, offered and closed after so many pictures.
    ///
    /// Each picture must be the right one, and stay unchanged while it is held.
    private func play(
        _ width: Int, _ height: Int, _ pool: PlanePool, threads: Int = 2, offeredAfter begin: Int = 0, closedAfter end: Int = 60
    ) throws -> [Int] {
        let path = try Clips.numbered("lent-\(width).mp4", frames: 60, size: "\(width)x\(height)", sound: false, extra: ["-bf", "2"])
        if begin == 0 { pool.offer() }
        var order = OpenOrder(.play, path)
        (order.threads, order.takesTime) = (threads, true)
        let client = try ReaderClient(order, by: .shared, Interruption())
        var inPool: [Int] = [], held: [Held] = []
        for count in 0..<60 {
            if count == begin, begin > 0 { pool.offer() }
            if count == end { pool.close() }
            guard let next = client.nextFrame() else { break }
            let frame = Held(next.intoFrame())
            #expect(frame.number == count + 1 && frame.frame.takesPlaneMemory)
            if pool.memory(of: frame.frame) != nil { inPool.append(frame.number) }
            held.append(frame)
            // Holds as many as a display and a queue do.
            if held.count > 8 { held.removeFirst() }
            for frame in held { #expect(burnedInNumber(frame.frame) == frame.number) }
        }
        #expect(client.nextFrame() == nil && client.death == nil && client.prematureEnd == nil)
        if end == 60 { pool.close() }
        return inPool
    }

    @Test(arguments: [1, 4]) func `a process draws where the display shows it`(threads: Int) throws {
        let pool = pool(332 + 4 * threads, 186)
        #expect(try play(332 + 4 * threads, 186, pool, threads: threads) == Array(1...60))
        #expect(pool.usedCount == 0, "what it had is the pool's again")
    }

    @Test func `rows may be as far apart as the display wants them`() throws {
        #expect(try play(352, 186, pool(352, 186, gap: 128)) == Array(1...60))
    }

    /// A display offers memory after its first picture, and takes it back when another display replaces it.
    @Test func `what is offered later is used from then on, and what is taken back no more`() throws {
        let inPool = try play(356, 186, pool(356, 186), offeredAfter: 10, closedAfter: 40)
        let first = try #require(inPool.first), last = try #require(inPool.last)
        // Decoding order differs from presentation order.
        #expect(11...30 ~= first && 40..<60 ~= last && inPool.count > (last - first) / 2, "\(inPool)")
    }

    @Test func `where there is no more, pictures lie elsewhere`() throws {
        let few = try play(360, 186, pool(360, 186, most: 3))
        #expect(few.count < 60, "\(few)")
        #expect(try play(364, 186, pool(364, 186, isShared: false)) == [])
    }

    /// The reader names a buffer that it was not lent, or another size.
    @Test func `what a reader claims is checked`() throws {
        let pool = pool(368, 186)
        pool.offer()
        defer { pool.close() }
        let planes = LentPlanes()
        let held = PlayerPictures(try #require(try page()), PictureRules(arenaBytes: 1 << 20, pictureMemory: 1 << 20)).held
        var record = PictureRecord(format: AV_PIX_FMT_YUV420P.rawValue, width: 368, height: 186)
        (record.place, record.buffer) = (.planeBuffer, 0)
        let before = planes.frame(record, codec: "", held) == nil
        let offer = PlaneOffer(pool)
        let lent = planes.lend(offer)
        let after = planes.frame(record, codec: "", held) != nil
        #expect(before && lent?.0 == 0 && after)
        for change in [{ $0.buffer = 1 }, { $0.width = 366 }, { $0.format = AV_PIX_FMT_YUV444P.rawValue }]
            as [(inout PictureRecord) -> Void]
        {
            var other = record
            change(&other)
            let isRefused = planes.frame(other, codec: "", held) == nil
            #expect(isRefused)
        }
        var foreign = offer
        foreign.byteCount += 1
        let refused = planes.lend(foreign) == nil
        #expect(refused)
    }

    private func page() throws -> ControlPage? {
        guard let file = ControlPage.makeFile(ControlLayout(channelCount: 1)) else { throw SystemError() }
        return ControlPage(mapping: file)
    }
}
