import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform

/// The memory that an output offers to decoders (``PlanePool``), for the last two sizes of picture, and whether it is fit for that.
///
/// A decoder reads what it has drawn, to predict later pictures from it. Many drivers map their memory write-combined, and reading that takes some
/// fifty times as long. Nobody says how memory is mapped, so it is measured.
///
/// Belongs to the compositor thread.
struct PlanePools {
    private struct Entry {
        var size: VideoBuffers.Size
        var pool: PlanePool
    }

    /// What was used last comes first.
    private var entries: [Entry] = []
    /// Whether memory of this display is read fast enough; nil where that has not been measured.
    private var isCached: Bool?

    /// The buffer that a picture is in; nil where it is not in one of this output's.
    func buffer(of frame: borrowing VideoFrame) -> VideoBuffer? {
        guard frame.takesPlaneMemory else { return nil }
        for entry in entries { if let memory = entry.pool.memory(of: frame) { return memory.owner as? VideoBuffer } }
        return nil
    }

    /// Whether there is a pool for pictures like this one already.
    func offers(_ frame: borrowing VideoFrame, _ format: VideoFormat) -> Bool {
        entries.contains { $0.size == Self.size(frame, format) }
    }

    private static func size(_ frame: borrowing VideoFrame, _ format: VideoFormat) -> VideoBuffers.Size {
        VideoBuffers.Size(format: format, width: frame.width, height: frame.height, forScaling: false)
    }

    /// A buffer to ask the driver about, of a pool for pictures like this one. Throws where there is no memory, or it is slow to read.
    mutating func first(
        _ frame: borrowing VideoFrame, _ format: VideoFormat, on hardware: any VideoHardware
    ) throws(DeviceError) -> VideoBuffer {
        let room = PlanePool.room(width: frame.width, height: frame.height)
        let first = try hardware.makeBuffer(format, width: room.width, height: room.height, forScaling: false)
        if isCached == nil { isCached = ReadBack.isFast(first.base, byteCount: first.layout.rows * first.layout.pitches[0]) }
        guard isCached == true else { throw DeviceError("decode into memory of a plane, which the processor reads slowly", code: ENOTSUP) }
        return first
    }

    /// Offers memory for pictures like this one, beginning with `first`.
    mutating func offer(_ frame: borrowing VideoFrame, _ format: VideoFormat, _ first: VideoBuffer, on hardware: any VideoHardware) {
        let room = PlanePool.room(width: frame.width, height: frame.height)
        let pool = PlanePool(format.av, width: frame.width, height: frame.height, first: PlaneMemory(first)) {
            (try? hardware.makeBuffer(format, width: room.width, height: room.height, forScaling: false)).map { PlaneMemory($0) }
        }
        pool.offer()
        if entries.count == VideoBuffers.mostSizes { entries.removeLast().pool.close() }
        entries.insert(Entry(size: Self.size(frame, format), pool: pool), at: 0)
    }

    /// A size is used now.
    mutating func use(_ buffer: VideoBuffer, of frame: borrowing VideoFrame) {
        guard let index = entries.firstIndex(where: { $0.size == Self.size(frame, buffer.layout.format) }), index > 0 else { return }
        entries.swapAt(0, index)
    }

    /// Pictures of this size and format are to be decoded elsewhere again.
    mutating func withdraw(_ frame: borrowing VideoFrame) {
        let (width, height) = (frame.width, frame.height)
        for entry in entries where (entry.size.width, entry.size.height) == (width, height) { entry.pool.close() }
        entries.removeAll { ($0.size.width, $0.size.height) == (width, height) }
    }

    /// Takes everything back.
    mutating func close() {
        for entry in entries { entry.pool.close() }
        entries = []
    }
}

extension PlaneMemory {
    /// That of a buffer.
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

/// How fast memory is read.
enum ReadBack {
    /// Bytes that are read, and how much longer than ordinary memory they may take. Cached memory that is not in the cache takes up to three times as
    /// long, uncached memory thirty times and more.
    private static let bytes = 64 << 10, limit = 8

    /// Whether the processor reads it about as fast as ordinary memory. Takes less than a millisecond, and up to ten where it does not.
    static func isFast(_ base: UnsafeRawPointer, byteCount: Int) -> Bool {
        let bytes = min(bytes, byteCount)
        let ordinary = UnsafeMutableRawPointer.allocate(byteCount: 2 * bytes, alignment: 4096)
        defer { ordinary.deallocate() }
        memset(ordinary, 1, 2 * bytes)
        func time(_ source: UnsafeRawPointer) -> Int64 {
            var best = Int64.max
            // The first brings it into the cache, where there is one; another may have been interrupted.
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
