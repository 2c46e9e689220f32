import Glibc
import KioskConfiguration
import KioskPlatform
import KioskSchedule
import KioskVocabulary
import Logging

/// Applies the schedule while the player runs: the entries that are on, and the timers.
///
/// Its thread wakes at each second of the clock, unless the schedule is constant. It evaluates the schedule when something is due, when the
/// clock has been set, and once a minute. ``ScheduleState`` decides the result.
final class ScheduleWiring: Sendable {
    /// The actions of the schedule.
    struct Effects: Sendable {
        /// Sets the entries that are on; `atOnce` means before the current item ends.
        var setOn: @Sendable (Set<Int>, _ atOnce: Bool) -> Void
        /// Switches the display off or on.
        var setDark: @Sendable (Bool) -> Void
        var perform: @Sendable (Command) -> Void
        /// Called once the state of the display is known: the clock is right, or nothing depends on it.
        var isSettled: @Sendable () -> Void = {}
    }

    private struct State {
        var configuration: Configuration
        var schedule: ScheduleState
        /// Events that are not reported yet.
        var events: [ScheduleState.Event] = []
        var on: Set<Int>
        /// When the clock was last read, and when the next event is due, in seconds since 1970.
        var looked: WallClock
        var due: Int64?
        var isStopping = false
        /// Increases with each configuration.
        var revision = 0

        init(_ configuration: Configuration, at clock: WallClock, after former: ScheduleState? = nil) {
            (self.configuration, schedule, looked, on) = (configuration, ScheduleState(configuration, after: former), clock, [])
            look(at: clock)
        }

        mutating func look(at clock: WallClock) {
            let isAsExpected = looked.isRight && clock.isRight && 0...60 ~= clock.seconds - looked.seconds
            events += schedule.look(at: clock)
            (on, looked) = (schedule.on ?? [], clock)
            if schedule.isConstant || !clock.isRight {
                due = nil
            } else if let due, isAsExpected, clock.seconds < due {
                // The next event is still the same.
                return
            } else {
                // A later look finds events that are more than a day away.
                due = schedule.due(after: clock.seconds) ?? clock.seconds + 86_000
            }
        }

        /// Whether the schedule must be evaluated at this second.
        func isDue(at second: Int64) -> Bool {
            if let due, second >= due { return true }
            let passed = second - looked.seconds
            return passed < 0 || passed >= (looked.isRight ? 60 : 5)
        }
    }

    private let state: Monitor<State>
    private let clock: @Sendable () -> WallClock
    private let log = Logger(label: "schedule")

    /// Reads the clock for the first time.
    init(_ configuration: Configuration, clock: @escaping @Sendable () -> WallClock = { .now }) {
        self.clock = clock
        state = Monitor(State(configuration, at: clock()))
    }

    /// The entries that are on.
    var on: Set<Int> { state.withLock { $0.on } }

    /// Applies another configuration; returns its entries that are on.
    func setConfiguration(_ configuration: Configuration) -> Set<Int> {
        let now = clock()
        return state.signal { state in
            let (revision, isStopping) = (state.revision, state.isStopping)
            state = State(configuration, at: now, after: state.schedule)
            (state.revision, state.isStopping) = (revision + 1, isStopping)
            return state.on
        }
    }

    /// Starts the actions, on a thread of its own.
    func start(_ effects: Effects) {
        Thread("schedule") { [self] in
            // The caller knows the initial entries.
            var told = (revision: 0, on: on)
            // A caller that applies a new configuration may deliver its entries after a later change.
            var isDoubtful = false
            var isSettled = false
            while true {
                if isDoubtful, state.withLock({ $0.revision }) == told.revision { effects.setOn(told.on, false) }
                isDoubtful = false
                let (events, configuration, revision, isConstant, isRight) = state.withLock { state in
                    defer { state.events = [] }
                    return (state.events, state.configuration, state.revision, state.schedule.isConstant, state.looked.isRight)
                }
                for event in events {
                    switch event {
                    case .on(let on):
                        if !isConstant { log.info("on: \(configuration.names(on: on))") }
                        if revision == told.revision, on != told.on {
                            effects.setOn(on, configuration.changesAtOnce(on.symmetricDifference(told.on)))
                        }
                        isDoubtful = isDoubtful || revision != told.revision
                        told = (revision, on)
                    case .dark(let isDark): effects.setDark(isDark)
                    case .timer(let number), .lasting(let number):
                        let timer = configuration.timers[number]
                        let isNow = if case .timer = event { true } else { false }
                        log.info("\(isNow ? "it is" : "since") \(timer.moment): \(timer.words)")
                        effects.perform(timer.command)
                    case .waitsForClock: log.warning("the clock is not set: entries with hours, days or dates wait until it is")
                    }
                }
                if !isSettled, isConstant || isRight {
                    isSettled = true
                    effects.isSettled()
                }
                let deadline = isConstant ? nil : Self.nextSecond
                let goesOn = state.wait(until: deadline) { state -> Bool? in
                    state.isStopping ? false : state.revision != revision ? true : nil
                }
                if goesOn == false { return }
                if state.withLock({ $0.isDue(at: WallClock.second) }) {
                    let now = clock()
                    state.withLock { if $0.revision == revision { $0.look(at: now) } }
                }
            }
        }.detach()
    }

    /// Stops; does not wait.
    func stop() { state.signal { $0.isStopping = true } }

    /// When the clock's next second begins.
    private static var nextSecond: HostTime {
        let passed = nanoseconds(of: CLOCK_REALTIME) % 1_000_000_000
        return .now + MediaTime(nanoseconds: 1_000_000_000 - max(0, passed))
    }
}

extension ScheduleState {
    /// Makes the state of a configuration.
    init(_ configuration: Configuration, after former: ScheduleState? = nil) {
        self.init(
            configuration.schedule, timers: configuration.timers.map { Timer($0.moment, $0.time, sets: $0.command.property) }, after: former
        )
    }
}

extension Command {
    /// The property that the command sets for good; nil if it sets none.
    fileprivate var property: String? {
        switch self {
        case .player(.setVolume): "volume"
        case .player(.setMuted): "muted"
        case .player(.setRate): "rate"
        case .rotate(.some): "rotation"
        case .program(.display): "display"
        default: nil
        }
    }
}

extension Configuration {
    /// Returns the names of the programs that play with these entries on.
    func names(on: Set<Int>) -> String {
        let schedule = schedule
        var names: [String] = []
        for entry in schedule.played(of: on) {
            let name = schedule.entries[entry].program.map { "program “\(programs[$0].name)”" } ?? "the playlist"
            if names.last != name { names.append(name) }
        }
        let inBetween = Set(schedule.inBetween(of: on).compactMap { schedule.entries[$0].program }).sorted()
        let others = inBetween.map { ", in between “\(programs[$0].name)”" }.joined()
        return (names.isEmpty ? "nothing" : names.joined(separator: ", ")) + others
    }

    /// Whether one of these entries belongs to a program that begins and ends at once.
    fileprivate func changesAtOnce(_ entries: Set<Int>) -> Bool {
        let schedule = schedule
        return entries.contains { number in
            let entry = schedule.entries[number]
            return !entry.isInBetween && entry.program.map { programs[$0].changesAtOnce } ?? false
        }
    }
}
