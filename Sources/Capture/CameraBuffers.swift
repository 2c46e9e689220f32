import CKioskCapture
import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import Synchronization

/// The mapped buffers of a camera's driver, which fills them in turn. A picture refers to a buffer without a copy (`AVBufferRef`); the
/// driver gets the buffer back after the last reference. The corresponding C functions are the ioctls VIDIOC_REQBUFS, VIDIOC_QBUF and
/// VIDIOC_DQBUF.
final class CameraBuffers: @unchecked Sendable {
    // Sendable because the mappings are made before it is shared, and V4L2's calls may come from any thread.
    private let device: Descriptor
    var descriptor: Int32 { device.raw }
    let path: String
    private(set) var mappings: [UnsafeMutableRawBufferPointer] = []
    /// The number of buffers in use by pictures.
    private let lent = Atomic(0)

    /// A filled buffer.
    struct Filled {
        var index: Int
        var number: UInt32
        var stamp: HostTime
        var byteCount: Int
        var isDamaged: Bool
    }

    /// Takes over `device`, the camera at `path`.
    init(_ device: consuming Descriptor, path: String) {
        self.device = device
        self.path = path
    }

    deinit { for mapping in mappings { munmap(mapping.baseAddress, mapping.count) } }

    private func buffer(_ index: Int) -> v4l2_buffer {
        var buffer = v4l2_buffer()
        buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        buffer.memory = V4L2_MEMORY_MMAP.rawValue
        buffer.index = UInt32(index)
        return buffer
    }

    /// Has the driver allocate about `count` buffers, maps them and queues them.
    func allocate(_ count: Int) throws(CaptureError) {
        var request = v4l2_requestbuffers()
        request.count = UInt32(count)
        request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        request.memory = V4L2_MEMORY_MMAP.rawValue
        guard kiosk_video_call(descriptor, kVIDIOC_REQBUFS, &request) == 0 else { throw failure("memory for pictures") }
        for index in 0..<Int(request.count) {
            var buffer = buffer(index)
            guard kiosk_video_call(descriptor, kVIDIOC_QUERYBUF, &buffer) == 0 else { throw failure("memory for pictures") }
            let memory = mmap(nil, Int(buffer.length), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, off_t(buffer.m.offset))
            guard memory != MAP_FAILED, let memory else { throw failure("memory for pictures") }
            mappings.append(UnsafeMutableRawBufferPointer(start: memory, count: Int(buffer.length)))
            guard kiosk_video_call(descriptor, kVIDIOC_QBUF, &buffer) == 0 else { throw failure("memory for pictures") }
        }
        guard mappings.count >= 2 else { throw .cameraFailed(path, step: "memory for pictures", errno: ENOMEM) }
    }

    /// Starts or stops the stream.
    func stream(_ isOn: Bool) throws(CaptureError) {
        var type = Int32(V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue)
        guard kiosk_video_call(descriptor, isOn ? kVIDIOC_STREAMON : kVIDIOC_STREAMOFF, &type) == 0 else {
            throw failure("pictures")
        }
    }

    /// Returns the error of the last call.
    func failure(_ step: String) -> CaptureError {
        let code = errno
        return switch code {
        case EBUSY: .cannotOpenCamera(path, errno: code, holders: DeviceHolder.find(path))
        case ENODEV: .cameraUnplugged(path)
        default: .cameraFailed(path, step: step, errno: code)
        }
    }

    /// Takes a filled buffer, if there is one; the caller must give it back.
    func take() throws(CaptureError) -> Filled? {
        var buffer = buffer(0)
        guard kiosk_video_call(descriptor, kVIDIOC_DQBUF, &buffer) == 0 else {
            if errno == EAGAIN { return nil }
            throw failure("pictures")
        }
        let now = HostTime.now
        var stamp = HostTime(buffer.timestamp)
        // Some drivers use another clock, and some cameras have wrong times.
        let isMonotonic = buffer.flags & kV4L2_BUF_FLAG_TIMESTAMP_MASK == kV4L2_BUF_FLAG_TIMESTAMP_MONOTONIC
        if !isMonotonic || stamp > now || now - stamp > .seconds(1) { stamp = now }
        return Filled(
            index: min(Int(buffer.index), mappings.count - 1), number: buffer.sequence, stamp: stamp,
            byteCount: min(Int(buffer.bytesused), mappings[min(Int(buffer.index), mappings.count - 1)].count),
            isDamaged: buffer.flags & kV4L2_BUF_FLAG_ERROR != 0)
    }

    /// Queues a buffer again. From any thread.
    func giveBack(_ index: Int) {
        var buffer = buffer(index)
        // Fails if the camera is gone.
        _ = kiosk_video_call(descriptor, kVIDIOC_QBUF, &buffer)
    }

    /// Whether so many buffers are lent that the driver may soon run out of them.
    var isShort: Bool { lent.load(ordering: .relaxed) + 3 > mappings.count }

    /// Wraps a filled buffer in a reference that gives it back; nil without memory.
    func lend(_ index: Int) -> UnsafeMutablePointer<AVBufferRef>? {
        let lease = Unmanaged.passRetained(Lease(self, index))
        let mapping = mappings[index]
        let reference = av_buffer_create(
            mapping.baseAddress?.assumingMemoryBound(to: UInt8.self), mapping.count,
            { opaque, _ in Unmanaged<Lease>.fromOpaque(opaque!).takeRetainedValue().end() }, lease.toOpaque(), AV_BUFFER_FLAG_READONLY)
        if reference == nil { lease.release() } else { lent.add(1, ordering: .relaxed) }
        return reference
    }

    private final class Lease {
        let buffers: CameraBuffers
        let index: Int
        init(_ buffers: CameraBuffers, _ index: Int) { (self.buffers, self.index) = (buffers, index) }
        func end() {
            buffers.lent.subtract(1, ordering: .relaxed)
            buffers.giveBack(index)
        }
    }
}
