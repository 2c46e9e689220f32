import KioskConfiguration
import KioskControlsCore
import KioskInputCore
import KioskPlatform
import KioskPlayer
import KioskVocabulary

extension PlayerControls {
    /// A part of the controls.
    public enum Part: Hashable, Sendable, CaseIterable {
        /// The disc in the middle that pauses, plays and replays.
        case playButton
        /// The title, and the place in the queue.
        case title
        /// The discs for a step of 10 s, and the buttons for the previous and the next item.
        case skipButtons
        /// The position in the item, the loaded part, and the knob that seeks.
        case slider
        /// Elapsed and remaining time.
        case times
        /// The picture above the knob while a finger holds it.
        case preview
        /// The button that mutes.
        case mute
        /// The slider for the volume.
        case volume
        /// The wheel that turns while the player waits.
        case spinner
        /// The sign for a volume or a seek by a key or a gesture.
        case toast
        /// The button for the list of sound tracks, if an item has several.
        case mediaSelection
        /// The button that rotates the picture; not shown at first.
        case rotate
        /// The button that leaves the player, for whatever the application has; not shown at first.
        case back
    }

    /// The effect of a tap beside the controls.
    public enum TapPolicy: Hashable, Sendable {
        /// A tap pauses or plays, and shows the controls.
        case togglesPlayback
        /// A tap shows the controls, and another one hides them. Playback goes on.
        case togglesControls
    }

    /// The look of the controls, and what they take.
    public struct Configuration: Hashable, Sendable {
        /// The families of the controls' own font.
        public static let defaultFont = Theme().font

        /// The parts to show: at first all but ``Part/rotate`` and ``Part/back``. A part without a use is not shown: an item without a
        /// duration has no slider, and a queue of one item no buttons for others.
        public var parts = Set(Part.allCases).subtracting([.rotate, .back])
        /// The effect of a tap beside the controls.
        public var tapPolicy = TapPolicy.togglesPlayback
        /// Whether two taps and swipes seek, and a finger along the right edge changes the volume. ``events`` has gestures in any case.
        public var handlesGestures = true
        /// Whether keys act as they do for the `kiosk` command: space, arrows, media keys. `InputDevices.init(keys:display:)` chooses the
        /// keyboards to read.
        public var handlesKeys = true
        /// The time from the last touch until the controls hide, while the player plays; nil for never.
        public var hideDelay: Duration? = .seconds(3)
        /// The colour of the played part of the slider.
        public var accentColor = Color(Theme().accent)
        /// The font: a family, or several with commas between them, as fontconfig knows them.
        public var font = Self.defaultFont
        /// The size: 1 is in millimetres of the display, with buttons of at least 9 mm. 0.25…4; clamped further so that all parts fit.
        public var scale = 1.0
        /// The opacity of everything, 0…1.
        public var opacity = 1.0

        /// Creates the usual controls.
        public init() {}
    }

    /// A control that viewers can touch.
    public enum Control: Hashable, Sendable, CaseIterable {
        /// The disc in the middle, and those beside it.
        case playPause, skipBackward, skipForward
        /// The buttons for other items.
        case previousItem, nextItem
        /// The slider of the position.
        case slider
        /// The time at its end, which switches between remaining and total.
        case times
        /// The sound: the button, and the slider.
        case mute, volume
        /// The button for the list of sound tracks.
        case mediaSelection
        /// The button that rotates the picture.
        case rotate
        /// The button that leaves the player.
        case back
    }
}

extension PlayerControls.Part {
    /// The engine's part; nil for the application's own.
    fileprivate var engine: ControlsPart? {
        switch self {
        case .playButton: .playButton
        case .title: .title
        case .skipButtons: .skipButtons
        case .slider: .slider
        case .times: .times
        case .preview: .preview
        case .mute: .mute
        case .volume: .volume
        case .spinner: .spinner
        case .toast: .toast
        case .mediaSelection: .subtitles
        case .rotate: .rotate
        case .back: nil
        }
    }
}

extension PlayerControls.Control {
    var engine: KioskControlsCore.Control {
        switch self {
        case .playPause: .playPause
        case .skipBackward: .skipBack
        case .skipForward: .skipForward
        case .previousItem: .previousItem
        case .nextItem: .nextItem
        case .slider: .slider
        case .times: .remaining
        case .mute: .mute
        case .volume: .volume
        case .mediaSelection: .subtitles
        case .rotate: .rotate
        case .back: .back
        }
    }
}

extension PlayerControls.Configuration {
    private static let seekGestures: Set<GestureName> = [.doubleTapLeft, .doubleTapRight, .swipeLeft, .swipeRight]

    /// Returns the engine's settings. If they are `locked`, nothing seeks; if they are not `shown`, touches only make events.
    func settings(locked: Bool, shown: Bool) -> ControlsSettings {
        var settings = ControlsSettings()
        settings.reports = true
        (settings.theme.accent, settings.theme.font) = (accentColor.engine, font)
        settings.theme.opacity = opacity.isFinite ? min(max(opacity, 0), 1) : 1
        settings.theme.parts = Set(parts.compactMap(\.engine))
        settings.scale = scale.isFinite ? min(max(scale, 0.25), 4) : 1
        settings.hideDelay = hideDelay.map { max(MediaTime($0), .milliseconds(200)) }
        settings.hasBack = parts.contains(.back)
        guard shown else {
            (settings.mode, settings.mayTap, settings.allowed) = (.none, false, [])
            return settings
        }
        if handlesGestures { settings.gestures = KioskConfiguration.Configuration.Input.defaultGestures }
        settings.gestures[.tap] = tapPolicy == .togglesPlayback ? .player(.togglePlayback) : .toggleControls
        if locked {
            settings.allowed.subtract([.slider, .skipBack, .skipForward, .previousItem, .nextItem])
            for name in Self.seekGestures { settings.gestures[name] = nil }
        }
        return settings
    }

    /// Returns the keys of the command that concern a player and its controls.
    func keys(locked: Bool, shown: Bool) -> KeyMap {
        let bindings = handlesKeys && shown ? KeyBinding.defaults : []
        let kept = bindings.filter { binding in
            switch binding.command {
            case .player(.selectItem), .program, .toggleShelf, .rotate, nil: false
            case .player(.seekSteps), .player(.nextItem), .player(.previousItem), .player(.skipChapters): !locked
            case .player, .showControls, .hideControls, .toggleControls: true
            }
        }
        do throws(UnknownKey) {
            return try KeyMap(bindings: kept.map { ($0.trigger, $0.command) })
        } catch {
            // The names of the defaults are the kernel's: a test of the command compares them.
            preconditionFailure("\(error)")
        }
    }
}
