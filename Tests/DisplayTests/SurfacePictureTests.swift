import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

/// Pictures in a hardware decoder's memory, on a screen that cannot scan it out.
@Suite struct SurfacePictureTests {
    private func draw(_ frame: borrowing VideoFrame) throws -> [UInt8] {
        let buffer = MemoryBuffer(width: 128, height: 72, format: .xrgb8888)
        try PictureConverter().draw(frame, gravity: .resizeAspect, rotation: .none, background: 0, into: buffer)
        let pixels = buffer.pixels
        return (0..<pixels.height).flatMap { y in
            [UInt8](UnsafeRawBufferPointer(start: pixels.address(0, y), count: pixels.width * 4))
        }
    }

    @Test("It looks as it would in ordinary memory") func downloaded() throws {
        let plain = Pictures.make(AV_PIX_FMT_NV12, 64, 48) { plane, x, y in plane == 0 ? 16 + 3 * x + y : 128 + (x & 1 == 0 ? x : -y) }
        let file = tmpfile()!
        let fd = fileno(file)
        defer { fclose(file) }
        let surface = Pictures.surface(like: plain, fd: fd)
        #expect(surface.surface != nil)
        #expect(try draw(surface) == draw(plain))
    }

    @Test("What cannot be read is refused in words that help") func unreadable() throws {
        let plain = Pictures.solid(100, 128, 128, 64, 48, AV_PIX_FMT_NV12)
        let file = tmpfile()!
        let fd = fileno(file)
        let surface = Pictures.surface(like: plain, fd: fd)
        fclose(file)
        #expect(throws: PictureConverter.Refusal.unreadable) { try draw(surface) }
        #expect("\(PictureConverter.Refusal.unreadable)".contains("decoder = \"software\""))
    }
}

extension Pictures {
    /// Returns the picture of an NV12 frame as a dmabuf would hold it; `fd` is the memory.
    static func surface(like plain: borrowing VideoFrame, fd: Int32) -> VideoFrame {
        let source = plain.av.pointee
        let (width, height) = (Int(source.width), Int(source.height))
        for (plane, rows) in [(source.data.0!, height), (source.data.1!, height / 2)] {
            let stride = Int(plane == source.data.0! ? source.linesize.0 : source.linesize.1)
            for row in 0..<rows { _ = write(fd, plane + row * stride, width) }
        }
        let av = av_frame_alloc()!
        (av.pointee.format, av.pointee.width, av.pointee.height) = (AV_PIX_FMT_DRM_PRIME.rawValue, source.width, source.height)
        av.pointee.buf.0 = av_buffer_allocz(MemoryLayout<AVDRMFrameDescriptor>.size)
        av.pointee.data.0 = av.pointee.buf.0!.pointee.data
        let descriptor = UnsafeMutableRawPointer(av.pointee.data.0!).assumingMemoryBound(to: AVDRMFrameDescriptor.self)
        (descriptor.pointee.nb_objects, descriptor.pointee.nb_layers) = (1, 1)
        descriptor.pointee.objects.0 = AVDRMObjectDescriptor(fd: fd, size: width * height * 3 / 2, format_modifier: 0)
        descriptor.pointee.layers.0.format = 0x3231_564e  // NV12
        descriptor.pointee.layers.0.nb_planes = 2
        descriptor.pointee.layers.0.planes.0 = AVDRMPlaneDescriptor(object_index: 0, offset: 0, pitch: width)
        descriptor.pointee.layers.0.planes.1 = AVDRMPlaneDescriptor(object_index: 0, offset: width * height, pitch: width)
        return VideoFrame(adopting: av)
    }
}
