import KioskInputCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// The list over the picture in which a viewer chooses subtitles and sound. A pure value: fingers, keys and the time in; what is chosen
/// (``Outcome``) and what is drawn (``picture(at:)``) out.
///
/// It hangs below the button that opens it, as high as its lines or as there is room; on low screen that is all of the height. Lines are as high as a
/// target. What has no room is scrolled to, by the same ``Scroll`` as the shelf.
///
/// A finger that goes down on a line and is lifted there chooses it; one that moves up or down scrolls; one that goes down elsewhere closes the list. Keys are
/// those of the shelf (``ShelfKey``): the first one marks the option in use, the others go on from there.
struct MediaSelectionPanel: Sendable {
    /// What became of an event.
    enum Outcome: Hashable, Sendable {
        case nothing, close
        case choose(TrackKind, TrackChoice)
    }

    /// A line, from top to bottom.
    enum Line: Hashable, Sendable {
        case heading(String)
        case option(MediaSelectionGroup.Option, of: TrackKind, isSelected: Bool)

        /// What a tap on it asks for, whether or not that is in use.
        var choice: Outcome { if case .option(let option, let kind, _) = self { .choose(kind, option.choice) } else { .nothing } }
    }

    /// A finger on it.
    struct Touch: Sendable {
        var finger: ControlsState.Finger
        /// The line it went down on, and whether it is still there.
        var line: Int, isOn = true
        var startY: Double, lastY: Double
        var scrolls = false
        var speed = FingerSpeed()
    }

    static let lineHeight = 9.5, padding = 1.5, slop = 2.5
    /// Across: at least and at most, and this share of the screen between them.
    static let widths = 64.0...100.0, share = 0.25
    /// From the screen's top to the list, below the button; and with fewer millimetres than this below that, from the edges of the screen.
    static let top = 15.5, leastHeight = 40.0, edge = 3.0

    private(set) var lines: [Line] = []
    /// On the screen.
    private(set) var box = PixelRectangle(x: 0, y: 0, width: 1, height: 1)
    private(set) var geometry: ScreenGeometry
    private(set) var scroll = Scroll()
    private(set) var touch: Touch?
    /// The line that keys are at; nil as long as nobody uses keys.
    private(set) var focus: Int?

    /// A list of `groups` over what `layout` has, scrolled to what is in use.
    init(_ groups: [MediaSelectionGroup], over layout: ControlsLayout, at time: HostTime) {
        geometry = layout.geometry
        update(groups, over: layout, at: time)
        // Whole lines from the top.
        scroll.jump(to: Double((top(ofLine: selectedLine) + pitch - box.height / 2) / pitch * pitch))
    }

    // MARK: Where it is

    private var pitch: Int { geometry.pixels(Self.lineHeight) }
    private var inset: Int { geometry.pixels(Self.padding) }

    /// From the top of all lines.
    private func top(ofLine line: Int) -> Int { inset + line * pitch }

    private func offset(at time: HostTime) -> Int { Int(scroll.position(at: time).rounded()) }

    /// Where a line is on the screen: also one that is scrolled away.
    func place(ofLine line: Int, at time: HostTime) -> PixelRectangle {
        PixelRectangle(x: box.x, y: box.y + top(ofLine: line) - offset(at: time), width: box.width, height: pitch)
    }

    /// The option at a place of the screen.
    private func line(_ x: Int, _ y: Int, at time: HostTime) -> Int? {
        guard box.holds(x, y) else { return nil }
        return lines.indices.first { isOption($0) && place(ofLine: $0, at: time).holds(x, y) }
    }

    private func isOption(_ line: Int) -> Bool { if case .option = lines[line] { true } else { false } }

    private var selectedLine: Int {
        lines.firstIndex { if case .option(_, _, true) = $0 { true } else { false } } ?? 0
    }

    // MARK: What happens

    /// The tracks, which of them are in use, or the screen may have changed. A finger holds on to its line only where there are the same ones.
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

    /// Lets go of what a finger holds. The finger.
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
            // What is not on the display points at nothing.
            guard event.contact.surface == .display, box.holds(Int(x), Int(y)) else { return .close }
            focus = nil
            var held = Touch(finger: finger, line: line(Int(x), Int(y), at: time) ?? -1, startY: y, lastY: y)
            // It catches what runs.
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
                // From where it is now: what is seen does not jump by what was waited for.
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

    /// Takes the next event of a key; nil where the key has no meaning here.
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
        // The first key shows where it begins.
        let place = focus.map { options.firstIndex(of: $0) ?? 0 }.map { min(max($0 + step, 0), last) }
        let line = place.map { options[$0] } ?? selectedLine
        focus = line
        // The heading above the first option is seen with it.
        let (upper, lower) = (top(ofLine: line == options[0] ? 0 : line) - inset, top(ofLine: line + 1) + inset - box.height)
        scroll.go(to: min(max(scroll.target(at: time), Double(lower)), Double(upper)), at: time)
    }
}
