import CKioskDRM
import CKioskPlatform
import Glibc
import KioskPlatform

/// Mapped memory of a card, written by the processor; any KMS driver can scan it out.
struct DumbMemory: ~Copyable {
    let card: DRMCard
    let handle: GEMHandle
    /// Bytes from one row to the next.
    let pitch: Int
    let base: UnsafeMutableRawPointer
    private let byteCount: Int

    /// Allocates `height` rows of `width` pixels. The corresponding C function is `drmModeCreateDumbBuffer`.
    static func make(_ card: DRMCard, width: Int, height: Int, bitsPerPixel: Int) throws(DeviceError) -> DumbMemory {
        var handle: UInt32 = 0
        var pitch: UInt32 = 0
        var size: UInt64 = 0
        var status = drmModeCreateDumbBuffer(
            card.fd, UInt32(width), UInt32(height), UInt32(bitsPerPixel), 0, &handle, &pitch, &size)
        guard status == 0 else { throw DeviceError("create a \(width)x\(height) buffer on \(card.path)", code: status) }
        var offset: UInt64 = 0
        status = drmModeMapDumbBuffer(card.fd, handle, &offset)
        let base = status == 0 ? mmap(nil, Int(size), PROT_READ | PROT_WRITE, MAP_SHARED, card.fd, off_t(offset)) : MAP_FAILED
        guard let base, base != MAP_FAILED else {
            let error = DeviceError("map a buffer of \(card.path)", code: status == 0 ? errno : status)
            drmModeDestroyDumbBuffer(card.fd, handle)
            throw error
        }
        // In a child process, the mapping would keep the card and its master alive.
        madvise(base, Int(size), MADV_DONTFORK)
        // One call instead of a page fault for every page: faults would make the first frames late.
        kiosk_populate(base, Int(size))
        return DumbMemory(card: card, handle: GEMHandle(rawValue: handle), pitch: Int(pitch), base: base, byteCount: Int(size))
    }

    /// Returns a dma-buf of the memory, to map and write; nil if the driver gives none. The corresponding C function is
    /// `drmPrimeHandleToFD`.
    func share() -> SharedDescriptor? {
        var file: Int32 = -1
        guard drmPrimeHandleToFD(card.fd, handle.rawValue, UInt32(O_CLOEXEC | O_RDWR), &file) == 0 else { return nil }
        return SharedDescriptor(Descriptor(file))
    }

    deinit {
        munmap(base, byteCount)
        drmModeDestroyDumbBuffer(card.fd, handle.rawValue)
    }
}

/// A framebuffer: memory with a size and a format. The kernel keeps the memory alive as long as the framebuffer.
struct Framebuffer: ~Copyable {
    let id: FramebufferID
    private let card: DRMCard

    /// The layout of the planes in memory.
    struct Parts {
        var handles = Array(repeating: GEMHandle.none, count: 4)
        var pitches: [UInt32] = [0, 0, 0, 0]
        var offsets: [UInt32] = [0, 0, 0, 0]
        /// The format modifier of all planes; nil for the driver's own layout.
        var modifier: UInt64?
    }

    /// Makes a framebuffer. The corresponding C functions are `drmModeAddFB2` and `drmModeAddFB2WithModifiers`.
    static func make(_ card: DRMCard, width: Int, height: Int, format: UInt32, _ parts: Parts) throws(DeviceError) -> Framebuffer {
        var id: UInt32 = 0
        var status: Int32
        let handles = parts.handles.map(\.rawValue)
        if let modifier = parts.modifier, card.takesModifiers {
            let modifiers = handles.map { $0 == 0 ? 0 : modifier }
            status = drmModeAddFB2WithModifiers(
                card.fd, UInt32(width), UInt32(height), format, handles, parts.pitches, parts.offsets, modifiers, &id,
                UInt32(DRM_MODE_FB_MODIFIERS))
        } else {
            status = drmModeAddFB2(
                card.fd, UInt32(width), UInt32(height), format, handles, parts.pitches, parts.offsets, &id, 0)
        }
        if status != 0, format == kDRM_FORMAT_XRGB8888 {
            // For drivers without AddFB2.
            status = drmModeAddFB(card.fd, UInt32(width), UInt32(height), 24, 32, parts.pitches[0], handles[0], &id)
        }
        guard status == 0 else { throw DeviceError("make a \(width)x\(height) framebuffer on \(card.path)", code: status) }
        return Framebuffer(id: FramebufferID(rawValue: id), card: card)
    }

    deinit { drmModeRmFB(card.fd, id.rawValue) }
}

/// Dumb memory with its framebuffer, alive as long as it has references.
final class DumbBuffer: @unchecked Sendable {
    // Sendable: nothing changes after the creation.
    private(set) var scanned: Framebuffer
    private(set) var memory: DumbMemory

    private init(_ memory: consuming DumbMemory, _ scanned: consuming Framebuffer) {
        self.memory = memory
        self.scanned = scanned
    }

    /// Makes a framebuffer of `width` x `height` pixels on `memory`. `pitches` and `offsets` are those of its planes, in bytes.
    static func make(
        _ memory: consuming DumbMemory, width: Int, height: Int, format: UInt32, pitches: [Int], offsets: [Int] = [0]
    ) throws(DeviceError) -> DumbBuffer {
        var parts = Framebuffer.Parts()
        for plane in pitches.indices {
            parts.handles[plane] = memory.handle
            (parts.pitches[plane], parts.offsets[plane]) = (UInt32(pitches[plane]), UInt32(offsets[plane]))
        }
        let scanned = try Framebuffer.make(memory.card, width: width, height: height, format: format, parts)
        return DumbBuffer(memory, scanned)
    }

    /// Makes a buffer for a picture of 32 bits a pixel, uncleared. Returns it with its pixels.
    static func make(
        _ card: DRMCard, width: Int, height: Int, format: UInt32 = kDRM_FORMAT_XRGB8888
    ) throws(DeviceError) -> (buffer: DumbBuffer, pixels: PixelMemory) {
        let memory = try DumbMemory.make(card, width: width, height: height, bitsPerPixel: 32)
        let pixels = PixelMemory(base: memory.base, stride: memory.pitch, width: width, height: height, format: .xrgb8888)
        return (try make(memory, width: width, height: height, format: format, pitches: [pixels.stride]), pixels)
    }

    var framebuffer: FramebufferID { scanned.id }
}

/// A property blob, such as a mode.
struct PropertyBlob: ~Copyable {
    let id: BlobID
    private let card: DRMCard

    /// Makes a blob of `value`'s bytes.
    static func make<Value: BitwiseCopyable>(_ card: DRMCard, _ value: Value) throws(DeviceError) -> PropertyBlob {
        var id: UInt32 = 0
        let status = withUnsafeBytes(of: value) { drmModeCreatePropertyBlob(card.fd, $0.baseAddress, $0.count, &id) }
        guard status == 0 else { throw DeviceError("create a property blob on \(card.path)", code: status) }
        return PropertyBlob(id: BlobID(rawValue: id), card: card)
    }

    deinit { drmModeDestroyPropertyBlob(card.fd, id.rawValue) }
}

/// Owns a noncopyable value for several references.
final class Owned<Value: ~Copyable>: @unchecked Sendable {
    // Sendable: the value does not change, and one thread at a time uses it.
    private(set) var value: Value
    init(_ value: consuming Value) { self.value = value }
}
