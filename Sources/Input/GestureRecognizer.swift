import KioskPlatform
import KioskVocabulary

/// Makes gestures of the contacts of one device. A pure value: contact events and the time in, gestures out. All times are the kernel's.
///
/// Horizontal distances are fractions of the picture's width, vertical ones of its height.
///
/// - A tap stays within ``tapDistance`` and takes less than ``tapDuration``. It is told on the lift, at once. A second one that begins
///   within ``doubleTapPause`` in the same outer third of the screen is a double tap; a third one is a tap again.
/// - A finger that stays so for ``tapDuration`` is a long press.
/// - A swipe ends at least ``swipeDistance`` to the side of where it began, at least twice as far to the side as up or down, and
///   takes less than ``swipeDuration``. It is one step, and one more for each ``stepDistance`` beyond. One that begins within
///   ``edgeWidth`` of an edge and goes inwards is that edge's.
/// - A finger that begins in the right ``volumeWidth`` and moves up or down changes the volume for as long as it touches.
/// - Two fingers that come within ``twoFingerPause`` of each other, stay where they are and are lifted within ``tapDuration`` are a
///   two-finger tap.
/// - Anything else is nothing: a resting hand, a stroke up or down, a third finger (until all are lifted).
/// - A touch within ``bounce`` after a lift is the same touch, on a panel that flickers.
/// - What is cancelled is nothing, and neither are the fingers that touch at that time.
///
/// Gestures that are not wanted are not looked for: what could be one of them is what it would be without. On a touchpad and a mouse, where
/// positions are not on the picture, no gesture depends on them.
package struct GestureRecognizer: Sendable {
    /// How far a tap may wander.
    package static let tapDistance = 0.03
    /// How long a tap may take.
    package static let tapDuration = MediaTime.milliseconds(700)
    /// How soon after a tap's lift the second touch of a double tap begins.
    package static let doubleTapPause = MediaTime.milliseconds(300)
    /// How long a swipe is at least.
    package static let swipeDistance = 0.1
    /// How long a swipe may take.
    package static let swipeDuration = MediaTime.milliseconds(1000)
    /// How much longer a swipe is for one step more.
    package static let stepDistance = 0.25
    /// How near to an edge a swipe from it begins.
    package static let edgeWidth = 0.04
    /// How much of the width, at the right edge, is for the volume.
    package static let volumeWidth = 0.15
    /// How soon after the first the second of two fingers comes.
    package static let twoFingerPause = MediaTime.milliseconds(200)
    /// What flickers, flickers faster than this; nobody taps twice as fast.
    package static let bounce = MediaTime.milliseconds(40)

    /// One finger that may become a gesture.
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

    /// What one finger does.
    private enum Motion {
        /// It is where it came down.
        case resting
        /// It rested for so long that it was told.
        case pressed
        case dragging
        /// It changes the volume; so many hundredths have been told.
        case volume(told: Int)
    }

    private enum State {
        /// Nothing touches. `lifted` is when the last contact ended; nil when there was none or it was cancelled.
        case idle(lifted: HostTime?)
        /// One contact touches and may become a gesture.
        case one(Finger, Motion)
        /// Two contacts touch or have touched, and may become a two-finger tap; those of `touching` are still there.
        case two(Finger, Finger, touching: Set<Int>)
        /// The contacts of these ids touch and mean nothing.
        case ignoring(touching: Set<Int>)
    }

    private let wanted: Set<GestureName>
    private var state = State.idle(lifted: nil)
    /// A tap that may be the first of two: when it was lifted, and where it was.
    private var firstTap: (lifted: HostTime, third: Third)?

    /// A recogniser that has seen nothing, and looks for the gestures of these names.
    package init(_ wanted: Set<GestureName> = Set(GestureName.allCases)) { self.wanted = wanted }

    /// The time at which ``expire(at:)`` has something to tell; nil while there is nothing to wait for.
    package var nextDeadline: HostTime? {
        guard wanted.contains(.longPress), case .one(let finger, .resting) = state else { return nil }
        return finger.since + Self.tapDuration
    }

    /// What has become of the finger that rests at `time`.
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

    /// The edge that a stroke from `start` comes from.
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
