import CKioskDRM
import Glibc
import KioskPlatform

/// The flip events of one card: read in one place, and handed to the output whose CRTC they are of.
///
/// Every output of the card waits for its descriptor on its own presenter's thread. Whoever is awake first reads all there is, keeps what
/// is of its own CRTC and leaves the rest for the others, whom it wakes. So a flip passes through no other thread, and none is lost to an
/// output that happened to be the reader.
final class CardEvents: Sendable {
    /// A flip has happened.
    struct FlipEvent: Hashable, Sendable {
        /// The CRTC; none where the kernel is too old to say. The flip's id then tells whose it is.
        var crtc: CRTCID
        /// What was given to the commit; unique in the process (``FlipID``).
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

    /// Begins to keep events for `crtc`, instead of for whoever had it before. `wake` is called when another output has read one, on that
    /// output's thread. Returns what ends it again.
    func add(_ crtc: CRTCID, wake: @escaping @Sendable () -> Void) -> UInt64 {
        let number = FlipID.next()
        receivers.withLock { $0[crtc] = Receiver(number: number, wake: wake) }
        return number
    }

    /// Ends what ``add(_:wake:)`` began, unless another one has taken the CRTC over.
    func remove(_ crtc: CRTCID, _ number: UInt64) { receivers.withLock { if $0[crtc]?.number == number { $0[crtc] = nil } } }

    /// The next event of `crtc`, oldest first; nil when there is none now. Reads the card's descriptor, which must not block.
    func next(for crtc: CRTCID, from descriptor: Int32) throws(DeviceError) -> FlipEvent? {
        try receivers.withLock { receivers throws(DeviceError) in
            if receivers[crtc]?.events.isEmpty != false { try Self.read(descriptor, for: crtc, into: &receivers) }
            guard receivers[crtc]?.events.isEmpty == false else { return nil }
            return receivers[crtc]!.events.removeFirst()
        }
    }

    private static func read(_ descriptor: Int32, for reader: CRTCID, into receivers: inout [CRTCID: Receiver]) throws(DeviceError) {
        // Eight flips.
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

    /// Calls `body` for every flip among the events that were read from a card. Pure.
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
