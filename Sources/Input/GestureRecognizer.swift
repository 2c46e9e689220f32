import KioskPlatform
import KioskVocabulary

/// Recognizes gestures in the contacts of one device. A pure value: contact events and the time in, gestures out. All times are the
/// kernel's.
///
/// Horizontal distances are fractions of the picture's width, vertical ones of its height.
///
/// - A tap stays within ``tapDistance`` and takes less than ``tapDuration``. It is reported on the lift, at once. A second tap within
///   ``doubleTapPause`` in the same outer third of the screen is a double tap. A third one is a tap again.
/// - A finger that stays in place for ``tapDuration`` is a long press.
/// - A finger that moves farther than ``tapDistance`` is a drag, until it is lifted.
/// - A swipe ends at least ``swipeDistance`` to the side of its start, at least twice as far as up or down. It takes less than
///   ``swipeDuration``. It counts one step, and one more for each ``stepDistance`` beyond. If it begins within ``edgeWidth`` of an edge and
///   goes inwards, it is an edge swipe, also from the top or bottom.
/// - A finger that begins in the right ``volumeWidth`` and moves up or down changes the volume until it is lifted.
/// - Two fingers are a two-finger tap if they come within ``twoFingerPause``, stay in place and are lifted within ``tapDuration``.
/// - Anything else is ignored: a resting hand, a third finger (until all are lifted).
/// - A touch within ``bounce`` after a lift belongs to the lifted touch, on a panel that flickers. It is ignored.
/// - A cancelled contact makes no gesture, and neither do the fingers that touch at that time.
///
/// The recognizer does not look for unwanted gestures: a movement counts as it would without them. On a touchpad and a mouse, positions are
/// not on the picture, and no gesture depends on them.
package struct GestureRecognizer: Sendable {
    /// How far a tap may move.
    package static let tapDistance = 0.03
    /// How long a tap may take.
    package static let tapDuration = MediaTime.milliseconds(700)
    /// The longest time from the lift of a tap to the second touch of a double tap.
    package static let doubleTapPause = MediaTime.milliseconds(300)
    /// The least length of a swipe.
    package static let swipeDistance = 0.1
    /// The longest time of a swipe.
    package static let swipeDuration = MediaTime.milliseconds(1000)
    /// The additional length of a swipe for each further step.
    package static let stepDistance = 0.25
    /// The greatest distance from an edge at which an edge swipe begins.
    package static let edgeWidth = 0.04
    /// The part of the width at the right edge for the volume.
    package static let volumeWidth = 0.15
    /// The longest time from the first finger to the second.
    package static let twoFingerPause = MediaTime.milliseconds(200)
    /// The longest gap of a flickering touch; nobody taps twice as fast.
    package static let bounce = MediaTime.milliseconds(40)

    /// A finger that may become a gesture.
    private struct Finger {
        var start: Contact
        var last: Contact
        var farthest = 0.0
        var since: HostTime

        init(_ contact: Contact, at time: HostTime) { (start, last, since) = (contact, contact, time) }

        mutating func move(_ contact: Contact) {
            last = contact
            farthest = max(farthest, abs(contact.x - start.x), abs(contact.y - start.y))
        }

        func drag(_ phase: Gesture.Drag.Phase) -> Gesture {
            .drag(Gesture.Drag(phase, startX: start.x, startY: start.y, x: last.x, y: last.y))
        }
    }

    /// The motion of a single finger.
    private enum Motion {
        /// It has stayed in place.
        case resting
        /// It rested long enough to be reported as a long press.
        case pressed
        case dragging
        /// It changes the volume; `told` hundredths are reported.
        case volume(told: Int)
    }

    private enum State {
        /// Nothing touches. `lifted` is when the last contact ended; nil when there was none or it was cancelled.
        case idle(lifted: HostTime?)
        /// One contact touches and may become a gesture.
        case one(Finger, Motion)
        /// Two contacts touch or have touched, and may become a two-finger tap; those in `touching` are still down.
        case two(Finger, Finger, touching: Set<Int>)
        /// The contacts with these ids touch, and are ignored.
        case ignoring(touching: Set<Int>)
    }

    private let wanted: Set<GestureName>
    private var state = State.idle(lifted: nil)
    /// A tap that may be the first half of a double tap: its time of lift and its place.
    private var firstTap: (lifted: HostTime, third: Third)?

    /// Creates a recognizer that looks for the gestures of these names.
    package init(_ wanted: Set<GestureName> = Set(GestureName.allCases)) { self.wanted = wanted }

    /// The time at which to call ``expire(at:)``; nil while there is no deadline.
    package var nextDeadline: HostTime? {
        guard wanted.contains(.longPress), case .one(let finger, .resting) = state else { return nil }
        return finger.since + Self.tapDuration
    }

    /// Reports a long press, if it is due at `time`.
    package mutating func expire(at time: HostTime) -> [Gesture] {
        guard let deadline = nextDeadline, deadline <= time, case .one(let finger, _) = state else { return [] }
        state = .one(finger, .pressed)
        return [.longPress(x: finger.start.x, y: finger.start.y)]
    }

    /// Takes the next event of the device. Returns the gestures that it completes or continues.
    package mutating func update(_ event: ContactEvent) -> [Gesture] {
        let due = expire(at: event.time)
        switch event.phase {
        case .down: return due + begin(event.contact, at: event.time)
        case .move: return due + move(event.contact)
        case .up: return due + end(event.contact.id, at: event.time)
        case .cancelled: return due + cancel(event.contact.id)
        }
    }

    private mutating func begin(_ contact: Contact, at time: HostTime) -> [Gesture] {
        switch state {
        case .idle(let lifted):
            let isBounce = lifted.map { time - $0 < Self.bounce } ?? false
            state = isBounce ? .ignoring(touching: [contact.id]) : .one(Finger(contact, at: time), .resting)
            if let first = firstTap, time - first.lifted > Self.doubleTapPause { firstTap = nil }
            return []
        case .one(let finger, let motion):
            firstTap = nil
            let touching: Set = [finger.start.id, contact.id]
            if case .resting = motion, wanted.contains(.twoFingerTap), time - finger.since < Self.twoFingerPause {
                state = .two(finger, Finger(contact, at: time), touching: touching)
                return []
            }
            state = .ignoring(touching: touching)
            if case .dragging = motion { return [finger.drag(.cancelled)] }
            return []
        case .two(_, _, let touching), .ignoring(let touching):
            state = .ignoring(touching: touching.union([contact.id]))
            return []
        }
    }

    private mutating func move(_ contact: Contact) -> [Gesture] {
        switch state {
        case .one(var finger, let motion) where contact.id == finger.start.id:
            finger.move(contact)
            let (next, told) = follow(finger, motion)
            state = .one(finger, next)
            return told
        case .two(var first, var second, let touching):
            if contact.id == first.start.id { first.move(contact) } else { second.move(contact) }
            let isStill = max(first.farthest, second.farthest) < Self.tapDistance
            state = isStill ? .two(first, second, touching: touching) : .ignoring(touching: touching)
            return []
        case .idle, .one, .ignoring: return []
        }
    }

    private func follow(_ finger: Finger, _ motion: Motion) -> (Motion, [Gesture]) {
        switch motion {
        case .pressed: return (.pressed, [])
        case .dragging: return (.dragging, [finger.drag(.moved)])
        case .volume(let told):
            let change = Int((finger.start.y - finger.last.y) * 100)
            return (.volume(told: change), change == told ? [] : [.volumeDrag(by: change - told)])
        case .resting:
            guard finger.farthest >= Self.tapDistance else { return (.resting, []) }
            let (across, down) = (abs(finger.last.x - finger.start.x), abs(finger.last.y - finger.start.y))
            if wanted.contains(.volumeDrag), finger.start.surface == .display, finger.start.x >= 1 - Self.volumeWidth, down > across {
                return follow(finger, .volume(told: 0))
            }
            return (.dragging, [finger.drag(.began)])
        }
    }

    private mutating func end(_ id: Int, at time: HostTime) -> [Gesture] {
        switch state {
        case .one(let finger, let motion) where finger.start.id == id:
            state = .idle(lifted: time)
            return gestures(finger, motion, liftedAt: time)
        case .two(let first, let second, let touching):
            let rest = touching.subtracting([id])
            if !rest.isEmpty {
                state = .two(first, second, touching: rest)
                return []
            }
            state = .idle(lifted: time)
            guard time - first.since < Self.tapDuration else { return [] }
            return [.twoFingerTap(x: (first.start.x + second.start.x) / 2, y: (first.start.y + second.start.y) / 2)]
        case .ignoring(let touching):
            let rest = touching.subtracting([id])
            state = rest.isEmpty ? .idle(lifted: time) : .ignoring(touching: rest)
            return []
        case .idle, .one: return []
        }
    }

    private mutating func cancel(_ id: Int) -> [Gesture] {
        switch state {
        case .one(let finger, let motion) where finger.start.id == id:
            state = .idle(lifted: nil)
            if case .dragging = motion { return [finger.drag(.cancelled)] }
        case .two(_, _, let touching), .ignoring(let touching):
            let rest = touching.subtracting([id])
            state = rest.isEmpty ? .idle(lifted: nil) : .ignoring(touching: rest)
        case .idle, .one: break
        }
        return []
    }

    private mutating func gestures(_ finger: Finger, _ motion: Motion, liftedAt time: HostTime) -> [Gesture] {
        switch motion {
        case .pressed, .volume:
            firstTap = nil
            return []
        case .dragging:
            firstTap = nil
            return [finger.drag(.ended)] + (swipe(finger, duration: time - finger.since).map { [$0] } ?? [])
        case .resting:
            guard time - finger.since < Self.tapDuration else {
                firstTap = nil
                return []
            }
            return [tap(finger.start, liftedAt: time)]
        }
    }

    private mutating func tap(_ contact: Contact, liftedAt time: HostTime) -> Gesture {
        let third = contact.surface == .display ? Third(contact.x) : .middle
        if firstTap?.third == third, let name = third.doubleTap, wanted.contains(name) {
            firstTap = nil
            return .doubleTap(x: contact.x, y: contact.y)
        }
        firstTap = (time, third)
        return .tap(x: contact.x, y: contact.y)
    }

    private func swipe(_ finger: Finger, duration: MediaTime) -> Gesture? {
        guard duration < Self.swipeDuration else { return nil }
        let (across, down) = (finger.last.x - finger.start.x, finger.last.y - finger.start.y)
        if let edge = edge(finger.start, across, down), wanted.contains(edge.name) { return .edgeSwipe(edge) }
        guard abs(across) >= Self.swipeDistance, abs(across) >= 2 * abs(down) else { return nil }
        let steps = 1 + Int((abs(across) - Self.swipeDistance) / Self.stepDistance)
        let swipe = Gesture.swipe(steps: across > 0 ? steps : -steps)
        return wanted.contains(across > 0 ? .swipeRight : .swipeLeft) ? swipe : nil
    }

    /// Returns the edge from which a stroke that begins at `start` comes.
    private func edge(_ start: Contact, _ across: Double, _ down: Double) -> Gesture.Edge? {
        guard start.surface == .display else { return nil }
        if abs(across) >= Self.swipeDistance, abs(across) >= 2 * abs(down) {
            if across > 0, start.x <= Self.edgeWidth { return .left }
            if across < 0, start.x >= 1 - Self.edgeWidth { return .right }
        }
        if abs(down) >= Self.swipeDistance, abs(down) >= 2 * abs(across) {
            if down > 0, start.y <= Self.edgeWidth { return .top }
            if down < 0, start.y >= 1 - Self.edgeWidth { return .bottom }
        }
        return nil
    }
}
