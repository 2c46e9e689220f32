import CKioskDRM
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

/// A display on a DRM card. It commits every flip without blocking, and an event on the card's descriptor reports the flip. If the driver
/// refuses that, it commits with a call that blocks for up to a refresh period, and reports the flip right after.
final class KMSScreen: Screen {
    let mode: DisplayMode
    let buffers: [ScanoutBuffer]
    private let card: DRMCard
    private let crtc: CRTCID
    /// The number that ends the reception of the CRTC's events.
    private let receiver: UInt64
    private let pipe: any Pipe
    private let framebuffers: [FramebufferID]
    private var tracker: FlipTracker
    private let method: FlipMethod
    /// The flip of a blocking call, for the next ``collect(at:)`` to report.
    private var shown: Flip?
    let panelRotation: Rotation
    let television: CECPlace?
    private let planes: KMSPlanes?
    var overlayPlanes: (any OverlayHardware)? { planes }
    var videoPlanes: (any VideoHardware)? { planes }

    /// Takes over the display with a full modeset to the background colour. `wake` makes the waiting thread call ``collect(at:)``; any
    /// thread may call it.
    init(
        _ route: PipeRoute, _ record: ConnectorRecord, mode index: Int, _ method: FlipMethod, background: UInt32, retrainingLink: Bool,
        wake: @escaping @Sendable () -> Void
    ) throws(DeviceError) {
        let card = route.card
        let timing = record.connector.modes[index]
        var buffers: [ScanoutBuffer] = []
        var framebuffers: [FramebufferID] = []
        for _ in 0..<bufferCount {
            let (buffer, pixels) = try DumbBuffer.make(card, width: timing.width, height: timing.height)
            buffers.append(ScanoutBuffer(pixels: pixels, owner: buffer))
            framebuffers.append(buffer.framebuffer)
        }
        buffers[0].clear(to: background)
        let pipe: any Pipe = card.isAtomic ? try AtomicPipe(route) : LegacyPipe(route)
        try pipe.modeset(framebuffers[0], retrainingLink: retrainingLink)

        self.card = card
        crtc = route.crtc
        receiver = card.events.add(route.crtc, wake: wake)
        self.pipe = pipe
        self.method = method
        panelRotation = record.panelRotation
        television = Int(card.name.drop { !$0.isNumber }).map { number in
            CECPlace(connector: .init(card: number, id: record.id.rawValue), address: record.cecAddress)
        }
        (self.buffers, self.framebuffers) = (buffers, framebuffers)
        let size = PhysicalMeasures.believable(record.measures, pixels: (timing.width, timing.height))
        mode = DisplayMode(record.connector.name, timing, size)
        var sequence: UInt64 = 0
        var time: UInt64 = 0
        let countsVblanks = !(drmCrtcGetSequence(card.fd, route.crtc.rawValue, &sequence, &time) != 0 && errno == EOPNOTSUPP)
        // Virtual machines count no vblanks. Their cursor is the host's, and is missing from screenshots.
        planes = pipe.planes(usesCursor: countsVblanks)
        tracker = FlipTracker(refreshPeriod: mode.refreshPeriod, reportsVblank: countsVblanks && method == .event)
    }

    deinit {
        card.events.remove(crtc, receiver)
        planes?.leave()
    }

    var reportsVblank: Bool { tracker.reportsVblank }
    var descriptor: Int32? { card.fd }
    var timer: HostTime? { shown?.time ?? tracker.deadline }

    func present(_ buffer: Int, video: VideoShow?, overlay: OverlayChange?, id: UInt64, at now: HostTime) -> ScreenAnswer {
        let picture = video.map { PipePicture.planes($0) } ?? .converted(framebuffers[buffer])
        do throws(DeviceError) {
            try flip(to: picture, overlay, id: id, at: now)
            return .queued
        } catch {
            if case .busy = error { return tracker.refused(error, at: now) }
            guard error.isRefusal else { return .lost(error) }
            // The driver refuses the new part: an arrangement of pictures not shown before, or else the overlay's change.
            if let video, overlay == nil || !pipe.shows(video.arrangement) { return .refusedVideo(error) }
            guard overlay != nil else { return tracker.refused(error, at: now) }
            do throws(DeviceError) {
                let refusal = error
                try flip(to: picture, nil, id: id, at: now)
                return .queuedWithoutOverlay(refusal)
            } catch { return video == nil ? tracker.refused(error, at: now) : .refusedVideo(error) }
        }
    }

    private func flip(to picture: PipePicture, _ overlay: OverlayChange?, id: UInt64, at now: HostTime) throws(DeviceError) {
        let flip = method == .event ? FlipID.next() : nil
        try pipe.flip(to: picture, overlay: overlay, id: flip)
        if let flip { tracker.committed(id, as: flip, at: now) } else { shown = Flip(id: id, time: .now, sequence: nil) }
    }

    func hide(_ planes: [PlaneProperties]) {
        do throws(DeviceError) { try pipe.hide(planes) } catch { log.debug("an overlay stays on the screen: \(error)") }
    }

    func turnOff() throws(DeviceError) { try pipe.turnOff() }

    func collect(at now: HostTime) -> ScreenReport? {
        do throws(DeviceError) {
            while let event = try card.events.next(for: crtc, from: card.fd) {
                let isOurs = card.hasMonotonicTimestamps && event.stamp.nanoseconds > 0
                let stamp = isOurs ? event.stamp : nil
                if let flip = tracker.event(userData: event.id, sequence: event.sequence, stamp: stamp, at: now) { return .flipped(flip) }
            }
        } catch {
            return .lost(DeviceError("read events of \(card.path)", code: error.call.error.code))
        }
        if let shown = shown.take() { return .flipped(shown) }
        guard let flip = tracker.overdue(at: now) else { return nil }
        if tracker.lostCount == 1 {
            log.warning("\(mode.name): no event for a flip within \(tracker.timeout.nanoseconds / 1_000_000) ms; going on without")
        }
        return .flipped(flip)
    }

    func restore() { pipe.restore() }
}
