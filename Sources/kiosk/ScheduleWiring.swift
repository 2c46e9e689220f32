import Configuration
import Glibc
import KioskPlatform
import KioskVocabulary
import Logging
import Schedule

/// What time says while the player runs: which entries of the playlist are on, and what is done when.
///
/// A thread of its own wakes with each second of the clock while time has anything to say. It looks further when something is due, when somebody has set the
/// clock, and once a minute; what follows is ``ScheduleState``'s to say.
final class ScheduleWiring: Sendable {
    /// What time leads to.
    struct Effects: Sendable {
        /// These entries are on; `atOnce` where that is not to wait for the end of what is on the screen.
        var setOn: @Sendable (Set<Int>, _ atOnce: Bool) -> Void
        /// The display is to be off, or on.
        var setDark: @Sendable (Bool) -> Void
        var perform: @Sendable (Command) -> Void
        /// It is known for the first time whether the display is to be off: the clock is right, or nothing depends on it.
        var isSettled: @Sendable () -> Void = {}
    }

    private struct State {
        var configuration: Configuration
        var schedule: ScheduleState
        /// What has happened and is to be told.
        var events: [ScheduleState.Event] = []
        var on: Set<Int>
        /// When the clock was looked at, and when something is due by it, in seconds since 1970.
        var looked: WallClock
        var due: Int64?
        var isStopping = false
        /// Grows with each configuration.
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
                // Nothing has come nearer.
                return
            } else {
                // What is farther than a day is looked for then.
                due = schedule.due(after: clock.seconds) ?? clock.seconds + 86_000
            }
        }

        /// Whether there is to be looked further than at the time.
        func isDue(at second: Int64) -> Bool {
            if let due, second >= due { return true }
            let passed = second - looked.seconds
            return passed < 0 || passed >= (looked.isRight ? 60 : 5)
        }
    }

    private let state: Monitor<State>
    private let clock: @Sendable () -> WallClock
    private let log = Logger(label: "schedule")

    /// Looks at the clock for the first time.
    init(_ configuration: Configuration, clock: @escaping @Sendable () -> WallClock = { .now }) {
        self.clock = clock
        state = Monitor(State(configuration, at: clock()))
    }

    /// The entries that are on.
    var on: Set<Int> { state.withLock { $0.on } }

    /// Goes by another configuration from now on; returns the entries of that which are on.
    func setConfiguration(_ configuration: Configuration) -> Set<Int> {
        let now = clock()
        return state.signal { state in
            let (revision, isStopping) = (state.revision, state.isStopping)
            state = State(configuration, at: now, after: state.schedule)
            (state.revision, state.isStopping) = (revision + 1, isStopping)
            return state.on
        }
    }

    /// Has things done from now on, on a thread of its own.
    func start(_ effects: Effects) {
        Thread("schedule") { [self] in
            // What is on at the beginning is known to who asked for it.
            var told = (revision: 0, on: on)
            // Who has taken over another configuration may do so after what changed a moment later.
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

    /// Does nothing more; waits for nothing.
    func stop() { state.signal { $0.isStopping = true } }

    /// When the clock shows another second.
    private static var nextSecond: HostTime {
        let passed = nanoseconds(of: CLOCK_REALTIME) % 1_000_000_000
        return .now + MediaTime(nanoseconds: 1_000_000_000 - max(0, passed))
    }
}

extension ScheduleState {
    /// What a configuration says.
    init(_ configuration: Configuration, after former: ScheduleState? = nil) {
        self.init(
            configuration.schedule, timers: configuration.timers.map { Timer($0.moment, $0.time, sets: $0.command.property) }, after: former
        )
    }
}

extension Command {
    /// What it sets, where that lasts.
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
    /// What is played while these entries are on, by the names of programs.
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

    /// Whether a program that these entries belong to begins and ends at once.
    fileprivate func changesAtOnce(_ entries: Set<Int>) -> Bool {
        let schedule = schedule
        return entries.contains { number in
            let entry = schedule.entries[number]
            return !entry.isInBetween && entry.program.map { programs[$0].changesAtOnce } ?? false
        }
    }
}
