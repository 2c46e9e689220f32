import CKioskFFmpeg
import Synchronization

/// Where a software decoder draws: memory of a plane where a display offers that (``PlanePool``), else ordinary memory.
///
/// A decoder reads earlier pictures with the distance of rows that the present one has. So all its pictures of a size have the same distance, which is
/// decided at the first one: that of the pool that is offered then, else the one that most drivers' memory has. A decoder that has begun before there is
/// a pool goes over to it where the distance is the same, and else stays in ordinary memory. Where a pool has no more, or has been closed, ordinary
/// memory of the same layout takes its place.
final class DecoderMemory: Sendable {
    /// What libavcodec asks for. Size is that of what it draws, with blocks that are cropped: while that stays the distance has to.
    private struct Kind: Hashable {
        var format: Int32
        var width: Int32, height: Int32
    }

    /// Ordinary memory for pictures of a layout, used again and again, by all decoders that have the same. An item is opened while the one before it
    /// plays: what that one's decoder no longer needs becomes the next one's, and a loop neither frees nor finds memory.
    private final class Ordinary: @unchecked Sendable {
        // Sendable because libavutil's pools are; nothing else changes.
        let layout: PictureLayout
        private let pool: OpaquePointer

        private struct Entry {
            weak var pool: Ordinary?
        }
        private static let pools = Mutex<[Entry]>([])

        /// That of the decoders there are, or a new one; nil without memory.
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
            // It is freed with the last of its buffers.
            av_buffer_pool_uninit(&pool)
        }

        /// Puts a buffer into a frame; false without memory.
        func fill(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
            guard let buffer = av_buffer_pool_get(pool) else { return false }
            layout.describe(frame, buffer)
            return true
        }
    }

    /// nil is libavcodec's own memory.
    private let known = Mutex<[Kind: Ordinary?]>([:])

    /// The corresponding C functions are `avcodec_align_dimensions2` and `avcodec_default_get_buffer2`.
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
        // Another size may be seen of what is drawn than at the first picture, and there is room for the first one's only.
        for pool in pools where pool.layout.isSame(as: ordinary.layout) && pool.fill(frame) { return 0 }
        return ordinary.fill(frame) ? 0 : shim_averror(ENOMEM)
    }

    /// The formats that pools are for, the deprecated full-range names replaced by the plain ones; nil for others.
    static func planar(_ format: Int32) -> AVPixelFormat? {
        switch AVPixelFormat(rawValue: format) {
        case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P: AV_PIX_FMT_YUV420P
        case AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUVJ422P: AV_PIX_FMT_YUV422P
        case AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUVJ444P: AV_PIX_FMT_YUV444P
        default: nil
        }
    }

    /// What the decoder's vector code needs for pictures of a kind.
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
    /// Has the decoder draw into memory of displays where they offer it; what comes back has to live as long as the decoder. nil where it has memory of
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
