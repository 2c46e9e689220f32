import CFFmpeg
import Platform

/// A decoded picture. Owns its `AVFrame`, whose planes may be shared with the decoder and so must not be written.
///
/// It has one owner at a time, so it may be handed from thread to thread.
package struct VideoFrame: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.

    /// The frame: planes, line sizes, pixel format, colour description. Valid as long as this value; read only.
    package let av: UnsafeMutablePointer<AVFrame>

    /// How the stored picture must be rotated to be upright.
    package var orientation: Orientation

    /// Pixel format of the picture: the frame's own, or of what lies in the hardware decoder's surface.
    package let pixelFormat: AVPixelFormat

    /// Takes ownership of `av`, which holds a picture in ordinary memory, or a hardware decoder's surface (`AV_PIX_FMT_DRM_PRIME`) with a picture
    /// of `pixelFormat` in it.
    package init(adopting av: UnsafeMutablePointer<AVFrame>, orientation: Orientation = .up, pixelFormat: AVPixelFormat? = nil) {
        self.av = av
        self.orientation = orientation
        self.pixelFormat = pixelFormat ?? AVPixelFormat(av.pointee.format)
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVFrame>? = av
        av_frame_free(&pointer)
    }

    /// Another frame with the same picture, which is not copied; nil without memory. The corresponding C function is `av_frame_clone`.
    package func shared() -> VideoFrame? {
        av_frame_clone(av).map { VideoFrame(adopting: $0, orientation: orientation, pixelFormat: pixelFormat) }
    }

    /// The dmabufs of a hardware decoder's surface, already decoded; nil where the picture lies in ordinary memory.
    package var surface: UnsafePointer<AVDRMFrameDescriptor>? {
        guard av.pointee.format == AV_PIX_FMT_DRM_PRIME.rawValue, let data = av.pointee.data.0 else { return nil }
        return UnsafeRawPointer(data).assumingMemoryBound(to: AVDRMFrameDescriptor.self)
    }

    /// Stored width in pixels, before orientation.
    package var width: Int { Int(av.pointee.width) }
    /// Stored height in pixels, before orientation.
    package var height: Int { Int(av.pointee.height) }

    /// Width of a stored pixel divided by its height; 1 where the stream does not say.
    package var pixelAspectRatio: Double {
        let ratio = av.pointee.sample_aspect_ratio
        return ratio.num > 0 && ratio.den > 0 ? Double(ratio.num) / Double(ratio.den) : 1
    }

    /// Whether the decoder had to conceal errors in the picture.
    package var isDamaged: Bool { av.pointee.flags & AV_FRAME_FLAG_CORRUPT != 0 || av.pointee.decode_error_flags != 0 }

    /// Bytes of picture memory this frame keeps alive.
    package var byteCount: Int {
        withUnsafePointer(to: &av.pointee.buf) { pointer in
            pointer.withMemoryRebound(to: UnsafeMutablePointer<AVBufferRef>?.self, capacity: 8) { buffers in
                (0..<8).reduce(0) { $0 + Int(buffers[$1]?.pointee.size ?? 0) }
            }
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
