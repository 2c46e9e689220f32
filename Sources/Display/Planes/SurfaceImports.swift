import CKioskFFmpeg
import Glibc
import KioskMedia

/// The framebuffers of a hardware decoder's surfaces. Imports each surface once, and reuses it for every picture that the decoder draws
/// there.
///
/// The inode of its memory identifies a surface: decoders export it under another descriptor for every picture. A new decoder, as at every
/// seam, has other surfaces. So entries without a use for ``keptPictures`` are dropped, and all entries when the decoder's pool changes.
///
/// Not thread-safe; belongs to the compositor thread.
struct SurfaceImports {
    /// The memory, and the picture's position in it.
    private struct Key: Hashable {
        var device: UInt64, inode: UInt64
        var offset: Int, pitch: Int
    }

    private struct Entry {
        var surface: HeldFramebuffer
        var lastUse: UInt64
    }

    /// More than the number of a decoder's surfaces, so that each recurs within this many pictures.
    static let keptPictures: UInt64 = 64

    private var entries: [Key: Entry] = [:]
    private var pool: UnsafeMutableRawPointer?
    private var pictures: UInt64 = 0

    /// The number of entries.
    var count: Int { entries.count }

    /// Returns the framebuffer of a frame's surface; `make` imports it.
    mutating func framebuffer(
        of frame: borrowing VideoFrame, make: (borrowing VideoFrame) throws(DeviceError) -> HeldFramebuffer
    ) throws(DeviceError) -> HeldFramebuffer {
        let present = frame.av.pointee.hw_frames_ctx.flatMap { UnsafeMutableRawPointer($0.pointee.data) }
        if present != pool { entries.removeAll(keepingCapacity: true) }
        pool = present
        pictures += 1
        guard let key = Self.key(of: frame) else { throw DeviceError("find the memory of a decoded picture") }
        if let entry = entries[key] {
            entries[key]!.lastUse = pictures
            return entry.surface
        }
        // Only when a new one is made, not for every picture.
        let oldest = pictures > Self.keptPictures ? pictures - Self.keptPictures : 0
        if entries.contains(where: { $0.value.lastUse < oldest }) { entries = entries.filter { $0.value.lastUse >= oldest } }
        let fresh = try make(frame)
        entries[key] = Entry(surface: fresh, lastUse: pictures)
        return fresh
    }

    /// Drops all entries.
    mutating func removeAll() { entries.removeAll() }

    private static func key(of frame: borrowing VideoFrame) -> Key? {
        guard let surface = frame.surface, surface.pointee.nb_objects > 0 else { return nil }
        var status = stat()
        guard fstat(surface.pointee.objects.0.fd, &status) == 0 else { return nil }
        let plane = surface.pointee.layers.0.planes.0
        return Key(device: UInt64(status.st_dev), inode: UInt64(status.st_ino), offset: Int(plane.offset), pitch: Int(plane.pitch))
    }
}
