import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

@testable import KioskControlsCore
@testable import KioskInputCore

/// A simulated person at a screen: touches it, presses keys, lets time pass, and records the controls' commands.
struct Viewer {
    var state: ControlsState
    /// The player's state. The test changes it; every step passes it on to the controls.
    var now: NowPlaying
    var geometry: ScreenGeometry
    private(set) var time = HostTime(nanoseconds: 1_000_000_000_000)
    /// The commands since ``take()``.
    private var asked: [Command] = []
    private var finger = 0
    /// Whether the player obeys commands.
    var obeys = true
    private(set) var fingers: [Int: (x: Double, y: Double)] = [:]

    /// 24" at 1080p.
    static let desk = ScreenGeometry(width: 1920, height: 1080, physicalWidth: 531, physicalHeight: 299)

    init(
        _ geometry: ScreenGeometry = desk, settings: ControlsSettings = .test, keys: [(String, Command)] = [],
        now: NowPlaying = .clip
    ) {
        self.geometry = geometry
        self.now = now
        state = ControlsState(settings, keys: (try? KeyMap(bindings: keys.map { (KeyTrigger($0.0)!, $0.1) }))!)
        settle()
    }

    /// Passes the player's state on to the controls, as happens before and after every event.
    mutating func settle() { ask(state.update(now, on: geometry, refreshPeriod: .milliseconds(16), at: time)) }

    /// Applies commands to the player's state, as far as the tests need it.
    private mutating func ask(_ commands: [TimedCommand]) {
        for command in commands.map(\.command) {
            asked.append(command)
            if !obeys { continue }
            switch command {
            case .player(.togglePlayback):
                now.status = now.status == .paused ? .playing : .paused
                now.hasEnded = false
            case .player(.scrub(let target)), .player(.endScrub(let target)): now.time = target
            case .player(.seekSteps(let count)): now.time = max(.zero, now.time + .seconds(10) * Int64(count))
            case .player(.toggleMute): now.isMuted.toggle()
            case .player(.setVolume(let volume)): now.volume = volume
            case .player(.selectSubtitleTrack(let choice)):
                now.asked.subtitle = choice
                let heard = now.tracks.first { $0.id == now.selectedTracks[.audio] }?.language
                now.selectedTracks[.subtitle] = now.tracks.subtitles(choice, sound: heard)?.id
            case .player(.selectAudioTrack(let choice)): now.asked.audio = choice
            case .player(.changeVolume(let change)): now.volume = min(max(now.volume + change, 0), 100)
            default: break
            }
        }
    }

    mutating func show(notice text: String) { state.show(notice: text, at: time) }
    mutating func show(progress percent: Int?) { state.show(progress: percent, at: time) }

    /// Lets time pass, and handles every deadline on the way.
    mutating func wait(_ span: MediaTime) {
        settle()
        let end = time + span
        var steps = 0
        while let due = [state.deadline(after: time), state.inputDeadline.map { max($0, time) }].compactMap({ $0 }).min(), due <= end,
            steps < 100_000
        {
            if now.status == .playing { now.time = now.time + (due - time) }
            time = due
            steps += 1
            settle()
            ask(state.expire(at: time) + state.advance(to: time))
        }
        if now.status == .playing { now.time = now.time + (end - time) }
        time = end
        settle()
        ask(state.expire(at: time) + state.advance(to: time))
    }

    // MARK: Fingers

    /// Puts a finger down at x and y, each 0…1. Returns its number.
    @discardableResult mutating func down(_ x: Double, _ y: Double, device: Int = 0) -> Int {
        finger += 1
        fingers[finger] = (x, y)
        send(finger, .down, device)
        return finger
    }

    mutating func move(_ finger: Int, _ x: Double, _ y: Double, device: Int = 0) {
        fingers[finger] = (x, y)
        send(finger, .move, device)
    }

    mutating func up(_ finger: Int, device: Int = 0) { send(finger, .up, device) }

    mutating func cancel(_ finger: Int, device: Int = 0) { send(finger, .cancelled, device) }

    /// Taps: down, and up after 80 ms.
    mutating func tap(_ x: Double, _ y: Double) {
        let finger = down(x, y)
        wait(.milliseconds(80))
        up(finger)
    }

    /// Returns the middle of a control.
    func place(_ control: Control) -> (x: Double, y: Double) {
        middle(of: state.layout!.target(of: control)!)
    }

    private func middle(of box: PixelRectangle) -> (x: Double, y: Double) {
        (
            (Double(box.x) + Double(box.width) / 2) / Double(geometry.width),
            (Double(box.y) + Double(box.height) / 2) / Double(geometry.height)
        )
    }

    mutating func tap(_ control: Control) {
        let place = place(control)
        tap(place.x, place.y)
    }

    /// Returns a place on the slider at a fraction of its length, 0…1.
    func onSlider(_ fraction: Double) -> (x: Double, y: Double) {
        let track = state.layout!.slider!
        return (
            (Double(track.left) + fraction * Double(track.right - track.left)) / Double(geometry.width),
            Double(track.y) / Double(geometry.height)
        )
    }

    /// Clicks the left button of a mouse.
    mutating func click() {
        for phase in [ContactEvent.Phase.down, .up] {
            let contact = Contact(slot: 0, id: 1, x: 0.5, y: 0.5, surface: .mouse)
            send(.contact(ContactEvent(device: DeviceID(rawValue: 3), contact: contact, phase: phase, time: time)))
        }
    }

    private mutating func send(_ finger: Int, _ phase: ContactEvent.Phase, _ device: Int) {
        let place = fingers[finger]!
        let contact = Contact(slot: 0, id: finger, x: place.x, y: place.y, surface: .display)
        send(.contact(ContactEvent(device: DeviceID(rawValue: device), contact: contact, phase: phase, time: time)))
    }

    mutating func send(_ event: InputEvent) {
        settle()
        ask(state.handle(event))
        settle()
    }

    mutating func key(_ name: String, device: Int = 7) {
        let key = (try? KeyCode(named: name))!
        send(.key(KeyEvent(device: DeviceID(rawValue: device), key: key, phase: .press, time: time)))
        send(.key(KeyEvent(device: DeviceID(rawValue: device), key: key, phase: .release, time: time)))
    }

    // MARK: Results

    /// Returns the commands since the last call.
    mutating func take() -> [Command] {
        defer { asked = [] }
        return asked
    }

    var parts: [PlacedPart] { state.parts(at: time) }

    /// Whether the bars are visible at all.
    var seesBars: Bool { parts.contains { if case .scrim = $0.part { $0.alpha > 0 } else { false } } }

    /// The icons of the visible buttons in the middle.
    var buttons: [Icon] { parts.compactMap { if case .button(let icon, _, _) = $0.part { icon } else { nil } } }

    /// The icons that look pressed.
    var pressed: [Icon] {
        parts.compactMap {
            switch $0.part {
            case .button(let icon, _, true), .icon(let icon, _, _, true): icon
            default: nil
            }
        }
    }

    /// The level of the visible toast.
    var toast: Int? { parts.lazy.compactMap { if case .toast(_, _, let level, _) = $0.part { level } else { nil } }.first }

    var seesSpinner: Bool { parts.contains { if case .spinner = $0.part { $0.alpha > 0 } else { false } } }

    /// The visible slider of the item.
    var slider: Part.Slider? {
        parts.lazy.compactMap { if case .slider(let slider) = $0.part, slider.isAccented { slider } else { nil } }.first
    }

    /// The time above the finger, and whether it has a picture.
    var preview: (text: String, hasPicture: Bool)? {
        parts.lazy.compactMap {
            if case .preview(_, _, _, _, _, let text, let picture) = $0.part { (text, picture != nil) } else { nil }
        }.first
    }

    /// The visible list of subtitles and sound tracks.
    var selection: MediaSelectionPicture? {
        parts.lazy.compactMap { if case .mediaSelection(let picture) = $0.part, $0.alpha > 0 { picture } else { nil } }.first
    }

    /// Returns a place on the list's line that begins with `text`.
    func onSelection(_ text: String) -> (x: Double, y: Double) {
        let panel = state.selection!
        let line = panel.lines.firstIndex {
            if case .option(let option, _, _) = $0 { option.displayName.hasPrefix(text) } else { $0 == .heading(text) }
        }
        return middle(of: panel.place(ofLine: line!, at: time))
    }

    mutating func tapSelection(_ text: String) {
        let place = onSelection(text)
        tap(place.x, place.y)
    }

    /// The visible notices.
    var news: [String] { parts.compactMap { if case .notice(_, _, let text) = $0.part { text } else { nil } } }

    /// The visible texts.
    var texts: [String] { parts.compactMap { if case .text(let text) = $0.part { text.text } else { nil } } }
}

extension ControlsSettings {
    /// Settings with everything on.
    static var test: ControlsSettings {
        var settings = ControlsSettings()
        settings.gestures = [
            .tap: .player(.togglePlayback), .doubleTapLeft: .player(.seekSteps(-1)), .doubleTapRight: .player(.seekSteps(1)),
            .swipeLeft: .player(.seekSteps(-1)),
            .swipeRight: .player(.seekSteps(1)), .twoFingerTap: .player(.toggleMute), .volumeDrag: .player(.changeVolume(by: 1)),
        ]
        return settings
    }
}

extension NowPlaying {
    /// The second of five clips, two minutes long, at 41 s.
    static var clip: NowPlaying {
        var now = NowPlaying()
        now.status = .playing
        (now.item, now.place, now.count) = (1, 2, 5)
        (now.title, now.source) = ("Autumn in the harbour", "/srv/harbour.mp4")
        (now.time, now.duration, now.isSeekable) = (.seconds(41), .seconds(120), true)
        now.bufferedUntil = .seconds(97)
        return now
    }

    /// Sets the tracks, numbered by kind, and selects the first sound track.
    mutating func setTracks(_ all: [AssetTrack]) {
        var numbers: [TrackKind: Int] = [:]
        tracks = all.enumerated().map { index, track in
            var track = track
            numbers[track.kind, default: 0] += 1
            (track.id, track.number) = (index, numbers[track.kind]!)
            return track
        }
        selectedTracks[.audio] = tracks.first { $0.kind == .audio }?.id
    }
}

extension AssetTrack {
    /// Makes a track as a file has it; the player numbers tracks.
    static func made(
        _ kind: TrackKind, _ language: String? = nil, title: String? = nil, isForced: Bool = false, isSDH: Bool = false,
        isBeside: Bool = false
    ) -> AssetTrack {
        var track = AssetTrack(id: 0, kind: kind, number: 1, codec: "subrip")
        (track.language, track.title) = (language.flatMap { LanguageCode($0) }, title)
        (track.isForced, track.isForHardOfHearing, track.isBeside) = (isForced, isSDH, isBeside)
        return track
    }
}
