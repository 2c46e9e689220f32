import KioskInputCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// The list over the picture in which a viewer chooses subtitles and sound. A pure value: fingers, keys and the time in; the choice
/// (``Outcome``) and the picture to draw (``picture(at:)``) out.
///
/// It hangs below the button that opens it, as high as its lines, or as the room allows. On a low screen it gets the full height. Lines are
/// as high as a target. Lines without room are reached by scrolling, with the same ``Scroll`` as the shelf.
///
/// A finger that goes down on a line and is lifted there chooses it. A finger that moves up or down scrolls; one that goes down elsewhere
/// closes the list. Keys are those of the shelf (``ShelfKey``). The first one marks the option in use, the others go on from there.
struct MediaSelectionPanel: Sendable {
    /// The outcome of an event.
    enum Outcome: Hashable, Sendable {
        case nothing, close
        case choose(TrackKind, TrackChoice)
    }

    /// A line, from top to bottom.
    enum Line: Hashable, Sendable {
        case heading(String)
        case option(MediaSelectionGroup.Option, of: TrackKind, isSelected: Bool)

        /// The choice of a tap on it, whether or not it is in use.
        var choice: Outcome { if case .option(let option, let kind, _) = self { .choose(kind, option.choice) } else { .nothing } }
    }

    /// A finger on the list.
    struct Touch: Sendable {
        var finger: ControlsState.Finger
        /// The line on which it went down, and whether it is still there.
        var line: Int, isOn = true
        var startY: Double, lastY: Double
        var scrolls = false
        var speed = FingerSpeed()
    }

    static let lineHeight = 9.5, padding = 1.5, slop = 2.5
    /// The least and the greatest width, and the share of the screen between them.
    static let widths = 64.0...100.0, share = 0.25
    /// The distance from the screen's top to the list, below the button. If less than `leastHeight` millimetres remain below that, the
    /// distance from the edges of the screen.
    static let top = 15.5, leastHeight = 40.0, edge = 3.0

    private(set) var lines: [Line] = []
    /// Its rectangle on the screen.
    private(set) var box = PixelRectangle(x: 0, y: 0, width: 1, height: 1)
    private(set) var geometry: ScreenGeometry
    private(set) var scroll = Scroll()
    private(set) var touch: Touch?
    /// The line with the keyboard focus; nil until a key is used.
    private(set) var focus: Int?

    /// Creates a list of `groups` over the controls in `layout`, scrolled to the option in use.
    init(_ groups: [MediaSelectionGroup], over layout: ControlsLayout, at time: HostTime) {
        geometry = layout.geometry
        update(groups, over: layout, at: time)
        // Whole lines from the top.
        scroll.jump(to: Double((top(ofLine: selectedLine) + pitch - box.height / 2) / pitch * pitch))
    }

    // MARK: Positions

    private var pitch: Int { geometry.pixels(Self.lineHeight) }
    private var inset: Int { geometry.pixels(Self.padding) }

    /// Returns a position from the top of all lines.
    private func top(ofLine line: Int) -> Int { inset + line * pitch }

    private func offset(at time: HostTime) -> Int { Int(scroll.position(at: time).rounded()) }

    /// Returns the rectangle of a line on the screen, even if it is scrolled out of view.
    func place(ofLine line: Int, at time: HostTime) -> PixelRectangle {
        PixelRectangle(x: box.x, y: box.y + top(ofLine: line) - offset(at: time), width: box.width, height: pitch)
    }

    /// Returns the option at a place of the screen.
    private func line(_ x: Int, _ y: Int, at time: HostTime) -> Int? {
        guard box.holds(x, y) else { return nil }
        return lines.indices.first { isOption($0) && place(ofLine: $0, at: time).holds(x, y) }
    }

    private func isOption(_ line: Int) -> Bool { if case .option = lines[line] { true } else { false } }

    private var selectedLine: Int {
        lines.firstIndex { if case .option(_, _, true) = $0 { true } else { false } } ?? 0
    }

    // MARK: Events

    /// Updates the tracks, their selection and the screen. A finger keeps its line only if the lines are the same.
    mutating func update(_ groups: [MediaSelectionGroup], over layout: ControlsLayout, at time: HostTime) {
        let old = (lines.map(\.choice), geometry)
        lines = groups.flatMap { group in
            [.heading(group.title)]
                + group.options.enumerated().map { .option($1, of: group.kind, isSelected: $0 == group.selected) }
        }
        geometry = layout.geometry
        if old != (lines.map(\.choice), geometry) {
            _ = drop(at: time)
            focus = nil
        }
        let (width, height) = geometry.millimetres, margin = ControlsLayout.margin
        let across = min(max(Self.widths.lowerBound, width * Self.share), Self.widths.upperBound, width - 2 * margin)
        let barTop = height - Double(layout.bottomBar) / geometry.density
        let isLow = barTop - 1 - Self.top < Self.leastHeight
        let (top, bottom) = isLow ? (Self.edge, height - Self.edge) : (Self.top, barTop - 1)
        box = geometry.box(width - margin - across, top, across, bottom - top)
        let content = lines.count * pitch + 2 * inset
        box.height = min(box.height, content)
        scroll.resize(limit: Double(content - box.height), viewport: Double(box.height), density: geometry.density, at: time)
    }

    /// Releases the finger on it. Returns that finger.
    mutating func drop(at time: HostTime) -> ControlsState.Finger? {
        defer { touch = nil }
        if touch?.scrolls == true { scroll.release(velocity: 0, at: time) }
        return touch?.finger
    }

    /// Takes the next event of a finger.
    mutating func handle(_ event: ContactEvent, _ finger: ControlsState.Finger) -> Outcome {
        let time = event.time
        let (x, y) = (event.contact.x * Double(geometry.width), event.contact.y * Double(geometry.height))
        if event.phase == .down {
            if touch != nil { return .nothing }
            // A contact that is not on the display has no place.
            guard event.contact.surface == .display, box.holds(Int(x), Int(y)) else { return .close }
            focus = nil
            var held = Touch(finger: finger, line: line(Int(x), Int(y), at: time) ?? -1, startY: y, lastY: y)
            // It catches a coasting list.
            if scroll.isMoving(at: time) { beginScroll(&held, y, at: time) }
            touch = held
            return .nothing
        }
        guard var held = touch, held.finger == finger else { return .nothing }
        if event.phase == .move {
            if held.scrolls {
                scroll.drag(by: y - held.lastY)
                held.lastY = y
                held.speed.add(y, at: time)
            } else if scroll.limit > 0, abs(y - held.startY) > Self.slop * geometry.density {
                // From its current position: the list does not jump by the distance of the slop.
                held.lastY = y
                beginScroll(&held, y, at: time)
            } else {
                held.isOn = line(Int(x), Int(y), at: time) == held.line
            }
            touch = held
            return .nothing
        }
        touch = nil
        if held.scrolls {
            scroll.release(velocity: event.phase == .up ? -held.speed.speed(at: time) : 0, at: time)
            return .nothing
        }
        return event.phase == .up && held.isOn ? choose(held.line) : .nothing
    }

    private mutating func beginScroll(_ held: inout Touch, _ y: Double, at time: HostTime) {
        held.scrolls = true
        scroll.hold(at: time)
        held.speed.add(y, at: time)
    }

    private func choose(_ line: Int) -> Outcome {
        guard lines.indices.contains(line), case .option(let option, let kind, _) = lines[line] else { return .nothing }
        return .choose(kind, option.choice)
    }

    /// Takes the next event of a key; nil if the list does not use that key.
    mutating func handle(_ event: KeyEvent) -> Outcome? {
        guard let key = ShelfKey(event) else { return nil }
        let page = max(1, box.height / pitch - 1)
        let step: Int
        switch key {
        case .up: step = -1
        case .down: step = 1
        case .pageUp: step = -page
        case .pageDown: step = page
        case .home: step = -lines.count
        case .end: step = lines.count
        case .wheel(let notches): step = -notches
        case .left, .right: return .nothing
        case .enter where event.phase == .press && focus != nil: return choose(focus ?? -1)
        case .enter: step = 0
        case .back: return event.phase == .press ? .close : .nothing
        default: return nil
        }
        if event.phase != .release { moveFocus(by: step, at: event.time) }
        return .nothing
    }

    private mutating func moveFocus(by step: Int, at time: HostTime) {
        let options = lines.indices.filter(isOption)
        guard let last = options.indices.last else { return }
        // The first key shows the option in use.
        let place = focus.map { options.firstIndex(of: $0) ?? 0 }.map { min(max($0 + step, 0), last) }
        let line = place.map { options[$0] } ?? selectedLine
        focus = line
        // The heading above the first option scrolls into view with it.
        let (upper, lower) = (top(ofLine: line == options[0] ? 0 : line) - inset, top(ofLine: line + 1) + inset - box.height)
        scroll.go(to: min(max(scroll.target(at: time), Double(lower)), Double(upper)), at: time)
    }
}
