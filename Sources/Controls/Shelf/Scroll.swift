import Glibc
import KioskPlatform

/// The position of scrolling content: held by a finger, coasting after it, or springing to a place. A pure value.
///
/// The position is a closed form of time, computed for the vblank that shows it. So it is the same at 50, 60 and 120 Hz, and a missed
/// vblank does not change what follows.
///
/// - Held, it follows the finger. Beyond an end it follows less the further the finger goes (a rubber band).
/// - Released, it coasts: v' = -k·v - c. The second term makes it stop instead of creeping for seconds.
/// - At an end it overshoots, by a critically damped spring that takes over its velocity. A key scrolls by the same spring.
///
/// Positions are pixels from the top.
struct Scroll: Hashable, Sendable {
    /// The constants of coasting: k in 1/s, and c as pixels/s² for each pixel of a millimetre.
    static let drag = 1.9, friction = 110.0
    /// The spring's constant, 1/s: it arrives after some 0.4 s.
    static let stiffness = 13.0
    /// How far a finger can pull beyond an end, as a share of the viewport.
    static let band = 0.5

    private enum Motion: Hashable, Sendable {
        case still(Double)
        /// The finger's position, without the rubber band.
        case held(Double)
        case running(Running)
        case springing(Spring)
    }

    private var motion = Motion.still(0)
    /// The greatest position that is not beyond the end; at least 0.
    private(set) var limit = 0.0
    private var viewport = 1.0
    private var pace = 1.0

    // MARK: Events

    /// Sets the scrolling range, the height of the viewport in pixels, and the pixels of a millimetre. Content beyond the end springs back.
    mutating func resize(limit: Double, viewport: Double, density: Double, at time: HostTime) {
        if (self.limit, self.viewport, pace) == (max(0, limit), max(1, viewport), density) { return }
        (self.limit, self.viewport, pace) = (max(0, limit), max(1, viewport), density)
        switch motion {
        case .held: break
        case .still, .springing, .running:
            let place = position(at: time)
            if place < 0 || place > self.limit { motion = .springing(Spring(from: place, velocity: 0, to: clamped(place), at: time)) }
        }
    }

    /// Lets a finger hold it from now on.
    mutating func hold(at time: HostTime) { motion = .held(unbanded(position(at: time))) }

    /// Moves it with the finger, by this number of pixels; down is positive, and shows content above.
    mutating func drag(by distance: Double) {
        guard case .held(let place) = motion, distance.isFinite else { return }
        motion = .held(place - distance)
    }

    /// Releases it, at this number of pixels per second; up is positive, and shows content below.
    mutating func release(velocity: Double, at time: HostTime) {
        let place = position(at: time)
        if place < 0 || place > limit {
            motion = .springing(Spring(from: place, velocity: velocity, to: clamped(place), at: time))
        } else if abs(velocity) > Self.friction * pace / 8 {
            motion = .running(Running(from: place, velocity: velocity, friction: Self.friction * pace, limit: limit, at: time))
        } else {
            motion = .still(place)
        }
    }

    /// Scrolls to a place, from any position and velocity.
    mutating func go(to target: Double, at time: HostTime) {
        let place = position(at: time)
        let target = clamped(target)
        if place == target, !isMoving(at: time) { return }
        motion = .springing(Spring(from: place, velocity: velocity(at: time), to: target, at: time))
    }

    /// Moves to a place at once.
    mutating func jump(to target: Double) { motion = .still(clamped(target)) }

    /// Returns its future place of rest.
    func target(at time: HostTime) -> Double {
        switch motion {
        case .still(let place), .held(let place): clamped(place)
        case .running(let run): clamped(run.rest)
        case .springing(let spring): spring.target
        }
    }

    // MARK: State

    func position(at time: HostTime) -> Double {
        switch motion {
        case .still(let place): place
        case .held(let place): banded(place)
        case .running(let run): run.position(at: time)
        case .springing(let spring): spring.position(at: time)
        }
    }

    /// Pixels per second.
    func velocity(at time: HostTime) -> Double {
        switch motion {
        case .still, .held: 0
        case .running(let run): run.velocity(at: time)
        case .springing(let spring): spring.velocity(at: time)
        }
    }

    /// Returns whether it moves by itself after `time`.
    func isMoving(at time: HostTime) -> Bool {
        switch motion {
        case .still, .held: false
        case .running(let run): time < run.end
        case .springing(let spring): time < spring.end
        }
    }

    var isHeld: Bool { if case .held = motion { true } else { false } }

    // MARK: The rubber band

    private func clamped(_ place: Double) -> Double { min(max(place, 0), limit) }

    private func banded(_ place: Double) -> Double {
        let beyond = place - clamped(place)
        let reach = viewport * Self.band
        return clamped(place) + (beyond < 0 ? -1 : 1) * (1 - 1 / (abs(beyond) * 0.6 / reach + 1)) * reach
    }

    private func unbanded(_ place: Double) -> Double {
        let beyond = place - clamped(place)
        let reach = viewport * Self.band
        let share = min(abs(beyond) / reach, 0.98)
        return clamped(place) + (beyond < 0 ? -1 : 1) * (1 / (1 - share) - 1) * reach / 0.6
    }
}

/// Coasting, with a spring at the end of the content.
private struct Running: Hashable, Sendable {
    private let start: Double, speed: Double, direction: Double, friction: Double
    private let begin: HostTime
    /// The time when it stands still.
    let end: HostTime
    private let overshoot: Spring?

    init(from start: Double, velocity: Double, friction: Double, limit: Double, at begin: HostTime) {
        (self.start, self.begin, self.friction) = (start, begin, friction)
        direction = velocity < 0 ? -1 : 1
        // No finger is faster than this.
        speed = min(abs(velocity), 100_000)
        let k = Scroll.drag
        var duration = Glibc.log(1 + speed * k / friction) / k
        let room = direction < 0 ? start : limit - start
        if Self.distance(duration, speed, friction) > room {
            // Finds the time when it reaches the end: the distance grows with time.
            var (low, high) = (0.0, duration)
            for _ in 0..<50 {
                let middle = (low + high) / 2
                if Self.distance(middle, speed, friction) < room { low = middle } else { high = middle }
            }
            duration = high
            let left = direction * Self.speed(duration, speed, friction)
            overshoot = Spring(
                from: direction < 0 ? 0 : limit, velocity: left, to: direction < 0 ? 0 : limit, at: begin + .seconds(duration))
        } else {
            overshoot = nil
        }
        (self.duration, end) = (duration, overshoot?.end ?? begin + .seconds(duration))
    }

    private let duration: Double

    private static func distance(_ time: Double, _ speed: Double, _ friction: Double) -> Double {
        let k = Scroll.drag
        return (speed + friction / k) / k * (1 - exp(-k * time)) - friction / k * time
    }

    private static func speed(_ time: Double, _ speed: Double, _ friction: Double) -> Double {
        let k = Scroll.drag
        return (speed + friction / k) * exp(-k * time) - friction / k
    }

    private func elapsed(_ time: HostTime) -> Double { min(max((time - begin).seconds, 0), duration) }

    func position(at time: HostTime) -> Double {
        if let overshoot, (time - begin).seconds >= duration { return overshoot.position(at: time) }
        return start + direction * Self.distance(elapsed(time), speed, friction)
    }

    func velocity(at time: HostTime) -> Double {
        if let overshoot, (time - begin).seconds >= duration { return overshoot.velocity(at: time) }
        return time >= end ? 0 : direction * Self.speed(elapsed(time), speed, friction)
    }

    /// Its place of rest if the content had no end.
    var rest: Double { start + direction * Self.distance(duration, speed, friction) }
}

/// A critically damped spring.
private struct Spring: Hashable, Sendable {
    let target: Double
    private let a: Double, b: Double
    private let begin: HostTime
    /// The time from which it stays less than half a pixel from the target.
    let end: HostTime

    init(from start: Double, velocity: Double, to target: Double, at begin: HostTime) {
        (self.target, self.begin) = (target, begin)
        a = start - target
        b = velocity + Scroll.stiffness * a
        let (a, b) = (a, b)
        // It is furthest beyond the target no later than this.
        var time = 1 / Scroll.stiffness
        while time < 3, (abs(a) + abs(b) * time) * exp(-Scroll.stiffness * time) >= 0.5 { time += 0.005 }
        end = begin + .seconds(time)
    }

    private func elapsed(_ time: HostTime) -> Double { max((time - begin).seconds, 0) }

    func position(at time: HostTime) -> Double {
        if time >= end { return target }
        let t = elapsed(time)
        return target + (a + b * t) * exp(-Scroll.stiffness * t)
    }

    func velocity(at time: HostTime) -> Double {
        if time >= end { return 0 }
        let t = elapsed(time)
        return (b - Scroll.stiffness * (a + b * t)) * exp(-Scroll.stiffness * t)
    }
}

/// The speed of a finger, from its positions within the last tenth of a second. A finger that has rested has no speed. A pure value.
struct FingerSpeed: Sendable {
    private static let span = MediaTime.milliseconds(100), rest = MediaTime.milliseconds(60)
    private var places: [(place: Double, time: HostTime)] = []

    /// Adds a position of the finger.
    mutating func add(_ place: Double, at time: HostTime) {
        places.removeAll { time - $0.time > Self.span }
        places.append((place, time))
    }

    /// Returns the pixels per second at the lift.
    func speed(at time: HostTime) -> Double {
        guard let first = places.first, let last = places.last, time - last.time < Self.rest, last.time > first.time else { return 0 }
        return (last.place - first.place) / (last.time - first.time).seconds
    }
}
