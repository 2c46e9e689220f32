import CKioskDRM
import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlayback
import Testing

@testable import KioskDisplayCore

/// Memory of hardware decoders on planes: imported once, held while it is visible, and read if no plane takes it.
@Suite struct SurfaceTests {
    /// Returns a descriptor of memory for a surface.
    private func file() -> Int32 {
        var path = Array("/dev/shm/kiosk-surface-XXXXXX".utf8CString)
        let fd = mkstemp(&path)
        unlink(path)
        return fd
    }

    /// Returns a surface in memory that can be mapped, like a dmabuf.
    private func surface(_ luma: UInt8, in fd: Int32) -> VideoFrame {
        let (width, height, pitch) = (64, 36, 64)
        let size = pitch * (height + height / 2)
        ftruncate(fd, off_t(size))
        let base = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)!
        memset(base, Int32(luma), pitch * height)
        memset(base + pitch * height, 128, pitch * height / 2)
        munmap(base, size)
        let descriptor = av_mallocz(MemoryLayout<AVDRMFrameDescriptor>.size)!.assumingMemoryBound(to: AVDRMFrameDescriptor.self)
        descriptor.pointee.nb_objects = 1
        descriptor.pointee.objects.0 = AVDRMObjectDescriptor(fd: fd, size: size, format_modifier: 0)
        descriptor.pointee.nb_layers = 1
        descriptor.pointee.layers.0.format = VideoFormat.nv12.code
        descriptor.pointee.layers.0.nb_planes = 2
        descriptor.pointee.layers.0.planes.0 = AVDRMPlaneDescriptor(object_index: 0, offset: 0, pitch: pitch)
        descriptor.pointee.layers.0.planes.1 = AVDRMPlaneDescriptor(object_index: 0, offset: pitch * height, pitch: pitch)
        let av = av_frame_alloc()!
        av.pointee.format = AV_PIX_FMT_DRM_PRIME.rawValue
        (av.pointee.width, av.pointee.height) = (Int32(width), Int32(height))
        let data = UnsafeMutableRawPointer(descriptor).assumingMemoryBound(to: UInt8.self)
        av.pointee.data.0 = data
        av.pointee.buf.0 = av_buffer_create(data, MemoryLayout<AVDRMFrameDescriptor>.size, { _, data in av_free(data) }, nil, 0)
        return VideoFrame(adopting: av, pixelFormat: AV_PIX_FMT_NV12)
    }

    @Test func surfacesAreShownAsTheyAreAndImportedOnce() throws {
        let video = MemoryVideo(primary: ["NV12"])
        let stage = PlaneStage(PlaneScreen(video: video))
        let files = (0..<4).map { _ in file() }
        for _ in 0..<3 {
            for index in 0..<4 {
                try stage.show(surface(UInt8(40 + 50 * index), in: files[index]))
                #expect(
                    stage.screen.shownVideo?.arrangement.path == .dmabuf
                        && stage.screen.shownVideo?.framebuffer.rawValue == UInt32(301 + index))
                let gray = UInt32((Double(40 + 50 * index - 16) * 255 / 219).rounded())
                #expect(near(stage.screen.seen(30, 20), gray << 16 | gray << 8 | gray))
            }
        }
        #expect(video.imported == 4 && video.made.isEmpty)
        for fd in files { close(fd) }
    }

    /// A surface returns to its decoder once the next picture is on the screen and another one is prepared: not earlier, and not much
    /// later.
    @Test func surfacesAreHeldUntilTheNextOneIsShown() throws {
        let stage = PlaneStage(PlaneScreen(video: MemoryVideo(primary: ["NV12"])))
        stage.screen.forgetsVideo = true
        func references(_ frame: borrowing VideoFrame) -> Int { Int(av_buffer_get_ref_count(frame.av.pointee.buf.0)) }
        let files = (0..<3).map { _ in file() }
        let first = surface(100, in: files[0])
        guard let kept = first.shared() else { throw PlaneStage.Unexpected() }
        try stage.show(first)
        let atFirst = references(kept)
        #expect(atFirst > 1)
        let scene = try stage.prepare(surface(200, in: files[1]))
        _ = stage.commit(scene)
        let next = try stage.prepare(surface(200, in: files[2]))
        #expect(references(kept) == atFirst)
        try stage.flip()
        _ = stage.commit(next)
        _ = try stage.prepare(Pictures.solid(100, 128, 128, 64, 36, AV_PIX_FMT_YUV420P))
        #expect(references(kept) == 1)
        for fd in files { close(fd) }
    }

    @Test func surfacesThatNoPlaneTakesAreReadAndCopied() throws {
        for (primary, expected) in [(["YU12"], PicturePath.scale), ([], nil)] {
            let stage = PlaneStage(PlaneScreen(video: MemoryVideo(primary: primary)))
            let fd = file()
            try stage.show(surface(235, in: fd))
            #expect(stage.screen.shownVideo?.arrangement.path == expected && near(stage.screen.seen(30, 20), 0xff_ffff))
            close(fd)
        }
    }

    @Test func importsThatNobodyUsesAreDropped() throws {
        var imports = SurfaceImports()
        var made = 0
        let files = (0..<13).map { _ in file() }
        func use(_ index: Int) throws {
            _ = try imports.framebuffer(of: surface(100, in: files[index])) { _ throws(DeviceError) in
                made += 1
                return HeldFramebuffer(id: FramebufferID(rawValue: UInt32(made)))
            }
        }
        for index in 0..<8 { try use(index) }
        for turn in 0..<100 { try use(8 + turn % 4) }
        #expect(made == 12)
        try use(12)
        #expect(imports.count == 5 && made == 13)
        for fd in files { close(fd) }
    }
}
