import CKioskFFmpeg
import Synchronization

/// The picture memory of a software decoder: plane memory if a display offers it (``PlanePool``), else ordinary memory.
///
/// A decoder reads earlier pictures with the row distance of the present one. So all its pictures of a size have the same distance, fixed
/// at the first one. It is that of the pool offered then, else that of most drivers' memory. A decoder that began before a pool existed
/// switches to it if the distance is the same. Otherwise it stays in ordinary memory. If a pool is exhausted or closed, ordinary memory of
/// the same layout replaces it.
final class DecoderMemory: Sendable {
    /// A kind of picture that libavcodec requests. The size is the drawn one, with cropped blocks: while it stays, the distance must stay.
    private struct Kind: Hashable {
        var format: Int32
        var width: Int32, height: Int32
    }

    /// A pool of ordinary memory for pictures of one layout, shared by all decoders with that layout. An item opens while the one before it
    /// plays. Memory that the old decoder no longer needs goes to the new one, and a loop neither frees nor allocates memory.
    private final class Ordinary: @unchecked Sendable {
        // Sendable because libavutil's pools are thread-safe, and nothing else changes.
        let layout: PictureLayout
        private let pool: OpaquePointer

        private struct Entry {
            weak var pool: Ordinary?
        }
        private static let pools = Mutex<[Entry]>([])

        /// Returns the existing pool for a layout, or a new one; nil without memory.
        static func of(_ layout: PictureLayout) -> Ordinary? {
            pools.withLock { pools in
                pools.removeAll { $0.pool == nil }
                if let pool = pools.lazy.compactMap(\.pool).first(where: { $0.layout.isSame(as: layout) }) { return pool }
                let made = Ordinary(layout)
                if let made { pools.append(Entry(pool: made)) }
                return made
            }
        }

        private init?(_ layout: PictureLayout) {
            guard let pool = av_buffer_pool_init(layout.byteCount, av_buffer_allocz) else { return nil }
            (self.layout, self.pool) = (layout, pool)
        }

        deinit {
            var pool: OpaquePointer? = pool
            // libavutil frees it with the last of its buffers.
            av_buffer_pool_uninit(&pool)
        }

        /// Attaches a buffer to a frame; false without memory.
        func fill(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
            guard let buffer = av_buffer_pool_get(pool) else { return false }
            layout.describe(frame, buffer)
            return true
        }
    }

    /// The memory chosen for each kind; nil means libavcodec's own.
    private let known = Mutex<[Kind: Ordinary?]>([:])

    /// Provides the buffer of a frame. The corresponding C functions are `avcodec_align_dimensions2` and `avcodec_default_get_buffer2`.
    fileprivate func getBuffer(
        _ context: UnsafeMutablePointer<AVCodecContext>, _ frame: UnsafeMutablePointer<AVFrame>, _ flags: Int32
    ) -> Int32 {
        guard let format = Self.planar(frame.pointee.format) else { return avcodec_default_get_buffer2(context, frame, flags) }
        let (width, height) = (Int(context.pointee.width), Int(context.pointee.height))
        let pools = PlanePool.offered(format, width: width, height: height)
        let kind = Kind(format: format.rawValue, width: frame.pointee.width, height: frame.pointee.height)
        let ordinary = known.withLock { known in
            if let decided = known[kind] { return decided }
            let room = PlanePool.room(width: width, height: height)
            let layouts = pools.map(\.layout) + [PictureLayout(format, pitch: room.width, rows: room.height)]
            let layout = Self.needsMore(context, kind, than: room) ? nil : layouts.first { Self.isAligned($0, context, kind) }
            let decided = layout.flatMap { Ordinary.of($0) }
            known[kind] = .some(decided)
            return decided
        }
        guard let ordinary else { return avcodec_default_get_buffer2(context, frame, flags) }
        // The visible size may differ from the first picture's, and only that one has room.
        for pool in pools where pool.layout.isSame(as: ordinary.layout) && pool.fill(frame) { return 0 }
        return ordinary.fill(frame) ? 0 : shim_averror(ENOMEM)
    }

    /// Returns the pool format for a pixel format, with the plain names for the deprecated full-range ones; nil for others.
    static func planar(_ format: Int32) -> AVPixelFormat? {
        switch AVPixelFormat(rawValue: format) {
        case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P: AV_PIX_FMT_YUV420P
        case AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUVJ422P: AV_PIX_FMT_YUV422P
        case AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUVJ444P: AV_PIX_FMT_YUV444P
        default: nil
        }
    }

    /// Returns the size and alignment that the decoder's vector code needs for pictures of a kind.
    private static func needs(
        _ context: UnsafeMutablePointer<AVCodecContext>, _ kind: Kind
    ) -> (width: Int, height: Int, alignment: [Int32]) {
        var (width, height) = (kind.width, kind.height)
        var alignment = [Int32](repeating: 1, count: Int(AV_NUM_DATA_POINTERS))
        avcodec_align_dimensions2(context, &width, &height, &alignment)
        return (Int(width), Int(height), alignment)
    }

    private static func needsMore(
        _ context: UnsafeMutablePointer<AVCodecContext>, _ kind: Kind, than room: (width: Int, height: Int)
    ) -> Bool {
        let needs = needs(context, kind)
        // Vector code reads and writes a little beyond the last row.
        return needs.width > room.width || needs.height >= room.height
    }

    private static func isAligned(_ layout: PictureLayout, _ context: UnsafeMutablePointer<AVCodecContext>, _ kind: Kind) -> Bool {
        let alignment = needs(context, kind).alignment
        return (0..<layout.planeCount).allSatisfy {
            let unit = Int(max(1, alignment[$0]))
            return layout.strides[$0] % unit == 0 && layout.offsets[$0] % unit == 0
        }
    }
}

extension UnsafeMutablePointer<AVCodecContext> {
    /// Makes the decoder draw into display memory if offered. The result must live as long as the decoder. nil if the decoder has memory of
    /// its own kind.
    func drawIntoPlanes() -> DecoderMemory? {
        guard let codec = pointee.codec, codec.pointee.capabilities & Int32(AV_CODEC_CAP_DR1) != 0, pointee.lowres == 0 else { return nil }
        shim_codec_use_safe_callbacks(self)
        let memory = DecoderMemory()
        pointee.opaque = Unmanaged.passUnretained(memory).toOpaque()
        pointee.get_buffer2 = { context, frame, flags in
            guard let context, let frame, let opaque = context.pointee.opaque else { return shim_averror(EINVAL) }
            return Unmanaged<DecoderMemory>.fromOpaque(opaque).takeUnretainedValue().getBuffer(context, frame, flags)
        }
        return memory
    }
}
