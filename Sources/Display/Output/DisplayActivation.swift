import Glibc
import KioskPlatform
import KioskPlayback
import Logging

/// Keeps one output's display active: finds it, activates it, notices its loss, and waits for it, as ``DisplayState`` decides. Presenter
/// thread only.
final class DisplayActivation {
    /// The active display.
    private(set) var screen: (any Screen)?
    /// When ``look(probing:)`` is due.
    private(set) var nextLook: HostTime?
    /// Called after a change of ``screen``.
    var onChange: ((any Screen)?) -> Void = { _ in }

    /// Whether the display should be off.
    private(set) var isDark = false

    private var state = DisplayState.absent
    private var finder: DisplayFinder?
    private let seat: Seat
    /// The output's number in the seat.
    private let output: Int
    /// The time of the screen's creation, and whether it has flipped since.
    private var activeSince = HostTime.now
    private var hasFlipped = false
    /// Whether kiosk has looked at the screen only once so far.
    private var isNew = false
    /// Probes the active display. That can take a tenth of a second while flips go on; hence a thread of its own.
    private var probe: Thread?
    private var wantsAnotherProbe = false
    /// Readable after the probe has ended; ``finishProbe()`` is then due.
    let probed = WakeUp()

    /// Looks for the display of `finder`.
    init(_ finder: DisplayFinder, seat: Seat, output: Int) {
        (self.finder, self.seat, self.output) = (finder, seat, output)
        if !seat.mayDrive { _ = state.leave() }
    }

    /// Drives `screen` and nothing else, ever.
    init(_ screen: any Screen, seat: Seat, output: Int) {
        (self.screen, self.seat, self.output) = (screen, seat, output)
        let mode = screen.mode
        let shape = ConnectorMode(width: mode.width, height: mode.height, refresh: 0)
        state = .active(DisplayState.Target(display: mode.name, mode: shape))
    }

    /// Looks if the time has come.
    func lookIfDue(at now: HostTime) {
        guard let nextLook, nextLook <= now else { return }
        look(probing: screen == nil || (isNew && finder?.isUnsure == true))
    }

    /// Looks at the display, or for one. `probing` asks the displays themselves.
    func look(probing: Bool) {
        let now = HostTime.now
        guard let finder else {
            nextLook = nil
            return
        }
        if probing, screen != nil, startProbe(finder) {
            // No look before its end: the kernel locks the connectors meanwhile, and flips would wait, too.
            nextLook = nil
            return
        }
        let before = screen
        if state != .away, state != .dark {
            perform(state.saw(finder.look(probing: probing, active: screen), at: now), at: now)
            // The active display has gone; there may be another one.
            if before != nil, screen == nil, state == .absent {
                perform(state.saw(finder.look(probing: true, active: nil), at: now), at: now)
            }
        }
        // Some displays report their modes only once they are driven. Look at a new one again soon.
        isNew = screen != nil && screen !== before
        nextLook = isNew ? .now + .milliseconds(500) : state.lookInterval(at: now).map { .now + $0 }
    }

    /// Probes the active display in the background; returns false if it has nothing to probe.
    private func startProbe(_ finder: DisplayFinder) -> Bool {
        guard probe == nil else {
            wantsAnotherProbe = true
            return true
        }
        guard let body = finder.probe() else { return false }
        isNew = false
        probe = Thread("display-probe") { [probed] in
            body()
            probed.wake()
        }
        return true
    }

    /// Ends a probe: the kernel now knows the display's answer.
    func finishProbe() {
        guard probed.drain() else { return }
        // Only the last steps of the thread are left.
        _ = probe?.join(until: .now + Self.probeLimit)
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
                screen = fresh
                (activeSince, hasFlipped) = (.now, false)
                onChange(fresh)
            } catch { perform(state.failed(), at: now) }
        case .deactivate: deactivate()
        case .darken:
            do throws(DeviceError) { try screen?.turnOff() } catch { log.warning("the display stays on: cannot \(error)") }
            onChange(nil)
            screen = nil
        case .release:
            deactivate()
            nextLook = nil
        case .reacquire: look(probing: true)
        }
    }

    private func deactivate() {
        guard screen != nil else { return }
        seat.release(output)
        onChange(nil)
        screen = nil
    }

    /// Records a flip.
    func flipped() { hasFlipped = true }

    /// Handles a refused flip.
    func refused(_ error: DeviceError) {
        guard error.isRefusal, HostTime.now - activeSince < DisplayState.provingTime else { return lose(error) }
        finder?.refuseFlip(error, isFirst: !hasFlipped)
        loseScreen()
    }

    /// Handles the loss of the display.
    func lose(_ error: DeviceError) {
        log.warning("display lost: cannot \(error)")
        if hasFlipped, HostTime.now - activeSince >= DisplayState.provingTime { finder?.proveFlips() }
        loseScreen()
    }

    private func loseScreen() {
        let now = HostTime.now
        perform(state.lost(at: now), at: now)
        nextLook = state.lookInterval(at: now).map { now + $0 }
    }

    /// Handles a switch to another virtual terminal.
    func leave() { perform(state.leave(), at: .now) }

    /// Handles the return of the virtual terminal.
    func comeBack() {
        perform(state.comeBack(), at: .now)
        if isDark { darken() }
    }

    /// Switches the display off, or looks for it and drives it again. A screen in memory stays as it is.
    func setDark(_ isDark: Bool) {
        guard finder != nil, isDark != self.isDark else { return }
        self.isDark = isDark
        if isDark { darken() } else if state.lighten() { look(probing: true) }
    }

    private func darken() {
        let now = HostTime.now
        perform(state.darken(), at: now)
        nextLook = state.lookInterval(at: now).map { now + $0 }
    }

    /// How long ``close()`` waits for a probe; the kernel blocks modesets meanwhile.
    private static let probeLimit = MediaTime.seconds(1)

    /// Restores the former content of the screen, unless a probe hangs: restoring would hang, too.
    func close() {
        if probe?.join(until: .now + Self.probeLimit) != false { screen?.restore() }
        deactivate()
        finder = nil
    }
}
