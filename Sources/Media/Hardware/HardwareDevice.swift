import CKioskFFmpeg
import KioskPlatform
import Logging

/// An opened device that decodes. The first item that needs it opens it, once in the life of the process. Loading a driver takes a tenth of
/// a second, and some drivers crash when they are loaded again and again.
///
/// A driver can hang. So a separate thread opens it, which the caller abandons after ``timeLimit``. The failure is remembered, so that no
/// later item waits. If the device opens after all, later items get it.
final class HardwareDevice: @unchecked Sendable {
    // Sendable because libavutil counts the references of the context atomically, and nothing here changes it.
    private let raw: UnsafeMutablePointer<AVBufferRef>
    /// The driver's own name, or the node.
    let name: String
    /// Whether it makes pictures from the fields of interlaced frames.
    let deinterlaces: Bool

    private init(_ raw: UnsafeMutablePointer<AVBufferRef>, name: String, deinterlaces: Bool) {
        (self.raw, self.name, self.deinterlaces) = (raw, name, deinterlaces)
    }

    /// Returns another reference for a decoder; nil without memory. The corresponding C function is `av_buffer_ref`.
    func reference() -> UnsafeMutablePointer<AVBufferRef>? { av_buffer_ref(raw) }

    /// The time that an item waits for a driver.
    static let timeLimit = MediaTime.seconds(2)

    private struct Key: Hashable {
        var type: UInt32
        var node: String
    }

    private static let devices = Monitor<[Key: Result<HardwareDevice, SurfaceError>?]>([:])
    private static let log = Logger(label: "decoder")

    /// Returns the device at `node`, and opens it at the first call. Blocks for at most ``timeLimit``. The corresponding C function is
    /// `av_hwdevice_ctx_create`.
    static func open(_ type: AVHWDeviceType, node: String) throws(SurfaceError) -> HardwareDevice {
        let key = Key(type: UInt32(bitPattern: Int32(truncatingIfNeeded: type.rawValue)), node: node)
        let isFirst = devices.withLock { devices in
            if devices[key] != nil { return false }
            devices[key] = .some(nil)
            return true
        }
        if isFirst {
            Thread("driver") {
                let outcome = Result<HardwareDevice, SurfaceError> { () throws(SurfaceError) in try create(type, node) }
                devices.signal { $0[key] = .some(outcome) }
                switch outcome {
                case .success(let device): log.info("\(node): \(device.name)")
                case .failure(let error): log.debug("\(node) decodes nothing: \(error.text)")
                }
            }.detach()
        }
        _ = devices.wait(until: .now + timeLimit) { $0[key] ?? nil }
        return try devices.withLock { devices in
            let outcome = (devices[key] ?? nil) ?? .failure(SurfaceError(text: DriverCall.silence(timeLimit)))
            devices[key] = .some(outcome)
            return outcome
        }.get()
    }

    private static func create(_ type: AVHWDeviceType, _ node: String) throws(SurfaceError) -> HardwareDevice {
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        // Otherwise libavutil takes a bad node for the name of an X display.
        if type == AV_HWDEVICE_TYPE_VAAPI { av_dict_set(&options, "connection_type", "drm", 0) }
        var context: UnsafeMutablePointer<AVBufferRef>?
        let status = av_hwdevice_ctx_create(&context, type, node, options, 0)
        guard status >= 0, let context else { throw SurfaceError(text: averrorText(status)) }
        guard type == AV_HWDEVICE_TYPE_VAAPI, let display = context.vaDisplay else {
            return HardwareDevice(context, name: node, deinterlaces: false)
        }
        let name = vaQueryVendorString(display).map { String(cString: $0) } ?? node
        return HardwareDevice(context, name: name, deinterlaces: deinterlaces(display))
    }

    /// Whether a driver has a filter that does more than weave both fields. The corresponding C function is `vaQueryVideoProcFilterCaps`.
    private static func deinterlaces(_ display: VADisplay) -> Bool {
        var (config, context) = (VAConfigID(), VAContextID())
        let good = VAStatus(VA_STATUS_SUCCESS)
        guard vaCreateConfig(display, VAProfileNone, VAEntrypointVideoProc, nil, 0, &config) == good else { return false }
        defer { vaDestroyConfig(display, config) }
        guard vaCreateContext(display, config, 720, 576, 0, nil, 0, &context) == good else { return false }
        defer { vaDestroyContext(display, context) }
        var filters = [VAProcFilterType](repeating: VAProcFilterNone, count: Int(VAProcFilterCount.rawValue))
        var count = UInt32(filters.count)
        guard vaQueryVideoProcFilters(display, context, &filters, &count) == good,
            filters.prefix(Int(count)).contains(VAProcFilterDeinterlacing)
        else { return false }
        var kinds = [VAProcFilterCapDeinterlacing](repeating: VAProcFilterCapDeinterlacing(), count: Int(VAProcDeinterlacingCount.rawValue))
        count = UInt32(kinds.count)
        guard vaQueryVideoProcFilterCaps(display, context, VAProcFilterDeinterlacing, &kinds, &count) == good else { return false }
        let useful = [VAProcDeinterlacingBob, VAProcDeinterlacingMotionAdaptive, VAProcDeinterlacingMotionCompensated]
        return kinds.prefix(Int(count)).contains { useful.contains($0.type) }
    }
}

extension UnsafeMutablePointer<AVBufferRef> {
    /// libva's display of a VAAPI device.
    fileprivate var vaDisplay: VADisplay? {
        let device = UnsafeMutableRawPointer(pointee.data)!.assumingMemoryBound(to: AVHWDeviceContext.self)
        return device.pointee.hwctx.assumingMemoryBound(to: AVVAAPIDeviceContext.self).pointee.display
    }
}
