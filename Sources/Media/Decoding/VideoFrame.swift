import CKioskFFmpeg
import KioskPlatform

/// A decoded picture. Owns its `AVFrame`; do not write to the planes, which the decoder may share.
///
/// One owner at a time: threads may pass it on.
package struct VideoFrame: ~Copyable, @unchecked Sendable {
    // Sendable because only the single owner reaches the pointer.

    /// The frame: planes, line sizes, pixel format, colour description. Valid as long as this value; read only.
    package let av: UnsafeMutablePointer<AVFrame>

    /// The rotation that makes the stored picture upright.
    package var orientation: Orientation

    /// FFmpeg's name of the picture's codec, for messages; empty if nothing was decoded.
    package var codec = ""

    /// Whether the picture is shown as its decoder drew it, and that decoder could draw into plane memory, too (``PlanePool``).
    package var takesPlaneMemory = false

    /// Copies the picture to ordinary memory if another process decoded its surface.
    package var copier: (any SurfaceCopier)?

    /// The hardware decoder's own picture, which `av` describes as dmabufs; nil if `av` is the decoder's own picture.
    private let origin: UnsafeMutablePointer<AVFrame>?
    private let saidFormat: AVPixelFormat?
    private let comesFromPool: Bool
    /// Marks its decoder as in use if the picture is one of that decoder's own buffers.
    private let use: DecoderShelf.Use?

    /// Takes ownership of `av`. It must hold a picture in ordinary memory, or a hardware decoder's finished one as dmabufs
    /// (AV_PIX_FMT_DRM_PRIME).
    ///
    /// - Parameters:
    ///   - pixelFormat: the format of a picture in dmabufs, if nothing else states it.
    ///   - origin: the decoder's own picture, if `av` describes it; taken over, too.
    ///   - isPooled: see ``isPooled``.
    package init(
        adopting av: UnsafeMutablePointer<AVFrame>, orientation: Orientation = .up, pixelFormat: AVPixelFormat? = nil,
        origin: UnsafeMutablePointer<AVFrame>? = nil, isPooled: Bool = false
    ) {
        self.init(adopting: av, orientation: orientation, pixelFormat: pixelFormat, origin: origin, isPooled: isPooled, use: nil)
    }

    /// The same; `use` belongs to its decoder if the picture is one of that decoder's own buffers.
    init(
        adopting av: UnsafeMutablePointer<AVFrame>, orientation: Orientation, pixelFormat: AVPixelFormat? = nil,
        origin: UnsafeMutablePointer<AVFrame>?, isPooled: Bool, use: DecoderShelf.Use?
    ) {
        self.av = av
        self.orientation = orientation
        self.origin = origin
        (saidFormat, comesFromPool, self.use) = (pixelFormat, isPooled, use)
    }

    deinit {
        if let use, let returns = use.returns { return returns.give(av, origin, use) }
        av.free()
        origin?.free()
    }

    /// Returns another frame with the same picture, not copied; nil without memory. The corresponding C function is `av_frame_clone`.
    package func shared() -> VideoFrame? {
        guard let copy = av_frame_clone(av) else { return nil }
        // Without `origin` the picture remains, as its description holds a reference; only a download would fail.
        var frame = VideoFrame(
            adopting: copy, orientation: orientation, pixelFormat: saidFormat, origin: origin.flatMap { av_frame_clone($0) },
            isPooled: comesFromPool, use: use)
        (frame.codec, frame.takesPlaneMemory, frame.copier) = (codec, takesPlaneMemory, copier)
        return frame
    }

    /// The pixel format of the picture, or of the hardware decoder's surface; AV_PIX_FMT_NONE if FFmpeg has no name for it.
    package var pixelFormat: AVPixelFormat {
        guard let surface else { return AVPixelFormat(rawValue: av.pointee.format) }
        if let saidFormat { return saidFormat }
        return (origin ?? av).pointee.hw_frames_ctx.map(\.surfaceFormat) ?? surface.pointee.pixelFormat
    }

    /// The finished dmabufs of a hardware decoder's surface; nil for a picture in ordinary memory. Valid as long as this value.
    package var surface: UnsafePointer<AVDRMFrameDescriptor>? { av.descriptor.map { UnsafePointer($0) } }

    /// Returns the same picture in ordinary memory, copied from a surface if needed; nil if the driver refuses. Blocks while copying: some
    /// milliseconds, as memory of graphics devices is slow to read. The corresponding C function is `av_hwframe_transfer_data`.
    package func downloaded() -> VideoFrame? {
        if surface == nil { return shared() }
        SurfaceUse.noteCopied()
        return copier.map { $0.copy(self) } ?? mapped()
    }

    /// Returns the same picture in ordinary memory: by the driver for its own surface, or by mapping.
    package func mapped() -> VideoFrame? {
        (origin ?? av).downloaded(pixelFormat).map { VideoFrame(adopting: $0, orientation: orientation) }
    }

    /// Whether the picture occupies one of the few buffers of a hardware decoder (``PicturePool``).
    package var isPooled: Bool { comesFromPool || surface != nil }

    /// Stored width in pixels, before orientation.
    package var width: Int { Int(av.pointee.width) }
    /// Stored height in pixels, before orientation.
    package var height: Int { Int(av.pointee.height) }

    /// Width of a stored pixel divided by its height; 1 if the stream does not say.
    package var pixelAspectRatio: Double { av.pointee.sample_aspect_ratio.pixelAspectRatio }

    /// Whether the decoder had to conceal errors in the picture.
    package var isDamaged: Bool { av.pointee.flags & AV_FRAME_FLAG_CORRUPT != 0 || av.pointee.decode_error_flags != 0 }

    /// Bytes of picture memory this frame keeps alive.
    package var byteCount: Int {
        if surface != nil { return max(0, Int(av_image_get_buffer_size(pixelFormat, av.pointee.width, av.pointee.height, 1))) }
        return withUnsafePointer(to: &av.pointee.buf) { pointer in
            pointer.withMemoryRebound(to: UnsafeMutablePointer<AVBufferRef>?.self, capacity: 8) { buffers in
                (0..<8).reduce(0) { $0 + Int(buffers[$1]?.pointee.size ?? 0) }
            }
        }
    }
}

/// Copies pictures from surfaces of another process's decoder. Any thread.
package protocol SurfaceCopier: AnyObject, Sendable {
    /// Returns the same picture in ordinary memory; nil if that fails. Blocks while copying.
    func copy(_ frame: borrowing VideoFrame) -> VideoFrame?
}

extension UnsafeMutablePointer<AVFrame> {
    /// Sets the address of one of the first four planes, and the bytes from row to row.
    package func setPlane(_ plane: Int, _ place: UnsafeMutablePointer<UInt8>, _ stride: Int32) {
        withUnsafeMutablePointer(to: &pointee.data) { data in
            data.withMemoryRebound(to: UnsafeMutablePointer<UInt8>?.self, capacity: 8) { $0[plane] = place }
        }
        withUnsafeMutablePointer(to: &pointee.linesize) { lines in
            lines.withMemoryRebound(to: Int32.self, capacity: 8) { $0[plane] = stride }
        }
    }
}

/// A frame with its start and duration.
package struct TimedFrame: ~Copyable, Sendable {
    /// The picture.
    package var frame: VideoFrame
    /// The start: item time from ``MediaReader``, container time within Media.
    package var time: MediaTime
    /// The duration, according to the container.
    package var duration: MediaTime

    /// Creates a frame with its time.
    package init(frame: consuming VideoFrame, time: MediaTime, duration: MediaTime) {
        self.frame = frame
        self.time = time
        self.duration = duration
    }

    /// The picture alone.
    package consuming func intoFrame() -> VideoFrame { frame }
}
