import CKioskDisplay
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Synchronization

/// One display in any form: on a DRM card, a framebuffer device, or in memory. The output exists with or without a display. It becomes
/// active when a display appears, and waits while there is none (``DisplayActivation``).
///
/// Two threads meet here. The *compositor* paints scenes into buffers. The *presenter* flips between them and, in ``wait(until:)``, does
/// everything else: one `ppoll` receives flip events, ``wake()``, and the events of the ``Seat``. The threads share the buffer pool and the
/// list of buffers, behind a lock. Nobody holds this lock during painting. A painter keeps its buffer alive, so a display may go at any
/// moment.
package final class DisplayOutput: SceneOutput, @unchecked Sendable {
    // Sendable: `shared`, the seat and the two wake-ups are thread-safe. Only the presenter thread touches the first group of the other
    // variables, and only the compositor thread the second (SceneOutput's contract).

    let shared: Monitor<OutputState>
    /// The heartbeat of the thread that looks for the display and keeps it.
    private let beats = Heartbeat()
    package var heartbeat: Heartbeat? { beats }
    let settings: DisplaySettings
    let wakeUp = WakeUp()
    /// Set before ``wakeUp``, if a buffer has become spare without a flip.
    let hasFreedBuffer = Atomic(false)
    /// Whether the first look is over. Until then the looking thread owns the presenter's variables.
    private let hasLooked = Monitor(false)

    // The presenter's.
    let seat: Seat
    private let number: Int
    /// Readable when the seat has posted something, or another output has read one of our flips.
    private let posted: WakeUp
    let activation: DisplayActivation
    var events: [SceneOutputEvent] = []

    // The compositor's.
    private let painter = ScenePainter()
    let placer: OverlayPlacer

    /// Opens the display of `settings`: looks once, and does not wait for a display. Takes the virtual terminal first: the one on standard
    /// input, else the one on the screen.
    ///
    /// With `inBackground` it returns before the first look, which thread `display` then does. A caller that needs the display calls
    /// ``waitUntilOpen()`` first. A modeset takes from two refresh periods to half a second, mostly waiting; kiosk opens the first item
    /// meanwhile.
    ///
    /// With `offscreenWhenNoneIsFree` (`kiosk --preview`) an automatic connector may become offscreen. That happens if no display is
    /// plugged in, if kiosk may open none, or if another program has it. `open` decides this once, before it takes anything.
    package static func open(
        _ settings: DisplaySettings, offscreenWhenNoneIsFree: Bool = false, inBackground: Bool = false
    ) -> DisplayOutput {
        if settings.connector == .offscreen { return offscreen(settings) }
        if offscreenWhenNoneIsFree, settings.connector == .automatic {
            let terminal = try? VirtualTerminal.look()
            if terminal?.owner != nil || !DisplayFinder.hasFreeDisplay(settings) {
                log.notice("no display that is free: playing in memory")
                return offscreen(settings)
            }
        }
        return DisplayOutput(settings, on: Seat.open(), inBackground: inBackground)
    }

    /// Returns an output in memory at a simulated refresh: 1280x720 at 60 Hz, or `settings.mode`.
    package static func offscreen(_ settings: DisplaySettings) -> DisplayOutput { offscreen(settings, onFlip: nil) }

    /// Returns the same, with `onFlip`. The presenter thread calls it at every flip, with the vblank's time on a fixed grid and the new
    /// pixels on the screen. The pixels are valid during the call.
    static func offscreen(_ settings: DisplaySettings, onFlip: (@Sendable (Flip, ScreenPixels) -> Void)?) -> DisplayOutput {
        var (width, height, refresh) = (1280, 720, 60.0)
        if case .size(let w, let h, let hertz) = settings.mode { (width, height, refresh) = (w, h, hertz ?? 60) }
        let screen = OffscreenScreen(width: width, height: height, refresh: refresh, background: settings.background.rgb, onFlip: onFlip)
        log.notice("\(screen.mode.name), nothing is shown")
        return DisplayOutput(settings, screen: screen)
    }

    /// Creates an output that only ever plays to `screen`.
    init(_ settings: DisplaySettings, screen: any Screen, on seat: Seat = Seat()) {
        self.settings = settings
        self.seat = seat
        shared = Monitor(OutputState(settings))
        placer = OverlayPlacer(shared)
        isOffscreen = screen is OffscreenScreen
        let posted = WakeUp()
        self.posted = posted
        number = seat.add { posted.wake() }
        activation = DisplayActivation(screen, seat: seat, output: number)
        activation.onChange = { [unowned self] in change(to: $0) }
        change(to: screen)
        events = []
        hasLooked.signal { $0 = true }
        StartTrace.reached(.displayActive)
    }

    /// Creates one of the outputs of `seat`.
    package init(_ settings: DisplaySettings, on seat: Seat, inBackground: Bool = false) {
        self.settings = settings
        self.seat = seat
        shared = Monitor(OutputState(settings))
        placer = OverlayPlacer(shared)
        isOffscreen = false
        let posted = WakeUp()
        self.posted = posted
        number = seat.add { posted.wake() }
        activation = DisplayActivation(
            DisplayFinder(settings, seat: seat, output: number) { posted.wake() }, seat: seat, output: number)
        activation.onChange = { [unowned self] in change(to: $0) }
        // Starts before the caller opens the first item: its picture waits for the display, and the display mostly waits for the driver.
        if inBackground { Thread("display", realtimePriority: 5) { [self] in lookFirst() }.detach() } else { lookFirst() }
    }

    /// Takes the first look; then the presenter takes over.
    private func lookFirst() {
        beats.work()
        activation.look(probing: true)
        events = []
        beats.rest()
        hasLooked.signal { $0 = true }
        StartTrace.reached(.displayActive)
    }

    // MARK: Any thread

    /// The current mode; nil while there is no display.
    package var mode: DisplayMode? { shared.withLock { $0.mode } }
    /// The number of displays gained, lost or driven differently so far.
    package var generation: UInt64 { shared.withLock { $0.pool.generation } }
    /// Whether flips are reported with the vblank's own time; can change with the display.
    package var reportsVblank: Bool { shared.withLock { $0.reportsVblank } }

    /// Whether pictures only go to memory.
    package let isOffscreen: Bool

    /// Waits for the first look for a display.
    package func waitUntilOpen() { _ = hasLooked.wait { $0 ? true : nil } }

    /// Ends the ``wait(until:)`` in progress, or the next one.
    package func wake() { wakeUp.wake() }

    /// Returns the buffer of a scene that the caller does not commit.
    package func discard(_ prepared: PreparedScene) { shared.withLock { $0.pool.discard(prepared) } }

    /// Calls `observer` with whether the seat's virtual terminal is in front: at once, and on a presenter's thread at each switch away and
    /// back. Call it once, before the first picture.
    package func observeTerminal(_ observer: @escaping @Sendable (Bool) -> Void) { seat.observeTerminal(observer) }

    /// Switches the display off or on. Off ends the signal (`ACTIVE` of the CRTC, DPMS, or the framebuffer's blanking), and ``mode`` is nil
    /// until the display is back. An output in memory stays on. Returns at once.
    package func setDark(_ isDark: Bool) {
        let isChanged = shared.withLock { shared in
            defer { shared.isDark = isDark }
            return shared.isDark != isDark
        }
        if isChanged { posted.wake() }
    }

    /// The place of the current or last display, for HDMI-CEC; nil if there was none.
    package var television: CECPlace? { shared.withLock { $0.television } }

    /// Whether the display should be off.
    package var isDark: Bool { shared.withLock { $0.isDark } }

    // MARK: The compositor

    /// Puts the picture of `scene` into the memory of planes (``VideoPlanes``), or else paints the scene into a spare scan-out buffer.
    package func prepare(_ scene: borrowing Scene) -> Preparation {
        let (slot, gone) = shared.withLock { shared -> (Slot?, [OutputState.Gone]) in
            let gone = shared.takeGone()
            guard let target = shared.target, let index = shared.pool.take() else { return (nil, gone) }
            defer { shared.refused.removeAll() }
            let prepared = PreparedScene(buffer: index, generation: shared.pool.generation)
            let slot = Slot(
                buffer: shared.buffers[index], prepared: prepared, version: shared.rotation.wanted, background: shared.background.rgb,
                target: target, video: shared.video, refused: shared.refused)
            return (slot, gone)
        }
        // Free these here, without the lock.
        withExtendedLifetime(gone) {}
        guard let slot else { return mode == nil ? .noDisplay : .noSpareBuffer }
        let (prepared, version) = (slot.prepared, slot.version)
        placer.adapt(to: slot.target)
        for (arrangement, error) in slot.refused { slot.video?.refused(arrangement, error) }
        let show = video(scene, slot)
        if show == nil {
            painter.paint(
                scene, rotation: version.rotation, region: placer.region, background: slot.background, under: placer.blended,
                into: slot.buffer)
        }
        // Free these here, too.
        _ = shared.withLock { shared -> ([OverlayFrame], OutputState.Content?) in
            var former: OutputState.Content?
            if prepared.generation == shared.pool.generation {
                shared.pool.finish(prepared.buffer, generation: prepared.generation)
                former = shared.contents[prepared.buffer]
                shared.contents[prepared.buffer] = OutputState.Content(
                    version: version, painting: placer.painting, video: show)
                shared.rotation.prepared(version)
            }
            return (shared.pool.takeGone(), former)
        }
        return .prepared(prepared)
    }

    /// The buffer for a scene, and the state to prepare it with.
    private struct Slot {
        var buffer: ScanoutBuffer
        var prepared: PreparedScene
        var version: RotationState.Version
        var background: UInt32
        var target: OutputState.Target
        var video: VideoPlanes?
        var refused: [(arrangement: VideoArrangement, error: DeviceError)]
    }

    /// Returns the scene's picture on planes; nil to convert it. An overlay without planes has to be blended into the picture.
    private func video(_ scene: borrowing Scene, _ slot: Slot) -> VideoShow? {
        guard let video = slot.video else { return nil }
        let (taken, former) = shared.withLock { ($0.pool.taken, $0.videoPlane?.id) }
        guard placer.blended == nil else { return video.convert(former: former) }
        return video.prepare(
            scene, rotation: slot.version.rotation, region: placer.region, background: slot.background, slot: slot.prepared.buffer,
            besides: taken,
            former: former)
    }

    // MARK: The presenter

    /// Blocks until something happens, until `deadline` at the latest.
    package func wait(until deadline: HostTime?) -> SceneOutputEvent {
        beats.work()
        defer { beats.rest() }
        while true {
            if !events.isEmpty { return events.removeFirst() }
            let upkeep = Self.earliest(Self.earliest(seat.nextClaim, activation.nextLook), shared.withLock { $0.rotation.repaintTime })
            poll(until: Self.earliest(Self.earliest(deadline, upkeep), activation.screen?.timer))
            let now = HostTime.now
            if seat.nextClaim != nil {
                seat.claim(at: now)
                readMessages()
            }
            activation.lookIfDue(at: now)
            if shared.withLock({ $0.rotation.takeRepaint(at: now) }) { tellOfChange() }
            if events.isEmpty, let deadline, deadline <= now { return .deadline }
        }
    }

    private static func earliest(_ a: HostTime?, _ b: HostTime?) -> HostTime? {
        guard let a, let b else { return a ?? b }
        return min(a, b)
    }

    /// The descriptors to wait for, in a row as poll(2) takes them.
    private struct PollEntries {
        var wakeUp, screen, hotplug, release, acquire, probed, posted: pollfd
    }

    /// Waits for any descriptor, and handles the ready ones.
    private func poll(until deadline: HostTime?) {
        // poll(2) ignores negative descriptors.
        func entry(_ fd: Int32?) -> pollfd { pollfd(fd: fd ?? -1, events: Int16(POLLIN), revents: 0) }
        let ofSeat = seat.descriptors
        var entries = PollEntries(
            wakeUp: entry(wakeUp.descriptor), screen: entry(activation.screen?.descriptor), hotplug: entry(ofSeat.hotplug),
            release: entry(ofSeat.release), acquire: entry(ofSeat.acquire), probed: entry(activation.probed.descriptor),
            posted: entry(posted.descriptor))
        let deadline = wakeUp.nextLook(before: posted.nextLook(before: activation.probed.nextLook(before: deadline)))
        let timeout = deadline.map { max(($0 - .now).nanoseconds, 0) } ?? -1
        beats.rest()
        let status = withUnsafeMutableBytes(of: &entries) {
            let entries = $0.bindMemory(to: pollfd.self)
            return kiosk_poll(entries.baseAddress, UInt(entries.count), timeout)
        }
        beats.work()
        let now = HostTime.now
        if status > 0, entries.release.revents != 0 || entries.acquire.revents != 0 {
            seat.attendTerminal(release: entries.release.revents != 0, acquire: entries.acquire.revents != 0)
            readMessages()
        } else if posted.mayBeWoken(entries.posted.revents) {
            readMessages()
        }
        if let screen = activation.screen {
            let isDue = screen.timer.map { $0 <= now } ?? false
            let isBroken = status > 0 && Int32(entries.screen.revents) & (POLLERR | POLLHUP) != 0
            let isReady = status > 0 && entries.screen.revents != 0 || posted.mayBeWoken(entries.posted.revents)
            if isDue || isReady { collect(screen, isBroken, at: now) }
        }
        if status > 0, entries.hotplug.revents != 0 {
            seat.attendHotplug(isBroken: Int32(entries.hotplug.revents) & POLLERR != 0)
            readMessages()
        }
        if activation.probed.mayBeWoken(entries.probed.revents) { activation.finishProbe() }
        // Last: the woken caller decides by everything that has happened.
        if wakeUp.mayBeWoken(entries.wakeUp.revents), wakeUp.drain() {
            events.append(hasFreedBuffer.exchange(false, ordering: .acquiring) ? .bufferFreed : .woken)
        }
    }

    /// Handles the seat's messages.
    private func readMessages() {
        guard posted.drain() else { return }
        while let message = seat.nextMessage(for: number) {
            switch message {
            case .leave:
                hidePlanes()
                activation.leave()
                seat.hasLeft(number)
            case .comeBack:
                activation.comeBack()
                seat.hasReturned(number)
            case .look: activation.look(probing: true)
            }
        }
        let isDark = isDark
        if isDark, !activation.isDark { hidePlanes() }
        activation.setDark(isDark)
    }

    private func collect(_ screen: any Screen, _ isBroken: Bool, at now: HostTime) {
        switch screen.collect(at: now) {
        case .flipped(let flip): flipped(flip, on: screen)
        case .lost(let error): activation.lose(error)
        // A descriptor in error stays readable for ever, with nothing to read.
        case nil: if isBroken { activation.lose(DeviceError("listen to \(screen.mode.name)", code: ENODEV)) }
        }
    }

    private func flipped(_ flip: Flip, on screen: any Screen) {
        activation.flipped()
        // The compositor may be waiting for an overlay buffer.
        let (rotation, observer) = shared.signal { shared in
            shared.reportsVblank = screen.reportsVblank
            if !flip.isAssumed { shared.lastVblank = flip.time }
            return (shared.flipped(isAssumed: flip.isAssumed), shared.onRotation)
        }
        if let rotation {
            observer?(rotation)
            tellWindows()
        }
        events.append(.flipped(flip))
    }

    /// Reclaims the prepared scenes of a player that has ended, and removes its overlay.
    package func playerEnded() {
        let target = shared.withLock { shared in
            shared.pool.reclaim()
            return shared.target
        }
        _ = placer.set(Overlay(), for: target)
    }

    /// Restores the former content of the screen, and the virtual terminal last.
    package func close() {
        activation.close()
        seat.remove(number)
    }

    /// Replaces the display by `screen`; nil means none.
    private func change(to screen: (any Screen)?) {
        let rotated = shared.signal { shared in
            shared.renew(screen, settings).flatMap { rotation in shared.onRotation.map { ($0, rotation) } }
        }
        if let (observer, rotation) = rotated { observer(rotation) }
        tellOfChange()
    }

    /// Reports that the current picture must be prepared again.
    func tellOfChange() {
        tellWindows()
        if case .changed = events.last { return }
        events.append(.changed)
    }
}
