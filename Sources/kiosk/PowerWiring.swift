import KioskConfiguration
import KioskDisplayCore
import KioskInputCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

/// Switches the display off and on, as ``DisplayPower`` decides. Playback stands still meanwhile, without decoding.
///
/// A touch or a key while the display is off has no other effect until its release: nobody could see its target.
final class PowerWiring: Sendable {
    private struct State {
        var power = DisplayPower()
        /// The last applied state.
        var isDark = false
        /// The last state sent to the television; nil before the start.
        var toldOn: Bool?
        var hasBegun = false
        /// Contacts and keys that began while the display was off, until their release.
        var taken: Set<Touched> = []
        /// When they began: one report can hold a contact and a key for the same touch.
        var takenAt: HostTime?
        /// Whether a thread waits for ``DisplayPower/nextChange``.
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

    /// Begins to control the television, once the state of the display is known. Wakes a television in standby, as after a power cut.
    func begin() {
        state.signal { state in
            state.hasBegun = true
            tellTelevision(&state)
        }
    }

    func setConfiguration(_ configuration: Configuration) { change { $0.take(configuration.display) } }

    /// Sets whether the schedule has the display off.
    func setNight(_ isNight: Bool) {
        change { state in
            state.power.isNight = isNight
            // A user's command holds until the schedule next switches.
            state.power.ask(.auto)
        }
    }

    func ask(_ order: DisplayOrder) { change { $0.power.ask(order) } }

    var order: DisplayOrder { state.withLock { $0.power.order } }
    var isDark: Bool { state.withLock { $0.isDark } }

    /// Takes an event that cannot be meant for the screen, because that is dark. `isOrder`: it commands the display itself.
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

    /// Changes the state and applies the result atomically.
    @discardableResult private func change<Result>(_ change: (inout State) -> Result) -> Result where Result: Sendable {
        let (result, startsTimer) = state.signal { state -> (Result, Bool) in
            let before = state
            let result = change(&state)
            // Every event of an input device passes here, so avoid needless work.
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
        // This also applies a change of the configuration.
        display.setDark(isDark && state.usesSignal)
    }

    private func tellTelevision(_ state: inout State) {
        let isOn = !state.isDark
        guard state.usesCEC, state.hasBegun, state.toldOn != isOn else { return }
        // At a start, possibly after a crash, a television that is on keeps the input that the viewer has chosen.
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

    /// Stops switching; does not wait.
    func stop() {
        state.signal { $0.isStopping = true }
        television.stop()
    }
}
