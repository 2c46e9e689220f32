import CKioskDisplay
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Synchronization

/// One display, in whichever form it comes: on a DRM card, a framebuffer device, or memory. Present or not, the output exists; it becomes
/// active when a display appears, and waits when it goes (``DisplayActivation``).
///
/// Two threads meet here. The *compositor* paints scenes into buffers; the *presenter* flips between them and, in ``wait(until:)``, does
/// everything else: one `ppoll` hears flip events, ``wake()``, and what concerns the ``Seat``. They share the buffer pool and the list of
/// buffers, behind a lock that is never held while anything is painted. A buffer that is being painted into is kept alive by its painter,
/// so a display may go at any moment.
package final class DisplayOutput: SceneOutput, @unchecked Sendable {
    // Sendable because `shared`, the seat and the two wake-ups are thread-safe, and of the rest the first group of variables is touched by
    // the presenter thread alone and the second by the compositor thread alone (SceneOutput's contract).

    let shared: Monitor<OutputState>
    /// The beats of whoever looks for the display and keeps it.
    private let beats = Heartbeat()
    package var heartbeat: Heartbeat? { beats }
    let settings: DisplaySettings
    let wakeUp = WakeUp()
    /// Set before ``wakeUp`` is, where a buffer has become spare without a flip.
    let hasFreedBuffer = Atomic(false)
    /// Whether the first look is over. Until then the presenter's variables are those of the thread that looks.
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

    /// Opens what `settings` ask for and looks for a display once; does not wait for one. Takes the virtual terminal first: the one on
    /// standard input, else the one on the screen.
    ///
    /// With `inBackground` it returns before it has looked: that goes on on thread `display`, and what needs the display calls
    /// ``waitUntilOpen()`` first. A modeset takes from two refresh periods to half a second, mostly waiting; the first item is opened meanwhile.
    ///
    /// With `offscreenWhenNoneIsFree` (`kiosk --preview`) it is offscreen where the settings leave the choice of the display, and none is
    /// plugged in, none may be opened, or another program has it; that is decided here, once, before anything is taken.
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

    /// An output in memory at a simulated refresh: 1280x720 at 60 Hz, or what `settings.mode` says.
    package static func offscreen(_ settings: DisplaySettings) -> DisplayOutput { offscreen(settings, onFlip: nil) }

    /// The same; `onFlip` is called on the presenter thread at every flip, with the vblank's time on a fixed grid and the pixels that are
    /// on the screen from then on; these are valid during the call.
    static func offscreen(_ settings: DisplaySettings, onFlip: (@Sendable (Flip, ScreenPixels) -> Void)?) -> DisplayOutput {
        var (width, height, refresh) = (1280, 720, 60.0)
        if case .size(let w, let h, let hertz) = settings.mode { (width, height, refresh) = (w, h, hertz ?? 60) }
        let screen = OffscreenScreen(width: width, height: height, refresh: refresh, background: settings.background.rgb, onFlip: onFlip)
        log.notice("\(screen.mode.name), nothing is shown")
        return DisplayOutput(settings, screen: screen)
    }

    /// Plays to `screen` and to nothing else, ever.
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

    /// One of the outputs of `seat`.
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
        // Before the item that is opened meanwhile: the picture of that waits for the display, and the display mostly waits for the driver.
        if inBackground { Thread("display", realtimePriority: 5) { [self] in lookFirst() }.detach() } else { lookFirst() }
    }

    /// The first look; then the presenter takes over.
    private func lookFirst() {
        beats.work()
        activation.look(probing: true)
        events = []
        beats.rest()
        hasLooked.signal { $0 = true }
        StartTrace.reached(.displayActive)
    }

    // MARK: Any thread

    /// The present mode; nil while there is no display.
    package var mode: DisplayMode? { shared.withLock { $0.mode } }
    /// Grows by one with every display gained, lost or driven differently.
    package var generation: UInt64 { shared.withLock { $0.pool.generation } }
    /// Whether flips are reported with the vblank's own time; can change with the display.
    package var reportsVblank: Bool { shared.withLock { $0.reportsVblank } }

    /// Whether pictures go to memory only.
    package let isOffscreen: Bool

    /// Waits for the first look for a display.
    package func waitUntilOpen() { _ = hasLooked.wait { $0 ? true : nil } }

    /// Ends the ``wait(until:)`` that is under way, or the next one.
    package func wake() { wakeUp.wake() }

    /// Gives back the buffer of a scene that is not committed.
    package func discard(_ prepared: PreparedScene) { shared.withLock { $0.pool.discard(prepared) } }

    /// Calls `observer` with whether the seat's virtual terminal is in front: at once, and on a presenter's thread at each switch to
    /// another one and back. To be called once, before anything is shown.
    package func observeTerminal(_ observer: @escaping @Sendable (Bool) -> Void) { seat.observeTerminal(observer) }

    /// Switches the display off, or on again: its signal ends (`ACTIVE` of the CRTC, DPMS, or the framebuffer's blanking), and there is no ``mode``
    /// until it is back. One in memory stays on. Returns at once.
    package func setDark(_ isDark: Bool) {
        let isChanged = shared.withLock { shared in
            defer { shared.isDark = isDark }
            return shared.isDark != isDark
        }
        if isChanged { posted.wake() }
    }

    /// The display in use, or the last one, as what sends HDMI-CEC has to know it; nil where there was none.
    package var television: CECPlace? { shared.withLock { $0.television } }

    /// Whether it is to be off.
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
        // Freed here, with the lock given back.
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
        // Freed here, too.
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

    /// What a scene is prepared in.
    private struct Slot {
        var buffer: ScanoutBuffer
        var prepared: PreparedScene
        var version: RotationState.Version
        var background: UInt32
        var target: OutputState.Target
        var video: VideoPlanes?
        var refused: [(arrangement: VideoArrangement, error: DeviceError)]
    }

    /// The scene's picture on planes; nil where it is to be converted. An overlay without planes of its own has to be blended into it.
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

    /// Blocks until something happens, at the latest until `deadline`.
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

    /// What is waited for; one after the other, as poll(2) takes them.
    private struct PollEntries {
        var wakeUp, screen, hotplug, release, acquire, probed, posted: pollfd
    }

    /// Waits for any descriptor, and does what the ready ones ask for.
    private func poll(until deadline: HostTime?) {
        // poll(2) passes over negative descriptors.
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
        // Last: whoever was woken decides by what has happened.
        if wakeUp.mayBeWoken(entries.wakeUp.revents), wakeUp.drain() {
            events.append(hasFreedBuffer.exchange(false, ordering: .acquiring) ? .bufferFreed : .woken)
        }
    }

    /// Does what the seat has posted.
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
        // A descriptor in error stays readable with nothing to read, for ever.
        case nil: if isBroken { activation.lose(DeviceError("listen to \(screen.mode.name)", code: ENODEV)) }
        }
    }

    private func flipped(_ flip: Flip, on screen: any Screen) {
        activation.flipped()
        // The compositor may wait for a buffer of the overlay.
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

    /// Takes back what a player that has ended had prepared, and what lay over its scenes.
    package func playerEnded() {
        let target = shared.withLock { shared in
            shared.pool.reclaim()
            return shared.target
        }
        _ = placer.set(Overlay(), for: target)
    }

    /// Restores what was on the screen before, the virtual terminal last.
    package func close() {
        activation.close()
        seat.remove(number)
    }

    /// The display has become another one, or nil, none.
    private func change(to screen: (any Screen)?) {
        let rotated = shared.signal { shared in
            shared.renew(screen, settings).flatMap { rotation in shared.onRotation.map { ($0, rotation) } }
        }
        if let (observer, rotation) = rotated { observer(rotation) }
        tellOfChange()
    }

    /// What should be seen must be prepared again.
    func tellOfChange() {
        tellWindows()
        if case .changed = events.last { return }
        events.append(.changed)
    }
}
