import CKioskDRM
import Glibc
import KioskPlatform

/// The flip events of one card: read in one place, and delivered to the output of their CRTC.
///
/// Every output of the card waits for the card's descriptor on its own presenter thread. The first thread to wake reads all events, keeps
/// those of its own CRTC, stores the others for their outputs and wakes these. So a flip passes through no other thread, and an output
/// cannot lose the events that another one reads.
final class CardEvents: Sendable {
    /// A completed flip.
    struct FlipEvent: Hashable, Sendable {
        /// The CRTC; none if the kernel is too old to report it. The flip's id then identifies the output.
        var crtc: CRTCID
        /// The commit's user data; unique in the process (``FlipID``).
        var id: UInt64
        /// The vblank counter.
        var sequence: UInt32
        /// On the card's clock.
        var stamp: HostTime
    }

    private struct Receiver {
        let number: UInt64
        var events: [FlipEvent] = []
        let wake: @Sendable () -> Void
    }

    private let receivers = Monitor<[CRTCID: Receiver]>([:])

    /// Begins to keep events for `crtc`, and replaces its former receiver. Another output that reads an event of `crtc` calls `wake` on its
    /// own thread. Returns the number for ``remove(_:_:)``.
    func add(_ crtc: CRTCID, wake: @escaping @Sendable () -> Void) -> UInt64 {
        let number = FlipID.next()
        receivers.withLock { $0[crtc] = Receiver(number: number, wake: wake) }
        return number
    }

    /// Ends the reception that ``add(_:wake:)`` began, unless another receiver has replaced it.
    func remove(_ crtc: CRTCID, _ number: UInt64) { receivers.withLock { if $0[crtc]?.number == number { $0[crtc] = nil } } }

    /// Returns the oldest event of `crtc`; nil if there is none now. Reads the card's descriptor, which must be nonblocking.
    func next(for crtc: CRTCID, from descriptor: Int32) throws(DeviceError) -> FlipEvent? {
        try receivers.withLock { receivers throws(DeviceError) in
            if receivers[crtc]?.events.isEmpty != false { try Self.read(descriptor, for: crtc, into: &receivers) }
            guard receivers[crtc]?.events.isEmpty == false else { return nil }
            return receivers[crtc]!.events.removeFirst()
        }
    }

    private static func read(_ descriptor: Int32, for reader: CRTCID, into receivers: inout [CRTCID: Receiver]) throws(DeviceError) {
        // Room for eight flips.
        var bytes: InlineArray<32, UInt64> = InlineArray(repeating: 0)
        let code = withUnsafeMutableBytes(of: &bytes) { buffer -> Int32 in
            let count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count < 0 { return errno }
            parse(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { event in
                if event.crtc == .none {
                    for crtc in Array(receivers.keys) { deliver(event, to: crtc, readBy: reader, &receivers) }
                } else {
                    deliver(event, to: event.crtc, readBy: reader, &receivers)
                }
            }
            return 0
        }
        if code != 0, code != EAGAIN, code != EINTR { throw DeviceError("read events", code: code) }
    }

    private static func deliver(_ event: FlipEvent, to crtc: CRTCID, readBy reader: CRTCID, _ receivers: inout [CRTCID: Receiver]) {
        guard receivers[crtc] != nil else { return }
        receivers[crtc]!.events.append(event)
        if crtc != reader { receivers[crtc]!.wake() }
    }

    /// Calls `body` for every flip among events read from a card. Pure.
    static func parse(_ bytes: UnsafeRawBufferPointer, _ body: (FlipEvent) -> Void) {
        var offset = 0
        while offset + MemoryLayout<drm_event>.size <= bytes.count {
            let event = bytes.loadUnaligned(fromByteOffset: offset, as: drm_event.self)
            let end = offset + max(Int(event.length), MemoryLayout<drm_event>.size)
            if event.type == UInt32(DRM_EVENT_FLIP_COMPLETE), Int(event.length) >= MemoryLayout<drm_event_vblank>.size, end <= bytes.count {
                let flip = bytes.loadUnaligned(fromByteOffset: offset, as: drm_event_vblank.self)
                let stamp = HostTime(nanoseconds: Int64(flip.tv_sec) * 1_000_000_000 + Int64(flip.tv_usec) * 1000)
                body(FlipEvent(crtc: CRTCID(rawValue: flip.crtc_id), id: flip.user_data, sequence: flip.sequence, stamp: stamp))
            }
            offset = end
        }
    }
}
