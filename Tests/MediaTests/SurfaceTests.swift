import CKioskFFmpeg
import Glibc
import Testing

@testable import KioskMedia

/// The description of dmabufs, and reading them.
@Suite struct SurfaceTests {
    private func descriptor(_ layers: [(format: StaticString, offsets: [Int])]) -> AVDRMFrameDescriptor {
        var descriptor = AVDRMFrameDescriptor()
        descriptor.nb_layers = Int32(layers.count)
        for (index, layer) in layers.enumerated() {
            var described = AVDRMLayerDescriptor()
            described.format = AVDRMFrameDescriptor.fourCC(layer.format)
            described.nb_planes = Int32(layer.offsets.count)
            described.planes.0 = AVDRMPlaneDescriptor(object_index: 0, offset: layer.offsets[0], pitch: 64)
            if layer.offsets.count > 1 { described.planes.1 = AVDRMPlaneDescriptor(object_index: 1, offset: layer.offsets[1], pitch: 64) }
            if index == 0 { descriptor.layers.0 = described } else { descriptor.layers.1 = described }
        }
        return descriptor
    }

    @Test("Luma and chroma that are two layers become one", arguments: [("R8  ", "GR88", "NV12"), ("R16 ", "GR32", "P010")])
    func compose(luma: String, chroma: String, whole: String) {
        func code(_ text: String) -> UInt32 { text.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) } }
        var described = descriptor([("    ", [128]), ("    ", [4096])])
        (described.layers.0.format, described.layers.1.format) = (code(luma), code(chroma))
        described.compose()
        #expect(described.nb_layers == 1 && described.layers.0.nb_planes == 2 && described.layers.0.format == code(whole))
        #expect(described.layers.0.planes.0.offset == 128 && described.layers.0.planes.1.offset == 4096)
        #expect(described.pixelFormat == (whole == "NV12" ? AV_PIX_FMT_NV12 : AV_PIX_FMT_P010LE))
    }

    @Test("What is one layer, or two of another kind, stays as it is") func others() {
        var whole = descriptor([("NV12", [0, 4096])])
        whole.compose()
        #expect(whole.nb_layers == 1 && whole.layers.0.nb_planes == 2 && whole.pixelFormat == AV_PIX_FMT_NV12)
        var strange = descriptor([("R8  ", [0]), ("R8  ", [4096])])
        strange.compose()
        #expect(strange.nb_layers == 2 && strange.pixelFormat == AV_PIX_FMT_NONE)
        #expect(descriptor([("P030", [0, 1])]).pixelFormat == AV_PIX_FMT_NONE)
    }

    @Test("A dmabuf that comes without a context, as from a V4L2 decoder, is read") func withoutContext() throws {
        let (width, height, pitch) = (50, 30, 64)
        let file = tmpfile()!
        let fd = fileno(file)
        defer { fclose(file) }
        let bytes = (0..<pitch * height * 3 / 2).map { UInt8(truncatingIfNeeded: $0 / pitch * 3 + $0 % pitch) }
        #expect(write(fd, bytes, bytes.count) == bytes.count)
        var described = descriptor([("NV12", [0, pitch * height])])
        described.nb_objects = 1
        described.objects.0 = AVDRMObjectDescriptor(fd: fd, size: bytes.count, format_modifier: 0)
        described.layers.0.planes.1.object_index = 0

        let av = av_frame_alloc()!
        (av.pointee.format, av.pointee.width, av.pointee.height) = (AV_PIX_FMT_DRM_PRIME.rawValue, Int32(width), Int32(height))
        av.pointee.buf.0 = av_buffer_alloc(MemoryLayout<AVDRMFrameDescriptor>.size)
        av.pointee.data.0 = av.pointee.buf.0!.pointee.data
        av.descriptor!.initialize(to: described)
        av.pointee.pts = 7
        let frame = VideoFrame(adopting: av)
        let isSurface = frame.isPooled && frame.pixelFormat == AV_PIX_FMT_NV12 && frame.byteCount == width * height * 3 / 2
        #expect(isSurface)
        guard let plain = frame.downloaded() else {
            Issue.record("it cannot be read")
            return
        }
        let copy = plain.av.pointee
        #expect(copy.format == AV_PIX_FMT_NV12.rawValue && copy.width == width && copy.height == height && copy.pts == 7)
        for y in [0, 1, height - 1] {
            for x in [0, width - 1] { #expect(copy.data.0![y * Int(copy.linesize.0) + x] == bytes[y * pitch + x]) }
        }
        for y in [0, height / 2 - 1] {
            for x in [0, width - 1] { #expect(copy.data.1![y * Int(copy.linesize.1) + x] == bytes[(height + y) * pitch + x]) }
        }
    }
}
