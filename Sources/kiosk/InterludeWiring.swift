import KioskConfiguration
import KioskPlatform
import KioskPlayback
import KioskSchedule
import KioskVocabulary
import Logging

/// Plays programs between other items (`every`): ``InterludeState`` decides the turns.
///
/// Thread `interludes` waits for the minutes of these programs. It runs while there are any.
final class InterludeWiring: Sendable {
    private struct State {
        var programs: [Configuration.Program]
        var items: [Int: [PlaylistItem]] = [:]
        var turns = InterludeState()
        /// The items that wait for a boundary, by program.
        var due: [Int: (id: QueueItem.ID, item: PlaylistItem)] = [:]
        /// The last item on the screen.
        var last: QueueItem.ID?
        var isRunning = false, isStopped = false
        /// Increases with each change.
        var changes = 0

        mutating func update(at now: HostTime) {
            changes += 1
            var wanted: [Int: InterludeState.Program] = [:]
            for (number, items) in items {
                guard programs.indices.contains(number), let recurrence = programs[number].recurrence else { continue }
                wanted[number] = .init(recurrence, isAtOnce: programs[number].changesAtOnce, count: items.count)
            }
            turns.set(wanted, at: now)
        }

        /// Removes waiting items that are no longer wanted, and returns them.
        mutating func takeUnwanted() -> [QueueItem.ID] {
            let unwanted = due.filter { number, due in
                !programs.indices.contains(number) || programs[number].recurrence == nil || items[number]?.contains(due.item) != true
            }
            for number in unwanted.keys { due[number] = nil }
            return unwanted.values.map(\.id)
        }
    }

    private let player: PlaybackEngine
    private let state: Monitor<State>
    private let observer = Monitor<PlayerObserver?>(nil)
    private let log = Logger(label: "schedule")

    init(_ configuration: Configuration, player: PlaybackEngine) {
        self.player = player
        state = Monitor(State(programs: configuration.programs))
        let observer = player.addObserver { [weak self] event in
            if case .itemStarted(let item, let isSeam, _) = event { self?.started(item, isSeam: isSeam) }
        }
        self.observer.withLock { $0 = observer }
    }

    func setConfiguration(_ configuration: Configuration) {
        let unwanted = state.signal { state in
            state.programs = configuration.programs
            state.update(at: .now)
            return state.takeUnwanted()
        }
        for item in unwanted { player.cancelInterlude(item) }
    }

    /// Sets the items of the active programs.
    func setItems(_ items: [Int: [PlaylistItem]]) {
        let (begins, unwanted) = state.signal { state in
            state.items = items
            state.update(at: .now)
            let begins = !items.isEmpty && !state.isRunning && !state.isStopped
            state.isRunning = state.isRunning || begins
            return (begins, state.takeUnwanted())
        }
        for item in unwanted { player.cancelInterlude(item) }
        if begins { Thread("interludes") { [self] in run() }.detach() }
    }

    private func started(_ item: QueueItem.ID, isSeam: Bool) {
        // Items in between have no place on the list.
        let isListed = player.item(item)?.place != nil
        state.signal { state in
            state.turns.itemStarted(isListed: isListed, isNew: isSeam || item != state.last, at: .now)
            if isListed { state.last = item }
            state.changes += 1
        }
        if isListed { take() }
    }

    /// Plays the items whose turn it is.
    private func take() {
        let turns = state.withLock { state in
            state.turns.turns(at: .now).map {
                (number: $0.program, state.programs[$0.program], state.items[$0.program]![$0.item], state.due[$0.program]?.id)
            }
        }
        for (number, program, item, due) in turns {
            // After an item of an hour, or a pause, only one of the missed turns is played.
            if let due, player.isDue(due) { continue }
            log.debug("every \(program.recurrence!): “\(program.name)”: \(item.name)")
            let id = player.playInterlude(item, at: program.changesAtOnce ? .now : .atNextBoundary)
            state.withLock { $0.due[number] = id.map { ($0, item) } }
        }
    }

    private func run() {
        while true {
            let (changes, deadline) = state.withLock { ($0.changes, $0.turns.deadline) }
            _ = state.wait(until: deadline) { $0.isStopped || $0.changes != changes ? true : nil }
            let ends = state.withLock { state in
                if state.isStopped || state.items.isEmpty { state.isRunning = false }
                return !state.isRunning
            }
            if ends { return }
            take()
        }
    }

    func stop() {
        if let observer = observer.withLock({ $0.take() }) { player.removeObserver(observer) }
        state.signal { $0.isStopped = true }
    }
}
