import CKioskFFmpeg

// The pictures of hardware decoders. VAAPI returns the number of a surface, which only its driver understands. kiosk waits until the
// surface is drawn, and exports it as dmabufs (AV_PIX_FMT_DRM_PRIME) for displays. V4L2 returns dmabufs, or memory.
//
// libavutil 5.1 does not wait: a surface exported too early shows its former content. It also describes luma and chroma as two pictures of
// one and two bytes a pixel. No display plane takes these, so kiosk describes them as one.

/// The reason that a surface, a device or an encoder is not available.
struct SurfaceError: Error { let text: String }

extension UnsafeMutablePointer<AVFrame> {
    /// Whether it is a surface that only its driver understands.
    var isVAAPI: Bool { pointee.format == AV_PIX_FMT_VAAPI.rawValue }

    /// Waits until a VAAPI surface is drawn, and describes its memory. The corresponding C functions are `vaSyncSurface2` and
    /// `av_hwframe_map`.
    ///
    /// - Returns: a frame of format AV_PIX_FMT_DRM_PRIME with a reference to this one; the caller frees it.
    /// - Throws: if the driver fails, or `vaSyncSurface2` takes longer than a second.
    func exported() throws(SurfaceError) -> UnsafeMutablePointer<AVFrame> {
        guard let frames = pointee.hw_frames_ctx?.framesContext else { throw SurfaceError(text: "the picture has no surface") }
        let display = frames.pointee.device_ctx.pointee.hwctx.assumingMemoryBound(to: AVVAAPIDeviceContext.self).pointee.display
        let surface = VASurfaceID(truncatingIfNeeded: UInt(bitPattern: pointee.data.3))
        var status = vaSyncSurface2(display, surface, 1_000_000_000)
        if status == VAStatus(VA_STATUS_ERROR_UNIMPLEMENTED) { status = vaSyncSurface(display, surface) }
        guard status == VAStatus(VA_STATUS_SUCCESS) else {
            throw SurfaceError(text: vaErrorStr(status).map { String(cString: $0) } ?? "error \(status)")
        }
        guard let mapped = av_frame_alloc() else { throw SurfaceError(text: "out of memory") }
        mapped.pointee.format = AV_PIX_FMT_DRM_PRIME.rawValue
        var code = av_hwframe_map(mapped, self, Int32(AV_HWFRAME_MAP_READ | AV_HWFRAME_MAP_DIRECT))
        if code >= 0 { code = av_frame_copy_props(mapped, self) }
        guard code >= 0, let descriptor = mapped.descriptor else {
            mapped.free()
            throw SurfaceError(text: averrorText(code))
        }
        (mapped.pointee.width, mapped.pointee.height) = (pointee.width, pointee.height)
        descriptor.pointee.compose()
        return mapped
    }

    /// The dmabufs of a frame of AV_PIX_FMT_DRM_PRIME; nil for any other.
    var descriptor: UnsafeMutablePointer<AVDRMFrameDescriptor>? {
        guard pointee.format == AV_PIX_FMT_DRM_PRIME.rawValue, let data = pointee.data.0 else { return nil }
        return UnsafeMutableRawPointer(data).assumingMemoryBound(to: AVDRMFrameDescriptor.self)
    }

    /// Copies a hardware decoder's picture to ordinary memory; returns nil if the driver refuses. `pixelFormat` is for surfaces without a
    /// frames context. The corresponding C function is `av_hwframe_transfer_data`.
    func downloaded(_ pixelFormat: AVPixelFormat) -> UnsafeMutablePointer<AVFrame>? {
        guard let source = av_frame_clone(self), let copy = av_frame_alloc() else { return nil }
        defer { source.free() }
        if source.pointee.hw_frames_ctx == nil { source.pointee.hw_frames_ctx = .dmabufs(pixelFormat, of: source.pointee) }
        guard source.pointee.hw_frames_ctx != nil, av_hwframe_transfer_data(copy, source, 0) >= 0, av_frame_copy_props(copy, source) >= 0
        else {
            copy.free()
            return nil
        }
        (copy.pointee.width, copy.pointee.height) = (source.pointee.width, source.pointee.height)
        return copy
    }
}

extension UnsafeMutablePointer<AVBufferRef> {
    fileprivate var framesContext: UnsafeMutablePointer<AVHWFramesContext>? {
        UnsafeMutableRawPointer(pointee.data)?.assumingMemoryBound(to: AVHWFramesContext.self)
    }

    /// The memory format of a decoder's surfaces.
    var surfaceFormat: AVPixelFormat { framesContext?.pointee.sw_format ?? AV_PIX_FMT_NONE }

    /// Creates the context that libavutil needs to map bare dmabufs: their format and size. Needs no device.
    fileprivate static func dmabufs(_ format: AVPixelFormat, of frame: AVFrame) -> UnsafeMutablePointer<AVBufferRef>? {
        var device = av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_DRM)
        defer { av_buffer_unref(&device) }
        guard let context = device.map({ UnsafeMutableRawPointer($0.pointee.data)!.assumingMemoryBound(to: AVHWDeviceContext.self) })
        else { return nil }
        context.pointee.hwctx.assumingMemoryBound(to: AVDRMDeviceContext.self).pointee.fd = -1
        guard av_hwdevice_ctx_init(device) >= 0 else { return nil }
        var frames = av_hwframe_ctx_alloc(device)
        guard let description = frames?.framesContext else { return nil }
        (description.pointee.format, description.pointee.sw_format) = (AV_PIX_FMT_DRM_PRIME, format)
        (description.pointee.width, description.pointee.height) = (frame.width, frame.height)
        if av_hwframe_ctx_init(frames) < 0 { av_buffer_unref(&frames) }
        return frames
    }
}

extension AVDRMFrameDescriptor {
    /// Returns DRM's code for a format from its four characters.
    static func fourCC(_ name: StaticString) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(name.utf8Start[$1]) << (8 * $1) }
    }

    /// Merges luma and chroma in two layers (R8 and GR88, R16 and GR32) into one (NV12, P010). Leaves other layers alone.
    mutating func compose() {
        guard nb_layers == 2, layers.0.nb_planes == 1, layers.1.nb_planes == 1 else { return }
        switch (layers.0.format, layers.1.format) {
        case (Self.fourCC("R8  "), Self.fourCC("GR88")): layers.0.format = Self.fourCC("NV12")
        case (Self.fourCC("R16 "), Self.fourCC("GR32")): layers.0.format = Self.fourCC("P010")
        default: return
        }
        layers.0.planes.1 = layers.1.planes.0
        layers.0.nb_planes = 2
        nb_layers = 1
    }

    /// FFmpeg's format of a single-layer surface; AV_PIX_FMT_NONE for others.
    var pixelFormat: AVPixelFormat {
        nb_layers == 1 ? SurfaceFormat(code: layers.0.format)?.pixelFormat ?? AV_PIX_FMT_NONE : AV_PIX_FMT_NONE
    }
}

/// A surface format, by both of its names.
package struct SurfaceFormat: Hashable, Sendable {
    /// DRM's code and FFmpeg's format.
    package let code: UInt32, pixelFormat: AVPixelFormat

    private static let all = [
        SurfaceFormat("NV12", AV_PIX_FMT_NV12), SurfaceFormat("NV16", AV_PIX_FMT_NV16), SurfaceFormat("P010", AV_PIX_FMT_P010LE),
        SurfaceFormat("YU12", AV_PIX_FMT_YUV420P),
    ]

    private init(_ name: StaticString, _ pixelFormat: AVPixelFormat) {
        (code, self.pixelFormat) = (AVDRMFrameDescriptor.fourCC(name), pixelFormat)
    }

    /// Finds a format by its DRM code; nil if unknown.
    package init?(code: UInt32) {
        guard let format = Self.all.first(where: { $0.code == code }) else { return nil }
        self = format
    }

    /// Finds a format by its AVPixelFormat; nil if unknown.
    package init?(pixelFormat: Int32) {
        guard let format = Self.all.first(where: { $0.pixelFormat.rawValue == pixelFormat }) else { return nil }
        self = format
    }
}
