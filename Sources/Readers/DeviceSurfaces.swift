import CKioskFFmpeg
import CKioskPlatform
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaderServer
import Synchronization

/// The surfaces of a reader's device, which come as dma-bufs, and its pictures in them. The display shows a surface as it is, or the reader
/// copies it (SurfaceCopy.swift). For that the reader stays alive while any of its pictures is held.
///
/// The user of a surface checks its description: the kernel before a display shows it, and ``Surface/isMappable(_:)`` before it is mapped
/// here.
final class DeviceSurfaces: SurfaceCopier {
    private let session: ReaderSession
    private let rules: PictureRules
    private let held: HeldPictures
    private let copies: ArenaFrames
    private let known = Mutex<[Int: Surface]>([:])
    /// The number of copies requested. Held during a request.
    private let count = Mutex<UInt32>(0)

    private static let copyLimit = MediaTime.seconds(1)
    /// The most dma-bufs at a time: each is a descriptor of this process.
    private static let mostObjects = ControlLayout.pictureCount * ReaderSurface.mostObjects

    init(_ session: ReaderSession, _ rules: PictureRules, _ held: HeldPictures) {
        (self.session, self.rules, self.held, copies) = (session, rules, held, ArenaFrames(session.results, held))
    }

    /// A surface, and its dma-bufs received so far.
    private final class Surface: Sendable {
        let layout: ReaderSurface, format: SurfaceFormat
        let objects: [SharedDescriptor]
        let byteCounts: [Int]

        /// nil if the layout is invalid.
        init?(_ layout: ReaderSurface, _ objects: [SharedDescriptor]) {
            guard let format = SurfaceFormat(code: layout.format), layout.objectCount <= ReaderSurface.mostObjects,
                layout.planes.count == Int(av_pix_fmt_count_planes(format.pixelFormat)),
                layout.planes.allSatisfy({ $0.object < layout.objectCount })
            else { return nil }
            (self.layout, self.format, self.objects) = (layout, format, objects)
            byteCounts = objects.map { max(0, Int(lseek($0.raw, 0, SEEK_END))) }
        }

        var isWhole: Bool { objects.count == layout.objectCount }

        /// Whether a picture can be read from its memory: the bytes of a row are contiguous, all rows are there, and they stay there. A
        /// file that could be truncated would end this process.
        func isMappable(_ record: PictureRecord) -> Bool {
            guard layout.isLinear,
                let extents = PlaneExtents(format: record.format, width: record.width, height: record.height)
            else { return false }
            let fit = layout.planes.enumerated().allSatisfy { index, plane in
                plane.pitch >= extents.rowBytes[index]
                    && plane.offset + plane.pitch * (extents.rows[index] - 1) + extents.rowBytes[index] <= byteCounts[plane.object]
            }
            return fit && objects.allSatisfy { kiosk_keeps_its_size($0.raw) }
        }

        func descriptor() -> AVDRMFrameDescriptor {
            var descriptor = AVDRMFrameDescriptor()
            descriptor.nb_objects = Int32(objects.count)
            withUnsafeMutablePointer(to: &descriptor.objects) { tuple in
                tuple.withMemoryRebound(to: AVDRMObjectDescriptor.self, capacity: ReaderSurface.mostObjects) { list in
                    for (index, object) in objects.enumerated() {
                        list[index] = AVDRMObjectDescriptor(fd: object.raw, size: byteCounts[index], format_modifier: layout.modifier)
                    }
                }
            }
            descriptor.nb_layers = 1
            descriptor.layers.0.format = layout.format
            descriptor.layers.0.nb_planes = Int32(layout.planes.count)
            withUnsafeMutablePointer(to: &descriptor.layers.0.planes) { tuple in
                tuple.withMemoryRebound(to: AVDRMPlaneDescriptor.self, capacity: ReaderSurface.mostPlanes) { list in
                    for (index, plane) in layout.planes.enumerated() {
                        list[index] = AVDRMPlaneDescriptor(object_index: Int32(plane.object), offset: plane.offset, pitch: plane.pitch)
                    }
                }
            }
            return descriptor
        }
    }

    /// A picture in use.
    private final class Lease: Sendable {
        let surfaces: DeviceSurfaces, surface: Surface, record: PictureRecord

        init(_ surfaces: DeviceSurfaces, _ surface: Surface, _ record: PictureRecord) {
            (self.surfaces, self.surface, self.record) = (surfaces, surface, record)
        }

        deinit { surfaces.held.giveBack(record.slot) }
    }

    /// Takes a surface, or one more of its dma-bufs; returns false if it is invalid.
    func take(_ layout: ReaderSurface, _ object: SharedDescriptor?) -> Bool {
        guard let object else { return false }
        return known.withLock { known in
            var objects: [SharedDescriptor] = []
            if layout.object > 0 {
                guard let before = known[layout.number], before.objects.count == layout.object else { return false }
                objects = before.objects
            }
            guard let surface = Surface(layout, objects + [object]) else { return false }
            known[layout.number] = surface
            // A surface that a later one has replaced is closed once no picture uses it.
            guard known.values.reduce(0, { $0 + $1.objects.count }) <= Self.mostObjects else { return false }
            return true
        }
    }

    /// Returns the picture of a checked record; nil if its surface has not come, or without memory. The corresponding C function is
    /// `av_buffer_create`.
    func frame(_ record: PictureRecord, codec: String) -> VideoFrame? {
        guard let surface = known.withLock({ $0[record.buffer] }), surface.isWhole, surface.format.pixelFormat.rawValue == record.format,
            let av = av_frame_alloc()
        else { return nil }
        let place = UnsafeMutablePointer<AVDRMFrameDescriptor>.allocate(capacity: 1)
        place.initialize(to: surface.descriptor())
        let bytes = UnsafeMutableRawPointer(place).assumingMemoryBound(to: UInt8.self)
        let opaque = Unmanaged.passRetained(Lease(self, surface, record)).toOpaque()
        let buffer = av_buffer_create(
            bytes, MemoryLayout<AVDRMFrameDescriptor>.size,
            { opaque, data in
                UnsafeMutableRawPointer(data)?.deallocate()
                opaque.map { Unmanaged<Lease>.fromOpaque($0).release() }
            }, opaque, AV_BUFFER_FLAG_READONLY)
        guard let buffer else {
            Unmanaged<Lease>.fromOpaque(opaque).release()
            place.deallocate()
            av.free()
            return nil
        }
        record.describe(av)
        av.pointee.format = AV_PIX_FMT_DRM_PRIME.rawValue
        (av.pointee.buf.0, av.pointee.data.0) = (buffer, bytes)
        var frame = VideoFrame(
            adopting: av, orientation: record.orientation, pixelFormat: surface.format.pixelFormat, isPooled: true)
        (frame.codec, frame.copier) = (codec, self)
        return frame
    }

    // MARK: Copies

    func copy(_ frame: borrowing VideoFrame) -> VideoFrame? {
        guard let buffer = frame.av.pointee.buf.0, let opaque = av_buffer_get_opaque(buffer) else { return nil }
        let lease = Unmanaged<Lease>.fromOpaque(opaque).takeUnretainedValue()
        if session.reader.exit(until: .now) == nil {
            let copy = count.withLock { count -> VideoFrame? in
                count = (count &+ 1) & 0xFF_FFFF
                guard
                    let record = try? session.page.copy(lease.record.slot, number: count, until: .now + Self.copyLimit, rules),
                    (record.width, record.height) == (lease.record.width, lease.record.height)
                else { return nil }
                return copies.copy(record)
            }
            if var copy {
                copy.orientation = frame.orientation
                return copy
            }
        }
        return lease.surface.isMappable(lease.record) ? frame.mapped() : nil
    }
}
