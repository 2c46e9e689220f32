import CFFmpeg
import Glibc

extension VideoFrame {
    /// The same picture in ordinary memory; nil where its memory cannot be mapped, or does not lie there row by row. For a picture that is in
    /// ordinary memory already, another reference to it.
    package func downloaded() -> VideoFrame? {
        guard let surface else { return shared() }
        let descriptor = surface.pointee
        guard descriptor.nb_layers == 1, descriptor.objects.0.format_modifier == 0 else { return nil }
        guard let copy = av_frame_alloc() else { return nil }
        let frame = VideoFrame(adopting: copy, orientation: orientation, pixelFormat: pixelFormat)
        copy.pointee.format = pixelFormat.rawValue
        (copy.pointee.width, copy.pointee.height) = (av.pointee.width, av.pointee.height)
        guard av_frame_get_buffer(copy, 64) >= 0, av_frame_copy_props(copy, av) >= 0 else { return nil }
        let mapped = MappedObjects(descriptor)
        let planes = withUnsafePointer(to: descriptor.layers.0.planes) {
            $0.withMemoryRebound(to: AVDRMPlaneDescriptor.self, capacity: 4) { Array(UnsafeBufferPointer(start: $0, count: 4)) }
        }
        var data: [UnsafePointer<UInt8>?] = [nil, nil, nil, nil]
        var strides: [Int32] = [0, 0, 0, 0]
        for index in 0..<min(Int(descriptor.layers.0.nb_planes), 4) {
            guard let base = mapped.base(Int(planes[index].object_index)) else { return nil }
            data[index] = UnsafePointer(base + Int(planes[index].offset))
            strides[index] = Int32(planes[index].pitch)
        }
        withUnsafeMutablePointer(to: &copy.pointee.data) { target in
            target.withMemoryRebound(to: UnsafeMutablePointer<UInt8>?.self, capacity: 8) { target in
                withUnsafeMutablePointer(to: &copy.pointee.linesize) { targetStrides in
                    targetStrides.withMemoryRebound(to: Int32.self, capacity: 8) { targetStrides in
                        av_image_copy(target, targetStrides, &data, strides, pixelFormat, copy.pointee.width, copy.pointee.height)
                    }
                }
            }
        }
        return frame
    }

    /// The memory of a surface, mapped for reading.
    private struct MappedObjects: ~Copyable {
        private var mappings: [(base: UnsafeMutableRawPointer, size: Int, fd: Int32)?] = []

        init(_ descriptor: AVDRMFrameDescriptor) {
            let objects = [descriptor.objects.0, descriptor.objects.1, descriptor.objects.2, descriptor.objects.3]
            for object in objects.prefix(Int(descriptor.nb_objects)) {
                let base = mmap(nil, object.size, PROT_READ, MAP_SHARED, object.fd, 0)
                guard let base, base != MAP_FAILED else {
                    mappings.append(nil)
                    continue
                }
                shim_dmabuf_sync(object.fd, 1)
                mappings.append((base, object.size, object.fd))
            }
        }

        deinit {
            for case let mapping? in mappings {
                shim_dmabuf_sync(mapping.fd, 0)
                munmap(mapping.base, mapping.size)
            }
        }

        func base(_ index: Int) -> UnsafeMutablePointer<UInt8>? {
            mappings.indices.contains(index) ? mappings[index]?.base.assumingMemoryBound(to: UInt8.self) : nil
        }
    }
}
