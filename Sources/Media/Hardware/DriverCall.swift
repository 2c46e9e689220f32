import CKioskFFmpeg
import Glibc
import KioskPlatform
import Synchronization

// A driver can hang: in a system call, or because the hardware never reports a picture as done. libavcodec waits for V4L2 without a limit.
// So do libva drivers that do not implement vaSyncSurface2. So kiosk calls a hardware decoder on a separate thread. The caller waits only
// up to a limit. It abandons a late call with its thread and with all that the call uses. If the call returns later, its own thread frees
// that. So the arguments of a call are `nonisolated(unsafe)`. The caller does not touch them until the call has returned. If the call is
// late, the caller never touches them again.

/// Calls with a time limit. Later calls reuse the threads.
enum DriverCall {
    /// The time limit of an item for opening a decoder, and for its first picture.
    static let openingLimit = HardwareDevice.timeLimit
    /// The time limit in mid-item. The decoded frames ahead cover a fifth of a second of it.
    static let limit = MediaTime.seconds(1)

    private final class Worker: Sendable {
        struct State {
            var work: (@Sendable () -> Void)?
            var isDone = true
            /// Whether no caller waits for the call.
            var isAlone = false
            /// The cleanup for a call that returns after its limit.
            var late: (@Sendable () -> Void)?
        }
        let state = Monitor(State())

        /// Runs calls until one was late.
        func run() {
            while let work = state.wait({ $0.work.take() }) {
                work()
                let (late, wasAlone) = state.signal { state in
                    state.isDone = true
                    defer { state.isAlone = false }
                    return (state.late, state.isAlone)
                }
                if let late { return late() }
                if wasAlone { DriverCall.idle.withLock { $0.append(self) } }
            }
        }
    }

    private static let idle = Mutex<[Worker]>([])

    /// Runs `call` on another thread; returns false if it has not returned within `limit`. `late` then runs there after it.
    static func run(within limit: MediaTime, _ call: @escaping @Sendable () -> Void, late: @escaping @Sendable () -> Void) -> Bool {
        let worker = idle.withLock { $0.popLast() } ?? start()
        worker.state.signal { ($0.work, $0.isDone) = (call, false) }
        _ = worker.state.wait(until: .now + limit) { $0.isDone ? true : nil }
        // The call may have returned just now.
        let isLate = worker.state.withLock { state in
            if !state.isDone { state.late = late }
            return !state.isDone
        }
        if isLate { return false }
        idle.withLock { $0.append(worker) }
        return true
    }

    /// Runs a call of the decoder of this name, in the same way. Counts the call as hanging from its limit until it returns.
    static func run(
        of driver: String, within limit: MediaTime, _ call: @escaping @Sendable () -> Void, late: @escaping @Sendable () -> Void
    ) -> Bool {
        let isDone = run(within: limit, call) {
            late()
            note(driver, hangs: false)
        }
        if !isDone { note(driver, hangs: true) }
        return isDone
    }

    /// Returns the message for a driver that has not answered within `limit`.
    static func silence(_ limit: MediaTime) -> String { "its driver did not answer for \(Int(saturating: limit.seconds)) s" }

    /// Runs `call` on another thread, without waiting for it.
    static func begin(_ call: @escaping @Sendable () -> Void) {
        let worker = idle.withLock { $0.popLast() } ?? start()
        worker.state.signal { ($0.work, $0.isDone, $0.isAlone) = (call, false, true) }
    }

    private static func start() -> Worker {
        let worker = Worker()
        Thread("driver") { worker.run() }.detach()
        return worker
    }

    // MARK: Drivers that hang

    private static let hanging = Mutex<[String: Int]>([:])

    /// Whether a call of the decoder of this name has not returned.
    static func hangs(_ name: String) -> Bool { hanging.withLock { $0[name, default: 0] > 0 } }

    /// Counts a late call of the decoder of this name, or its return.
    private static func note(_ name: String, hangs: Bool) {
        // The call may return before its hang is counted.
        hanging.withLock { $0[name, default: 0] += hangs ? 1 : -1 }
    }
}

/// The result of a call on another thread.
final class Outcome: @unchecked Sendable {
    // Sendable because the calling thread writes it, and the waiting one reads it after the call has returned.
    var status: Int32 = 0
    /// The results: a filter, or a picture.
    var graph: OpaquePointer?, exported: UnsafeMutablePointer<AVFrame>?
    var problem: SurfaceError?

    /// Frees the picture, and the frame that it came with.
    func free(with frame: UnsafeMutablePointer<AVFrame>) {
        exported.take()?.free()
        frame.free()
    }
}

// MARK: - The calls of a decoder

extension CodecContext {
    /// Opens the decoder. The corresponding C function is `avcodec_open2`.
    mutating func open(_ decoder: UnsafePointer<AVCodec>) -> Int32 {
        nonisolated(unsafe) let (context, decoder) = (raw, decoder)
        lease?.isSound = false
        let outcome = Outcome()
        guard call({ outcome.status = avcodec_open2(context, decoder, nil) }, late: {}) else { return shim_averror(ETIMEDOUT) }
        lease?.isSound = outcome.status >= 0
        return outcome.status
    }

    /// Sends a packet; nil for the end. The corresponding C function is `avcodec_send_packet`.
    mutating func send(_ packet: UnsafeMutablePointer<AVPacket>?) -> Int32 {
        guard lease != nil else { return avcodec_send_packet(raw, packet) }
        lease?.hasSent = true
        nonisolated(unsafe) let (context, copy) = (raw, packet.flatMap { av_packet_clone($0) })
        guard packet == nil || copy != nil else { return shim_averror(ENOMEM) }
        let outcome = Outcome()
        guard call({ outcome.status = avcodec_send_packet(context, copy) }, late: { copy?.free() }) else { return shim_averror(ETIMEDOUT) }
        copy?.free()
        return outcome.status
    }

    /// Receives the next picture in `frame`. Waits for a VAAPI surface and describes it as dmabufs in `exported`. It leaves the surface
    /// alone if the device deinterlaces and an interlaced frame has come. If the call does not return, `frame` becomes a new frame. The
    /// corresponding C function is `avcodec_receive_frame`.
    mutating func receive(
        _ frame: inout UnsafeMutablePointer<AVFrame>, _ exported: inout UnsafeMutablePointer<AVFrame>?
    ) throws(SurfaceError) -> Int32 {
        guard let lease else { return avcodec_receive_frame(raw, frame) }
        // FFmpeg's V4L2 decoder reads through a null pointer before its first packet. It does the same if it could not start with its
        // packets: it then does not know its pixel format.
        if lease.identity.way.method == .v4l2, raw.pointee.pix_fmt == AV_PIX_FMT_NONE {
            return lease.hasSent ? shim_averror(EIO) : kAVERROR_EAGAIN
        }
        nonisolated(unsafe) let (context, target) = (raw, frame)
        let (outcome, deinterlaces, hasFields) = (Outcome(), lease.deinterlaces, lease.hasFields)
        let isDone = call {
            outcome.status = avcodec_receive_frame(context, target)
            guard outcome.status == 0, target.isVAAPI, !deinterlaces || !hasFields && shim_frame_is_interlaced(target) == 0 else { return }
            do throws(SurfaceError) { outcome.exported = try target.exported() } catch { outcome.problem = error }
        } late: {
            outcome.free(with: target)
        }
        guard isDone else {
            frame = av_frame_alloc()
            return shim_averror(ETIMEDOUT)
        }
        if let problem = outcome.problem { throw problem }
        exported = outcome.exported
        if outcome.status == 0 {
            self.lease?.hasDrawn = true
            if deinterlaces, shim_frame_is_interlaced(frame) != 0 { self.lease?.hasFields = true }
        }
        return outcome.status
    }

    /// Discards everything in the decoder. The corresponding C function is `avcodec_flush_buffers`.
    mutating func flush() {
        guard lease != nil else { return avcodec_flush_buffers(raw) }
        nonisolated(unsafe) let context = raw
        _ = call({ avcodec_flush_buffers(context) }, late: {})
    }

    /// Returns the message for a status.
    func reason(_ status: Int32) -> String {
        lease?.isHung == true ? DriverCall.silence(limit) : averrorText(status)
    }

    private var limit: MediaTime {
        let limit = lease?.limit ?? DriverCall.limit
        return lease?.hasDrawn == true ? limit : max(limit, DriverCall.openingLimit)
    }

    /// Calls the driver; returns false if the call does not return in time. The decoder then belongs to that call alone.
    private mutating func call(_ work: @escaping @Sendable () -> Void, late: @escaping @Sendable () -> Void) -> Bool {
        guard let lease, !lease.isHung else { return false }
        nonisolated(unsafe) let context = raw
        let lender = lease.use?.lender
        let isDone = DriverCall.run(of: lease.identity.way.driver, within: limit, work) {
            late()
            // Otherwise the lender frees it; this reference may be the last.
            if lender == nil { context.free() }
        }
        if !isDone { self.lease?.isHung = true }
        return isDone
    }

    /// Frees a hardware decoder; abandons it if the driver hangs. The corresponding C function is `avcodec_free_context`.
    static func free(_ raw: UnsafeMutablePointer<AVCodecContext>, of driver: String) {
        nonisolated(unsafe) let context = raw
        _ = DriverCall.run(of: driver, within: DriverCall.limit, { context.free() }, late: {})
    }

    /// Flushes an unused hardware decoder. Returns false if the call is late; its thread then frees the decoder. The corresponding C
    /// function is `avcodec_flush_buffers`.
    static func flush(_ raw: UnsafeMutablePointer<AVCodecContext>, of driver: String) -> Bool {
        nonisolated(unsafe) let context = raw
        return DriverCall.run(of: driver, within: DriverCall.limit, { avcodec_flush_buffers(context) }, late: { context.free() })
    }
}
