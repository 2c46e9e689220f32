import Media
import Platform
import Playback

/// A finger on a screen, a pressed button of a mouse.
public struct Contact: Hashable, Sendable {
    /// The same from touch to lift.
    public var id: Int
    /// 0 at the left edge of the upright picture, 1 at the right.
    public var x: Double
    /// 0 at the top, 1 at the bottom.
    public var y: Double

    /// A contact from its parts.
    public init(id: Int, x: Double, y: Double) {
        self.id = id
        self.x = x
        self.y = y
    }

    /// A contact on a panel, as seen on the picture that is shown there turned clockwise by `rotation`.
    public func upright(_ rotation: Rotation) -> Contact {
        switch rotation {
        case .none: self
        case .clockwise90: Contact(id: id, x: y, y: 1 - x)
        case .clockwise180: Contact(id: id, x: 1 - x, y: 1 - y)
        case .clockwise270: Contact(id: id, x: 1 - y, y: x)
        }
    }
}

/// What fingers mean.
public enum Gesture: Hashable, Sendable {
    /// One short touch.
    case tap
    /// One finger drawn sideways: so many seek steps, positive to the right.
    case swipe(steps: Int)

    /// What it asks for.
    public var command: Command {
        switch self {
        case .tap: .togglePlayback
        case .swipe(let steps): .seekSteps(steps)
        }
    }
}

/// Makes gestures of contacts. A pure value: what touches at some time in, a gesture out, on the lift that completes it.
///
/// Horizontal distances are fractions of the picture's width, vertical ones of its height.
///
/// - A tap stays within ``tapDistance`` and takes less than ``tapDuration``. It is recognised on the lift, since until then it may become a
///   swipe.
/// - A swipe ends at least ``swipeDistance`` to the side of where it began, at least twice as far to the side as up or down, and
///   takes less than ``swipeDuration``. It is one seek step, and one more for each ``stepDistance`` beyond.
/// - Anything else is nothing: a second finger (until all are lifted), a resting hand, a stroke up or down.
/// - A touch within ``bounce`` after a lift is the same touch, on a panel that flickers.
public struct GestureRecognizer: Sendable {
    /// How far a tap may wander.
    public static let tapDistance = 0.03
    /// How long a tap may take.
    public static let tapDuration = MediaTime.milliseconds(700)
    /// How long a swipe is at least.
    public static let swipeDistance = 0.1
    /// How long a swipe may take.
    public static let swipeDuration = MediaTime.milliseconds(1000)
    /// How much longer a swipe is for one seek step more.
    public static let stepDistance = 0.25
    /// What flickers, flickers faster than this; nobody taps twice as fast.
    public static let bounce = MediaTime.milliseconds(40)

    private enum State {
        case idle(lifted: HostTime?)
        case following(start: Contact, last: Contact, farthest: Double, since: HostTime)
        case ignoring
    }
    private var state = State.idle(lifted: nil)

    /// A recogniser that has seen nothing.
    public init() {}

    /// Takes all that touches at `time`, in no particular order.
    public mutating func update(_ contacts: [Contact], at time: HostTime) -> Gesture? {
        switch state {
        case .idle(let lifted):
            if contacts.count == 1, lifted.map({ time - $0 >= Self.bounce }) ?? true {
                state = .following(start: contacts[0], last: contacts[0], farthest: 0, since: time)
            } else if !contacts.isEmpty {
                state = .ignoring
            }
            return nil

        case .following(let start, let last, let farthest, let since):
            if contacts.isEmpty {
                state = .idle(lifted: time)
                return Self.gesture(from: start, to: last, farthest: farthest, duration: time - since)
            }
            guard contacts.count == 1, contacts[0].id == start.id else {
                // The first finger lifted in the same report in which another touched: it was a gesture of its own.
                let isReplaced = !contacts.contains { $0.id == start.id }
                state = .ignoring
                return isReplaced ? Self.gesture(from: start, to: last, farthest: farthest, duration: time - since) : nil
            }
            let contact = contacts[0]
            let distance = max(abs(contact.x - start.x), abs(contact.y - start.y))
            state = .following(start: start, last: contact, farthest: max(farthest, distance), since: since)
            return nil

        case .ignoring:
            if contacts.isEmpty { state = .idle(lifted: time) }
            return nil
        }
    }

    /// Events were lost, or not meant for us: what touches now means nothing until it is lifted.
    public mutating func cancel(touching contacts: [Contact]) { state = contacts.isEmpty ? .idle(lifted: nil) : .ignoring }

    private static func gesture(from start: Contact, to end: Contact, farthest: Double, duration: MediaTime) -> Gesture? {
        if farthest < tapDistance { return duration < tapDuration ? .tap : nil }
        let (across, down) = (end.x - start.x, end.y - start.y)
        guard duration < swipeDuration, abs(across) >= swipeDistance, abs(across) >= 2 * abs(down) else { return nil }
        let steps = 1 + Int((abs(across) - swipeDistance) / stepDistance)
        return .swipe(steps: across > 0 ? steps : -steps)
    }
}
