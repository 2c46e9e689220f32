import CKioskFFmpeg
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// A decoded picture that an application has taken (``FrameOutput``). Its memory is the decoder's; nobody writes to it.
package final class FrameSample: @unchecked Sendable {
    // Sendable: the frame is only read.

    /// A plane of a picture in memory.
    package struct Plane: Hashable, Sendable {
        /// The bytes of a row that hold pixels, and the bytes from row to row.
        package var rowBytes: Int, stride: Int
        package var rows: Int
    }

    /// A plane of a picture in dmabufs.
    package struct SurfacePlane: Hashable, Sendable {
        /// The descriptor of its memory, which belongs to the sample.
        package var descriptor: Int32
        /// The DRM format modifier of that memory, and its size in bytes.
        package var modifier: UInt64, size: Int
        package var offset: Int, pitch: Int
        /// The DRM format of its layer; the planes of a picture of one layer have the picture's.
        package var format: UInt32
    }

    /// The item time of the picture.
    package let itemTime: MediaTime
    private let frame: Owned<VideoFrame>
    private let converter: FrameConverter
    /// The copy in ordinary memory of a surface.
    private let copy = Monitor<Owned<VideoFrame>?>(nil)

    init(_ frame: consuming VideoFrame, at time: MediaTime, _ converter: FrameConverter) {
        (self.frame, itemTime, self.converter) = (Owned(frame), time, converter)
    }

    /// Stored pixels across and down.
    package var width: Int { frame.value.width }
    package var height: Int { frame.value.height }
    package var pixelAspectRatio: Double { frame.value.pixelAspectRatio }
    /// The clockwise rotation that makes it upright, after the mirroring.
    package var rotation: Rotation { frame.value.orientation.rotation }
    package var isMirrored: Bool { frame.value.orientation.isMirrored }

    /// FFmpeg's name of the pixel format in memory: `yuv420p`, `nv12`.
    package var pixelFormat: String { name(av_get_pix_fmt_name(frame.value.pixelFormat)) ?? "unknown" }

    /// FFmpeg's names of matrix, primaries and transfer function; nil if the stream does not state them. The range is the default of the
    /// format if the stream states none.
    package var colour: (matrix: String?, primaries: String?, transfer: String?, isFullRange: Bool) {
        let av = frame.value.av.pointee
        let isFull = PictureFormat(frame.value.pixelFormat)?.isFullRange ?? false
        return (
            av.colorspace == AVCOL_SPC_UNSPECIFIED ? nil : name(av_color_space_name(av.colorspace)),
            av.color_primaries == AVCOL_PRI_UNSPECIFIED ? nil : name(av_color_primaries_name(av.color_primaries)),
            av.color_trc == AVCOL_TRC_UNSPECIFIED ? nil : name(av_color_transfer_name(av.color_trc)),
            av.color_range == AVCOL_RANGE_UNSPECIFIED ? isFull : av.color_range == AVCOL_RANGE_JPEG
        )
    }

    private func name(_ text: UnsafePointer<CChar>?) -> String? { text.map { String(cString: $0) } }

    /// The planes of the picture as the hardware decoder made it; empty for a picture in ordinary memory.
    package var surface: [SurfacePlane] {
        guard let descriptor = frame.value.surface?.pointee else { return [] }
        let objects = Self.elements(of: descriptor.objects, AVDRMObjectDescriptor.self, count: descriptor.nb_objects)
        let layers = Self.elements(of: descriptor.layers, AVDRMLayerDescriptor.self, count: descriptor.nb_layers)
        return layers.flatMap { layer in
            Self.elements(of: layer.planes, AVDRMPlaneDescriptor.self, count: layer.nb_planes).compactMap { plane in
                guard objects.indices.contains(Int(plane.object_index)) else { return nil }
                let object = objects[Int(plane.object_index)]
                return SurfacePlane(
                    descriptor: object.fd, modifier: object.format_modifier, size: Int(object.size), offset: Int(plane.offset),
                    pitch: Int(plane.pitch), format: layer.format)
            }
        }
    }

    /// Returns the first elements of one of C's arrays, which has four.
    private static func elements<Four, Element>(of array: Four, _: Element.Type, count: Int32) -> [Element] {
        withUnsafeBytes(of: array) { bytes in [Element](bytes.bindMemory(to: Element.self).prefix(Int(min(max(count, 0), 4)))) }
    }

    // MARK: Memory

    /// Calls `body` with the picture in ordinary memory: itself, or the copy of a surface, which is made once; nil if the driver does not
    /// let it be read.
    private func withMemory<Result, Failure: Error>(
        _ body: (borrowing VideoFrame) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        if frame.value.surface == nil { return try body(frame.value) }
        let plain: Owned<VideoFrame>? = copy.withLock { copy in
            if copy == nil, let made = frame.value.downloaded() { copy = Owned(made) }
            return copy
        }
        guard let plain else { return nil }
        return try body(plain.value)
    }

    /// The planes of the picture in ordinary memory. Empty if it cannot be read.
    package var planes: [Plane] { withMemory { Self.planes(of: $0) } ?? [] }

    private static func planes(of frame: borrowing VideoFrame) -> [Plane] {
        let av = frame.av.pointee
        let format = AVPixelFormat(rawValue: av.format)
        guard let description = av_pix_fmt_desc_get(format)?.pointee, av.width > 0, av.height > 0 else { return [] }
        let strides = [av.linesize.0, av.linesize.1, av.linesize.2, av.linesize.3]
        let data = [av.data.0, av.data.1, av.data.2, av.data.3]
        let isRGB = description.flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0
        var planes: [Plane] = []
        for index in 0..<Int(min(max(av_pix_fmt_count_planes(format), 0), 4)) {
            let bytes = av_image_get_linesize(format, av.width, Int32(index))
            // A picture that is stored upside down has no span.
            guard bytes > 0, strides[index] >= bytes, data[index] != nil else { return [] }
            let isChroma = (index == 1 || index == 2) && !isRGB
            let rows = isChroma ? -(-Int(av.height) >> Int(description.log2_chroma_h)) : Int(av.height)
            planes.append(Plane(rowBytes: Int(bytes), stride: Int(strides[index]), rows: rows))
        }
        return planes
    }

    /// Calls `body` with the bytes of a plane: from its first row to the last pixel of its last row. nil if there is no such plane in
    /// memory.
    package func withPlane<Result, Failure: Error>(
        _ index: Int, _ body: (RawSpan, Plane) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let result: Result?? = try withMemory { (frame) throws(Failure) -> Result? in
            let planes = Self.planes(of: frame)
            guard planes.indices.contains(index) else { return nil }
            let (plane, data) = (planes[index], frame.av.pointee.data)
            guard let base = [data.0, data.1, data.2, data.3][index] else { return nil }
            let count = (plane.rows - 1) * plane.stride + plane.rowBytes
            return try body(RawSpan(_unsafeStart: UnsafeRawPointer(base), byteCount: count), plane)
        }
        return result ?? nil
    }

    // MARK: Conversion

    /// Draws the picture upright into memory.
    func draw(into buffer: MemoryBuffer, gravity: VideoGravity) throws(PictureConverter.Refusal) {
        let isDrawn: Bool? = try withMemory { (frame) throws(PictureConverter.Refusal) -> Bool in
            try converter.draw(frame, into: buffer, gravity: gravity)
            return true
        }
        if isDrawn == nil { throw .unreadable }
    }

    /// Returns the picture upright and with square pixels, 0xAARRGGBB row by row, and its size. nil for a side is that of its own size.
    package func pixels(width: Int?, height: Int?) throws -> (pixels: [UInt32], width: Int, height: Int) {
        let aspect = (1e-4...1e4).contains(pixelAspectRatio) ? pixelAspectRatio : 1
        let (wide, high) = (Int(saturating: (Double(self.width) * aspect).rounded()), self.height)
        let own = rotation.swapsAxes ? (high, wide) : (wide, high)
        let (width, height) = (min(max(width ?? own.0, 1), 16384), min(max(height ?? own.1, 1), 16384))
        let buffer = MemoryBuffer(width: width, height: height, format: .xrgb8888)
        try draw(into: buffer, gravity: .resize)
        let pixels = [UInt32](unsafeUninitializedCapacity: width * height) { result, count in
            for y in 0..<height {
                let row = buffer.pixels.address(0, y).assumingMemoryBound(to: UInt32.self)
                for x in 0..<width { result[y * width + x] = row[x] | 0xff00_0000 }
            }
            count = width * height
        }
        return (pixels, width, height)
    }
}

/// The converter of an output's samples, which several threads may want. It keeps its contexts from picture to picture.
final class FrameConverter: @unchecked Sendable {
    // Sendable: the converter is used only with the lock held.
    private let lock = Monitor(())
    private let converter = PictureConverter()

    func draw(
        _ frame: borrowing VideoFrame, into buffer: MemoryBuffer, gravity: VideoGravity
    ) throws(PictureConverter.Refusal) {
        try lock.withLock { _ throws(PictureConverter.Refusal) in
            try converter.draw(frame, gravity: gravity, rotation: .none, background: 0, into: buffer)
        }
    }
}
