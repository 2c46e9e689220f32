import CDRM
import Glibc
import Logging
import Platform
import Playback

/// A display on a DRM card. Every flip is committed without blocking and answered by an event on the card's descriptor.
final class KMSScreen: Screen {
    let mode: DisplayMode
    private(set) var buffers: [ScanoutBuffer] = []
    private(set) var reportsVblank: Bool
    private let card: DRMCard
    private let pipe: any Pipe
    private let framebuffers: [UInt32]
    /// The flip whose event is awaited, and how long.
    private var pending: (id: UInt64, deadline: HostTime)?
    private var lostFlips = 0
    private var silentFlips = 0
    /// Since when the kernel has refused every flip although none of ours is pending.
    private var busySince: HostTime?
    private let flipTimeout: MediaTime

    /// Takes the display over with a full modeset to the background colour.
    init(_ card: DRMCard, _ record: ConnectorRecord, mode index: Int, background: UInt32, retrainingLink: Bool) throws(DeviceError) {
        let route = try PipeRoute.find(card, record, mode: index)
        let timing = record.connector.modes[index]
        var made: [DumbScanoutBuffer] = []
        for _ in 0..<bufferCount {
            made.append(DumbScanoutBuffer(try DumbBuffer.make(card, width: timing.width, height: timing.height)))
        }
        for buffer in made { buffer.clear(to: background) }
        let pipe: any Pipe = card.isAtomic ? try AtomicPipe(route) : LegacyPipe(route)
        try pipe.modeset(made[0].framebuffer, retrainingLink: retrainingLink)

        self.card = card
        self.pipe = pipe
        framebuffers = made.map(\.framebuffer)
        buffers = made
        let period = MediaTime(nanoseconds: Int64((1e9 / timing.refresh).rounded()))
        mode = DisplayMode(
            width: timing.width, height: timing.height, refreshPeriod: period, name: "\(record.connector.name) \(timing.name)")
        flipTimeout = max(period * 4, .milliseconds(100))
        var sequence: UInt64 = 0
        var time: UInt64 = 0
        // virtio-gpu, bochs and simpledrm count no vblanks; their flip events come at once, with sequence 0.
        reportsVblank = !(drmCrtcGetSequence(card.fd, route.crtc, &sequence, &time) != 0 && errno == EOPNOTSUPP)
    }

    var descriptor: Int32? { card.fd }
    var timer: HostTime? { pending?.deadline }

    func present(_ buffer: Int, id: UInt64, at now: HostTime) -> ScreenAnswer {
        let code = pipe.flip(to: framebuffers[buffer], id: id)
        switch code {
        case 0:
            pending = (id, now + flipTimeout)
            busySince = nil
            return .queued
        case EBUSY:
            let since = busySince ?? now
            busySince = since
            guard now - since > .seconds(1) else { return .busy }
            return .lost(DeviceError("flip on \(card.path), busy for a second", code: code))
        default: return .lost(DeviceError("flip on \(card.path)", code: code))
        }
    }

    func collect(at now: HostTime) -> ScreenReport? {
        var bytes: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
        let report = withUnsafeMutableBytes(of: &bytes) { buffer -> ScreenReport? in
            let count = read(card.fd, buffer.baseAddress, buffer.count)
            if count < 0 {
                return errno == EAGAIN || errno == EINTR ? nil : .lost(DeviceError("read events of \(card.path)"))
            }
            var offset = 0
            while offset + MemoryLayout<drm_event>.size <= count {
                let event = buffer.loadUnaligned(fromByteOffset: offset, as: drm_event.self)
                if event.type == UInt32(DRM_EVENT_FLIP_COMPLETE), Int(event.length) >= MemoryLayout<drm_event_vblank>.size,
                    let flip = flipped(buffer.loadUnaligned(fromByteOffset: offset, as: drm_event_vblank.self), at: now)
                {
                    return .flipped(flip)
                }
                offset += max(Int(event.length), MemoryLayout<drm_event>.size)
            }
            return nil
        }
        if let report { return report }
        guard let late = pending, late.deadline <= now else { return nil }
        // Some drivers lose an event now and then. The buffer is on the screen or will be; go on.
        pending = nil
        lostFlips += 1
        if lostFlips == 1 {
            log.warning("\(mode.name): no event for a flip within \(flipTimeout.nanoseconds / 1_000_000) ms; going on without")
        }
        return .flipped(Flip(id: late.id, time: now, sequence: nil))
    }

    /// The event of the pending flip; nil for one that was given up on.
    private func flipped(_ event: drm_event_vblank, at now: HostTime) -> Flip? {
        guard let expected = pending, UInt(truncatingIfNeeded: event.user_data) == UInt(truncatingIfNeeded: expected.id) else { return nil }
        pending = nil
        if event.sequence == 0 {
            silentFlips += 1
            if silentFlips == 2 { reportsVblank = false }
        } else {
            silentFlips = 0
        }
        let stamp = HostTime(nanoseconds: Int64(event.tv_sec) * 1_000_000_000 + Int64(event.tv_usec) * 1000)
        let time = card.hasMonotonicTimestamps && stamp.nanoseconds > 0 ? stamp : now
        return Flip(id: expected.id, time: time, sequence: reportsVblank ? UInt64(event.sequence) : nil)
    }

    func restore() { pipe.restore() }
}
