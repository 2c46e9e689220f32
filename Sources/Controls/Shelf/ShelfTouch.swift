import KioskInputCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary

// The effects of fingers and keys on the shelf.
extension ShelfState {
    /// The distance before a finger scrolls, and the width of the scroll bar's strip at the right, in millimetres.
    private static let slop = 2.5, barWidth = 8.0

    /// Takes the next event of a device, while the shelf is open.
    package mutating func handle(_ event: InputEvent) -> [ShelfAction] {
        guard isOpen else { return [] }
        lastInput = max(lastInput, event.time)
        switch event {
        case .contact(let contact): return handle(contact)
        case .key(let key): return key.phase == .release ? [] : handle(ShelfKey(key), at: key.time)
        }
    }

    // MARK: Fingers

    private mutating func handle(_ event: ContactEvent) -> [ShelfAction] {
        guard let layout, event.contact.surface == .display else { return [] }
        let (x, y) = (event.contact.x * Double(layout.geometry.width), event.contact.y * Double(layout.geometry.height))
        if event.phase == .down {
            // Ignores a second finger.
            if touch == nil { begin(event, x, y, layout) }
            return []
        }
        guard var held = touch, held.device == event.device, held.contact == event.contact.id else { return [] }
        switch event.phase {
        case .down: return []
        case .move:
            move(&held, x, y, at: event.time, layout)
            touch = held
            return []
        case .up, .cancelled:
            touch = nil
            if held.scrolls {
                scroll.release(velocity: event.phase == .up ? -held.speed.speed(at: event.time) : 0, at: event.time)
                return []
            }
            return event.phase == .up && held.isOn ? tap(held.target, at: event.time) : []
        }
    }

    private mutating func begin(_ event: ContactEvent, _ x: Double, _ y: Double, _ layout: ShelfLayout) {
        var held = Touch(
            device: event.device, contact: event.contact.id, target: target(Int(x), Int(y), at: event.time), startY: y, lastY: y, startX: x)
        showsFocus = false
        let isOfCards =
            switch held.target {
            case .card, .nothing: true
            default: false
            }
        if isOfCards, scroll.isMoving(at: event.time) {
            // A touch stops coasting cards.
            held.scrolls = true
            scroll.hold(at: event.time)
            held.speed.add(y, at: event.time)
        }
        if held.target == .bar { scrollBar(to: y, layout) }
        touch = held
    }

    private mutating func move(_ held: inout Touch, _ x: Double, _ y: Double, at time: HostTime, _ layout: ShelfLayout) {
        if held.target == .bar { return scrollBar(to: y, layout) }
        if held.scrolls {
            scroll.drag(by: y - held.lastY)
            held.lastY = y
            held.speed.add(y, at: time)
            return
        }
        let slop = Self.slop * layout.geometry.density
        switch held.target {
        case .card, .nothing:
            guard panel == nil else { break }
            if abs(y - held.startY) > slop {
                held.scrolls = true
                scroll.hold(at: time)
                // From its current position: the cards do not jump by the distance of the slop.
                held.lastY = y
                held.speed.add(y, at: time)
            } else if abs(x - held.startX) > 2 * slop {
                held.isOn = false
            }
        default: held.isOn = target(Int(x), Int(y), at: time) == held.target
        }
    }

    private mutating func scrollBar(to y: Double, _ layout: ShelfLayout) {
        let share = (y - Double(layout.head.height)) / Double(layout.viewport)
        scroll.jump(to: share * scroll.limit)
    }

    /// Returns the target at a place of the screen.
    func target(_ x: Int, _ y: Int, at time: HostTime) -> Target {
        guard let layout else { return .nothing }
        if let places = panelPlaces, let text = panelText {
            guard places.box.holds(x, y) else { return .outside }
            let (x, y) = (x - places.box.x, y - places.box.y)
            if let index = places.buttons.firstIndex(where: { $0.holds(x, y, slop: layout.geometry.pixels(1)) }) {
                return .button(text.buttons[index])
            }
            let clip = text.clips.first { clip in text.line(ofClip: clip).map { places.lines[$0].holds(x, y) } ?? false }
            return clip.map { .clip($0) } ?? .panel
        }
        if showsKeyboard, layout.keyboard.box.holds(x, y) {
            return layout.keyboard.keys.firstIndex { $0.place.holds(x, y, slop: layout.geometry.pixels(0.6)) }.map { .key($0) } ?? .panel
        }
        if layout.head.holds(x, y) {
            let slop = layout.geometry.pixels(1.5)
            let order = ShelfLayout.HeadButton.allCases.filter { $0 != .clearSearch || !search.isEmpty || showsKeyboard }
            let exact = order.first { layout.buttons[$0]?.holds(x, y) ?? false }
            if let button = exact ?? order.first(where: { layout.buttons[$0]?.holds(x, y, slop: slop) ?? false }) { return .head(button) }
            // The search field includes the place of its hidden button.
            if layout.buttons[.clearSearch]?.holds(x, y) == true { return .head(.search) }
            return .panel
        }
        let offset = Int(scroll.position(at: time).rounded())
        if layout.limit(shown.count) > 0, x >= layout.geometry.width - layout.geometry.pixels(Self.barWidth) { return .bar }
        return layout.index(x: x, y: y, offset, of: shown.count).map { .card($0) } ?? .nothing
    }

    private mutating func tap(_ target: Target, at time: HostTime) -> [ShelfAction] {
        switch target {
        case .head(.close): return close()
        case .head(.search): showsKeyboard.toggle()
        case .head(.clearSearch):
            showsKeyboard = false
            find("", at: time)
        case .head(.film): (panel, chosenButton, showsKeyboard) = (.film, 0, false)
        case .card(let card):
            focus = card
            openPanel(of: card)
        case .button(let button):
            // The touched button may have gone meanwhile: a finished film can no longer be cancelled.
            if panelText?.buttons.contains(button) == true { return press(button) }
        case .clip(let place):
            if panelText?.clips.contains(place) == true { (panel, chosenButton) = (.clip(place), 0) }
        case .key(let place):
            guard let key = layout?.keyboard.keys[place].key else { break }
            switch key {
            case .character(let character): find(search + String(character), at: time)
            case .space: find(search + " ", at: time)
            case .erase: find(String(search.dropLast()), at: time)
            case .done: showsKeyboard = false
            }
        case .outside: panel = nil
        case .bar, .panel, .nothing: break
        }
        return []
    }

    // MARK: Keys

    private mutating func handle(_ key: ShelfKey?, at time: HostTime) -> [ShelfAction] {
        guard let key, let layout else { return [] }
        if panel != nil { return handleInPanel(key) }
        if key != .back, key != .erase { showsKeyboard = false }
        switch key {
        case .left: moveFocus(by: -1, at: time, layout)
        case .right: moveFocus(by: 1, at: time, layout)
        case .up: moveFocus(by: -layout.columns, at: time, layout)
        case .down: moveFocus(by: layout.columns, at: time, layout)
        case .pageUp: moveFocus(by: -layout.columns * max(1, layout.viewport / layout.pitch), at: time, layout)
        case .pageDown: moveFocus(by: layout.columns * max(1, layout.viewport / layout.pitch), at: time, layout)
        case .home: moveFocus(by: -shown.count, at: time, layout)
        case .end: moveFocus(by: shown.count, at: time, layout)
        case .enter:
            if showsFocus { openPanel(of: focus) } else { moveFocus(by: 0, at: time, layout) }
        case .play:
            if showsFocus, let entry = focusedEntry, problem(entry) == nil { return playOrPick(entry) }
        case .film: if settings.collects { (panel, chosenButton) = (.film, 0) }
        case .wheel(let notches): scroll.go(to: scroll.target(at: time) - Double(notches * layout.pitch / 2), at: time)
        case .character(let character): if character != " " || !search.isEmpty { find(search + String(character), at: time) }
        case .erase: find(String(search.dropLast()), at: time)
        case .back:
            if showsKeyboard {
                showsKeyboard = false
            } else if search.isEmpty {
                return close()
            } else {
                find("", at: time)
            }
        }
        return []
    }

    /// Carries out the play key on a card: it opens the panel if the viewer picks several.
    private mutating func playOrPick(_ entry: ShelfEntry) -> [ShelfAction] {
        guard let picking = settings.picking else { return play(entry) }
        if picking.most < 2 { return pick([entry]) }
        openPanel(of: focus)
        return []
    }

    private mutating func handleInPanel(_ key: ShelfKey) -> [ShelfAction] {
        guard let buttons = panelText?.buttons, !buttons.isEmpty else { return [] }
        chosenButton = min(chosenButton, buttons.count - 1)
        showsFocus = true
        switch key {
        case .up where chosenClip != nil, .down where panelText?.clips.isEmpty == false: chooseClip(key == .up ? -1 : 1)
        case .left, .up: chosenButton = max(0, chosenButton - 1)
        case .right, .down: chosenButton = min(buttons.count - 1, chosenButton + 1)
        case .enter: return press(buttons[chosenButton])
        case .play: if buttons.contains(.play) { return press(.play) }
        case .back: panel = chosenClip == nil ? nil : .film
        default: break
        }
        return []
    }

    /// Chooses the next clip of the film, or the previous one; the film's buttons come before the first clip.
    private mutating func chooseClip(_ step: Int) {
        let place = chosenClip.map { min($0 + step, film.clips.count - 1) } ?? 0
        if place < 0 || chosenClip == nil { chosenButton = 0 }
        panel = place < 0 ? .film : .clip(place)
    }

    private mutating func moveFocus(by count: Int, at time: HostTime, _ layout: ShelfLayout) {
        guard !shown.isEmpty else { return }
        let offset = Int(scroll.position(at: time).rounded())
        if !showsFocus {
            showsFocus = true
            // The focus starts on the visible cards.
            let rows = layout.visibleRows(offset)
            let seen = max(0, rows.lowerBound) * layout.columns..<max(0, rows.upperBound) * layout.columns
            if !seen.contains(focus) { focus = min(shown.count - 1, max(0, rows.lowerBound + 1) * layout.columns) }
        } else {
            focus = min(max(focus + count, 0), shown.count - 1)
        }
        let now = Int(scroll.target(at: time).rounded())
        let wanted = layout.offset(showing: focus, from: now, of: shown.count)
        if wanted != now { scroll.go(to: Double(wanted), at: time) }
    }
}

/// The meaning of a key on the shelf. Also used by the list of subtitles and sound (``MediaSelectionPanel``) and over the camera's picture
/// (``RecordingPanel``).
enum ShelfKey: Hashable, Sendable {
    case left, right, up, down, pageUp, pageDown, home, end
    case enter, play, back, erase, film
    /// A wheel or a knob, by this number of notches away from the user.
    case wheel(Int)
    case character(Character)

    /// nil if the key has no meaning here.
    init?(_ event: KeyEvent) {
        guard event.modifiers.isEmpty, let key = Self.keys[event.key] else { return nil }
        self = key
    }

    /// By the kernel's names; letters are those of an American keyboard.
    private static let keys: [KeyCode: ShelfKey] = {
        let words: [(ShelfKey, [String])] = [
            (.left, ["LEFT"]), (.right, ["RIGHT"]), (.up, ["UP"]), (.down, ["DOWN"]), (.pageUp, ["PAGEUP", "CHANNELUP"]),
            (.pageDown, ["PAGEDOWN", "CHANNELDOWN"]), (.home, ["HOME"]), (.end, ["END"]),
            (.enter, ["ENTER", "KPENTER", "OK", "SELECT"]), (.play, ["PLAY", "PLAYCD", "PLAYPAUSE"]),
            (.back, ["ESC", "BACK", "EXIT", "CANCEL"]), (.erase, ["BACKSPACE", "DELETE"]), (.film, ["RED", "INSERT"]),
            (.character(" "), ["SPACE"]), (.character("-"), ["MINUS"]),
        ]
        var keys: [KeyCode: ShelfKey] = [.dialUp: .wheel(1), .dialDown: .wheel(-1)]
        func add(_ key: ShelfKey, _ name: String) { if let code = try? KeyCode(named: "KEY_" + name) { keys[code] = key } }
        for (key, names) in words { for name in names { add(key, name) } }
        for letter in "abcdefghijklmnopqrstuvwxyz" { add(.character(letter), letter.uppercased()) }
        for digit in "0123456789" { for name in ["\(digit)", "KP\(digit)", "NUMERIC_\(digit)"] { add(.character(digit), name) } }
        return keys
    }()
}
