import KioskInputCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// What the controls do: which of them are seen, what a finger holds, when they go. A pure value: input events, what the player says and the
/// time in; commands out, and what is to be drawn (``parts(at:)``) until when (``deadline(after:)``).
///
///     hidden ── a tap, a key ──▶ shown ── 3 s after the last touch, while it plays and no finger is down ──▶ hidden
///
/// A finger that goes down on a control belongs to that (``Press``) until it is lifted; all others make gestures. Paused, ended or waiting, what
/// is shown stays. While a finger is on the slider the times follow the finger, and the middle goes away; when it is lifted they stay where it was.
///
/// While the list of subtitles and sound is open (``MediaSelectionPanel``), fingers and the keys of lists belong to that. It closes when something is chosen,
/// with the controls, and when another item is on the screen.
package struct ControlsState: Sendable {
    /// A finger or a button on a device.
    struct Finger: Hashable, Sendable {
        var device: DeviceID, contact: Int
    }

    /// A finger that holds a control.
    struct Press: Hashable, Sendable {
        var finger: Finger
        var control: Control
        /// Whether it is still on it; lifted elsewhere it does nothing.
        var isOn = true
        /// Where it is on a slider, 0…1.
        var value: Double?
    }

    /// What a gesture or a key has done, shown for a moment.
    enum Sign: Hashable, Sendable {
        case plays(Bool)
        /// A seek by so many seconds.
        case seek(seconds: Int)
    }

    /// How long the controls stay after the last touch.
    static let stay = MediaTime.seconds(3)
    /// While a viewer reads the list of subtitles and sound.
    static let selectionStay = MediaTime.seconds(15)
    /// How long it waits before a wheel says so.
    static let spinnerDelay = MediaTime.milliseconds(500)
    /// How long a level and a sign stay.
    static let toastStay = MediaTime.milliseconds(1500), signStay = MediaTime.milliseconds(600)
    static let noticeStay = MediaTime.seconds(5)
    /// A finger that has not moved for so long is dirt on the screen.
    static let ghostTimeout = MediaTime.seconds(30)
    /// At the end of the playlist the controls appear where somebody has touched something within this time.
    static let presence = MediaTime.seconds(60)
    /// How long the player may take to say that it does what it was told.
    static let answerTimeout = MediaTime.milliseconds(300)

    let settings: ControlsSettings
    /// What the player said last, with what it was told since.
    var now = NowPlaying()
    var layout: ControlsLayout?
    var geometry: ScreenGeometry?
    /// The time from one vblank to the next: fades have a step for each.
    var refreshPeriod = MediaTime.milliseconds(16)
    /// The status that the player had before it was told another, and until when it may still say so.
    var outdated: (status: TimeControlStatus, until: HostTime)?

    // Input.
    var keys: KeyRecognizer
    var gestures: [DeviceID: GestureRecognizer] = [:]
    /// Fingers that are down, and when they last did something.
    var fingers: [Finger: HostTime] = [:]
    var press: Press?
    /// The list of subtitles and sound, as long as anything of it is seen.
    var selection: MediaSelectionPanel?
    /// Fingers that mean nothing until they are lifted.
    var ignored: Set<Finger> = []
    /// Whether the last tap changed whether it plays, so that a double tap takes that back.
    var tapToggled = false
    var lastInput: HostTime?

    // What is seen.
    var isShown = false
    /// The last touch or key that the controls stay for.
    var lastTouch = HostTime(nanoseconds: 0)
    /// The tap that showed them.
    var shownByTap: HostTime?
    /// Since when it plays, and since when it waits.
    var playingSince: HostTime?, waitingSince: HostTime?
    var showsTotal = false
    var toastSince: HostTime?
    /// How much of something is done, 0…100; the toast shows that, and stays, until it is nil.
    var progress: Int?
    var sign: (sign: Sign, since: HostTime)?
    var notice: (text: String, since: HostTime)?
    var previewPicture: PreviewPicture?
    var fades = Fades()

    /// How much is seen of what.
    struct Fades: Hashable, Sendable {
        var bars = Fade(), middle = Fade(), preview = Fade(), spinner = Fade(), toast = Fade(), sign = Fade(), notice = Fade()
        var selection = Fade()

        func areUnderWay(at time: HostTime) -> Bool {
            [bars, middle, preview, spinner, toast, sign, notice, selection].contains { $0.isUnderWay(at: time) }
        }
    }

    /// Controls that nobody has touched, with what keys do.
    package init(_ settings: ControlsSettings, keys: KeyMap) {
        self.settings = settings
        self.keys = KeyRecognizer(keys)
    }

    // MARK: What the player and the display say

    /// Takes what is played now, and on what it is shown; nil while there is no display.
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
            // The finger on the slider was on that of another item.
            if let press, press.control == .slider { drop(press) }
            previewPicture = nil
            closeSelection(at: time)
        }
        let hasOtherTracks = (next.tracks, next.selectedTracks, next.asked) != (now.tracks, now.selectedTracks, now.asked)
        // A wait so short that no wheel tells of it is none: on a box that runs dry every second the controls would never go.
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
            // What lies beneath the finger is something else now.
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

    /// What the layout depends on.
    private var content: ControlsLayout.Content {
        let longest = NowPlaying.text(now.total ?? now.elapsed(at: now.time)).count
        var allowed = settings.allowed
        if !now.isSeekable { allowed.subtract([.slider, .skipBack, .skipForward]) }
        return ControlsLayout.Content(
            parts: settings.theme.parts, allowed: allowed, hasQueue: now.count > 1, hasDuration: now.length != nil,
            hasShelf: settings.shelf.isOffered, hasSelection: now.hasSelection, timeLength: max(longest, 4))
    }

    /// A picture for the slider has been decoded.
    package mutating func show(_ picture: PreviewPicture, of source: Path) {
        if source == Path(now.source), isSliding { previewPicture = picture }
    }

    /// Something that takes a while goes on: `percent` of it is done, nil when it has ended.
    package mutating func show(progress percent: Int?, at time: HostTime) {
        guard settings.mode == .full, settings.theme.parts.contains(.toast), percent != progress else { return }
        // What is there for the volume goes on; what showed a progress goes with it.
        toastSince = percent == nil ? nil : time
        progress = percent.map { min(max($0, 0), 100) }
        follow(at: time)
    }

    /// Shows a line of news for ``noticeStay``, whatever else is seen.
    package mutating func show(notice text: String, at time: HostTime) {
        notice = (text, time)
        fades.notice.go(to: true, at: time)
    }

    // MARK: Time

    /// Does what is due at `time`.
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

    /// When the controls go by themselves; nil while they stay.
    var hideTime: HostTime? {
        guard isShown, now.status == .playing, !now.hasEnded else { return nil }
        let quiet = max(lastTouch, playingSince ?? lastTouch) + (isSelecting ? Self.selectionStay : Self.stay)
        return fingers.values.max().map { max(quiet, $0 + Self.ghostTimeout) } ?? quiet
    }

    /// Whether the list of subtitles and sound is open.
    var isSelecting: Bool { selection != nil && fades.selection.target == 1 }

    /// Whether a finger holds the slider.
    var isSliding: Bool { press?.control == .slider }

    /// Whether the wheel is due.
    func spins(at time: HostTime) -> Bool {
        guard settings.mode == .full, settings.theme.parts.contains(.spinner), !isSliding, let waitingSince else { return false }
        return time - waitingSince >= Self.spinnerDelay
    }

    /// Has everything fade to what is to be seen.
    mutating func follow(at time: HostTime) {
        if !isShown { closeSelection(at: time) }
        let spins = spins(at: time), hasSign = sign != nil && fades.sign.target == 1
        fades.bars.go(to: isShown, at: time)
        fades.spinner.go(to: spins, at: time)
        let isCovered = toastSince != nil && layout?.toastCoversMiddle == true
        fades.middle.go(to: isShown && !isSliding && !isSelecting && !spins && !hasSign && !isCovered, at: time)
        fades.toast.go(to: toastSince != nil, at: time)
        // Beneath a finger it is there at once.
        if isSliding { fades.preview.jump(to: true) } else { fades.preview.go(to: false, at: time) }
        if fades.preview.value(at: time) == 0 { previewPicture = nil }
        if fades.sign.target == 0, !fades.sign.isUnderWay(at: time) { sign = nil }
        if fades.notice.target == 0, !fades.notice.isUnderWay(at: time) { notice = nil }
        if fades.selection.target == 0, !fades.selection.isUnderWay(at: time) { selection = nil }
    }

    /// Shows the controls, where they are shown at all, for ``stay`` from now on.
    mutating func reveal(at time: HostTime) {
        guard settings.mode == .full else { return }
        lastTouch = max(lastTouch, time)
        isShown = true
    }
}

/// An opacity that goes to 0 or 1 in ``duration``. A pure value.
struct Fade: Hashable, Sendable {
    static let duration = MediaTime.milliseconds(250)

    /// Where it goes.
    private(set) var target = 0.0
    private var origin = 0.0
    private var begin = HostTime(nanoseconds: 0)

    /// Begins to go to 1, or to 0, from where it is; what goes there already goes on.
    mutating func go(to isSeen: Bool, at time: HostTime) {
        let next = isSeen ? 1.0 : 0.0
        if next == target { return }
        (origin, begin) = (value(at: time), time)
        target = next
    }

    /// Is there at once.
    mutating func jump(to isSeen: Bool) {
        target = isSeen ? 1 : 0
        origin = target
    }

    /// How much is seen, 0…1.
    func value(at time: HostTime) -> Double {
        // Half way back takes half the time.
        let length = Self.duration.seconds * abs(target - origin)
        if length <= 0 { return target }
        let part = min(max((time - begin).seconds / length, 0), 1)
        return origin + (target - origin) * part
    }

    /// Whether it changes after `time`.
    func isUnderWay(at time: HostTime) -> Bool { value(at: time) != target }
}
