import CKioskFFmpeg
import Glibc
import KioskPlatform
import Synchronization

// A driver can hang: in a system call, or because the hardware never says that a picture is done. libavcodec waits for V4L2 without a limit, and so do
// drivers of libva that do not implement vaSyncSurface2. So a hardware decoder or encoder (EncoderCalls.swift) is called on a thread of its own, and who calls
// waits for so long and no longer. A call that is late is left behind with its thread and with all that it uses: when it comes back, that is freed there.
// So what a call is given is `nonisolated(unsafe)`: its caller does not touch it until the call has come back, and never again where that is too late.

/// Calls with a limit. The threads are kept for the next calls.
enum DriverCall {
    /// How long an item waits for a driver that opens a decoder, and for its first picture.
    static let openingLimit = HardwareDevice.timeLimit
    /// How long it waits in mid-item. What is decoded ahead covers a fifth of a second of it.
    static let limit = MediaTime.seconds(1)

    private final class Worker: Sendable {
        struct State {
            var work: (@Sendable () -> Void)?
            var isDone = true
            /// Whether nobody waits for it.
            var isAlone = false
            /// What is left to do when the call comes back after all.
            var late: (@Sendable () -> Void)?
        }
        let state = Monitor(State())

        /// Does what comes until something was late.
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

    /// Runs `call` on another thread; false where it has not returned within `limit`. Then `late` follows it there.
    static func run(within limit: MediaTime, _ call: @escaping @Sendable () -> Void, late: @escaping @Sendable () -> Void) -> Bool {
        let worker = idle.withLock { $0.popLast() } ?? start()
        worker.state.signal { ($0.work, $0.isDone) = (call, false) }
        _ = worker.state.wait(until: .now + limit) { $0.isDone ? true : nil }
        // It may have come back just now.
        let isLate = worker.state.withLock { state in
            if !state.isDone { state.late = late }
            return !state.isDone
        }
        if isLate { return false }
        idle.withLock { $0.append(worker) }
        return true
    }

    /// The same of a call of the decoder, encoder or device of this name: notes that it hangs, and that it does not any more.
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

    /// What to say of a driver that has not answered for so long.
    static func silence(_ limit: MediaTime) -> String { "its driver did not answer for \(Int(saturating: limit.seconds)) s" }

    /// Runs `call` on another thread, and does not wait for it.
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

    /// Whether a call of the decoder, encoder or device of this name has not come back.
    static func hangs(_ name: String) -> Bool { hanging.withLock { $0[name, default: 0] > 0 } }

    /// Counts a call of the decoder, encoder or device of this name that has not come back, or one that has after all.
    private static func note(_ name: String, hangs: Bool) {
        // It may have come back before that it hangs is noted.
        hanging.withLock { $0[name, default: 0] += hangs ? 1 : -1 }
    }
}

/// What a call on another thread has come to.
final class Outcome: @unchecked Sendable {
    // Sendable because the thread that calls writes it, and who waits reads it after the call has returned.
    var status: Int32 = 0
    /// What has been made: a filter, or a picture.
    var graph: OpaquePointer?, exported: UnsafeMutablePointer<AVFrame>?
    var problem: SurfaceError?

    /// Frees what has come out, and the frame that it came with.
    func free(with frame: UnsafeMutablePointer<AVFrame>) {
        exported.take()?.free()
        frame.free()
    }
}

// MARK: - The calls of a decoder

extension CodecContext {
    /// Opens it. The corresponding C function is `avcodec_open2`.
    mutating func open(_ decoder: UnsafePointer<AVCodec>) -> Int32 {
        nonisolated(unsafe) let (context, decoder) = (raw, decoder)
        lease?.isSound = false
        let outcome = Outcome()
        guard call({ outcome.status = avcodec_open2(context, decoder, nil) }, late: {}) else { return shim_averror(ETIMEDOUT) }
        lease?.isSound = outcome.status >= 0
        return outcome.status
    }

    /// Hands over a packet, nil for the end. The corresponding C function is `avcodec_send_packet`.
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

    /// Takes the next picture, which is in `frame` then; one in a VAAPI surface is waited for and described as dmabufs in `exported`, but
    /// where the device makes pictures of fields and has come to some. After a call that has not come back `frame` is another one. The corresponding C function is `avcodec_receive_frame`.
    mutating func receive(
        _ frame: inout UnsafeMutablePointer<AVFrame>, _ exported: inout UnsafeMutablePointer<AVFrame>?
    ) throws(SurfaceError) -> Int32 {
        guard let lease else { return avcodec_receive_frame(raw, frame) }
        // FFmpeg's V4L2 decoder reads through a null pointer where it has been sent nothing yet, and where it could not begin with what it was
        // sent: then it does not know what its pictures are.
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

    /// Drops all it holds. The corresponding C function is `avcodec_flush_buffers`.
    mutating func flush() {
        guard lease != nil else { return avcodec_flush_buffers(raw) }
        nonisolated(unsafe) let context = raw
        _ = call({ avcodec_flush_buffers(context) }, late: {})
    }

    /// What a status means for a message.
    func reason(_ status: Int32) -> String {
        lease?.isHung == true ? DriverCall.silence(limit) : averrorText(status)
    }

    private var limit: MediaTime {
        let limit = lease?.limit ?? DriverCall.limit
        return lease?.hasDrawn == true ? limit : max(limit, DriverCall.openingLimit)
    }

    /// Calls the driver; false where that does not come back. The decoder is then nobody's but that call's.
    private mutating func call(_ work: @escaping @Sendable () -> Void, late: @escaping @Sendable () -> Void) -> Bool {
        guard let lease, !lease.isHung else { return false }
        nonisolated(unsafe) let context = raw
        let lender = lease.use?.lender
        let isDone = DriverCall.run(of: lease.identity.way.driver, within: limit, work) {
            late()
            // Else this reference to it may be the last.
            if lender == nil { context.free() }
        }
        if !isDone { self.lease?.isHung = true }
        return isDone
    }

    /// Frees a hardware decoder; leaves that behind where the driver does not let go of it. The corresponding C function is `avcodec_free_context`.
    static func free(_ raw: UnsafeMutablePointer<AVCodecContext>, of driver: String) {
        nonisolated(unsafe) let context = raw
        _ = DriverCall.run(of: driver, within: DriverCall.limit, { context.free() }, late: {})
    }

    /// Has a hardware decoder that nobody uses drop what it holds; false where it is not to be used any more, and is freed when the call comes back.
    /// The corresponding C function is `avcodec_flush_buffers`.
    static func flush(_ raw: UnsafeMutablePointer<AVCodecContext>, of driver: String) -> Bool {
        nonisolated(unsafe) let context = raw
        return DriverCall.run(of: driver, within: DriverCall.limit, { avcodec_flush_buffers(context) }, late: { context.free() })
    }
}
