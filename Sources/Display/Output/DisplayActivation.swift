import Glibc
import KioskPlatform
import KioskPlayback
import Logging

/// Keeps one output's display active: looks for it, activates it, notices that it has gone, and waits for it, as ``DisplayState`` says.
/// Presenter thread only.
final class DisplayActivation {
    /// The display that is active now.
    private(set) var screen: (any Screen)?
    /// When ``look(probing:)`` is due.
    private(set) var nextLook: HostTime?
    /// Called when ``screen`` has changed.
    var onChange: ((any Screen)?) -> Void = { _ in }

    /// Whether the display is to be off.
    private(set) var isDark = false

    private var state = DisplayState.absent
    private var finder: DisplayFinder?
    private let seat: Seat
    /// The output's number in the seat.
    private let output: Int
    /// When the screen was made, and whether a flip of it has happened.
    private var activeSince = HostTime.now
    private var hasFlipped = false
    /// Whether the screen has been looked at only once yet.
    private var isNew = false
    /// Asks the active display what it can do. That can take a tenth of a second, in which flips go on; hence a thread of its own.
    private var probe: Thread?
    private var wantsAnotherProbe = false
    /// Readable when the probe has ended, and ``finishProbe()`` is due.
    let probed = WakeUp()

    /// Looks for what `finder` finds.
    init(_ finder: DisplayFinder, seat: Seat, output: Int) {
        (self.finder, self.seat, self.output) = (finder, seat, output)
        if !seat.mayDrive { _ = state.leave() }
    }

    /// `screen` and nothing else, ever.
    init(_ screen: any Screen, seat: Seat, output: Int) {
        (self.screen, self.seat, self.output) = (screen, seat, output)
        let mode = screen.mode
        let shape = ConnectorMode(width: mode.width, height: mode.height, refresh: 0)
        state = .active(DisplayState.Target(display: mode.name, mode: shape))
    }

    /// Looks because the time has come.
    func lookIfDue(at now: HostTime) {
        guard let nextLook, nextLook <= now else { return }
        look(probing: screen == nil || (isNew && finder?.isUnsure == true))
    }

    /// Looks at the display, or for one. With `probing` the displays themselves are asked.
    func look(probing: Bool) {
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
        if state != .away, state != .dark {
            perform(state.saw(finder.look(probing: probing, active: screen), at: now), at: now)
            // The display that was active has gone; there may be another one.
            if before != nil, screen == nil, state == .absent {
                perform(state.saw(finder.look(probing: true, active: nil), at: now), at: now)
            }
        }
        // Some displays tell what they can do only once they are driven: a new one is looked at again soon.
        isNew = screen != nil && screen !== before
        nextLook = isNew ? .now + .milliseconds(500) : state.lookInterval(at: now).map { .now + $0 }
    }

    /// Has the active display probed in the background; false where that means nothing.
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

    /// The kernel now knows what the display said.
    func finishProbe() {
        guard probed.drain() else { return }
        // It has ended but for its last steps.
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

    /// A flip has happened.
    func flipped() { hasFlipped = true }

    /// A flip was refused.
    func refused(_ error: DeviceError) {
        guard error.isRefusal, HostTime.now - activeSince < DisplayState.provingTime else { return lose(error) }
        finder?.refuseFlip(error, isFirst: !hasFlipped)
        loseScreen()
    }

    /// The display has gone.
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

    /// The virtual terminal is to leave the screen.
    func leave() { perform(state.leave(), at: .now) }

    /// The virtual terminal has come back to the screen.
    func comeBack() {
        perform(state.comeBack(), at: .now)
        if isDark { darken() }
    }

    /// Switches the display off, or looks for it and drives it again. One that is in memory stays as it is.
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

    /// How long the end waits for a probe, during which the kernel lets nobody set a mode.
    private static let probeLimit = MediaTime.seconds(1)

    /// Restores what was on the screen before; not where a probe hangs, as that would hang, too.
    func close() {
        if probe?.join(until: .now + Self.probeLimit) != false { screen?.restore() }
        deactivate()
        finder = nil
    }
}
