import CKioskFFmpeg
import CKioskPlatform
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import Synchronization

/// Pictures in memory that the player has made and maps: the arena (CPlatform's arena.c). The allocator of the process takes large blocks
/// from there, so a decoder's pictures are there already, as a rule. Others are copied.
///
/// A picture stays unchanged until the player returns its number. One thread of the reader.
final class ArenaPictures: PictureStore {
    /// The pictures that the player holds.
    private let shown = HandedFrames()
    /// The display memory that a decoder may have drawn into.
    private let planes = Mutex<BorrowedPlanes?>(nil)

    /// Maps the arena, and makes the allocator take large blocks from there; nil with `errno`. Call it before the process has a second
    /// thread. The corresponding C function is `mmap`.
    init?(_ file: SharedDescriptor) {
        var status = stat()
        guard fstat(file.raw, &status) == 0, status.st_size > Self.slack else { return nil }
        let count = Int(status.st_size)
        guard let base = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.raw, 0), base != MAP_FAILED else {
            return nil
        }
        // Readers of a picture may read beyond its last row.
        if !kiosk_arena_attach(base, count - Self.slack) {
            munmap(base, count)
            return nil
        }
    }

    private static let slack = 2 * PictureRules.slack

    /// Allows pictures in display memory from now on.
    func use(_ planes: BorrowedPlanes) { self.planes.withLock { $0 = planes } }

    func put(_ frame: consuming VideoFrame, _ record: inout PictureRecord) -> VideoFrame? {
        if frame.takesPlaneMemory, let number = planes.withLock({ $0 })?.number(of: frame) {
            (record.place, record.buffer) = (.planeBuffer, number)
            shown.put(frame, record.slot)
            return nil
        }
        record.place = .arena
        if let (offsets, strides) = Self.places(of: frame) {
            (record.offsets, record.strides) = (offsets, strides)
            shown.put(frame, record.slot)
            return nil
        }
        guard let copy = Self.copied(frame, &record) else { return frame }
        shown.put(copy, record.slot)
        return nil
    }

    func free(_ slot: Int) { _ = shown.take(slot) }

    /// Keeps a picture from other memory until the player returns its slot.
    func keep(_ frame: consuming VideoFrame, _ slot: Int) { shown.put(frame, slot) }

    /// Returns the picture of a slot; nil if there is none.
    func shared(_ slot: Int) -> VideoFrame? { shown.shared(slot) }

    /// Returns the same picture in the arena, and notes its place in `record`; nil without room.
    static func placed(_ frame: borrowing VideoFrame, _ record: inout PictureRecord) -> VideoFrame? {
        if let (offsets, strides) = places(of: frame) {
            (record.offsets, record.strides) = (offsets, strides)
            return frame.shared()
        }
        return copied(frame, &record)
    }

    /// Returns a copy of a picture in the arena, and notes its place in `record`; nil without room.
    private static func copied(_ frame: borrowing VideoFrame, _ record: inout PictureRecord) -> VideoFrame? {
        guard let copy = copy(of: frame), let (offsets, strides) = places(of: copy) else { return nil }
        (record.offsets, record.strides) = (offsets, strides)
        return copy
    }

    /// Returns the place of a picture's planes in the arena; nil if any of them lies outside, with the slack behind it.
    private static func places(of frame: borrowing VideoFrame) -> (SIMD4<UInt64>, SIMD4<Int32>)? {
        let av = frame.av.pointee
        guard let extents = PlaneExtents(format: av.format, width: frame.width, height: frame.height) else { return nil }
        var offsets = SIMD4<UInt64>(), strides = SIMD4<Int32>()
        let data = [av.data.0, av.data.1, av.data.2, av.data.3]
        let lines = [av.linesize.0, av.linesize.1, av.linesize.2, av.linesize.3]
        for plane in 0..<extents.planeCount {
            // The palette is a plane of one row, without a stated stride.
            let stride = extents.rows[plane] == 1 ? max(lines[plane], Int32(extents.rowBytes[plane])) : lines[plane]
            guard Int(stride) >= extents.rowBytes[plane] else { return nil }
            let offset = kiosk_arena_offset(data[plane], Int(stride) * (extents.rows[plane] - 1) + extents.rowBytes[plane])
            guard offset >= 0 else { return nil }
            (offsets[plane], strides[plane]) = (UInt64(offset), stride)
        }
        return (offsets, strides)
    }

    /// Returns a copy in the arena; nil without room. The corresponding C function is `av_frame_copy`.
    private static func copy(of frame: borrowing VideoFrame) -> VideoFrame? {
        let source = frame.av.pointee
        guard let extents = PlaneExtents(format: source.format, width: frame.width, height: frame.height) else { return nil }
        // Aligned rows for vector code.
        func stride(_ plane: Int) -> Int { (extents.rowBytes[plane] + 63) & ~63 }
        let sizes = (0..<extents.planeCount).map { (stride($0) * extents.rows[$0] + 63) & ~63 }
        guard let memory = kiosk_arena_take(64, sizes.reduce(0, +)) else { return nil }
        let buffer = av_buffer_create(
            memory.assumingMemoryBound(to: UInt8.self), sizes.reduce(0, +), { _, data in data.map { kiosk_arena_free($0) } }, nil, 0)
        guard let buffer, let av = av_frame_alloc() else {
            kiosk_arena_free(memory)
            return nil
        }
        av.pointee.buf.0 = buffer
        (av.pointee.format, av.pointee.width, av.pointee.height) = (source.format, source.width, source.height)
        var place = memory.assumingMemoryBound(to: UInt8.self)
        for plane in 0..<extents.planeCount {
            av.setPlane(plane, place, Int32(stride(plane)))
            place += sizes[plane]
        }
        var target = VideoFrame(adopting: av, orientation: frame.orientation)
        guard av_frame_copy(target.av, frame.av) >= 0, av_frame_copy_props(target.av, frame.av) >= 0 else { return nil }
        target.codec = frame.codec
        return target
    }
}

extension PictureRecord {
    /// Copies the properties of a frame, except the place of its planes.
    package init(_ frame: borrowing VideoFrame) {
        let av = frame.av.pointee
        self.init(format: av.format, width: frame.width, height: frame.height)
        (aspectNumerator, aspectDenominator) = (av.sample_aspect_ratio.num, av.sample_aspect_ratio.den)
        (range, primaries) = (UInt8(clamping: av.color_range.rawValue), UInt8(clamping: av.color_primaries.rawValue))
        (transfer, matrix) = (UInt8(clamping: av.color_trc.rawValue), UInt8(clamping: av.colorspace.rawValue))
        chromaPlace = UInt8(clamping: av.chroma_location.rawValue)
        orientation = frame.orientation
        if frame.isDamaged { flags.insert(.damaged) }
        if frame.isPooled { flags.insert(.pooled) }
        if frame.takesPlaneMemory { flags.insert(.takesPlaneMemory) }
    }

    /// Sets the properties of a frame from the record.
    package func describe(_ av: UnsafeMutablePointer<AVFrame>) {
        (av.pointee.format, av.pointee.width, av.pointee.height) = (format, Int32(width), Int32(height))
        av.pointee.sample_aspect_ratio = AVRational(num: aspectNumerator, den: aspectDenominator)
        av.pointee.color_range = AVColorRange(rawValue: UInt32(range))
        av.pointee.color_primaries = AVColorPrimaries(rawValue: UInt32(primaries))
        av.pointee.color_trc = AVColorTransferCharacteristic(rawValue: UInt32(transfer))
        av.pointee.colorspace = AVColorSpace(rawValue: UInt32(matrix))
        av.pointee.chroma_location = AVChromaLocation(rawValue: UInt32(chromaPlace))
        if flags.contains(.damaged) { av.pointee.flags |= AV_FRAME_FLAG_CORRUPT }
    }
}
