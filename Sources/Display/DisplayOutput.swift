import CDisplay
import Glibc
import Logging
import Media
import Platform
import Playback
import Vocabulary

/// One display, in whichever form it comes: on a DRM card, a framebuffer device, or memory. Present or not, the output exists; it becomes
/// active when a display appears, and waits when it goes (``DisplayActivation``).
///
/// Two threads meet here. The *compositor* paints scenes into buffers; the *presenter* flips between them and, in ``wait(until:)``, does
/// everything else: one `ppoll` hears flip events, ``wake()``, and what concerns the ``Seat``. They share the buffer pool and the list of
/// buffers, behind a lock that is never held while anything is painted. A buffer that is being painted into is kept alive by its painter,
/// so a display may go at any moment.
package final class DisplayOutput: VideoOutput, @unchecked Sendable {
    // Sendable because `shared`, the seat and the two wake-ups are thread-safe, and of the rest the first group of variables is touched by
    // the presenter thread alone and the second by the compositor thread alone (VideoOutput's contract).

    private struct Shared {
        var pool = BufferPool()
        var buffers: [ScanoutBuffer] = []
        var mode: DisplayMode?
        var reportsVblank = true
        var panelTurn = Rotation.none
        var onTurn: (@Sendable (Rotation) -> Void)?
    }

    private let shared = Monitor(Shared())
    private let settings: DisplaySettings
    private let wakeUp = WakeUp()

    // The presenter's.
    let seat: Seat
    private let number: Int
    /// Readable when the seat has posted something, or another output has read one of our flips.
    private let posted: WakeUp
    private let activation: DisplayActivation
    private var events: [VideoOutputEvent] = []

    // The compositor's.
    private let painter = ScenePainter()

    /// Opens what `settings` ask for and looks for a display once; does not wait for one. Takes the virtual terminal first: the one on
    /// standard input, else the one on the screen.
    ///
    /// With `offscreenWhenNoneIsFree` (`kiosk --preview`) it is offscreen where the settings leave the choice of the display, and none is
    /// plugged in, none may be opened, or another program has it; that is decided here, once, before anything is taken.
    package static func open(_ settings: DisplaySettings, offscreenWhenNoneIsFree: Bool = false) -> DisplayOutput {
        if settings.connector == .offscreen { return offscreen(settings) }
        if offscreenWhenNoneIsFree, settings.connector == .automatic {
            let terminal = try? VirtualTerminal.look()
            if terminal?.owner != nil || !DisplayFinder.hasFreeDisplay(settings) {
                log.notice("no display that is free: playing in memory")
                return offscreen(settings)
            }
        }
        return DisplayOutput(settings, on: Seat.open())
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
        isOffscreen = screen is OffscreenScreen
        let posted = WakeUp()
        self.posted = posted
        number = seat.add { posted.wake() }
        activation = DisplayActivation(screen, seat: seat, output: number)
        activation.onChange = { [unowned self] in change(to: $0) }
        change(to: screen)
        events = []
    }

    /// One of the outputs of `seat`.
    init(_ settings: DisplaySettings, on seat: Seat) {
        self.settings = settings
        self.seat = seat
        isOffscreen = false
        let posted = WakeUp()
        self.posted = posted
        number = seat.add { posted.wake() }
        activation = DisplayActivation(
            DisplayFinder(settings, seat: seat, output: number) { posted.wake() }, seat: seat, output: number)
        activation.onChange = { [unowned self] in change(to: $0) }
        activation.look(probing: true)
        events = []
    }

    // MARK: Any thread

    /// The present mode; nil while there is no display.
    package var mode: DisplayMode? { shared.withLock { $0.mode } }
    /// Grows by one with every display gained, lost or driven differently.
    package var generation: UInt64 { shared.withLock { $0.pool.generation } }
    /// Whether flips are reported with the vblank's own time; can change with the display.
    package var reportsVblank: Bool { shared.withLock { $0.reportsVblank } }

    /// The clockwise turn of pictures on the panel: the configured one and that of a panel which is built in turned.
    package var rotation: Rotation { settings.rotation + shared.withLock { $0.panelTurn } }
    package func setRotation(_ rotation: Rotation) {}

    /// Whether pictures go to memory only.
    package let isOffscreen: Bool

    /// Ends the ``wait(until:)`` that is under way, or the next one.
    package func wake() { wakeUp.wake() }

    /// Gives back the buffer of a scene that is not committed.
    package func discard(_ prepared: PreparedScene) { shared.withLock { $0.pool.discard(prepared) } }

    /// Calls `observer` with whether the seat's virtual terminal is in front: at once, and on a presenter's thread at each switch to
    /// another one and back. To be called once, before anything is shown.
    package func observeTerminal(_ observer: @escaping @Sendable (Bool) -> Void) { seat.observeTerminal(observer) }

    /// Calls `observer` with the clockwise turn of pictures on the panel, the configured one and that of a panel which is built in turned:
    /// at once, and on the presenter thread whenever it changes with the display. To be called once, before anything is presented.
    package func observeRotation(_ observer: @escaping @Sendable (Rotation) -> Void) {
        let panelTurn = shared.withLock { shared in
            shared.onTurn = observer
            return shared.panelTurn
        }
        observer(settings.rotation + panelTurn)
    }

    /// Writes what is on the screen now, as scanned out, to a PNG file at `path`. From any thread, but not during ``close()``. The
    /// buffer is kept from being composed into meanwhile, and reading scan-out memory can be slow: not for every frame.
    package func snapshot(to path: String) throws(SnapshotError) {
        let reading = shared.withLock { shared -> (buffer: ScanoutBuffer, index: Int, generation: UInt64)? in
            guard let index = shared.pool.beginReading() else { return nil }
            return (shared.buffers[index], index, shared.pool.generation)
        }
        guard let reading else { throw .noDisplay }
        defer { shared.withLock { $0.pool.endReading(reading.index, generation: reading.generation) } }
        try ScreenPixels(reading.buffer).writePNG(to: path)
    }

    // MARK: The compositor

    /// Has every scene that is prepared from now on lie under `overlay`.
    package func setOverlay(_ overlay: Overlay) -> OverlayPlacement {
        painter.overlay = overlay
        return .blended
    }

    /// Paints `scene` into a spare scan-out buffer.
    package func prepare(_ scene: borrowing Scene) -> Preparation {
        let slot = shared.withLock { shared -> (buffer: ScanoutBuffer, prepared: PreparedScene, rotation: Rotation)? in
            guard let index = shared.pool.take() else { return nil }
            let prepared = PreparedScene(buffer: index, generation: shared.pool.generation)
            return (shared.buffers[index], prepared, settings.rotation + shared.panelTurn)
        }
        guard let slot else { return mode == nil ? .noDisplay : .noSpareBuffer }
        painter.paint(scene, rotation: slot.rotation, background: settings.background.rgb, into: slot.buffer)
        shared.withLock { $0.pool.finish(slot.prepared.buffer, generation: slot.prepared.generation) }
        return .prepared(slot.prepared)
    }

    // MARK: The presenter

    /// Nothing is on a plane of its own.
    package func commitOverlay(id: UInt64) -> CommitResult { .stale }

    /// Asks for a prepared scene to be scanned out from the next vblank on.
    package func commit(_ prepared: PreparedScene, id: UInt64) -> CommitResult {
        let (isCurrent, hasPending) = shared.withLock { ($0.pool.isCurrent(prepared), $0.pool.hasPending) }
        guard isCurrent, let screen = activation.screen else { return .stale }
        guard !hasPending else { return .busy }
        switch screen.present(prepared.buffer, id: id, at: .now) {
        case .queued:
            shared.withLock { $0.pool.flip(to: prepared.buffer) }
            return .queued
        case .busy: return .busy
        case .lost(let error):
            activation.refused(error)
            return .stale
        }
    }

    /// Blocks until something happens, at the latest until `deadline`.
    package func wait(until deadline: HostTime?) -> VideoOutputEvent {
        while true {
            if !events.isEmpty { return events.removeFirst() }
            let upkeep = Self.earliest(seat.nextClaim, activation.nextLook)
            poll(until: Self.earliest(Self.earliest(deadline, upkeep), activation.screen?.timer))
            let now = HostTime.now
            if seat.nextClaim != nil {
                seat.claim(at: now)
                readMessages()
            }
            activation.lookIfDue(at: now)
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
            release: entry(ofSeat.release), acquire: entry(ofSeat.acquire), probed: entry(activation.probedDescriptor),
            posted: entry(posted.descriptor))
        let timeout = deadline.map { max(($0 - .now).nanoseconds, 0) } ?? -1
        let status = withUnsafeMutableBytes(of: &entries) {
            let entries = $0.bindMemory(to: pollfd.self)
            return kiosk_poll(entries.baseAddress, UInt(entries.count), timeout)
        }
        let now = HostTime.now
        if status > 0, entries.release.revents != 0 || entries.acquire.revents != 0 {
            seat.attendTerminal(release: entries.release.revents != 0, acquire: entries.acquire.revents != 0)
            readMessages()
        } else if status > 0, entries.posted.revents != 0 {
            readMessages()
        }
        if let screen = activation.screen {
            let isDue = screen.timer.map { $0 <= now } ?? false
            let isBroken = status > 0 && Int32(entries.screen.revents) & (POLLERR | POLLHUP) != 0
            if isDue || status > 0 && (entries.screen.revents != 0 || entries.posted.revents != 0) { collect(screen, isBroken, at: now) }
        }
        if status > 0, entries.hotplug.revents != 0 {
            seat.attendHotplug(isBroken: Int32(entries.hotplug.revents) & POLLERR != 0)
            readMessages()
        }
        if status > 0, entries.probed.revents != 0 { activation.finishProbe() }
        // Last: whoever was woken decides by what has happened.
        if status > 0, entries.wakeUp.revents != 0, wakeUp.drain() { events.append(.woken) }
    }

    /// Does what the seat has posted.
    private func readMessages() {
        guard posted.drain() else { return }
        while let message = seat.nextMessage(for: number) {
            switch message {
            case .leave:
                activation.leave()
                seat.hasLeft(number)
            case .comeBack:
                activation.comeBack()
                seat.hasReturned(number)
            case .look: activation.look(probing: true)
            }
        }
    }

    private func collect(_ screen: any Screen, _ isBroken: Bool, at now: HostTime) {
        switch screen.collect(at: now) {
        case .flipped(let flip): flipped(flip, on: screen, isAssumed: false)
        case .assumed(let flip): flipped(flip, on: screen, isAssumed: true)
        case .lost(let error): activation.lose(error)
        // A descriptor in error stays readable with nothing to read, for ever.
        case nil: if isBroken { activation.lose(DeviceError("listen to \(screen.mode.name)", code: ENODEV)) }
        }
    }

    private func flipped(_ flip: Flip, on screen: any Screen, isAssumed: Bool) {
        activation.flipped()
        shared.withLock {
            $0.pool.flipped(isAssumed: isAssumed)
            $0.reportsVblank = screen.reportsVblank
        }
        events.append(.flipped(flip))
    }

    /// Restores what was on the screen before, the virtual terminal last.
    package func close() {
        activation.close()
        seat.remove(number)
    }

    /// The display has become another one, or nil, none.
    private func change(to screen: (any Screen)?) {
        if let screen {
            let turned = shared.withLock { shared in
                defer { shared.panelTurn = screen.panelTurn }
                return shared.panelTurn == screen.panelTurn ? nil : shared.onTurn
            }
            turned?(settings.rotation + screen.panelTurn)
        }
        shared.withLock { shared in
            shared.pool.renew(count: screen?.buffers.count ?? 0)
            shared.buffers = screen?.buffers ?? []
            shared.mode = screen?.mode
            if let screen { shared.reportsVblank = screen.reportsVblank }
        }
        if case .changed = events.last { return }
        events.append(.changed)
    }
}
