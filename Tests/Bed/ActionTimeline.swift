/// The actions on the player and their times. `at(2, .key(.space), "pause")` reads like the line of a script.
package struct ActionTimeline: Sendable {
    /// One action.
    package enum Action: Sendable {
        /// Moves a finger, in pixels of the touch screen, which has the size of the mode. Fingers are numbered from 0.
        case down(Int, Int, finger: Int = 0), move(Int, Int, finger: Int = 0), up(finger: Int = 0)
        /// A finger that touches and lifts within 60 ms.
        case tap(Int, Int)
        /// A finger that goes from one place to another in 20 steps.
        case swipe(from: (Int, Int), to: (Int, Int), over: Duration = .milliseconds(250))
        /// Two taps at one place within 200 ms.
        case doubleTap(Int, Int)
        /// Two fingers that touch and lift together, within 70 ms.
        case twoFingerTap((Int, Int), (Int, Int))
        /// A finger that goes from one place to another in 40 steps and pauses there before it lifts.
        case drag(from: (Int, Int), to: (Int, Int), over: Duration, stays: Duration)
        /// A recording, replayed once by a device of its own that exists only during the replay. The first event follows 0.4 s after the
        /// device is plugged in.
        case replay(Recording)
        /// A key: held for 50 ms, pressed, or released.
        case key(Key), press(Key), release(Key)
        /// A screenshot of a display. With a `file` such as "seam.png" it is kept under that name and not read into the record.
        case screenshot(display: Int = 0, file: String? = nil)
        /// A display is plugged in or unplugged.
        case display(_ isConnected: Bool, display: Int = 0)
        /// An input device is plugged in or unplugged.
        case plug(Device), unplug(Device)
        /// Writes the state of the console's terminal to an output, in the words of ``Record/terminal``.
        case terminal
        /// A signal for the player.
        case signal(Int32)
        /// A shell line, run in the guest as root; $PLAYER is the player's process id. Nothing waits for it.
        case shell(String)
    }

    /// The input devices of the bed.
    package enum Device: String, Sendable {
        case touchScreen = "touch"
        case keyboard = "keys"
    }

    /// A key of the keyboard, by its number in linux/input-event-codes.h.
    package enum Key: Int, Sendable {
        case escape = 1, enter = 28
        case f1 = 59, f2 = 60, f3 = 61
        case q = 16, p = 25, m = 50, n = 49, space = 57
        case home = 102, up = 103, pageUp = 104, left = 105, right = 106, end = 107, down = 108, pageDown = 109, insert = 110
        case mute = 113, volumeDown = 114, volumeUp = 115
    }

    struct Entry: Sendable {
        var time: Duration
        var action: Action
        var name: String?
    }

    private(set) var entries: [Entry] = []

    init() {}

    /// Adds `action` at `seconds` after the player's start; before the start if negative.
    ///
    /// - Parameter name: the name of the action, its screenshot or its output in the record.
    package mutating func callAsFunction(_ seconds: Double, _ action: Action, _ name: String? = nil) {
        entries.append(Entry(time: .microseconds(Int((seconds * 1e6).rounded())), action: action, name: name))
    }

    /// Adds a screenshot as PNG at every vblank of a stretch of time such as "4.9-5.2", to inspect a failed run. Best in virtual time,
    /// where screenshots cost no time.
    mutating func takePictures(_ stretch: String, refresh: Int) {
        let bounds = stretch.split(separator: "-").compactMap { Double($0) }
        guard bounds.count == 2, bounds[0] <= bounds[1] else { return }
        for count in 0...Int((bounds[1] - bounds[0]) * Double(refresh)) {
            // A little after the vblank, to take the picture that it latched.
            let time = bounds[0] + (Double(count) + 0.3) / Double(refresh)
            let milliseconds = String(Int((time * 1000).rounded()))
            let file = "at-" + String(repeating: "0", count: max(0, 6 - milliseconds.count)) + milliseconds + "ms.png"
            self(time, .screenshot(file: file))
        }
    }

    /// The lines for the director, sorted by time: "at MICROSECONDS ID WHAT". The ID is the index of the entry.
    var script: [String] {
        let steps = entries.enumerated().flatMap { id, entry in
            entry.action.steps.map { (time: entry.time + $0.after, id: id, what: $0.what) }
        }
        return steps.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map {
            "at \($0.element.time.microseconds) \($0.element.id) \($0.element.what)"
        }
    }
}

extension ActionTimeline.Action {
    /// The action as steps that the director understands.
    fileprivate var steps: [(after: Duration, what: String)] {
        switch self {
        case .down(let x, let y, let finger): [(.zero, "down \(x) \(y) \(finger)")]
        case .move(let x, let y, let finger): [(.zero, "move \(x) \(y) \(finger)")]
        case .up(let finger): [(.zero, "up \(finger)")]
        case .tap(let x, let y): [(.zero, "down \(x) \(y)"), (.milliseconds(60), "up")]
        case .swipe(let from, let to, let time):
            [(.zero, "down \(from.0) \(from.1)")]
                + (1...20).map { (time * $0 / 20, "move \(from.0 + (to.0 - from.0) * $0 / 20) \(from.1 + (to.1 - from.1) * $0 / 20)") }
                + [(time + .milliseconds(5), "up")]
        case .drag(let from, let to, let time, let stay):
            [(.zero, "down \(from.0) \(from.1)")]
                + (1...40).map { (time * $0 / 40, "move \(from.0 + (to.0 - from.0) * $0 / 40) \(from.1 + (to.1 - from.1) * $0 / 40)") }
                + [(time + stay, "up")]
        case .doubleTap(let x, let y): [0, 140].flatMap { [(.milliseconds($0), "down \(x) \(y)"), (.milliseconds($0 + 60), "up")] }
        case .twoFingerTap(let first, let second):
            [(.zero, "down \(first.0) \(first.1) 0"), (.milliseconds(10), "down \(second.0) \(second.1) 1")]
                + [(.milliseconds(60), "up 0"), (.milliseconds(70), "up 1")]
        case .replay(let recording): [(.zero, "replay \(recording.fileName)")]
        case .key(let key): [(.zero, "press \(key.rawValue)"), (.milliseconds(50), "release \(key.rawValue)")]
        case .press(let key): [(.zero, "press \(key.rawValue)")]
        case .release(let key): [(.zero, "release \(key.rawValue)")]
        case .screenshot(let display, let file): [(.zero, "screenshot \(display) \(file ?? "")")]
        case .display(let isConnected, let display): [(.zero, "display \(isConnected ? "on" : "off") \(display)")]
        case .plug(let device): [(.zero, "plug \(device.rawValue)")]
        case .unplug(let device): [(.zero, "unplug \(device.rawValue)")]
        case .terminal: [(.zero, "terminal")]
        case .signal(let number): [(.zero, "signal \(number)")]
        case .shell(let line): [(.zero, "shell \(line)")]
        }
    }
}

extension Duration {
    /// The duration in whole microseconds, rounded toward zero.
    var microseconds: Int { Int(components.seconds) * 1_000_000 + Int(components.attoseconds / 1_000_000_000_000) }
}
