import Configuration
import KioskDisplayCore
import KioskInputCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

/// Switches the display off and on, as ``DisplayPower`` says. What is played stands meanwhile; nothing is decoded.
///
/// What is touched while it is off means nothing but that, to the end of the contact or the key: nobody could see what he touched.
final class PowerWiring: Sendable {
    private struct State {
        var power = DisplayPower()
        /// What was applied last.
        var isDark = false
        /// What the television was told last; nil before the start.
        var toldOn: Bool?
        var hasBegun = false
        /// What was touched first while it was off, and is not let go yet.
        var taken: Set<Touched> = []
        /// When that was: a touch can be a contact and a key in one report.
        var takenAt: HostTime?
        /// Whether there is a thread that waits for ``DisplayPower/nextChange``.
        var isTimed = false
        var isStopping = false
        var usesSignal = true, usesCEC = false

        mutating func take(_ configuration: Configuration.Display) {
            (power.wakeTime, usesSignal, usesCEC) = (
                configuration.wakes ? configuration.wakeTime : nil, configuration.dpms, configuration.cec
            )
        }
    }

    /// A contact or a key of a device.
    private enum Touched: Hashable {
        case contact(DeviceID, Int)
        case key(DeviceID, KeyCode)
    }

    private let state: Monitor<State>
    private let player: PlaybackEngine
    private let display: DisplayOutput
    private let zones: ZoneWiring
    private let television: TelevisionPower
    private let log = Logger(label: "display")

    init(_ configuration: Configuration, player: PlaybackEngine, display: DisplayOutput, zones: ZoneWiring) {
        (self.player, self.display, self.zones) = (player, display, zones)
        television = TelevisionPower { [display] in display.television }
        var state = State()
        state.take(configuration.display)
        self.state = Monitor(state)
    }

    /// It is known whether the display is to be off. A television that is still in standby, as after a power cut, is switched on.
    func begin() {
        state.signal { state in
            state.hasBegun = true
            tellTelevision(&state)
        }
    }

    func setConfiguration(_ configuration: Configuration) { change { $0.take(configuration.display) } }

    /// The schedule has it off, or on.
    func setNight(_ isNight: Bool) {
        change { state in
            state.power.isNight = isNight
            // Whoever has asked for something has asked until then.
            state.power.ask(.auto)
        }
    }

    func ask(_ order: DisplayOrder) { change { $0.power.ask(order) } }

    var order: DisplayOrder { state.withLock { $0.power.order } }
    var isDark: Bool { state.withLock { $0.isDark } }

    /// Takes an event that nobody can have meant for what is on the screen, as nothing is. `isOrder`: it asks for something of the display itself.
    func takes(_ event: InputEvent, isOrder: Bool) -> Bool {
        let (touched, isEnd): (Touched, Bool) =
            switch event {
            case .contact(let event):
                (.contact(event.device, event.contact.id), event.phase == .up || event.phase == .cancelled)
            case .key(let event): (.key(event.device, event.key), event.phase == .release)
            }
        return change { state in
            if isOrder { return false }
            if isEnd { return state.taken.remove(touched) != nil }
            if state.taken.contains(touched) { return true }
            let isSame = event.time == state.takenAt
            guard state.power.touched(at: event.time) || isSame else { return false }
            state.taken.insert(touched)
            state.takenAt = event.time
            return true
        }
    }

    /// Changes what is wanted, and does what follows, in one step.
    @discardableResult private func change<Result>(_ change: (inout State) -> Result) -> Result where Result: Sendable {
        let (result, startsTimer) = state.signal { state -> (Result, Bool) in
            let before = state
            let result = change(&state)
            // Every event of an input device comes by here.
            if state.power != before.power || state.usesSignal != before.usesSignal || state.usesCEC != before.usesCEC { apply(&state) }
            let starts = state.power.nextChange != nil && !state.isTimed && !state.isStopping
            if starts { state.isTimed = true }
            return (result, starts)
        }
        if startsTimer { startTimer() }
        return result
    }

    private func apply(_ state: inout State) {
        let isDark = state.power.isDark(at: .now)
        if isDark != state.isDark {
            state.isDark = isDark
            log.notice("the display is \(isDark ? "off: nothing is played" : "on")")
            if !isDark { display.setDark(false) }
            player.setHeld(isDark)
            zones.setDark(isDark)
        }
        tellTelevision(&state)
        // A change of the configuration, too.
        display.setDark(isDark && state.usesSignal)
    }

    private func tellTelevision(_ state: inout State) {
        let isOn = !state.isDark
        guard state.usesCEC, state.hasBegun, state.toldOn != isOn else { return }
        // At a start, which may be one after a crash, one that is on is left at the input that a viewer has chosen.
        television.set(isOn: isOn, ifAsleep: state.toldOn == nil)
        state.toldOn = isOn
    }

    private func startTimer() {
        Thread("display-power") { [self] in
            while true {
                let next = state.withLock { state -> HostTime? in
                    apply(&state)
                    let next = state.isStopping ? nil : state.power.nextChange.flatMap { $0 > .now ? $0 : nil }
                    if next == nil { state.isTimed = false }
                    return next
                }
                guard let next else { return }
                _ = state.wait(until: next) { $0.isStopping ? true : nil }
            }
        }.detach()
    }

    /// Switches nothing any more; waits for nothing.
    func stop() {
        state.signal { $0.isStopping = true }
        television.stop()
    }
}
