import CKioskDRM
import CKioskFFmpeg
import Glibc
import KioskMedia

/// Memory in which a plane shows YUV. Written on the compositor's thread, in rows and in order, while no plane shows it; read for snapshots only.
class VideoBuffer: @unchecked Sendable {
    // Sendable because the compositor alone writes to it, and only while its slot is nobody else's (BufferPool).

    let layout: VideoLayout
    let base: UnsafeMutableRawPointer
    let framebuffer: FramebufferID

    init(layout: VideoLayout, base: UnsafeMutableRawPointer, framebuffer: FramebufferID) {
        (self.layout, self.base, self.framebuffer) = (layout, base, framebuffer)
    }

    /// Its planes.
    var planes: PicturePlanes {
        func data(_ plane: Int) -> UnsafeMutablePointer<UInt8>? {
            plane < layout.format.planeCount ? (base + layout.offsets[plane]).assumingMemoryBound(to: UInt8.self) : nil
        }
        return PicturePlanes(
            data: (data(0), data(1), data(2), nil),
            strides: (Int32(layout.pitches[0]), Int32(layout.pitches[1]), Int32(layout.pitches[2]), 0))
    }

    /// Copies a picture of its own format, at most as large as itself: a plane in one piece where the rows are as far apart.
    func copy(_ picture: PicturePlanes, width: Int, height: Int) {
        copyPlane(0, picture.data.0, stride: Int(picture.strides.0), width, height)
        copyPlane(1, picture.data.1, stride: Int(picture.strides.1), width, height)
        copyPlane(2, picture.data.2, stride: Int(picture.strides.2), width, height)
    }

    private func copyPlane(_ plane: Int, _ source: UnsafeMutablePointer<UInt8>?, stride: Int, _ width: Int, _ height: Int) {
        guard plane < layout.format.planeCount, let source else { return }
        let (target, pitch) = (base + layout.offsets[plane], layout.pitches[plane])
        let (rows, bytes) = layout.format.extent(of: plane, width: width, height: height)
        if stride == pitch {
            memcpy(target, source, (rows - 1) * pitch + bytes)
        } else {
            for row in 0..<rows { memcpy(target + row * pitch, source + row * stride, bytes) }
        }
    }

    /// A copy of the picture in ordinary memory, with colours as a plane makes them; nil without memory. Reading scan-out memory can be slow.
    func frame(_ colour: ColourDescription) -> VideoFrame? {
        guard let av = av_frame_alloc() else { return nil }
        let frame = VideoFrame(adopting: av, pixelFormat: layout.format.av)
        av.pointee.format = layout.format.av.rawValue
        (av.pointee.width, av.pointee.height) = (Int32(layout.width), Int32(layout.height))
        switch colour.matrix {
        case SWS_CS_ITU709: av.pointee.colorspace = AVCOL_SPC_BT709
        case SWS_CS_BT2020: av.pointee.colorspace = AVCOL_SPC_BT2020_NCL
        default: av.pointee.colorspace = AVCOL_SPC_SMPTE170M
        }
        av.pointee.color_range = colour.isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
        guard av_frame_get_buffer(av, 64) >= 0 else { return nil }
        let (from, to) = (planes, PicturePlanes(av))
        func copy(_ plane: Int, _ source: UnsafeMutablePointer<UInt8>?, _ target: UnsafeMutablePointer<UInt8>?, _ stride: Int32) {
            guard let source, let target else { return }
            let (rows, bytes) = layout.format.extent(of: plane, width: layout.width, height: layout.height)
            for row in 0..<rows { memcpy(target + row * Int(stride), source + row * layout.pitches[plane], bytes) }
        }
        copy(0, from.data.0, to.data.0, to.strides.0)
        copy(1, from.data.1, to.data.1, to.strides.1)
        copy(2, from.data.2, to.data.2, to.strides.2)
        return frame
    }
}

/// A video buffer in dumb memory.
final class DumbVideoBuffer: VideoBuffer, @unchecked Sendable {
    // Sendable for the reason VideoBuffer gives; what it adds never changes.
    private(set) var scanned: Framebuffer
    private(set) var memory: DumbMemory

    private init(_ layout: VideoLayout, _ scanned: consuming Framebuffer, _ memory: consuming DumbMemory) {
        let (base, framebuffer) = (memory.base, scanned.id)
        self.scanned = scanned
        self.memory = memory
        super.init(layout: layout, base: base, framebuffer: framebuffer)
    }

    /// Memory for pictures of this size: one dumb buffer with 8 bits a pixel, as wide as a row of luma has bytes and with rows enough for all planes.
    static func make(
        _ card: DRMCard, _ format: VideoFormat, width: Int, height: Int, forScaling: Bool
    ) throws(DeviceError) -> DumbVideoBuffer {
        let bytes = VideoLayout.rowBytes(format, width: width, forScaling: forScaling)
        // The pitch is the driver's, and at least that; with it the number of rows stays the same.
        let rows = VideoLayout(format, width: width, height: height, pitch: bytes).rows
        let memory = try DumbMemory.make(card, width: bytes, height: rows, bitsPerPixel: 8)
        let layout = VideoLayout(format, width: width, height: height, pitch: memory.pitch)
        var parts = Framebuffer.Parts()
        for plane in 0..<format.planeCount {
            parts.handles[plane] = memory.handle
            parts.pitches[plane] = UInt32(layout.pitches[plane])
            parts.offsets[plane] = UInt32(layout.offsets[plane])
        }
        let scanned = try Framebuffer.make(card, width: layout.width, height: layout.height, format: format.code, parts)
        return DumbVideoBuffer(layout, scanned, memory)
    }
}
