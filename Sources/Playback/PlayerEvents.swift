import DequeModule
import Platform

/// Events on their way to the observers, and the thread that calls them, so that an observer that takes its time holds up no frame.
final class PlayerEvents: Sendable {
    private struct State: ~Copyable {
        var queue = Deque<PlayerEvent>()
        var observers: [@Sendable (PlayerEvent) -> Void] = []
        var timers: [Timer] = []
        var isStopping = false
    }

    private struct Timer: Sendable {
        var interval: MediaTime
        var next: HostTime
        var observer: @Sendable (MediaTime) -> Void
    }

    private enum Work {
        case event(PlayerEvent)
        case tick
        case stop
    }

    private let state = Monitor(State())

    func send(_ event: PlayerEvent) { state.signal { $0.queue.append(event) } }
    func add(_ observer: @escaping @Sendable (PlayerEvent) -> Void) { state.signal { $0.observers.append(observer) } }
    func add(interval: MediaTime, _ observer: @escaping @Sendable (MediaTime) -> Void) {
        state.signal { $0.timers.append(Timer(interval: interval, next: .now, observer: observer)) }
    }

    func stop() { state.signal { $0.isStopping = true } }

    /// The thread's body; the queue is emptied before it ends.
    func run(currentTime: () -> MediaTime) {
        while true {
            let deadline = state.withLock { $0.timers.map(\.next).min() }
            let work: Work? = state.wait(until: deadline) { state -> Work? in
                if let event = state.queue.popFirst() { return .event(event) }
                if state.isStopping { return .stop }
                // A timer that was added meanwhile is due at once, and has an earlier deadline than the one waited for.
                return state.timers.contains { $0.next <= HostTime.now } ? .tick : nil
            }
            switch work ?? .tick {
            case .stop: return
            case .tick: fireTimers(all: false, currentTime)
            case .event(let event):
                for observer in state.withLock({ $0.observers }) { observer(event) }
                fireTimers(all: true, currentTime)
            }
        }
    }

    private func fireTimers(all: Bool, _ currentTime: () -> MediaTime) {
        let now = HostTime.now
        let due = state.withLock { state -> [@Sendable (MediaTime) -> Void] in
            var due: [@Sendable (MediaTime) -> Void] = []
            for index in state.timers.indices where all || state.timers[index].next <= now {
                state.timers[index].next = now + state.timers[index].interval
                due.append(state.timers[index].observer)
            }
            return due
        }
        guard !due.isEmpty else { return }
        let time = currentTime()
        for observer in due { observer(time) }
    }
}
