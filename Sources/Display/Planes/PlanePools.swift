import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform

/// The memory that an output offers to decoders (``PlanePool``), for the last two picture sizes, and whether it is fast enough to read.
///
/// A decoder reads its pictures again, to predict later ones from them. Many drivers map their memory write-combined, and reading that
/// takes about fifty times as long. No driver reports its mapping, so kiosk measures.
///
/// Belongs to the compositor thread.
struct PlanePools {
    private struct Entry {
        var size: VideoBuffers.Size
        var pool: PlanePool
    }

    /// The most recently used first.
    private var entries: [Entry] = []
    /// Whether reads from this display's memory are fast enough; nil until measured.
    private var isCached: Bool?

    /// Returns the buffer that holds a picture; nil if it is not in this output's memory.
    func buffer(of frame: borrowing VideoFrame) -> VideoBuffer? {
        guard frame.takesPlaneMemory else { return nil }
        for entry in entries { if let memory = entry.pool.memory(of: frame) { return memory.owner as? VideoBuffer } }
        return nil
    }

    /// Whether there already is a pool for such pictures.
    func offers(_ frame: borrowing VideoFrame, _ format: VideoFormat) -> Bool {
        entries.contains { $0.size == Self.size(frame, format) }
    }

    private static func size(_ frame: borrowing VideoFrame, _ format: VideoFormat) -> VideoBuffers.Size {
        VideoBuffers.Size(format: format, width: frame.width, height: frame.height, forScaling: false)
    }

    /// Returns the first buffer of a pool for such pictures, to ask the driver about. Throws if there is no memory, or if reading it is
    /// slow.
    mutating func first(
        _ frame: borrowing VideoFrame, _ format: VideoFormat, on hardware: any VideoHardware
    ) throws(DeviceError) -> VideoBuffer {
        let room = PlanePool.room(width: frame.width, height: frame.height)
        let first = try hardware.makeBuffer(format, width: room.width, height: room.height, forScaling: false)
        if isCached == nil { isCached = ReadBack.isFast(first.base, byteCount: first.layout.rows * first.layout.pitches[0]) }
        guard isCached == true else { throw DeviceError("decode into memory of a plane, which the processor reads slowly", code: ENOTSUP) }
        return first
    }

    /// Offers memory for such pictures, beginning with `first`.
    mutating func offer(_ frame: borrowing VideoFrame, _ format: VideoFormat, _ first: VideoBuffer, on hardware: any VideoHardware) {
        let room = PlanePool.room(width: frame.width, height: frame.height)
        let pool = PlanePool(format.av, width: frame.width, height: frame.height, first: PlaneMemory(first)) {
            (try? hardware.makeBuffer(format, width: room.width, height: room.height, forScaling: false)).map { PlaneMemory($0) }
        }
        pool.offer()
        if entries.count == VideoBuffers.mostSizes { entries.removeLast().pool.close() }
        entries.insert(Entry(size: Self.size(frame, format), pool: pool), at: 0)
    }

    /// Marks the size of a picture as the most recently used.
    mutating func use(_ buffer: VideoBuffer, of frame: borrowing VideoFrame) {
        guard let index = entries.firstIndex(where: { $0.size == Self.size(frame, buffer.layout.format) }), index > 0 else { return }
        entries.swapAt(0, index)
    }

    /// Withdraws the memory for pictures of this size, so that they are decoded elsewhere again.
    mutating func withdraw(_ frame: borrowing VideoFrame) {
        let (width, height) = (frame.width, frame.height)
        for entry in entries where (entry.size.width, entry.size.height) == (width, height) { entry.pool.close() }
        entries.removeAll { ($0.size.width, $0.size.height) == (width, height) }
    }

    /// Withdraws all memory.
    mutating func close() {
        for entry in entries { entry.pool.close() }
        entries = []
    }
}

extension PlaneMemory {
    /// Creates the memory of a buffer.
    convenience init(_ buffer: VideoBuffer) {
        let layout = buffer.layout
        self.init(
            base: buffer.base,
            PictureLayout(
                byteCount: layout.rows * layout.pitches[0], planeCount: layout.format.planeCount, strides: layout.pitches,
                offsets: layout.offsets),
            owner: buffer, share: { buffer.share() })
    }
}

/// Measures the speed of reading memory.
enum ReadBack {
    /// The bytes to read, and the allowed factor over ordinary memory. Cached memory outside the cache takes up to three times as long,
    /// uncached memory thirty times and more.
    private static let bytes = 64 << 10, limit = 8

    /// Whether the processor reads the memory about as fast as ordinary memory. Takes less than a millisecond, and up to ten if it is slow.
    static func isFast(_ base: UnsafeRawPointer, byteCount: Int) -> Bool {
        let bytes = min(bytes, byteCount)
        let ordinary = UnsafeMutableRawPointer.allocate(byteCount: 2 * bytes, alignment: 4096)
        defer { ordinary.deallocate() }
        memset(ordinary, 1, 2 * bytes)
        func time(_ source: UnsafeRawPointer) -> Int64 {
            var best = Int64.max
            // The first read fills the cache, if there is one; any read may be interrupted.
            for _ in 0..<4 where best > 0 {
                let begin = HostTime.now
                memcpy(ordinary + bytes, source, bytes)
                best = min(best, (HostTime.now - begin).nanoseconds)
            }
            return best
        }
        return time(base) <= Int64(limit) * max(time(ordinary), 1000)
    }
}
