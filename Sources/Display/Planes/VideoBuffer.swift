import CKioskDRM
import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform

/// Memory from which a plane shows YUV. The compositor's thread writes it, in rows and in order, while no plane shows it. Only snapshots
/// read it.
class VideoBuffer: @unchecked Sendable {
    // Sendable: only the compositor writes to it, and only while it owns the slot (BufferPool).

    let layout: VideoLayout
    let base: UnsafeMutableRawPointer
    let framebuffer: FramebufferID
    private let owner: AnyObject?
    private let shared: @Sendable () -> SharedDescriptor?

    init(
        layout: VideoLayout, base: UnsafeMutableRawPointer, framebuffer: FramebufferID, owner: AnyObject? = nil,
        share: @escaping @Sendable () -> SharedDescriptor? = { nil }
    ) {
        (self.layout, self.base, self.framebuffer, self.owner, shared) = (layout, base, framebuffer, owner, share)
    }

    /// Returns a descriptor by which another process can map it; nil if the driver gives none. Any thread.
    func share() -> SharedDescriptor? { shared() }

    /// The addresses and strides of its planes.
    var planes: PicturePlanes {
        func data(_ plane: Int) -> UnsafeMutablePointer<UInt8>? {
            plane < layout.format.planeCount ? (base + layout.offsets[plane]).assumingMemoryBound(to: UInt8.self) : nil
        }
        return PicturePlanes(
            data: (data(0), data(1), data(2), nil),
            strides: (Int32(layout.pitches[0]), Int32(layout.pitches[1]), Int32(layout.pitches[2]), 0))
    }

    /// Copies a picture of the same format, of at most this buffer's size. Copies a plane in one piece if the strides are equal.
    func copy(_ picture: PicturePlanes, width: Int, height: Int) {
        func copy(_ plane: Int, _ source: PicturePlanes.Plane, _ stride: Int32) {
            guard plane < layout.format.planeCount, let source else { return }
            let (target, pitch) = (base + layout.offsets[plane], layout.pitches[plane])
            let (rows, bytes) = layout.format.extent(of: plane, width: width, height: height)
            if stride == pitch {
                memcpy(target, source, (rows - 1) * pitch + bytes)
            } else {
                for row in 0..<rows { memcpy(target + row * pitch, source + row * Int(stride), bytes) }
            }
        }
        copy(0, picture.data.0, picture.strides.0)
        copy(1, picture.data.1, picture.strides.1)
        copy(2, picture.data.2, picture.strides.2)
    }

    /// Returns a copy of the picture in ordinary memory, with colours as a plane makes them; nil without memory. Reading scan-out memory
    /// can be slow.
    func frame(_ colour: ColourDescription) -> VideoFrame? {
        guard let frame = VideoFrame.blank(layout.format.av, width: layout.width, height: layout.height) else { return nil }
        let av = frame.av
        switch colour.matrix {
        case SWS_CS_ITU709: av.pointee.colorspace = AVCOL_SPC_BT709
        case SWS_CS_BT2020: av.pointee.colorspace = AVCOL_SPC_BT2020_NCL
        default: av.pointee.colorspace = AVCOL_SPC_SMPTE170M
        }
        av.pointee.color_range = colour.isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
        planes.withPointers { data, strides in
            let data = UnsafeMutableRawPointer(mutating: data).assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
            PicturePlanes(av).withPointers { target, pitches in
                av_image_copy(
                    UnsafeMutablePointer(mutating: target), UnsafeMutablePointer(mutating: pitches), data, strides, layout.format.av,
                    av.pointee.width, av.pointee.height)
            }
        }
        return frame
    }
}

extension VideoBuffer {
    /// Allocates memory for pictures of this size: one dumb buffer with 8 bits a pixel, as wide as a luma row in bytes, with enough rows
    /// for all planes.
    static func make(
        _ card: DRMCard, _ format: VideoFormat, width: Int, height: Int, forScaling: Bool
    ) throws(DeviceError) -> VideoBuffer {
        let bytes = VideoLayout.rowBytes(format, width: width, forScaling: forScaling)
        // The driver chooses the pitch, at least `bytes`. The number of rows does not depend on it.
        let rows = VideoLayout(format, width: width, height: height, pitch: bytes).rows
        let memory = try DumbMemory.make(card, width: bytes, height: rows, bitsPerPixel: 8)
        let layout = VideoLayout(format, width: width, height: height, pitch: memory.pitch)
        let (base, planes) = (memory.base, 0..<format.planeCount)
        let buffer = try DumbBuffer.make(
            memory, width: layout.width, height: layout.height, format: format.code, pitches: planes.map { layout.pitches[$0] },
            offsets: planes.map { layout.offsets[$0] })
        return VideoBuffer(
            layout: layout, base: base, framebuffer: buffer.framebuffer, owner: buffer, share: { [weak buffer] in buffer?.memory.share() })
    }
}
