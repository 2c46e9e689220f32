import CDRM
import CDisplay
import Glibc

/// A dumb buffer with its framebuffer and its mapping: memory that any KMS driver can scan out.
struct DumbBuffer: ~Copyable {
    let card: DRMCard
    let framebuffer: FramebufferID
    let pixels: PixelMemory
    private let handle: UInt32
    private let byteCount: Int

    /// Makes one, uncleared, of a format with 32 bits a pixel.
    static func make(
        _ card: DRMCard, width: Int, height: Int, format: UInt32 = kDRM_FORMAT_XRGB8888
    ) throws(DeviceError) -> DumbBuffer {
        var handle: UInt32 = 0
        var pitch: UInt32 = 0
        var size: UInt64 = 0
        var status = drmModeCreateDumbBuffer(card.fd, UInt32(width), UInt32(height), 32, 0, &handle, &pitch, &size)
        guard status == 0 else { throw DeviceError("create a \(width)x\(height) buffer on \(card.path)", code: status) }
        var framebuffer: UInt32 = 0
        let handles: [UInt32] = [handle, 0, 0, 0]
        let pitches: [UInt32] = [pitch, 0, 0, 0]
        let offsets: [UInt32] = [0, 0, 0, 0]
        status = drmModeAddFB2(card.fd, UInt32(width), UInt32(height), format, handles, pitches, offsets, &framebuffer, 0)
        if status != 0, format == kDRM_FORMAT_XRGB8888 {
            // Drivers from before AddFB2.
            status = drmModeAddFB(card.fd, UInt32(width), UInt32(height), 24, 32, pitch, handle, &framebuffer)
        }
        guard status == 0 else {
            drmModeDestroyDumbBuffer(card.fd, handle)
            throw DeviceError("make a \(width)x\(height) framebuffer on \(card.path)", code: status)
        }
        var offset: UInt64 = 0
        status = drmModeMapDumbBuffer(card.fd, handle, &offset)
        let base = status == 0 ? mmap(nil, Int(size), PROT_READ | PROT_WRITE, MAP_SHARED, card.fd, off_t(offset)) : MAP_FAILED
        guard let base, base != MAP_FAILED else {
            let error = DeviceError("map a buffer of \(card.path)", code: status == 0 ? errno : status)
            drmModeRmFB(card.fd, framebuffer)
            drmModeDestroyDumbBuffer(card.fd, handle)
            throw error
        }
        // A child would keep the card, and its master, alive.
        madvise(base, Int(size), MADV_DONTFORK)
        // One call instead of a page fault for every 4 KiB, which would make the first frames late. Before Linux 5.14, and for memory
        // without pages, it is refused.
        madvise(base, Int(size), kMADV_POPULATE_WRITE)
        return DumbBuffer(
            card: card, framebuffer: FramebufferID(rawValue: framebuffer),
            pixels: PixelMemory(base: base, stride: Int(pitch), width: width, height: height, format: .xrgb8888), handle: handle,
            byteCount: Int(size))
    }

    private init(card: DRMCard, framebuffer: FramebufferID, pixels: PixelMemory, handle: UInt32, byteCount: Int) {
        self.card = card
        self.framebuffer = framebuffer
        self.pixels = pixels
        self.handle = handle
        self.byteCount = byteCount
    }

    deinit {
        munmap(pixels.base, byteCount)
        drmModeRmFB(card.fd, framebuffer.rawValue)
        drmModeDestroyDumbBuffer(card.fd, handle)
    }
}

/// A dumb buffer among a screen's buffers.
final class DumbScanoutBuffer: ScanoutBuffer, @unchecked Sendable {
    // Sendable for the reason ScanoutBuffer gives; what it adds never changes.
    private(set) var dumb: DumbBuffer

    init(_ dumb: consuming DumbBuffer) {
        let pixels = dumb.pixels
        self.dumb = dumb
        super.init(pixels: pixels)
    }

    var framebuffer: FramebufferID { dumb.framebuffer }
}

/// A property blob, such as a mode.
struct PropertyBlob: ~Copyable {
    let id: UInt32
    private let card: DRMCard

    /// A blob of `value`'s bytes.
    static func make<Value: BitwiseCopyable>(_ card: DRMCard, _ value: Value) throws(DeviceError) -> PropertyBlob {
        var id: UInt32 = 0
        let status = withUnsafeBytes(of: value) { drmModeCreatePropertyBlob(card.fd, $0.baseAddress, $0.count, &id) }
        guard status == 0 else { throw DeviceError("create a property blob on \(card.path)", code: status) }
        return PropertyBlob(id: id, card: card)
    }

    private init(id: UInt32, card: DRMCard) {
        self.id = id
        self.card = card
    }

    deinit { drmModeDestroyPropertyBlob(card.fd, id) }
}
