import CKioskFFmpeg
import CKioskMedia
import KioskPlatform

/// Owns a filter for frames of one size and pixel format, or for the surfaces of one VAAPI decoder. The corresponding C functions are
/// `avfilter_graph_alloc` and `avfilter_graph_free`.
///
/// Calls for surfaces end up in a driver, so they have a limit (``DriverCall``). libavfilter's `deinterlace_vaapi` drops frames at both
/// ends: as many as the driver looks back and ahead. So this type repeats the first frame before the start, and the last one after the end.
/// The copies have timestamps of no frame, and ``FieldTimes`` drops their pictures.
struct DeinterlacingGraph: ~Copyable, @unchecked Sendable {
    // Sendable because only the single owner reaches the pointers.
    private let raw: OpaquePointer
    private let size: (width: Int32, height: Int32), format: Int32, shape: (num: Int32, den: Int32)
    /// The decoder whose surfaces it takes.
    private let pool: UnsafeMutableRawPointer?
    /// Whether it is a device's filter, for surfaces.
    let isOfDevice: Bool
    private let isOfFields: Bool
    /// Whether a call has not returned. That call then owns the filter.
    private var isHung = false
    /// The last surface that was put in.
    private var last: UnsafeMutablePointer<AVFrame>?
    /// No driver looks farther back or ahead.
    private static let padding = 3

    /// The output of a filter.
    enum Output: ~Copyable {
        case picture(VideoFrame)
        /// It needs another frame first, or has no more pictures.
        case none
        case failed(String)
    }

    private static let late = DriverCall.silence(DriverCall.limit)

    /// Creates a filter; nil on failure, with the AVERROR in `status`.
    init?(_ frame: borrowing VideoFrame, threads: Int, ofFields: Bool, status: inout Int32) {
        (isOfDevice, isOfFields) = (frame.av.isVAAPI, ofFields)
        let made = Outcome()
        if isOfDevice {
            guard let copy = av_frame_clone(frame.av) else {
                status = shim_averror(ENOMEM)
                return nil
            }
            nonisolated(unsafe) let av = copy
            let isDone = DriverCall.run(within: DriverCall.openingLimit) {
                made.graph = kiosk_deinterlacer_open(av, 1, ofFields ? 1 : 0, Int32(PicturePool.extra), &made.status)
            } late: {
                if let graph = made.graph { kiosk_deinterlacer_close(graph) }
                av.free()
            }
            guard isDone else {
                status = shim_averror(ETIMEDOUT)
                return nil
            }
            av.free()
        } else {
            made.graph = kiosk_deinterlacer_open(frame.av, Int32(threads), ofFields ? 1 : 0, 0, &made.status)
        }
        status = made.status
        guard let opened = made.graph else { return nil }
        raw = opened
        (size, format) = ((frame.av.pointee.width, frame.av.pointee.height), frame.av.pointee.format)
        shape = (frame.av.pointee.sample_aspect_ratio.num, frame.av.pointee.sample_aspect_ratio.den)
        pool = Self.pool(frame)
    }

    deinit {
        if let last { last.free() }
        if isHung { return }
        guard isOfDevice else { return kiosk_deinterlacer_close(raw) }
        nonisolated(unsafe) let graph = raw
        _ = DriverCall.run(within: DriverCall.limit, { kiosk_deinterlacer_close(graph) }, late: {})
    }

    private static func pool(_ frame: borrowing VideoFrame) -> UnsafeMutableRawPointer? {
        frame.av.pointee.hw_frames_ctx.flatMap { UnsafeMutableRawPointer($0.pointee.data) }
    }

    /// Whether a frame has the same size, format, pixel shape and decoder.
    func takes(_ frame: borrowing VideoFrame) -> Bool {
        frame.av.pointee.width == size.width && frame.av.pointee.height == size.height && frame.av.pointee.format == format
            && (frame.av.pointee.sample_aspect_ratio.num, frame.av.pointee.sample_aspect_ratio.den) == shape && Self.pool(frame) == pool
    }

    /// Sends a frame to the filter. A software filter takes over its picture and empties it; a device's filter takes a reference. Returns
    /// the reason on failure, and leaves the frame unchanged. Timestamps are whole numbers that grow by one.
    mutating func send(_ frame: borrowing VideoFrame) -> String? {
        guard isOfDevice else {
            let status = kiosk_deinterlacer_send(raw, frame.av)
            return status < 0 ? averrorText(status) : nil
        }
        let timestamp = frame.av.pointee.pts
        if last == nil {
            for number in 1...Self.padding {
                if let error = put(frame.av, timestamp - Int64(Self.padding + 1 - number)) { return error }
            }
        }
        if let last { last.free() }
        last = av_frame_clone(frame.av)
        return put(frame.av, timestamp)
    }

    /// Ends the input.
    mutating func sendEnd() {
        guard isOfDevice else {
            _ = kiosk_deinterlacer_send(raw, nil)
            return
        }
        if let last {
            for number in 1...Self.padding where put(last, last.pointee.pts + Int64(number)) != nil { return }
        }
        nonisolated(unsafe) let graph = raw
        _ = call({ _ = kiosk_deinterlacer_send(graph, nil) }, late: {})
    }

    /// Sends another reference to a surface; returns the reason on failure.
    private mutating func put(_ frame: UnsafeMutablePointer<AVFrame>, _ timestamp: Int64) -> String? {
        guard let copy = av_frame_clone(frame) else { return "out of memory" }
        copy.pointee.pts = timestamp
        nonisolated(unsafe) let (graph, surface) = (raw, copy)
        let made = Outcome()
        guard call({ made.status = kiosk_deinterlacer_send(graph, surface) }, late: { surface.free() }) else { return Self.late }
        surface.free()
        return made.status < 0 ? averrorText(made.status) : nil
    }

    /// Returns the next picture.
    mutating func receive() -> Output {
        guard isOfDevice else {
            let picture = VideoFrame(adopting: av_frame_alloc())
            return kiosk_deinterlacer_receive(raw, picture.av) < 0 ? .none : .picture(picture)
        }
        nonisolated(unsafe) let (graph, picture) = (raw, av_frame_alloc()!)
        let outcome = Outcome()
        let isDone = call {
            outcome.status = kiosk_deinterlacer_receive(graph, picture)
            guard outcome.status >= 0 else { return }
            do throws(SurfaceError) { outcome.exported = try picture.exported() } catch { outcome.problem = error }
        } late: {
            outcome.free(with: picture)
        }
        guard isDone else { return .failed(Self.late) }
        if let exported = outcome.exported {
            // With one picture a frame, bwdif doubles the timestamp and this filter does not.
            if !isOfFields { exported.pointee.pts *= 2 }
            return .picture(VideoFrame(adopting: exported, orientation: .up, origin: picture, isPooled: true, use: nil))
        }
        outcome.free(with: picture)
        if let problem = outcome.problem { return .failed(problem.text) }
        return outcome.status == kAVERROR_EAGAIN || outcome.status == kAVERROR_EOF ? .none : .failed(averrorText(outcome.status))
    }

    /// Calls the driver; false if the call exceeds its limit. The call then frees the filter when it ends, and `late` frees its arguments.
    private mutating func call(_ work: @escaping @Sendable () -> Void, late: @escaping @Sendable () -> Void) -> Bool {
        if isHung { return false }
        nonisolated(unsafe) let graph = raw
        isHung = !DriverCall.run(within: DriverCall.limit, work) {
            kiosk_deinterlacer_close(graph)
            late()
        }
        return !isHung
    }
}
