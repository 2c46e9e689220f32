import CKioskDRM

/// A picture of 32 bits a pixel in dumb memory, with its framebuffer.
struct DumbBuffer: ~Copyable {
    let pixels: PixelMemory
    private let scanned: Framebuffer
    private let memory: DumbMemory

    /// Makes one, uncleared.
    static func make(
        _ card: DRMCard, width: Int, height: Int, format: UInt32 = kDRM_FORMAT_XRGB8888
    ) throws(DeviceError) -> DumbBuffer {
        let memory = try DumbMemory.make(card, width: width, height: height, bitsPerPixel: 32)
        var parts = Framebuffer.Parts()
        (parts.handles[0], parts.pitches[0]) = (memory.handle, UInt32(memory.pitch))
        let scanned = try Framebuffer.make(card, width: width, height: height, format: format, parts)
        return DumbBuffer(width, height, scanned, memory)
    }

    private init(_ width: Int, _ height: Int, _ scanned: consuming Framebuffer, _ memory: consuming DumbMemory) {
        pixels = PixelMemory(base: memory.base, stride: memory.pitch, width: width, height: height, format: .xrgb8888)
        self.scanned = scanned
        self.memory = memory
    }

    var framebuffer: FramebufferID { scanned.id }
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
