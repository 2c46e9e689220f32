import KioskInputCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// The state of the controls: which are visible, which one a finger holds, when they hide. A pure value. In: input events, the player's
/// state and the time. Out: commands, the parts to draw (``parts(at:)``) and the time of the next change (``deadline(after:)``).
///
///     hidden ── a tap, a key ──▶ shown ── 3 s after the last touch, while it plays and no finger is down ──▶ hidden
///
/// A finger that goes down on a control belongs to that control (``Press``) until it is lifted. All others make gestures. While the player
/// is paused, ended or waiting, visible controls stay. While a finger is on the slider, the times follow the finger, and the middle hides.
/// After the lift, the times stay at that position.
///
/// While the list of subtitles and sound is open (``MediaSelectionPanel``), it takes fingers and list keys. It closes after a choice, with
/// the controls, and when another item starts.
package struct ControlsState: Sendable {
    /// A finger or a button on a device.
    struct Finger: Hashable, Sendable {
        var device: DeviceID, contact: Int
    }

    /// A finger that holds a control.
    struct Press: Hashable, Sendable {
        var finger: Finger
        var control: Control
        /// Whether the finger is still on it; a lift elsewhere does nothing.
        var isOn = true
        /// Its position on a slider, 0…1.
        var value: Double?
    }

    /// The effect of a gesture or a key, shown for a moment.
    enum Sign: Hashable, Sendable {
        case plays(Bool)
        /// A seek by this number of seconds.
        case seek(seconds: Int)
    }

    /// The time from the last touch until the controls hide.
    package static let stay = MediaTime.seconds(3)
    /// The same time while the list of subtitles and sound is open.
    static let selectionStay = MediaTime.seconds(15)
    /// The time that the player waits before the spinner appears.
    static let spinnerDelay = MediaTime.milliseconds(500)
    /// The time that a level and a sign stay.
    static let toastStay = MediaTime.milliseconds(1500), signStay = MediaTime.milliseconds(600)
    static let noticeStay = MediaTime.seconds(5)
    /// The time after which a finger that has not moved counts as dirt on the screen.
    static let ghostTimeout = MediaTime.seconds(30)
    /// The longest time since the last input at which the controls still appear at the end of the playlist.
    static let presence = MediaTime.seconds(60)
    /// The longest time that the player may take to report a commanded status.
    static let answerTimeout = MediaTime.milliseconds(300)

    var settings: ControlsSettings
    /// The player's last state, changed by the commands since.
    var now = NowPlaying()
    var layout: ControlsLayout?
    var geometry: ScreenGeometry?
    /// The time from one vblank to the next: fades advance once in it.
    var refreshPeriod = MediaTime.milliseconds(16)
    /// The player's status before the last command, and the time until which the player may still report it.
    var outdated: (status: TimeControlStatus, until: HostTime)?

    // Input.
    var keys: KeyRecognizer
    var gestures: [DeviceID: GestureRecognizer] = [:]
    /// The fingers that are down, and the time of each one's last event.
    var fingers: [Finger: HostTime] = [:]
    var press: Press?
    /// The list of subtitles and sound, until it has faded out.
    var selection: MediaSelectionPanel?
    /// Fingers to ignore until they are lifted.
    var ignored: Set<Finger> = []
    /// Whether the last tap toggled play and pause; a double tap then undoes that.
    var tapToggled = false
    var lastInput: HostTime?

    // Display.
    var isShown = false
    /// The last touch or key that keeps the controls visible.
    var lastTouch = HostTime(nanoseconds: 0)
    /// The time of the tap that showed the controls.
    var shownByTap: HostTime?
    /// The time since which the player plays, and since which it waits.
    var playingSince: HostTime?, waitingSince: HostTime?
    var showsTotal = false
    var toastSince: HostTime?
    /// The progress of a long operation, 0…100; the toast shows it, and stays, until it is nil.
    var progress: Int?
    var sign: (sign: Sign, since: HostTime)?
    var notice: (text: String, since: HostTime)?
    var previewPicture: PreviewPicture?
    var fades = Fades()
    /// The reports since they were last taken.
    var reports: [ControlsReport] = []

    /// The opacity of each group of parts.
    struct Fades: Hashable, Sendable {
        var bars = Fade(), middle = Fade(), preview = Fade(), spinner = Fade(), toast = Fade(), sign = Fade(), notice = Fade()
        var selection = Fade()

        func areUnderWay(at time: HostTime) -> Bool {
            [bars, middle, preview, spinner, toast, sign, notice, selection].contains { $0.isUnderWay(at: time) }
        }
    }

    /// Creates controls without input so far; `keys` maps keys to commands.
    package init(_ settings: ControlsSettings, keys: KeyMap) {
        self.settings = settings
        self.keys = KeyRecognizer(keys)
    }

    /// Takes other settings: the controls stay as they are, as far as the settings have them.
    package mutating func set(_ new: ControlsSettings, at time: HostTime) -> [TimedCommand] {
        if new == settings { return [] }
        let others = Set(new.gestures.keys) != Set(settings.gestures.keys) || new.reports != settings.reports
        settings = new
        var requests: [TimedCommand] = []
        if new.mode != .full {
            if let press {
                requests = end(press, at: time, acts: false)
                drop(press)
            }
            (isShown, toastSince, progress) = (false, nil, nil)
        }
        // A finger that is down makes no gesture of the former ones.
        if others { gestures = [:] }
        follow(at: time)
        return requests
    }

    // MARK: The player and the display

    /// Takes the current item and its screen; nil while there is no display.
    package mutating func update(
        _ news: NowPlaying, on geometry: ScreenGeometry?, refreshPeriod: MediaTime, at time: HostTime
    ) -> [TimedCommand] {
        var next = news
        if let outdated {
            if next.status == outdated.status, time < outdated.until {
                next.status = now.status
                next.hasEnded = now.hasEnded
            } else {
                self.outdated = nil
            }
        }
        if next.item != now.item {
            // The finger on the slider was on the slider of another item.
            if let press, press.control == .slider { drop(press) }
            previewPicture = nil
            closeSelection(at: time)
        }
        let hasOtherTracks = (next.tracks, next.selectedTracks, next.asked) != (now.tracks, now.selectedTracks, now.asked)
        // Ignores a wait too short for the spinner: if the player underran every second, the controls would never hide.
        let hasWaited = waitingSince.map { time - $0 >= Self.spinnerDelay } ?? false
        if next.status == .paused { playingSince = nil }
        if next.status == .playing, hasWaited || playingSince == nil { playingSince = time }
        if next.status != .waitingToPlay || next.item == nil {
            waitingSince = nil
        } else if waitingSince == nil {
            waitingSince = time
        }
        let ends = next.hasEnded && !now.hasEnded
        now = next
        self.refreshPeriod = refreshPeriod

        var requests: [TimedCommand] = []
        if geometry != self.geometry, let press {
            // Another control is under the finger now.
            requests += end(press, at: time, acts: false)
            drop(press)
        }
        self.geometry = geometry
        let renewed = settings.mode == .full ? geometry.map { ControlsLayout(geometry: $0, content: content) } : nil
        let isOtherLayout = renewed != layout
        if isOtherLayout { layout = renewed }
        if let press, layout?.target(of: press.control) == nil { drop(press) }
        updateSelection(hasOtherTracks || isOtherLayout, at: time)
        if ends, let lastInput, time - lastInput < Self.presence { reveal(at: time) }
        follow(at: time)
        return requests
    }

    /// The content that the layout depends on.
    private var content: ControlsLayout.Content {
        let longest = NowPlaying.text(now.total ?? now.elapsed(at: now.time)).count
        var allowed = settings.allowed
        if !now.isSeekable { allowed.subtract([.slider, .skipBack, .skipForward]) }
        return ControlsLayout.Content(
            parts: settings.theme.parts, allowed: allowed, hasQueue: now.count > 1, hasDuration: now.length != nil,
            hasShelf: settings.shelf.isOffered, hasSelection: now.hasSelection, hasBack: settings.hasBack, timeLength: max(longest, 4))
    }

    /// Takes a decoded preview for the slider.
    package mutating func show(_ picture: PreviewPicture, of source: Path) {
        if source == Path(now.source), isSliding { previewPicture = picture }
    }

    /// Shows the progress of a long operation in percent; nil ends it.
    package mutating func show(progress percent: Int?, at time: HostTime) {
        guard settings.mode == .full, settings.theme.parts.contains(.toast), percent != progress else { return }
        // A toast for the volume goes on; the toast of the progress ends with it.
        toastSince = percent == nil ? nil : time
        progress = percent.map { min(max($0, 0), 100) }
        follow(at: time)
    }

    /// Shows a line of news for ``noticeStay``, over everything else.
    package mutating func show(notice text: String, at time: HostTime) {
        notice = (text, time)
        fades.notice.go(to: true, at: time)
    }

    // MARK: Time

    /// Applies the changes due at `time`.
    package mutating func advance(to time: HostTime) -> [TimedCommand] {
        var requests: [TimedCommand] = []
        for (finger, changed) in fingers where time - changed >= Self.ghostTimeout {
            if finger == selection?.touch?.finger { dropSelectionTouch(at: time) }
            guard let press, press.finger == finger else { continue }
            requests += end(press, at: time, acts: false)
            drop(press)
        }
        if let toastSince, progress == nil, time - toastSince >= Self.toastStay { self.toastSince = nil }
        if let sign, time - sign.since >= Self.signStay { fades.sign.go(to: false, at: time) }
        if let notice, time - notice.since >= Self.noticeStay { fades.notice.go(to: false, at: time) }
        if let hideTime, time >= hideTime { isShown = false }
        follow(at: time)
        return requests
    }

    /// The time when the controls hide by themselves; nil while they stay.
    var hideTime: HostTime? {
        guard isShown, now.status == .playing, !now.hasEnded, let delay = settings.hideDelay else { return nil }
        let quiet = max(lastTouch, playingSince ?? lastTouch) + (isSelecting ? max(Self.selectionStay, delay) : delay)
        return fingers.values.max().map { max(quiet, $0 + Self.ghostTimeout) } ?? quiet
    }

    /// Whether the list of subtitles and sound is open.
    var isSelecting: Bool { selection != nil && fades.selection.target == 1 }

    /// Whether a finger holds the slider.
    var isSliding: Bool { press?.control == .slider }

    /// Whether the spinner is due.
    func spins(at time: HostTime) -> Bool {
        guard settings.mode == .full, settings.theme.parts.contains(.spinner), !isSliding, let waitingSince else { return false }
        return time - waitingSince >= Self.spinnerDelay
    }

    /// Starts the fades to the current state.
    mutating func follow(at time: HostTime) {
        if !isShown { closeSelection(at: time) }
        let spins = spins(at: time), hasSign = sign != nil && fades.sign.target == 1
        fades.bars.go(to: isShown, at: time)
        fades.spinner.go(to: spins, at: time)
        let isCovered = toastSince != nil && layout?.toastCoversMiddle == true
        fades.middle.go(to: isShown && !isSliding && !isSelecting && !spins && !hasSign && !isCovered, at: time)
        fades.toast.go(to: toastSince != nil, at: time)
        // The preview appears under the finger at once.
        if isSliding { fades.preview.jump(to: true) } else { fades.preview.go(to: false, at: time) }
        if fades.preview.value(at: time) == 0 { previewPicture = nil }
        if fades.sign.target == 0, !fades.sign.isUnderWay(at: time) { sign = nil }
        if fades.notice.target == 0, !fades.notice.isUnderWay(at: time) { notice = nil }
        if fades.selection.target == 0, !fades.selection.isUnderWay(at: time) { selection = nil }
    }

    /// Shows the controls for ``stay`` from now on, if the mode has them.
    mutating func reveal(at time: HostTime) {
        guard settings.mode == .full else { return }
        lastTouch = max(lastTouch, time)
        isShown = true
    }
}

/// An opacity that goes to 0 or 1 in ``duration``. A pure value.
struct Fade: Hashable, Sendable {
    static let duration = MediaTime.milliseconds(250)

    /// The opacity to which it fades.
    private(set) var target = 0.0
    private var origin = 0.0
    private var begin = HostTime(nanoseconds: 0)

    /// Starts to fade to 1 or 0 from the current opacity; a fade to the same target goes on.
    mutating func go(to isSeen: Bool, at time: HostTime) {
        let next = isSeen ? 1.0 : 0.0
        if next == target { return }
        (origin, begin) = (value(at: time), time)
        target = next
    }

    /// Sets the opacity at once.
    mutating func jump(to isSeen: Bool) {
        target = isSeen ? 1 : 0
        origin = target
    }

    /// Returns the opacity, 0…1.
    func value(at time: HostTime) -> Double {
        // A fade back from half way takes half the time.
        let length = Self.duration.seconds * abs(target - origin)
        if length <= 0 { return target }
        let part = min(max((time - begin).seconds / length, 0), 1)
        return origin + (target - origin) * part
    }

    /// Whether the opacity changes after `time`.
    func isUnderWay(at time: HostTime) -> Bool { value(at: time) != target }
}
