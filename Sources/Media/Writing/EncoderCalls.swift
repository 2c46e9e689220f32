import CKioskFFmpeg
import Glibc
import KioskPlatform

/// An encoder, and the calls of it. A driver can hang (``DriverCall``), so an encoder of the hardware is called on another thread, and who
/// calls waits for so long and no longer: a call that is late is left behind with the encoder. One of the processor is called straight.
final class EncoderCalls {
    let context: UnsafeMutablePointer<AVCodecContext>
    /// What answers the calls; nil with the processor.
    private let driver: String?
    /// How long a call may take.
    private let limit: MediaTime
    /// How long was waited for the call that has not come back; nil where there is none.
    private var waited: MediaTime?
    var isHung: Bool { waited != nil }

    /// How long a call of the hardware may take for a film that nobody waits for. Its pictures are copied within it by a process that may have
    /// little of a busy machine (`kiosk export`).
    static let patience = MediaTime.seconds(10)

    /// Takes ownership of `context`.
    init(_ context: UnsafeMutablePointer<AVCodecContext>, driver: String?, isLive: Bool) {
        (self.context, self.driver) = (context, driver)
        limit = isLive ? HardwareDevice.timeLimit : Self.patience
    }

    deinit {
        if isHung { return }
        if let driver { CodecContext.free(context, of: driver) } else { context.free() }
    }

    /// Opens it. The corresponding C function is `avcodec_open2`.
    func open(_ codec: UnsafePointer<AVCodec>) -> Int32 {
        guard let driver else { return avcodec_open2(context, codec, nil) }
        if DriverCall.hangs(driver) { return shim_averror(ETIMEDOUT) }
        nonisolated(unsafe) let (context, codec) = (context, codec)
        let outcome = Outcome()
        guard call(within: HardwareDevice.timeLimit, { outcome.status = avcodec_open2(context, codec, nil) }, late: {}) else {
            return shim_averror(ETIMEDOUT)
        }
        return outcome.status
    }

    /// Puts a picture in, which is referenced or copied; nil for the end. The corresponding C function is `avcodec_send_frame`.
    func send(_ frame: UnsafeMutablePointer<AVFrame>?) -> Int32 {
        guard driver != nil else { return avcodec_send_frame(context, frame) }
        nonisolated(unsafe) let (context, copy) = (context, frame.flatMap { av_frame_clone($0) })
        guard frame == nil || copy != nil else { return shim_averror(ENOMEM) }
        let outcome = Outcome()
        let isDone = call {
            outcome.status =
                if let copy, context.pointee.hw_frames_ctx != nil { SurfaceEncoder.upload(copy, to: context) } else {
                    avcodec_send_frame(context, copy)
                }
        } late: {
            copy?.free()
        }
        guard isDone else { return shim_averror(ETIMEDOUT) }
        copy?.free()
        return outcome.status
    }

    /// Takes the next packet out, into `packet`, which is another one after a call that has not come back. The corresponding C function is
    /// `avcodec_receive_packet`.
    func receive(_ packet: inout UnsafeMutablePointer<AVPacket>) -> Int32 {
        guard driver != nil else { return avcodec_receive_packet(context, packet) }
        nonisolated(unsafe) let (context, target) = (context, packet)
        let outcome = Outcome()
        if call({ outcome.status = avcodec_receive_packet(context, target) }, late: { target.free() }) { return outcome.status }
        packet = av_packet_alloc()
        return shim_averror(ETIMEDOUT)
    }

    /// What a status means for a message.
    func reason(_ status: Int32) -> String {
        waited.map(DriverCall.silence) ?? averrorText(status)
    }

    /// Calls the driver; false where that does not come back. The encoder is then nobody's but that call's.
    private func call(
        within limit: MediaTime? = nil, _ work: @escaping @Sendable () -> Void, late: @escaping @Sendable () -> Void
    ) -> Bool {
        guard let driver, !isHung else { return false }
        nonisolated(unsafe) let context = context
        let limit = limit ?? self.limit
        let isDone = DriverCall.run(of: driver, within: limit, work) {
            late()
            context.free()
        }
        if !isDone { waited = limit }
        return isDone
    }
}
