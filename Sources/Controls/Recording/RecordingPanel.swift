import Glibc
import KioskCaptureCore
import KioskInputCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// The overlay on the camera's picture during a recording: the time, the loudness and buttons. A pure value: the state in, parts and
/// targets out; ``RecordingDrawing`` draws.
struct RecordingPanel: Hashable, Sendable {
    /// The recorded and the remaining time, such as `0:12 −0:48`; nil if nothing is recorded.
    var time: String?
    /// Loudness in tenths, 0…10; nil without a microphone.
    var level: Int?
    var isPaused = false
    /// The buttons, from left to right.
    var buttons: [RecordingOrder]
    /// The failure or the result to show.
    var message: String?
    /// The index in ``buttons`` of the button with the keyboard focus; nil until a key is used.
    var focus: Int?

    /// The meaning of a key here.
    enum KeyMeaning: Hashable, Sendable {
        case press(RecordingOrder)
        /// Moves the focus to another button.
        case focus(Int)
        /// Ignores the key, and keeps it from the player: no seek or skip meanwhile.
        case nothing
    }

    /// Returns the meaning of a key that goes down; nil if it is not for buttons. OK presses the first button unless the focus has moved. A
    /// back key leaves the camera; it does not discard a film.
    func meaning(of event: KeyEvent) -> KeyMeaning? {
        guard event.phase != .release, let key = ShelfKey(event) else { return nil }
        let isPressed = event.phase == .press
        switch key {
        case .left, .right, .wheel:
            guard !buttons.isEmpty else { return .nothing }
            let step = if case .wheel(let notches) = key { notches } else { key == .left ? -1 : 1 }
            return .focus(min(max((focus ?? 0) + step, 0), buttons.count - 1))
        case .enter:
            guard isPressed, !buttons.isEmpty else { return .nothing }
            return .press(buttons[min(max(focus ?? 0, 0), buttons.count - 1)])
        case .back: return isPressed && buttons.first == .start ? .press(.cancel) : .nothing
        default: return nil
        }
    }

    static let buttonSize = 18.0, gap = 8.0

    /// Returns the places of the buttons along the bottom: centre and diameter in pixels.
    func places(on geometry: ScreenGeometry) -> [(button: RecordingOrder, x: Int, y: Int, diameter: Int)] {
        let diameter = geometry.pixels(Self.buttonSize), step = geometry.pixels(Self.buttonSize + Self.gap)
        let left = geometry.width / 2 - step * (buttons.count - 1) / 2
        let y = geometry.height - geometry.pixels(ControlsLayout.margin) - diameter / 2
        return buttons.enumerated().map { ($1, left + step * $0, y, diameter) }
    }

    /// Returns the button at a position, 0…1 from the left and from the top. A finger may miss it by 0.15 of its diameter.
    func button(atX x: Double, y: Double, on geometry: ScreenGeometry) -> RecordingOrder? {
        let (px, py) = (x * Double(geometry.width), y * Double(geometry.height))
        return places(on: geometry).first { place in
            let (dx, dy) = (px - Double(place.x), py - Double(place.y))
            let reach = Double(place.diameter) * 0.65
            return dx * dx + dy * dy <= reach * reach
        }?.button
    }
}

extension RecordingPanel {
    /// Creates the panel for a state.
    init(_ state: RecordingStage.State, _ status: CaptureSession.Status, hasSound: Bool, message: String?) {
        let buttons: [RecordingOrder] =
            switch state {
            case .idle, .opening, .finishing: []
            case .framing: [.start, .cancel]
            case .recording: [.stop, .pause, .cancel]
            case .paused: [.stop, .resume, .cancel]
            case .reviewing: [.keep, .retake, .cancel]
            }
        func clock(_ time: MediaTime) -> String {
            let seconds = Int(time.seconds)
            return "\(seconds / 60):\((seconds % 60).padded(to: 2))"
        }
        let isRecording = state == .recording || state == .paused
        let decibels = status.level > 0 ? 20 * log10f(status.level) : -100
        // The remaining time may be less than the duration allows: the disk limits it too.
        let time = isRecording ? clock(status.elapsed) + (status.remaining.map { " −\(clock($0))" } ?? "") : nil
        self.init(
            time: time,
            level: hasSound && (isRecording || state == .framing) ? min(max(Int((decibels + 50) / 5), 0), 10) : nil,
            isPaused: state == .paused,
            buttons: buttons, message: message)
    }
}

/// Draws a ``RecordingPanel``. Belongs to one thread.
struct RecordingDrawing: ~Copyable {
    private let theme: Theme
    private let typesetter: Typesetter
    private var drawn: [RecordingOrder: Surface] = [:]

    /// Loads fonts, which may take a second.
    init(_ theme: Theme) {
        self.theme = theme
        typesetter = Typesetter(font: theme.font)
    }

    /// Returns the overlay on the camera's picture, for a screen of this geometry.
    mutating func pictures(_ panel: RecordingPanel, on geometry: ScreenGeometry) -> [Overlay.Picture] {
        var pictures: [Overlay.Picture] = []
        let margin = geometry.pixels(ControlsLayout.margin), height = geometry.pixels(9)
        if panel.time != nil || panel.level != nil {
            // Wide enough for its content: time, level.
            let timeWidth = panel.time == nil ? 0 : geometry.pixels(36), levelWidth = panel.level == nil ? 0 : geometry.pixels(26)
            let width = timeWidth + levelWidth + height / 2
            let surface = Canvas.surface(width, height) { canvas in
                let (w, h) = (Double(width), Double(height))
                canvas.rounded(0, 0, w, h, h / 2, .black(0.55))
                if let time = panel.time {
                    if panel.isPaused {
                        canvas.draw(.pause, h * 0.6, h / 2, h * 0.2)
                    } else {
                        canvas.disc(h * 0.6, h / 2, h * 0.22, .color(Color("#ff3b30") ?? theme.accent, 1))
                    }
                    let label = Part.Text(text: time, size: Int(h * 0.48), isBold: true, width: timeWidth - Int(h * 1.1), height: height)
                    typesetter.drawCentered(
                        label, x: (h * 1.1 + Double(timeWidth)) / 2 + h * 0.1, y: h / 2, isShaded: false, on: canvas)
                }
                if let level = panel.level {
                    let step = (Double(levelWidth) - h * 0.5) / 10
                    for bar in 0..<10 {
                        let x = w - h * 0.5 - step * Double(10 - bar)
                        canvas.rounded(
                            x, h * 0.28, step * 0.62, h * 0.44, step * 0.2,
                            bar < level ? (bar > 8 ? .color(theme.accent, 1) : .white(1)) : .white(0.25))
                    }
                }
            }
            pictures.append(.init(surface: surface, x: margin, y: margin))
        }
        if let message = panel.message {
            let width = geometry.width - 2 * margin
            let surface = Canvas.surface(width, height) { canvas in
                canvas.rounded(0, 0, Double(width), Double(height), Double(height) / 2, .black(0.65))
                let label = Part.Text(text: message, size: Int(Double(height) * 0.48), isBold: true, width: width - height, height: height)
                typesetter.drawCentered(label, x: Double(width) / 2, y: Double(height) / 2, isShaded: false, on: canvas)
            }
            pictures.append(.init(surface: surface, x: margin, y: margin + height * 2))
        }
        for (index, place) in panel.places(on: geometry).enumerated() {
            if index == panel.focus { pictures.append(ring(around: place)) }
            pictures.append(
                .init(surface: button(place.button, place.diameter), x: place.x - place.diameter / 2, y: place.y - place.diameter / 2))
        }
        return pictures
    }

    /// Returns the mark of the button with the keyboard focus.
    private func ring(around place: (button: RecordingOrder, x: Int, y: Int, diameter: Int)) -> Overlay.Picture {
        let diameter = place.diameter * 5 / 4, middle = Double(diameter) / 2
        let surface = Canvas.surface(diameter, diameter) { canvas in canvas.disc(middle, middle, middle, .color(theme.accent, 1)) }
        return .init(surface: surface, x: place.x - diameter / 2, y: place.y - diameter / 2)
    }

    private mutating func button(_ button: RecordingOrder, _ diameter: Int) -> Surface {
        if let surface = drawn[button], surface.width == diameter { return surface }
        let surface = Canvas.surface(diameter, diameter) { canvas in
            let middle = Double(diameter) / 2, radius = Double(diameter) / 2
            canvas.disc(middle, middle, radius, .black(0.5))
            let red = Paint.color(Color("#ff3b30") ?? theme.accent, 1)
            switch button {
            case .start: canvas.disc(middle, middle, radius * 0.6, red)
            case .stop: canvas.rounded(middle - radius * 0.4, middle - radius * 0.4, radius * 0.8, radius * 0.8, radius * 0.12, red)
            case .pause: canvas.draw(.pause, middle, middle, radius * 0.5)
            case .resume: canvas.draw(.play, middle, middle, radius * 0.5)
            case .retake: canvas.draw(.replay, middle, middle, radius * 0.5)
            case .keep, .cancel:
                let label = Part.Text(
                    text: button == .keep ? "✓" : "✕", size: Int(radius), isBold: true, width: Int(2 * radius), height: Int(2 * radius))
                typesetter.drawCentered(label, x: middle, y: middle, isShaded: false, on: canvas)
            case .preview, .toggle: break
            }
        }
        drawn[button] = surface
        return surface
    }
}
