import DequeModule
import KioskPlatform
import KioskVocabulary

/// The queue of events for the observers, and the thread that calls them, so that a slow observer holds up no frame.
final class PlayerEvents: Sendable {
    private struct State: ~Copyable {
        var queue = Deque<PlaybackEvent>()
        /// In the order of their addition, which is the order of their numbers.
        var observers: [(token: PlayerObserver, call: @Sendable (PlaybackEvent) -> Void)] = []
        var timers: [Timer] = []
        var boundaries: [Boundary] = []
        var added = 0
        var isStopping = false

    }

    private struct Timer: Sendable {
        var token: PlayerObserver
        var interval: MediaTime
        var next: HostTime
        var call: @Sendable (MediaTime) -> Void
    }

    private struct Boundary: Sendable {
        var token: PlayerObserver
        var times: BoundaryTimes
        /// nil while time stands still.
        var next: HostTime?
        var call: @Sendable () -> Void
    }

    struct Progress {
        var time = MediaTime.zero
        var rate = 1.0
        var isPlaying = false
    }

    private enum Work {
        case event(PlaybackEvent)
        case tick
        case stop
    }

    private let state = Monitor(State())

    func send(_ event: PlaybackEvent) { state.signal { $0.queue.append(event) } }

    private func add(_ keep: (inout State, PlayerObserver) -> Void) -> PlayerObserver {
        state.signal { state in
            state.added += 1
            let token = PlayerObserver(number: state.added)
            keep(&state, token)
            return token
        }
    }

    func add(_ observer: @escaping @Sendable (PlaybackEvent) -> Void) -> PlayerObserver {
        add { $0.observers.append(($1, observer)) }
    }

    func add(interval: MediaTime, _ observer: @escaping @Sendable (MediaTime) -> Void) -> PlayerObserver {
        add { $0.timers.append(Timer(token: $1, interval: interval, next: .now, call: observer)) }
    }

    func add(times: [MediaTime], _ observer: @escaping @Sendable () -> Void) -> PlayerObserver {
        add { $0.boundaries.append(Boundary(token: $1, times: BoundaryTimes(times), next: .now, call: observer)) }
    }

    /// Removes an observer. A call that is under way on the event thread completes.
    func remove(_ token: PlayerObserver) {
        state.signal { state in
            state.observers.removeAll { $0.token == token }
            state.timers.removeAll { $0.token == token }
            state.boundaries.removeAll { $0.token == token }
        }
    }

    func stop() { state.signal { $0.isStopping = true } }

    /// The thread's body; it empties the queue before it ends.
    func run(progress: () -> Progress) {
        while true {
            let deadline = state.withLock { ($0.timers.map(\.next) + $0.boundaries.compactMap(\.next)).min() }
            let work: Work? = state.wait(until: deadline) { state -> Work? in
                if let event = state.queue.popFirst() { return .event(event) }
                if state.isStopping { return .stop }
                // A timer that was added meanwhile is due at once, before the deadline of this wait.
                let now = HostTime.now
                let isDue = state.timers.contains { $0.next <= now } || state.boundaries.contains { $0.next.map { $0 <= now } ?? false }
                return isDue ? .tick : nil
            }
            switch work ?? .tick {
            case .stop: return
            case .tick:
                fireTimers(all: false, progress)
                lookAtBoundaries(progress)
            case .event(let event):
                tell(event)
                fireTimers(all: true, progress)
                lookAtBoundaries(progress)
            }
        }
    }

    /// Calls the observers one after another, each only if it has not been removed by then.
    private func tell(_ event: PlaybackEvent) {
        var last = 0
        while let observer = state.withLock({ state in state.observers.first { $0.token.number > last } }) {
            last = observer.token.number
            observer.call(event)
        }
    }

    private func lookAtBoundaries(_ progress: () -> Progress) {
        if state.withLock({ $0.boundaries.isEmpty }) { return }
        let present = progress()
        let passed = state.withLock { state -> [@Sendable () -> Void] in
            let now = HostTime.now
            var passed: [@Sendable () -> Void] = []
            for index in state.boundaries.indices {
                if state.boundaries[index].times.look(present.time, rate: present.rate, at: now) {
                    passed.append(state.boundaries[index].call)
                }
                state.boundaries[index].next = present.isPlaying ? state.boundaries[index].times.nextLook(rate: present.rate, at: now) : nil
            }
            return passed
        }
        for call in passed { call() }
    }

    private func fireTimers(all: Bool, _ progress: () -> Progress) {
        let now = HostTime.now
        let due = state.withLock { state -> [PlayerObserver] in
            var due: [PlayerObserver] = []
            for index in state.timers.indices where all || state.timers[index].next <= now {
                state.timers[index].next = now + state.timers[index].interval
                due.append(state.timers[index].token)
            }
            return due
        }
        guard !due.isEmpty else { return }
        let time = progress().time
        for token in due { state.withLock { state in state.timers.first { $0.token == token }?.call }?(time) }
    }
}

/// A token for an observer of a ``PlaybackEngine``, for its removal (``PlaybackEngine/removeObserver(_:)``).
package struct PlayerObserver: Hashable, Sendable {
    let number: Int
}

/// Item times that playback may pass. A pure value: the item's time and the clock in, whether one was passed out.
///
/// If the item leaps farther than playback could have gone since the last look, that is a seek or another item: it passes nothing.
struct BoundaryTimes: Sendable {
    private let times: [MediaTime]
    private var last: (time: MediaTime, at: HostTime)?

    /// The longest time between two looks during playback: the rate may change without an event.
    static let longestWait = MediaTime.milliseconds(200)
    /// How much farther than its rate says an item may be: observers are called late, and clocks are corrected.
    private static let slack = MediaTime.milliseconds(300)

    init(_ times: [MediaTime]) { self.times = times.sorted() }

    /// Looks at the item, which is at `time` now. Returns whether a boundary lies between there and the last look.
    mutating func look(_ time: MediaTime, rate: Double, at now: HostTime) -> Bool {
        defer { last = (time, now) }
        guard let last, time > last.time else { return false }
        if time - last.time > (now - last.at).scaled(by: max(rate, 0.5)) + Self.slack { return false }
        return times.contains { $0 > last.time && $0 <= time }
    }

    /// Returns when to look next, while the item plays at this rate.
    func nextLook(rate: Double, at now: HostTime) -> HostTime {
        guard let last, let next = times.first(where: { $0 > last.time }) else { return now + Self.longestWait }
        let wait = (next - last.time).scaled(by: 1 / max(rate, 0.1))
        return now + min(max(wait, .milliseconds(1)), Self.longestWait)
    }
}

/// The events of a ``PlaybackEngine``, in order.
///
/// ``PlaybackEngine/item(_:)`` returns the entry of an item and its place on the list.
package enum PlaybackEvent: Hashable, Sendable {
    /// The first frame of an item is on the screen. `isSeam`: it followed the frame before without a seek or skip. `late` is how many
    /// vblanks after its time it came.
    case itemStarted(item: QueueItem.ID, isSeam: Bool, late: Int)
    /// An item was on the screen to its end.
    case itemEnded(item: QueueItem.ID)
    /// An item has a problem. It could not be opened, or broke off half-way, and the playlist went on without it. Or it plays without its
    /// sound, or seems to be cut off. Reported once for each item until the reason changes, or the item has been played without fault.
    case itemFailed(item: QueueItem.ID, message: String)
    /// ``ItemFacts/status`` of an item has changed: the item has been opened, ahead of time, or could not be.
    case itemStatusChanged(item: QueueItem.ID, ItemFacts.Status)
    /// Nothing on the playlist can be played. The background is shown. The playlist is tried again after this time, and every few seconds
    /// from then on. Reported once until something plays.
    case nothingPlayable(retryAfter: MediaTime)
    /// The last item of a playlist that does not loop has ended.
    case playlistEnded
    /// ``PlaybackEngine/timeControlStatus`` has changed.
    case statusChanged(TimeControlStatus)
    /// Another program interrupts the sound (``PlaybackEngine/beginInterruption(_:for:)``), or the last one has ended its interruption.
    case interruptionBegan, interruptionEnded
    /// The text of a subtitle of an item, from one item time to another; reported before it is seen.
    case subtitle(item: QueueItem.ID, text: String, start: MediaTime, end: MediaTime)
    /// A measurement; only after ``PlaybackEngine/measure()``.
    case measured(PlaybackMeasurement)
}
