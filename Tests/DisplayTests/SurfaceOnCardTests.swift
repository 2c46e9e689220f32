import CKioskFFmpeg
import CTestSupport
import Glibc
import KioskMedia
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

/// Numbered pictures in memory like a hardware decoder's, on a real card, as fast as its vblanks. It runs only in the test bed.
/// BedTests.Planes checks the scanned-out pictures by the kernel's log.
@Suite(.enabled(if: getenv("KIOSK_TEST_CARD").map { String(cString: $0) } == "surface", "in the test bed only"))
struct SurfaceOnCardTests {
    /// A surface of a decoder's pool: a dmabuf with a 1280x720 picture in NV12. It is free once only the pool refers to it.
    private final class Surface {
        let fd: Int32
        let base: UnsafeMutablePointer<UInt8>
        var reference: UnsafeMutablePointer<AVBufferRef>?

        init() throws {
            let size = 1280 * 1080
            fd = test_udmabuf(size)
            guard fd >= 0, let base = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), base != MAP_FAILED else {
                throw OverlayOnCardTests.Unexpected()
            }
            self.base = base.assumingMemoryBound(to: UInt8.self)
            memset(base, 128, size)
            let descriptor = av_mallocz(MemoryLayout<AVDRMFrameDescriptor>.size)!.assumingMemoryBound(to: AVDRMFrameDescriptor.self)
            descriptor.pointee.nb_objects = 1
            descriptor.pointee.objects.0 = AVDRMObjectDescriptor(fd: fd, size: size, format_modifier: 0)
            descriptor.pointee.nb_layers = 1
            descriptor.pointee.layers.0.format = VideoFormat.nv12.code
            descriptor.pointee.layers.0.nb_planes = 2
            descriptor.pointee.layers.0.planes.0 = AVDRMPlaneDescriptor(object_index: 0, offset: 0, pitch: 1280)
            descriptor.pointee.layers.0.planes.1 = AVDRMPlaneDescriptor(object_index: 0, offset: 1280 * 720, pitch: 1280)
            let data = UnsafeMutableRawPointer(descriptor).assumingMemoryBound(to: UInt8.self)
            reference = av_buffer_create(data, MemoryLayout<AVDRMFrameDescriptor>.size, { _, data in av_free(data) }, nil, 0)
        }

        var isFree: Bool { av_buffer_get_ref_count(reference) == 1 }

        /// Draws the number, like the clips.
        func draw(_ number: Int) -> VideoFrame {
            for y in 688..<720 { for bit in 0..<16 { memset(base + y * 1280 + bit * 32, number >> (15 - bit) & 1 == 1 ? 235 : 16, 32) } }
            let av = av_frame_alloc()!
            av.pointee.format = AV_PIX_FMT_DRM_PRIME.rawValue
            (av.pointee.width, av.pointee.height) = (1280, 720)
            av.pointee.buf.0 = av_buffer_ref(reference)
            av.pointee.data.0 = reference!.pointee.data
            return VideoFrame(adopting: av, pixelFormat: AV_PIX_FMT_NV12)
        }
    }

    /// The pool reuses the most recently freed surface: a surface returned too early is overwritten while it is visible.
    @Test func aPool() throws {
        let stage = OverlayOnCardTests.Stage(.dmabuf)
        var surfaces = try (0..<8).map { _ in try Surface() }
        var ready: [PreparedScene] = []
        for number in 1...300 {
            guard let index = surfaces.firstIndex(where: { $0.isFree }) else { throw OverlayOnCardTests.Unexpected() }
            surfaces.swapAt(0, index)
            ready.append(try stage.prepare(surfaces[0].draw(number)))
            // One is on the screen, and one is ready while the next is drawn.
            if ready.count == 2 || number == 300 {
                let scene = ready.removeFirst()
                try stage.show { stage.output.commit(scene, id: $0) }
            }
        }
        for scene in ready { try stage.show { stage.output.commit(scene, id: $0) } }
        // The display holds at most three of them.
        #expect(surfaces.count { !$0.isFree } <= 3)
        stage.close()
    }
}
