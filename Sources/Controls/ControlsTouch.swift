import KioskInputCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary

// Fingers and keys.
extension ControlsState {
    /// The origin of a command.
    enum Origin {
        case control, gesture, key
        /// The item's own action on a tap.
        case item
    }

    /// Takes the next event of a device.
    package mutating func handle(_ event: InputEvent) -> [TimedCommand] {
        let time = event.time
        lastInput = max(lastInput ?? time, time)
        var requests: [TimedCommand] = []
        switch event {
        case .key(let key):
            let asked = keys.update(key)
            requests = select(key) ?? asked.flatMap { perform($0.command, .key, at: $0.time) }
        case .contact(let contact): requests = touch(contact)
        }
        follow(at: time)
        return requests
    }

    /// The time at which a key or a finger has been held long enough; nil if none is held.
    package var inputDeadline: HostTime? { ([keys.nextDeadline] + gestures.values.map(\.nextDeadline)).compactMap { $0 }.min() }

    /// Handles the deadlines of held keys and fingers at `time`.
    package mutating func expire(at time: HostTime) -> [TimedCommand] {
        var requests = keys.expire(at: time).flatMap { perform($0.command, .key, at: $0.time) }
        for device in gestures.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            let deadline = gestures[device]?.nextDeadline ?? time
            let due = gestures[device]?.expire(at: time) ?? []
            report(due)
            for gesture in due { requests += perform(gesture, at: deadline) }
        }
        follow(at: time)
        return requests
    }

    /// Takes a command from elsewhere.
    package mutating func ask(_ command: Command, at time: HostTime) -> [TimedCommand] {
        let requests = perform(command, .item, at: time)
        follow(at: time)
        return requests
    }

    /// Carries out the command for the end of the idle time.
    package mutating func beIdle(_ command: Command, at time: HostTime) -> [TimedCommand] {
        isShown = false
        let requests = perform(command, .item, at: time)
        follow(at: time)
        return requests
    }

    /// Releases all fingers, because the shelf takes touches from now on.
    mutating func letGo(at time: HostTime) -> [TimedCommand] {
        let requests = press.map { end($0, at: time, acts: false) } ?? []
        (press, fingers, ignored, gestures, isShown) = (nil, [:], [], [:], false)
        follow(at: time)
        return requests
    }

    /// Handles a key while the shelf takes keys: only commands that do not concern these controls' display act.
    mutating func overhear(_ key: KeyEvent, isTaken: Bool) -> [TimedCommand] {
        let asked = keys.update(key)
        return isTaken
            ? []
            : asked.filter { asked in
                switch asked.command {
                case .toggleShelf, .rotate, .program(.quit): true
                case .player(.changeVolume), .player(.setVolume), .player(.toggleMute): true
                default: false
                }
            }
    }

    // MARK: Fingers

    private mutating func touch(_ event: ContactEvent) -> [TimedCommand] {
        let finger = Finger(device: event.device, contact: event.contact.id)
        let isEnd = event.phase == .up || event.phase == .cancelled
        let isFirst = !fingers.contains { $0.key.device == event.device && event.time - $0.value < Self.ghostTimeout }
        fingers[finger] = isEnd ? nil : event.time
        lastTouch = max(lastTouch, event.time)

        if let press, press.finger == finger { return follow(press, event) }
        if ignored.contains(finger) {
            if isEnd { ignored.remove(finger) }
            return []
        }
        if let requests = select(event, finger) { return requests }
        if event.phase == .down {
            if let press, press.finger.device == event.device {
                // A finger of the hand that holds a control.
                ignored.insert(finger)
                return []
            }
            if isFirst, let control = control(beneath: event) { return begin(control, finger, event) }
        }
        var recognizer = gestures.removeValue(forKey: event.device) ?? GestureRecognizer(recognized)
        let found = recognizer.update(event)
        gestures[event.device] = recognizer
        report(found)
        return found.flatMap { tap($0, beneath: event) ?? perform($0, at: event.time) }
    }

    /// The gestures to look for: those with a command. If gestures are reported, all but those that would take the place of a drag.
    private var recognized: Set<GestureName> {
        let bound = Set(settings.gestures.keys)
        return settings.reports ? bound.union(GestureName.allCases).subtracting(bound.contains(.volumeDrag) ? [] : [.volumeDrag]) : bound
    }

    private mutating func report(_ gestures: [Gesture]) { if settings.reports { reports += gestures.map { .gesture($0) } } }

    /// Returns the command of the zone that a tap hits; nil for other gestures or places.
    private func tap(_ gesture: Gesture, beneath event: ContactEvent) -> [TimedCommand]? {
        let contact = event.contact
        switch gesture {
        case .tap, .doubleTap: break
        default: return nil
        }
        guard settings.mayTap, contact.surface == .display,
            let zone = settings.zones.last(where: { $0.region.contains(contact.x, contact.y) }),
            zone.takesTaps
        else { return nil }
        return [TimedCommand(.program(.zone(zone.name, .tap)), at: event.time)]
    }

    /// Returns the control on which a finger goes down. Contacts that are not on the display have none; controls that fade out take no
    /// touches.
    private func control(beneath event: ContactEvent) -> Control? {
        guard isShown, event.contact.surface == .display, press == nil, let layout else { return nil }
        // The second touch of a double tap does not touch a control that the first has revealed.
        if let shownByTap, event.time - shownByTap < GestureRecognizer.doubleTapPause { return nil }
        guard let control = layout.control(atX: event.contact.x, y: event.contact.y) else { return nil }
        let isOfMiddle = control == .playPause || control == .skipBack || control == .skipForward
        return isOfMiddle && fades.middle.target == 0 ? nil : control
    }

    private mutating func begin(_ control: Control, _ finger: Finger, _ event: ContactEvent) -> [TimedCommand] {
        var press = Press(finger: finger, control: control)
        press.value = value(of: control, at: event)
        self.press = press
        return dragged(press, at: event.time)
    }

    private mutating func follow(_ held: Press, _ event: ContactEvent) -> [TimedCommand] {
        var press = held
        switch event.phase {
        case .down, .move:
            press.isOn = layout?.isOn(press.control, atX: event.contact.x, y: event.contact.y) ?? false
            press.value = value(of: press.control, at: event)
            self.press = press
            return press.value == held.value ? [] : dragged(press, at: event.time)
        case .up, .cancelled:
            self.press = nil
            return end(press, at: event.time, acts: event.phase == .up && press.isOn)
        }
    }

    /// Returns a finger's position on a slider, in whole pixels: nothing changes between two pixels.
    private func value(of control: Control, at event: ContactEvent) -> Double? {
        guard let layout, let track = control == .slider ? layout.slider : control == .volume ? layout.volume : nil else { return nil }
        return track.fraction(at: (event.contact.x * Double(layout.geometry.width)).rounded())
    }

    private mutating func dragged(_ press: Press, at time: HostTime) -> [TimedCommand] {
        guard let value = press.value else { return [] }
        switch press.control {
        case .slider: return [TimedCommand(.player(.scrub(now.time(at: value))), at: time)]
        case .volume:
            // A viewer who changes the volume wants to hear it.
            let unmutes = now.isMuted && value > 0
            if unmutes { now.isMuted = false }
            return (unmutes ? [TimedCommand(.player(.toggleMute), at: time)] : []) + [
                TimedCommand(.player(.setVolume(Int((value * 100).rounded()))), at: time)
            ]
        default: return []
        }
    }

    /// Ends a press. `acts`: the finger was lifted on its control.
    mutating func end(_ press: Press, at time: HostTime, acts: Bool) -> [TimedCommand] {
        if press.control == .slider, let value = press.value {
            // Also if the finger is lost: the picture shows its last position.
            now.time = now.time(at: value)
            return [TimedCommand(.player(.endScrub(now.time)), at: time)]
        }
        guard acts else { return [] }
        switch press.control {
        case .playPause: return perform(.player(.togglePlayback), .control, at: time)
        case .skipBack: return perform(.player(.seekSteps(-1)), .control, at: time)
        case .skipForward: return perform(.player(.seekSteps(1)), .control, at: time)
        case .previousItem: return perform(.player(.previousItem), .control, at: time)
        case .nextItem: return perform(.player(.nextItem), .control, at: time)
        case .mute: return perform(.player(.toggleMute), .control, at: time)
        case .shelf: return perform(.toggleShelf, .control, at: time)
        case .subtitles:
            openSelection(at: time)
            return []
        case .rotate:
            if settings.reports { reports.append(.button(.rotate)) }
            return settings.rotatesDisplay ? perform(.rotate(nil), .control, at: time) : []
        case .back:
            if settings.reports { reports.append(.button(.back)) }
            return []
        case .remaining:
            showsTotal.toggle()
            return []
        case .slider, .volume: return []
        }
    }

    /// Ignores the finger of a press until it is lifted.
    mutating func drop(_ press: Press) {
        if fingers[press.finger] != nil { ignored.insert(press.finger) }
        self.press = nil
    }

    // MARK: The list of subtitles and sound

    private mutating func openSelection(at time: HostTime) {
        guard let layout else { return }
        selection = MediaSelectionPanel(now.selectionGroups, over: layout, at: time)
        fades.selection.go(to: true, at: time)
    }

    /// Closes the list, if it is open. It stays visible while it fades, and takes no input.
    mutating func closeSelection(at time: HostTime) {
        guard isSelecting else { return }
        dropSelectionTouch(at: time)
        fades.selection.go(to: false, at: time)
    }

    /// Ignores the finger on the list until it is lifted.
    mutating func dropSelectionTouch(at time: HostTime) {
        guard let finger = selection?.drop(at: time), fingers[finger] != nil else { return }
        ignored.insert(finger)
    }

    /// Updates the list after a change of the item's tracks or the screen.
    mutating func updateSelection(_ hasChanged: Bool, at time: HostTime) {
        guard isSelecting else { return }
        guard let layout, layout.target(of: .subtitles) != nil else { return closeSelection(at: time) }
        if !hasChanged { return }
        let finger = selection?.touch?.finger
        selection?.update(now.selectionGroups, over: layout, at: time)
        // The list has dropped the finger.
        if let finger, selection?.touch == nil, fingers[finger] != nil { ignored.insert(finger) }
    }

    /// Passes a finger's event to the list. Returns nil if the list is not open, or if the finger was down before.
    private mutating func select(_ event: ContactEvent, _ finger: Finger) -> [TimedCommand]? {
        guard isSelecting, event.phase == .down || selection?.touch?.finger == finger, let outcome = selection?.handle(event, finger) else {
            return nil
        }
        if event.phase == .down, selection?.touch?.finger != finger { ignored.insert(finger) }
        return carryOut(outcome, at: event.time)
    }

    /// Passes a key to the list. Returns nil if the list is not open, or if it does not use the key.
    private mutating func select(_ key: KeyEvent) -> [TimedCommand]? {
        guard isSelecting, let outcome = selection?.handle(key) else { return nil }
        lastTouch = max(lastTouch, key.time)
        return carryOut(outcome, at: key.time)
    }

    private mutating func carryOut(_ outcome: MediaSelectionPanel.Outcome, at time: HostTime) -> [TimedCommand] {
        if outcome == .nothing { return [] }
        closeSelection(at: time)
        guard case .choose(let kind, let choice) = outcome else { return [] }
        return perform(.player(kind == .audio ? .selectAudioTrack(choice) : .selectSubtitleTrack(choice)), .control, at: time)
    }

    // MARK: Gestures

    private mutating func perform(_ gesture: Gesture, at time: HostTime) -> [TimedCommand] {
        switch gesture {
        case .drag: return []
        case .tap: return tap(at: time)
        case .doubleTap: return doubleTap(gesture, at: time)
        case .swipe, .longPress, .twoFingerTap, .volumeDrag, .edgeSwipe:
            return gesture.command(settings.gestures).map { perform($0, .gesture, at: time) } ?? []
        }
    }

    /// Handles a tap beside the controls.
    private mutating func tap(at time: HostTime) -> [TimedCommand] {
        tapToggled = false
        if settings.mayTap, let command = now.onTap {
            tapToggled = command == .player(.togglePlayback)
            return perform(command, .item, at: time)
        }
        if settings.mayTap, now.waitsForTap { return perform(.player(.waitEnded), .item, at: time) }
        // If taps and controls are locked, shows none.
        guard let command = settings.gestures[.tap] else {
            if settings.mayTap || !settings.allowed.isEmpty { revealByTap(at: time) }
            return []
        }
        tapToggled = command == .player(.togglePlayback)
        if command == .toggleControls, isShown {
            isShown = false
            return []
        }
        revealByTap(at: time)
        return command == .toggleControls ? [] : perform(command, .gesture, at: time)
    }

    private mutating func revealByTap(at time: HostTime) {
        if !isShown { shownByTap = time }
        reveal(at: time)
    }

    /// Handles a double tap on the left or on the right. The first tap has taken effect: undoes that.
    private mutating func doubleTap(_ gesture: Gesture, at time: HostTime) -> [TimedCommand] {
        guard let command = gesture.command(settings.gestures) else { return tap(at: time) }
        var requests: [TimedCommand] = []
        if tapToggled { requests = perform(.player(.togglePlayback), .gesture, at: time) }
        tapToggled = false
        return requests + perform(command, .gesture, at: time)
    }

    // MARK: Commands

    /// Requests a command, and shows its visible effect.
    private mutating func perform(_ command: Command, _ origin: Origin, at time: HostTime) -> [TimedCommand] {
        switch command {
        case .showControls:
            reveal(at: time)
            return []
        case .hideControls:
            isShown = false
            return []
        case .toggleControls:
            if isShown { isShown = false } else { reveal(at: time) }
            return []
        case .toggleShelf: isShown = false
        case .rotate, .program: break
        case .player(let player): show(player, origin, at: time)
        }
        return [TimedCommand(command, at: time)]
    }

    /// Shows the visible effect of a command to the player.
    private mutating func show(_ command: PlayerCommand, _ origin: Origin, at time: HostTime) {
        switch command {
        case .togglePlayback: setPlaying(now.status == .paused, origin, at: time)
        case .play: setPlaying(true, origin, at: time)
        case .pause: setPlaying(false, origin, at: time)
        case .changeVolume, .setVolume, .toggleMute, .setMuted:
            if origin != .control, settings.mode == .full, settings.theme.parts.contains(.toast) { toastSince = time }
            return
        case .nextSubtitleTrack:
            // Its effect may be visible much later: with the next line.
            guard origin == .key || origin == .gesture, settings.mode == .full, settings.theme.parts.contains(.toast) else { return }
            if let text = now.nextSubtitleNotice { show(notice: text, at: time) }
            return
        case .seekSteps(let count): signSeek(settings.seekStep.seconds * Double(count), origin, at: time)
        case .seekBy(let span): signSeek(span.seconds, origin, at: time)
        case .seekTo, .nextItem, .previousItem, .selectItem, .restartItem, .restartPlaylist, .setRate, .selectChapter, .skipChapters: break
        default: return
        }
        if origin != .item { reveal(at: time) }
    }

    /// Updates the status at once: the display does not wait for the player's report.
    private mutating func setPlaying(_ plays: Bool, _ origin: Origin, at time: HostTime) {
        let isChange = plays == (now.status == .paused)
        if isChange {
            outdated = (now.status, time + Self.answerTimeout)
            now.status = plays ? .playing : .paused
            now.hasEnded = false
            playingSince = plays ? time : nil
            waitingSince = nil
        }
        if settings.mode == .tapOnly, origin != .item { show(.plays(plays), at: time) }
    }

    /// Shows the distance of a seek, summed up while the sign stays. The buttons need no sign: they show the distance themselves.
    private mutating func signSeek(_ seconds: Double, _ origin: Origin, at time: HostTime) {
        guard origin == .gesture || origin == .key, settings.mode == .full, settings.theme.parts.contains(.toast), now.isSeekable else {
            return
        }
        var sum = Int(saturating: min(max(seconds, -86400), 86400))
        if case (.seek(let before), _)? = sign, (before < 0) == (sum < 0), fades.sign.target == 1 { sum += before }
        show(.seek(seconds: sum), at: time)
    }

    private mutating func show(_ sign: Sign, at time: HostTime) {
        self.sign = (sign, time)
        // A reaction to a finger appears at once.
        fades.sign.jump(to: true)
    }
}
