import CDisplay
import Glibc
import Logging
import Media
import Platform
import Playback
import Vocabulary

/// The display, in whichever form it comes: DRM card, framebuffer device, or memory. Present or not, the output exists; it lights up when
/// a display appears, and goes dark and waits when it goes.
///
/// Two threads meet here. The *compositor* converts frames into buffers; the *presenter* flips between them and, in ``wait(until:)``,
/// does everything else: one `ppoll` hears flip events, hot-plug, VT switches and ``wake()``. They share the buffer book and the list
/// of buffers, behind a lock that is never held during a conversion. A buffer that is being composed into is kept alive by its composer,
/// so a display may go at any moment.
public final class DisplayOutput: VideoOutput, @unchecked Sendable {
    // Sendable because `shared` and the two wake-ups are thread-safe, and of the rest the first group of variables is touched by the
    // presenter thread alone and the second by the compositor thread alone (VideoOutput's contract).

    private struct Shared {
        var pool = BufferPool()
        var buffers: [ScanoutBuffer] = []
        var mode: DisplayMode?
        var reportsVblank = true
        var isInFront = true
        var onSwitch: (@Sendable (Bool) -> Void)?
        var panelTurn = Rotation.none
        var onTurn: (@Sendable (Rotation) -> Void)?
    }

    private let shared = Monitor(Shared())
    private let settings: DisplaySettings
    private let wakeUp = WakeUp()
    private let probed = WakeUp()

    // The presenter's.
    private var state = DisplayState.absent
    private var finder: DisplayFinder?
    private var screen: (any Screen)?
    private(set) var terminal: VirtualTerminal?
    private(set) var monitor: HotplugMonitor?
    private var events: [VideoOutputEvent] = []
    private var nextLook: HostTime?
    /// When a virtual terminal that is another program's is looked at again.
    private var nextClaim: HostTime?
    private var terminalWait = TerminalWait()
    /// When the screen was made, and whether a flip of it has happened.
    private var activeSince = HostTime.now
    private var hasFlipped = false
    /// Whether the screen has been looked at only once yet.
    private var isNew = false
    /// Asks the lit display what it can do. That can take a tenth of a second, in which flips go on; hence a thread of its own.
    private var probe: Thread?
    private var wantsAnotherProbe = false

    // The compositor's.
    private let painter = ScenePainter()

    /// Opens what `settings` ask for and looks for a display once; does not wait for one. Takes the virtual terminal first: the one on
    /// standard input, else the one on the screen.
    ///
    /// With `offscreenWhenNoneIsFree` (`kiosk --preview`) it is offscreen where the settings leave the choice of the display, and none is
    /// plugged in, none may be opened, or another program has it; that is decided here, once, before anything is taken.
    public static func open(_ settings: DisplaySettings, offscreenWhenNoneIsFree: Bool = false) -> DisplayOutput {
        if settings.connector == .offscreen { return offscreen(settings) }
        if offscreenWhenNoneIsFree, settings.connector == .automatic {
            let terminal = try? VirtualTerminal.look()
            if terminal?.owner != nil || !DisplayFinder.hasFreeDisplay(settings) {
                log.notice("no display that is free: playing in memory")
                return offscreen(settings)
            }
        }
        return DisplayOutput(settings)
    }

    /// An output in memory at a simulated refresh: 1280x720 at 60 Hz, or what `settings.mode` says.
    ///
    /// `onFlip` is called on the presenter thread at every flip, with the vblank's time on a fixed grid and the pixels that are on the
    /// screen from then on; these are valid during the call.
    public static func offscreen(
        _ settings: DisplaySettings, onFlip: (@Sendable (Flip, ScreenPixels) -> Void)? = nil
    ) -> DisplayOutput {
        var (width, height, refresh) = (1280, 720, 60.0)
        if case .size(let w, let h, let hertz) = settings.mode { (width, height, refresh) = (w, h, hertz ?? 60) }
        let screen = OffscreenScreen(width: width, height: height, refresh: refresh, background: settings.background.rgb, onFlip: onFlip)
        log.notice("\(screen.mode.name), nothing is shown")
        return DisplayOutput(settings, screen: screen)
    }

    /// Plays to `screen` and to nothing else, ever.
    init(_ settings: DisplaySettings, screen: any Screen) {
        self.settings = settings
        isOffscreen = screen is OffscreenScreen
        let mode = screen.mode
        let shape = ConnectorMode(width: mode.width, height: mode.height, refresh: 0, isPreferred: true, isProgressive: true)
        state = .active(DisplayState.Target(display: mode.name, mode: shape))
        publish(screen)
        events = []
    }

    private init(_ settings: DisplaySettings) {
        self.settings = settings
        isOffscreen = false
        finder = DisplayFinder(settings)
        // Before any card is opened: the guard process must not inherit one.
        if let (path, owner) = try? VirtualTerminal.look(), let owner {
            log.error(
                """
                \(path) is the screen of \(owner): kiosk does not take it from a program that draws on it. Start kiosk from a text console \
                (Ctrl+Alt+F3), or end that program (a desktop: systemctl stop display-manager); with --preview it plays in memory. \
                Waiting until the terminal is free
                """)
            nextClaim = .now + TerminalWait.interval
        } else {
            takeTerminal()
        }
        if nextClaim != nil || terminal?.isActive == false {
            _ = state.leave()
            switched(inFront: false)
        }
        monitor = HotplugMonitor.open(subsystems: ["drm", "graphics"])
        look(probing: true)
        events = []
    }

    // MARK: Any thread

    /// The present mode; nil while there is no display.
    public var mode: DisplayMode? { shared.withLock { $0.mode } }
    /// Grows by one with every display gained, lost or driven differently.
    public var generation: UInt64 { shared.withLock { $0.pool.generation } }
    /// Whether flips are reported with the vblank's own time; can change with the display.
    public var reportsVblank: Bool { shared.withLock { $0.reportsVblank } }

    /// Whether pictures go to memory only.
    public let isOffscreen: Bool

    /// Ends the ``wait(until:)`` that is under way, or the next one.
    public func wake() { wakeUp.wake() }

    /// Gives back the buffer of a scene that is not committed.
    public func discard(_ prepared: PreparedScene) { shared.withLock { $0.pool.discard(prepared) } }

    /// Calls `observer` with whether our virtual terminal is in front: at once, and on the presenter thread at each switch to another one
    /// and back. To be called once, before anything is presented.
    public func observeTerminal(_ observer: @escaping @Sendable (Bool) -> Void) {
        let isInFront = shared.withLock { shared in
            shared.onSwitch = observer
            return shared.isInFront
        }
        observer(isInFront)
    }

    /// Calls `observer` with the clockwise turn of pictures on the panel, the configured one and that of a panel which is built in turned:
    /// at once, and on the presenter thread whenever it changes with the display. To be called once, before anything is presented.
    public func observeRotation(_ observer: @escaping @Sendable (Rotation) -> Void) {
        let panelTurn = shared.withLock { shared in
            shared.onTurn = observer
            return shared.panelTurn
        }
        observer(settings.rotation + panelTurn)
    }

    /// Writes what is on the screen now, as scanned out, to a PNG file at `path`. From any thread, but not during ``close()``. The
    /// buffer is kept from being composed into meanwhile, and reading scan-out memory can be slow: not for every frame.
    public func snapshot(to path: String) throws(SnapshotError) {
        let reading = shared.withLock { shared -> (buffer: ScanoutBuffer, index: Int, generation: UInt64)? in
            guard let index = shared.pool.beginReading() else { return nil }
            return (shared.buffers[index], index, shared.pool.generation)
        }
        guard let reading else { throw .noDisplay }
        defer { shared.withLock { $0.pool.endReading(reading.index, generation: reading.generation) } }
        try ScreenPixels(reading.buffer).writePNG(to: path)
    }

    // MARK: The compositor

    /// Paints `scene` into a spare scan-out buffer.
    public func prepare(_ scene: borrowing Scene) -> Preparation {
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

    /// Asks for a prepared scene to be scanned out from the next vblank on.
    public func commit(_ prepared: PreparedScene, id: UInt64) -> CommitResult {
        let (isCurrent, hasPending) = shared.withLock { ($0.pool.isCurrent(prepared), $0.pool.hasPending) }
        guard isCurrent, let screen else { return .stale }
        guard !hasPending else { return .busy }
        switch screen.present(prepared.buffer, id: id, at: .now) {
        case .queued:
            shared.withLock { $0.pool.flip(to: prepared.buffer) }
            return .queued
        case .busy: return .busy
        case .lost(let error):
            if Refusals.isRefusal(error.code), HostTime.now - activeSince < DisplayState.provingTime {
                finder?.refuseFlip(error, isFirst: !hasFlipped)
                loseScreen()
            } else {
                lose(error)
            }
            return .stale
        }
    }

    /// Blocks until something happens, at the latest until `deadline`.
    public func wait(until deadline: HostTime?) -> VideoOutputEvent {
        while true {
            if !events.isEmpty { return events.removeFirst() }
            poll(until: Self.earliest(Self.earliest(deadline, nextClaim), Self.earliest(nextLook, screen?.timer)))
            let now = HostTime.now
            if let nextClaim, nextClaim <= now { claimTerminal() }
            if let nextLook, nextLook <= now { look(probing: screen == nil || (isNew && finder?.isUnsure == true)) }
            if events.isEmpty, let deadline, deadline <= now { return .deadline }
        }
    }

    private static func earliest(_ a: HostTime?, _ b: HostTime?) -> HostTime? {
        guard let a, let b else { return a ?? b }
        return min(a, b)
    }

    /// What is waited for; one after the other, as poll(2) takes them.
    private struct PollEntries {
        var wakeUp, screen, monitor, release, acquire, probed: pollfd
    }

    /// Waits for any descriptor, and does what the ready ones ask for.
    private func poll(until deadline: HostTime?) {
        // poll(2) passes over negative descriptors.
        func entry(_ fd: Int32?) -> pollfd { pollfd(fd: fd ?? -1, events: Int16(POLLIN), revents: 0) }
        var entries = PollEntries(
            wakeUp: entry(wakeUp.descriptor), screen: entry(screen?.descriptor), monitor: entry(monitor?.descriptor),
            release: entry(terminal?.releaseDescriptor), acquire: entry(terminal?.acquireDescriptor), probed: entry(probed.descriptor))
        let timeout = deadline.map { max(($0 - .now).nanoseconds, 0) } ?? -1
        let status = withUnsafeMutableBytes(of: &entries) {
            let entries = $0.bindMemory(to: pollfd.self)
            return kiosk_poll(entries.baseAddress, UInt(entries.count), timeout)
        }
        let now = HostTime.now
        if status > 0 {
            // Both are asked before either is followed.
            let wantsOut = entries.release.revents != 0 && terminal?.releaseWanted() == true
            let cameBack = entries.acquire.revents != 0 && terminal?.hasComeBack() == true
            switchTerminal(wantsOut: wantsOut, cameBack: cameBack)
        }
        if let screen, entries.screen.revents != 0 || (screen.timer.map { $0 <= now } ?? false) {
            collect(screen, isBroken: status > 0 && Int32(entries.screen.revents) & (POLLERR | POLLHUP) != 0, at: now)
        }
        // An overflow of the queue is an error on the descriptor, and as good as an announcement.
        if status > 0, entries.monitor.revents != 0, monitor?.drain() == true || Int32(entries.monitor.revents) & POLLERR != 0 {
            look(probing: true)
        }
        if status > 0, entries.probed.revents != 0, probed.drain() { finishProbe() }
        // Last: whoever was woken decides by what has happened.
        if status > 0, entries.wakeUp.revents != 0, wakeUp.drain() { events.append(.woken) }
    }

    private func collect(_ screen: any Screen, isBroken: Bool, at now: HostTime) {
        switch screen.collect(at: now) {
        case .flipped(let flip): flipped(flip, on: screen, isAssumed: false)
        case .assumed(let flip): flipped(flip, on: screen, isAssumed: true)
        case .lost(let error): lose(error)
        // A descriptor in error stays readable with nothing to read, for ever.
        case nil: if isBroken { lose(DeviceError("listen to \(screen.mode.name)", code: ENODEV)) }
        }
    }

    private func flipped(_ flip: Flip, on screen: any Screen, isAssumed: Bool) {
        hasFlipped = true
        shared.withLock {
            $0.pool.flipped(isAssumed: isAssumed)
            $0.reportsVblank = screen.reportsVblank
        }
        events.append(.flipped(flip))
    }

    /// Restores what was on the screen before, the virtual terminal last.
    public func close() {
        probe?.join()
        screen?.restore()
        deactivate()
        finder = nil
        _ = monitor.take()
        _ = terminal.take()
    }

    // MARK: State

    private func look(probing: Bool) {
        let now = HostTime.now
        guard let finder else {
            nextLook = nil
            return
        }
        if probing, screen != nil, startProbe(finder) {
            // None before its end: the kernel lets nobody look at a connector meanwhile, and flips would wait, too.
            nextLook = nil
            return
        }
        let before = screen
        if state != .away {
            perform(state.saw(finder.look(probing: probing, active: screen), at: now), at: now)
            // The display that was lit has gone; there may be another one.
            if before != nil, screen == nil, state == .absent {
                perform(state.saw(finder.look(probing: true, active: nil), at: now), at: now)
            }
        }
        // Some displays tell what they can do only once they are driven: a new one is looked at again soon.
        isNew = screen != nil && screen !== before
        nextLook = isNew ? .now + .milliseconds(500) : state.lookInterval(at: now).map { .now + $0 }
    }

    /// Has the lit display probed in the background; false where that means nothing.
    private func startProbe(_ finder: DisplayFinder) -> Bool {
        guard probe == nil else {
            wantsAnotherProbe = true
            return true
        }
        guard let body = finder.probe() else { return false }
        isNew = false
        probe = Thread("display-probe") { [self] in
            body()
            probed.wake()
        }
        return true
    }

    /// The kernel now knows what the display said.
    private func finishProbe() {
        probe?.join()
        probe = nil
        look(probing: false)
        if wantsAnotherProbe {
            wantsAnotherProbe = false
            look(probing: true)
        }
    }

    private func perform(_ action: DisplayState.Action, at now: HostTime) {
        switch action {
        case .none: break
        case .activate(let target):
            do throws(DeviceError) {
                let fresh = try finder!.activate()
                state.activated(target, at: .now)
                publish(fresh)
            } catch { perform(state.failed(), at: now) }
        case .deactivate: deactivate()
        case .release:
            deactivate()
            finder?.dropMaster()
            nextLook = nil
        case .reacquire:
            finder?.takeMaster()
            look(probing: true)
        }
    }

    private func lose(_ error: DeviceError) {
        log.warning("display lost: cannot \(error)")
        if hasFlipped, HostTime.now - activeSince >= DisplayState.provingTime { finder?.proveFlips() }
        loseScreen()
    }

    private func loseScreen() {
        let now = HostTime.now
        perform(state.lost(at: now), at: now)
        nextLook = state.lookInterval(at: now).map { now + $0 }
    }

    /// What the kernel has told of our virtual terminal since the last look. It takes the screen from us only when we have
    /// answered, and gives it to us without asking: where it has told both, we were given it first, and are to leave it again.
    func switchTerminal(wantsOut: Bool, cameBack: Bool) {
        if wantsOut {
            leave()
        } else if cameBack {
            comeBack()
        }
    }

    private func takeTerminal() {
        do throws(DeviceError) {
            terminal = try VirtualTerminal.take()
        } catch {
            log.notice(
                """
                no virtual terminal (cannot \(error)): the console may draw over the picture; \
                start kiosk from a text console, or by its service (TTYPath=)
                """)
        }
    }

    /// Takes the virtual terminal once it is no longer another program's. No card is open until then.
    private func claimTerminal() {
        nextClaim = .now + TerminalWait.interval
        if let (path, owner) = try? VirtualTerminal.look(), !terminalWait.saw(path, owner: owner) { return }
        nextClaim = nil
        takeTerminal()
        // Else the kernel says when it has come to the screen.
        if terminal?.isActive != false { comeBack() }
    }

    /// Our virtual terminal is to leave the screen.
    func leave() {
        log.notice("leaving the screen to another virtual terminal")
        // First, so that what is typed there does not come here.
        switched(inFront: false)
        perform(state.leave(), at: .now)
        terminal?.release()
    }

    /// Our virtual terminal has come back to the screen.
    func comeBack() {
        perform(state.comeBack(), at: .now)
        switched(inFront: true)
    }

    private func switched(inFront: Bool) {
        let observer = shared.withLock { shared in
            shared.isInFront = inFront
            return shared.onSwitch
        }
        observer?(inFront)
    }

    private func publish(_ fresh: any Screen) {
        screen = fresh
        (activeSince, hasFlipped) = (.now, false)
        let turned = shared.withLock { shared in
            defer { shared.panelTurn = fresh.panelTurn }
            return shared.panelTurn == fresh.panelTurn ? nil : shared.onTurn
        }
        turned?(settings.rotation + fresh.panelTurn)
        shared.withLock {
            $0.pool.renew(count: fresh.buffers.count)
            $0.buffers = fresh.buffers
            $0.mode = fresh.mode
            $0.reportsVblank = fresh.reportsVblank
        }
        announceChange()
    }

    private func announceChange() {
        if case .changed = events.last { return }
        events.append(.changed)
    }

    private func deactivate() {
        guard screen != nil else { return }
        shared.withLock {
            $0.pool.renew(count: 0)
            $0.buffers = []
            $0.mode = nil
        }
        screen = nil
        announceChange()
    }
}
