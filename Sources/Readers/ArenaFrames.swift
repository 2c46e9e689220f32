import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskReaderProtocol
import KioskReaderServer

/// Pictures in the memory that a reader draws into (``SharedResults``). A frame has its planes there, and its last reference gives its slot
/// back to the reader. Its pixels may change while the reader lives, and stay afterwards.
final class ArenaFrames: Sendable {
    private let memory: SharedResults
    private let held: HeldPictures

    /// Creates the frames of a reader whose pictures `held` counts.
    init(_ memory: SharedResults, _ held: HeldPictures) { (self.memory, self.held) = (memory, held) }

    /// A slot in use.
    private final class Lease {
        let frames: ArenaFrames, slot: Int

        init(_ frames: ArenaFrames, _ slot: Int) { (self.frames, self.slot) = (frames, slot) }

        deinit { frames.held.giveBack(slot) }
    }

    /// Returns the picture of a checked record; nil without memory for its description. The corresponding C functions are `av_frame_alloc`
    /// and `av_buffer_create`.
    func frame(_ record: PictureRecord, codec: String) -> VideoFrame? {
        let lease = Lease(self, record.slot)
        guard let extents = PlaneExtents(format: record.format, width: record.width, height: record.height),
            let base = memory.bytes.baseAddress, let av = av_frame_alloc()
        else { return nil }
        // The memory is read-only: no code draws into a buffer with this flag.
        let first = UnsafeMutablePointer(mutating: (base + Int(record.offsets[0])).assumingMemoryBound(to: UInt8.self))
        let opaque = Unmanaged.passRetained(lease).toOpaque()
        let buffer = av_buffer_create(
            first, extents.byteCount, { opaque, _ in opaque.map { Unmanaged<Lease>.fromOpaque($0).release() } }, opaque,
            AV_BUFFER_FLAG_READONLY)
        guard let buffer else {
            Unmanaged<Lease>.fromOpaque(opaque).release()
            var frame: UnsafeMutablePointer<AVFrame>? = av
            av_frame_free(&frame)
            return nil
        }
        av.pointee.buf.0 = buffer
        for plane in 0..<extents.planeCount {
            let begin = Int(record.offsets[plane])
            memory.find(begin..<begin + Int(record.strides[plane]) * (extents.rows[plane] - 1) + extents.rowBytes[plane])
            let place = UnsafeMutablePointer(mutating: (base + Int(record.offsets[plane])).assumingMemoryBound(to: UInt8.self))
            av.setPlane(plane, place, record.strides[plane])
        }
        record.describe(av)
        var frame = VideoFrame(adopting: av, orientation: record.orientation)
        (frame.codec, frame.takesPlaneMemory) = (codec, record.flags.contains(.takesPlaneMemory))
        return frame
    }

    /// Returns a copy of the picture of a checked record, which needs neither the reader nor its memory; nil without memory. The
    /// corresponding C function is `av_frame_copy`.
    func copy(_ record: PictureRecord) -> VideoFrame? {
        guard let extents = PlaneExtents(format: record.format, width: record.width, height: record.height),
            let base = memory.bytes.baseAddress, let source = av_frame_alloc()
        else { return nil }
        defer { source.free() }
        for plane in 0..<extents.planeCount {
            let place = UnsafeMutablePointer(mutating: (base + Int(record.offsets[plane])).assumingMemoryBound(to: UInt8.self))
            source.setPlane(plane, place, record.strides[plane])
        }
        record.describe(source)
        guard let target = av_frame_alloc() else { return nil }
        record.describe(target)
        guard av_frame_get_buffer(target, 0) >= 0, av_frame_copy(target, source) >= 0 else {
            target.free()
            return nil
        }
        return VideoFrame(adopting: target, orientation: record.orientation)
    }
}
