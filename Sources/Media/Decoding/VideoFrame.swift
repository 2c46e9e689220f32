import CKioskFFmpeg
import KioskPlatform

/// A decoded picture. Owns its `AVFrame`, whose planes may be shared with the decoder and so must not be written.
///
/// It has one owner at a time, so it may be handed from thread to thread.
package struct VideoFrame: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.

    /// The frame: planes, line sizes, pixel format, colour description. Valid as long as this value; read only.
    package let av: UnsafeMutablePointer<AVFrame>

    /// How the stored picture must be rotated to be upright.
    package var orientation: Orientation

    /// FFmpeg's name of the codec it was encoded with, for messages; empty where nobody decoded it.
    package var codec = ""

    /// Whether it is shown as a decoder has drawn it that would draw into memory of a plane, too (``PlanePool``).
    package var takesPlaneMemory = false

    /// Has whoever decoded a surface copy it to ordinary memory, where that is another process.
    package var copier: (any SurfaceCopier)?

    /// The hardware decoder's own picture, which `av` describes as dmabufs; nil where `av` is what the decoder gave.
    private let origin: UnsafeMutablePointer<AVFrame>?
    private let saidFormat: AVPixelFormat?
    private let comesFromPool: Bool
    /// Counts its decoder as in use, where the picture is one of that decoder's own buffers.
    private let use: DecoderShelf.Use?

    /// Takes ownership of `av`, which must hold a picture in ordinary memory, or a hardware decoder's as dmabufs (AV_PIX_FMT_DRM_PRIME)
    /// that is drawn.
    ///
    /// - Parameters:
    ///   - pixelFormat: of a picture in dmabufs, where nothing else tells.
    ///   - origin: the decoder's own picture, where `av` describes it; owned from now on, too.
    ///   - isPooled: see ``isPooled``.
    package init(
        adopting av: UnsafeMutablePointer<AVFrame>, orientation: Orientation = .up, pixelFormat: AVPixelFormat? = nil,
        origin: UnsafeMutablePointer<AVFrame>? = nil, isPooled: Bool = false
    ) {
        self.init(adopting: av, orientation: orientation, pixelFormat: pixelFormat, origin: origin, isPooled: isPooled, use: nil)
    }

    /// The same; `use` is that of its decoder, where the picture is one of that decoder's own buffers.
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

    /// Another frame with the same picture, which is not copied; nil without memory. The corresponding C function is `av_frame_clone`.
    package func shared() -> VideoFrame? {
        guard let copy = av_frame_clone(av) else { return nil }
        // Without it the picture would still be there: what describes it holds a reference. It could only not be downloaded.
        var frame = VideoFrame(
            adopting: copy, orientation: orientation, pixelFormat: saidFormat, origin: origin.flatMap { av_frame_clone($0) },
            isPooled: comesFromPool, use: use)
        (frame.codec, frame.takesPlaneMemory, frame.copier) = (codec, takesPlaneMemory, copier)
        return frame
    }

    /// Pixel format of the picture: the frame's own, or of what lies in the hardware decoder's surface; AV_PIX_FMT_NONE where FFmpeg has no
    /// name for that.
    package var pixelFormat: AVPixelFormat {
        guard let surface else { return AVPixelFormat(rawValue: av.pointee.format) }
        if let saidFormat { return saidFormat }
        return (origin ?? av).pointee.hw_frames_ctx.map(\.surfaceFormat) ?? surface.pointee.pixelFormat
    }

    /// The dmabufs of a hardware decoder's surface, drawn already; nil where the picture lies in ordinary memory. Valid as long as this
    /// value.
    package var surface: UnsafePointer<AVDRMFrameDescriptor>? { av.descriptor.map { UnsafePointer($0) } }

    /// The same picture in ordinary memory, copied where it lies in a surface; nil where the driver refuses. Blocks while it is copied:
    /// some milliseconds, as memory of graphics devices is slow to read. The corresponding C function is `av_hwframe_transfer_data`.
    package func downloaded() -> VideoFrame? {
        if surface == nil { return shared() }
        SurfaceUse.noteCopied()
        return copier.map { $0.copy(self) } ?? mapped()
    }

    /// The same of a surface by its driver, or of one whose memory can be mapped as it is.
    package func mapped() -> VideoFrame? {
        (origin ?? av).downloaded(pixelFormat).map { VideoFrame(adopting: $0, orientation: orientation) }
    }

    /// Whether its memory is one of the few pictures that a hardware decoder has (``PicturePool``).
    package var isPooled: Bool { comesFromPool || surface != nil }

    /// Stored width in pixels, before orientation.
    package var width: Int { Int(av.pointee.width) }
    /// Stored height in pixels, before orientation.
    package var height: Int { Int(av.pointee.height) }

    /// Width of a stored pixel divided by its height; 1 where the stream does not say.
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

/// Copies pictures out of surfaces of another process's decoder. Any thread.
package protocol SurfaceCopier: AnyObject, Sendable {
    /// The same picture in ordinary memory; nil where that cannot be had. Blocks while it is copied.
    func copy(_ frame: borrowing VideoFrame) -> VideoFrame?
}

extension UnsafeMutablePointer<AVFrame> {
    /// Says where one of the first four planes lies, and how many bytes it is from row to row.
    package func setPlane(_ plane: Int, _ place: UnsafeMutablePointer<UInt8>, _ stride: Int32) {
        withUnsafeMutablePointer(to: &pointee.data) { data in
            data.withMemoryRebound(to: UnsafeMutablePointer<UInt8>?.self, capacity: 8) { $0[plane] = place }
        }
        withUnsafeMutablePointer(to: &pointee.linesize) { lines in
            lines.withMemoryRebound(to: Int32.self, capacity: 8) { $0[plane] = stride }
        }
    }
}

/// A frame with the time it begins at and how long it lasts.
package struct TimedFrame: ~Copyable, Sendable {
    /// The picture.
    package var frame: VideoFrame
    /// When it begins: item time where it comes from ``MediaReader``, container time within Media.
    package var time: MediaTime
    /// How long it lasts, as the container tells.
    package var duration: MediaTime

    /// A frame with its time.
    package init(frame: consuming VideoFrame, time: MediaTime, duration: MediaTime) {
        self.frame = frame
        self.time = time
        self.duration = duration
    }

    /// The picture alone.
    package consuming func intoFrame() -> VideoFrame { frame }
}
