import Platform
import Vocabulary

/// What fingers mean.
package enum Gesture: Hashable, Sendable {
    /// One short touch.
    case tap
    /// One finger drawn sideways: so many seek steps, positive to the right.
    case swipe(steps: Int)

    /// What it asks for.
    package var command: Command {
        switch self {
        case .tap: .togglePlayback
        case .swipe(let steps): .seekSteps(steps)
        }
    }
}

/// Makes gestures of the contacts of one device. A pure value: contact events in, a gesture out, on the lift that completes it.
///
/// Horizontal distances are fractions of the picture's width, vertical ones of its height.
///
/// - A tap stays within ``tapDistance`` and takes less than ``tapDuration``. It is recognised on the lift, since until then it may become a
///   swipe.
/// - A swipe ends at least ``swipeDistance`` to the side of where it began, at least twice as far to the side as up or down, and
///   takes less than ``swipeDuration``. It is one seek step, and one more for each ``stepDistance`` beyond.
/// - Anything else is nothing: a second finger (until all are lifted), a resting hand, a stroke up or down.
/// - A touch within ``bounce`` after a lift is the same touch, on a panel that flickers.
/// - What is cancelled is nothing, and neither are the fingers that touch at that time.
package struct GestureRecognizer: Sendable {
    /// How far a tap may wander.
    package static let tapDistance = 0.03
    /// How long a tap may take.
    package static let tapDuration = MediaTime.milliseconds(700)
    /// How long a swipe is at least.
    package static let swipeDistance = 0.1
    /// How long a swipe may take.
    package static let swipeDuration = MediaTime.milliseconds(1000)
    /// How much longer a swipe is for one seek step more.
    package static let stepDistance = 0.25
    /// What flickers, flickers faster than this; nobody taps twice as fast.
    package static let bounce = MediaTime.milliseconds(40)

    private enum State {
        /// Nothing touches. `lifted` is when the last contact ended; nil when there was none or it was cancelled.
        case idle(lifted: HostTime?)
        /// One contact touches and may become a gesture.
        case following(start: Contact, last: Contact, farthest: Double, since: HostTime)
        /// The contacts of these ids touch and mean nothing.
        case ignoring(touching: Set<Int>)
    }
    private var state = State.idle(lifted: nil)

    /// A recogniser that has seen nothing.
    package init() {}

    /// Takes the next event of the device. Returns the gesture that it completes.
    package mutating func update(_ event: ContactEvent) -> Gesture? {
        switch event.phase {
        case .down: begin(event.contact, at: event.time)
        case .move: move(event.contact)
        case .up: return end(event.contact.id, at: event.time)
        case .cancelled: cancel(event.contact.id)
        }
        return nil
    }

    private mutating func begin(_ contact: Contact, at time: HostTime) {
        switch state {
        case .idle(let lifted):
            let isBounce = lifted.map { time - $0 < Self.bounce } ?? false
            state =
                isBounce ? .ignoring(touching: [contact.id]) : .following(start: contact, last: contact, farthest: 0, since: time)
        case .following(let start, _, _, _): state = .ignoring(touching: [start.id, contact.id])
        case .ignoring(let touching): state = .ignoring(touching: touching.union([contact.id]))
        }
    }

    private mutating func move(_ contact: Contact) {
        guard case .following(let start, _, let farthest, let since) = state, contact.id == start.id else { return }
        let distance = max(abs(contact.x - start.x), abs(contact.y - start.y))
        state = .following(start: start, last: contact, farthest: max(farthest, distance), since: since)
    }

    private mutating func end(_ id: Int, at time: HostTime) -> Gesture? {
        switch state {
        case .following(let start, let last, let farthest, let since) where start.id == id:
            state = .idle(lifted: time)
            return Self.gesture(from: start, to: last, farthest: farthest, duration: time - since)
        case .ignoring(let touching):
            let rest = touching.subtracting([id])
            state = rest.isEmpty ? .idle(lifted: time) : .ignoring(touching: rest)
            return nil
        case .idle, .following: return nil
        }
    }

    private mutating func cancel(_ id: Int) {
        switch state {
        case .following(let start, _, _, _) where start.id == id: state = .idle(lifted: nil)
        case .ignoring(let touching):
            let rest = touching.subtracting([id])
            state = rest.isEmpty ? .idle(lifted: nil) : .ignoring(touching: rest)
        case .idle, .following: break
        }
    }

    private static func gesture(from start: Contact, to end: Contact, farthest: Double, duration: MediaTime) -> Gesture? {
        if farthest < tapDistance { return duration < tapDuration ? .tap : nil }
        let (across, down) = (end.x - start.x, end.y - start.y)
        guard duration < swipeDuration, abs(across) >= swipeDistance, abs(across) >= 2 * abs(down) else { return nil }
        let steps = 1 + Int((abs(across) - swipeDistance) / stepDistance)
        return .swipe(steps: across > 0 ? steps : -steps)
    }
}
