import CDRM
import Glibc
import Logging
import Media
import Platform
import Playback

/// A display on a DRM card. Every flip is committed without blocking and answered by an event on the card's descriptor; or, where the
/// driver refuses that, committed by a call that blocks for up to a refresh period, and reported right after.
final class KMSScreen: Screen {
    let mode: DisplayMode
    private(set) var buffers: [ScanoutBuffer] = []
    private let card: DRMCard
    private let pipe: any Pipe
    private let framebuffers: [FramebufferID]
    private var tracker: FlipTracker
    private let method: FlipMethod
    /// What a call that blocked has shown, to be reported by the next ``collect(at:)``.
    private var shown: Flip?
    let panelTurn: Rotation

    /// Takes the display over with a full modeset to the background colour.
    init(
        _ card: DRMCard, _ record: ConnectorRecord, mode index: Int, _ method: FlipMethod, background: UInt32, retrainingLink: Bool
    ) throws(DeviceError) {
        let route = try PipeRoute.find(card, record, mode: index)
        let timing = record.connector.modes[index]
        var made: [DumbScanoutBuffer] = []
        for _ in 0..<bufferCount {
            made.append(DumbScanoutBuffer(try DumbBuffer.make(card, width: timing.width, height: timing.height)))
        }
        made[0].clear(to: background)
        let pipe: any Pipe = card.isAtomic ? try AtomicPipe(route) : LegacyPipe(route)
        try pipe.modeset(made[0].framebuffer, retrainingLink: retrainingLink)

        self.card = card
        self.pipe = pipe
        self.method = method
        panelTurn = record.panelTurn
        framebuffers = made.map(\.framebuffer)
        buffers = made
        let period = MediaTime(nanoseconds: Int64((1e9 / timing.refresh).rounded()))
        mode = DisplayMode(
            width: timing.width, height: timing.height, refreshPeriod: period, name: "\(record.connector.name) \(timing.name)")
        var sequence: UInt64 = 0
        var time: UInt64 = 0
        let countsVblanks = !(drmCrtcGetSequence(card.fd, route.crtc.rawValue, &sequence, &time) != 0 && errno == EOPNOTSUPP)
        tracker = FlipTracker(refreshPeriod: period, reportsVblank: countsVblanks && method == .event)
    }

    var reportsVblank: Bool { tracker.reportsVblank }
    var descriptor: Int32? { card.fd }
    var timer: HostTime? { shown?.time ?? tracker.deadline }

    func present(_ buffer: Int, id: UInt64, at now: HostTime) -> ScreenAnswer {
        do throws(DeviceError) {
            switch method {
            case .event:
                try pipe.flip(to: framebuffers[buffer], id: id)
                tracker.committed(id, at: now)
            case .blocking:
                try pipe.flipBlocking(to: framebuffers[buffer])
                shown = Flip(id: id, time: .now, sequence: nil)
            }
            return .queued
        } catch { return tracker.refused(error, at: now) }
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
        if let shown = shown.take() { return .flipped(shown) }
        guard let flip = tracker.overdue(at: now) else { return nil }
        if tracker.lostCount == 1 {
            log.warning("\(mode.name): no event for a flip within \(tracker.timeout.nanoseconds / 1_000_000) ms; going on without")
        }
        return .assumed(flip)
    }

    private func flipped(_ event: drm_event_vblank, at now: HostTime) -> Flip? {
        let stamp = HostTime(nanoseconds: Int64(event.tv_sec) * 1_000_000_000 + Int64(event.tv_usec) * 1000)
        let isOurs = card.hasMonotonicTimestamps && stamp.nanoseconds > 0
        return tracker.event(userData: event.user_data, sequence: event.sequence, stamp: isOurs ? stamp : nil, at: now)
    }

    func restore() { pipe.restore() }
}
