import KioskPlatform
import KioskPlayback
import KioskVocabulary

// The parts to draw, and the times at which they change by themselves.
extension ControlsState {
    /// Returns the visible parts at `time`, from back to front.
    func parts(at time: HostTime) -> [PlacedPart] {
        guard let geometry else { return [] }
        var list = PartList(opacity: settings.theme.opacity)
        let bars = fades.bars.value(at: time)
        if let layout {
            if bars > 0 { addBars(layout, bars, to: &list) }
            addMiddle(layout, fades.middle.value(at: time), at: time, to: &list)
            let preview = fades.preview.value(at: time)
            if preview > 0, bars > 0 { addPreview(layout, preview, to: &list) }
            let toast = fades.toast.value(at: time)
            if toast > 0 {
                let box = isShown ? layout.toastBelowTitle : layout.toast
                let level = progress ?? (now.isMuted ? 0 : now.volume)
                let icon = progress == nil ? speaker : .copying
                list.add(.toast(width: box.width, height: box.height, level: level, icon: icon), box.x, box.y, toast)
            }
            let selects = fades.selection.value(at: time)
            if selects > 0, let selection {
                list.add(.mediaSelection(selection.picture(at: time)), selection.box.x, selection.box.y, selects)
            }
        }
        let signed = fades.sign.value(at: time)
        if signed > 0, let sign { add(sign.sign, layout ?? ControlsLayout(geometry: geometry), signed, to: &list) }
        return list.parts + noticeParts(at: time)
    }

    /// Returns the line of news, which lies over all other parts at `time`.
    func noticeParts(at time: HostTime) -> [PlacedPart] {
        let seen = fades.notice.value(at: time)
        guard let geometry, let notice, seen > 0 else { return [] }
        var list = PartList(opacity: settings.theme.opacity)
        let box = (layout ?? ControlsLayout(geometry: geometry)).notice
        list.add(.notice(width: box.width, height: box.height, text: notice.text), box.x, box.y, seen)
        return list.parts
    }

    /// Returns whether anything is visible at `time`.
    func isSeen(at time: HostTime) -> Bool { isShown || fades.areUnderWay(at: time) || !parts(at: time).isEmpty }

    /// Returns the parts of the shown controls, to draw them in advance: the first touch then does not wait.
    func partsWhenShown(at time: HostTime) -> [PlacedPart] {
        var shown = self
        shown.fades.bars.jump(to: true)
        shown.fades.middle.jump(to: true)
        return shown.parts(at: time)
    }

    /// Returns the time of the next change without input; nil if there is none.
    func deadline(after time: HostTime) -> HostTime? {
        var due: [HostTime?] = [hideTime]
        if fades.areUnderWay(at: time) { due.append(time + refreshPeriod) }
        for finger in [press?.finger, selection?.touch?.finger] {
            if let changed = finger.flatMap({ fingers[$0] }) { due.append(changed + Self.ghostTimeout) }
        }
        if selection?.scroll.isMoving(at: time) == true { due.append(time + refreshPeriod) }
        if let toastSince, progress == nil { due.append(toastSince + Self.toastStay) }
        if let notice, fades.notice.target == 1 { due.append(notice.since + Self.noticeStay) }
        if let sign, fades.sign.target == 1 { due.append(sign.since + Self.signStay) }
        if spins(at: time) {
            due.append(time + Self.spinnerStep)
        } else if settings.mode == .full, settings.theme.parts.contains(.spinner), let waitingSince {
            due.append(waitingSince + Self.spinnerDelay)
        }
        // While the controls are shown, checks once a second whether the display is still the same.
        if isShown { due += [time + .seconds(1), nextTick(after: time)] }
        return due.compactMap { $0 }.filter { $0 > time }.min()
    }

    /// The steps of the wheel's turn, which takes a second.
    private static let spinnerSteps: Int64 = 12
    private static let spinnerStep = MediaTime(nanoseconds: 1_000_000_000 / spinnerSteps)
    /// The shortest time between two moves of the slider, however short the item is.
    private static let leastTick = MediaTime.milliseconds(50)

    /// Returns the time at which the clock shows the next second, or the knob moves by a pixel.
    private func nextTick(after time: HostTime) -> HostTime? {
        guard now.status == .playing, !isSliding, now.rate > 0, let layout else { return nil }
        let position = max(now.time - now.start, .zero).nanoseconds
        var left = MediaTime(nanoseconds: 1_000_000_000 - position % 1_000_000_000)
        if let track = layout.slider, let length = now.length {
            let pixel = max(length.nanoseconds / Int64(max(1, track.right - track.left)), 1)
            left = min(left, MediaTime(nanoseconds: pixel - position % pixel))
        }
        return time + max(left.scaled(by: 1 / now.rate), Self.leastTick)
    }

    /// The displayed item time: at the finger, if it holds the slider.
    private var shownTime: MediaTime {
        if isSliding, let value = press?.value { return now.time(at: value) }
        return now.time
    }

    private var speaker: Icon { .speaker(waves: now.volume == 0 ? 0 : now.volume < 50 ? 1 : 2, isMuted: now.isMuted) }

    // MARK: The bars

    private func addBars(_ layout: ControlsLayout, _ alpha: Double, to list: inout PartList) {
        let geometry = layout.geometry
        for (box, isTop) in [(layout.topScrim, true), (layout.bottomScrim, false)] {
            if isTop, layout.title == nil, !layout.hasTopButtons { continue }
            list.add(.scrim(width: box.width, height: box.height, isTop: isTop), box.x, box.y, alpha)
        }
        if let box = layout.title {
            list.add(now.title, in: box, size: geometry.pixels(ControlsLayout.titleSize), isBold: true, alpha: alpha)
        }
        if let box = layout.place, let place = now.place {
            let size = geometry.pixels(ControlsLayout.placeSize)
            list.add("\(place) / \(now.count)", in: box, size: size, shade: 85, .trailing, alpha: alpha)
        }
        let size = geometry.pixels(ControlsLayout.timeSize), elapsed = now.elapsed(at: shownTime)
        if let box = layout.elapsed { list.add(NowPlaying.text(elapsed), in: box, size: size, alpha: alpha) }
        if let box = layout.remaining, let total = now.total {
            let text = showsTotal ? NowPlaying.text(total) : "\u{2212}" + NowPlaying.text(max(0, total - elapsed))
            let shade = press?.control == .remaining && press?.isOn == true ? 60 : 85
            list.add(text, in: box, size: size, shade: shade, .trailing, alpha: alpha)
        }
        if let track = layout.slider {
            let length = track.right - track.left
            let played = Int((now.fraction(shownTime) * Double(length)).rounded())
            let loaded = now.bufferedUntil.map { Int((now.fraction($0) * Double(length)).rounded()) } ?? 0
            list.add(track, played, max(loaded, played), isHeld: isSliding, hasKnob: now.isSeekable, isAccented: true, geometry, alpha)
        }
        if let track = layout.volume {
            let level = (track.right - track.left) * (now.isMuted ? 0 : min(max(now.volume, 0), 100)) / 100
            list.add(track, level, level, isHeld: press?.control == .volume, hasKnob: true, isAccented: false, geometry, alpha)
        }
        let signs: [(Control, Icon)] = [
            (.previousItem, .previous), (.nextItem, .next), (.mute, speaker), (.shelf, .shelf), (.rotate, .rotate), (.back, .back),
            (.subtitles, now.hasSubtitles ? .subtitles(areSeen: now.selectedTracks[.subtitle] != nil) : .speech),
        ]
        for (control, icon) in signs {
            guard let place = layout.icons[control] else { continue }
            let area = geometry.pixels(10)
            list.add(
                .icon(icon, size: place.diameter, area: area, isPressed: isPressed(control)), place.x - area / 2, place.y - area / 2, alpha)
        }
    }

    private func isPressed(_ control: Control) -> Bool { press?.control == control && press?.isOn == true }

    // MARK: The middle

    private func addMiddle(_ layout: ControlsLayout, _ alpha: Double, at time: HostTime, to list: inout PartList) {
        let seconds = Int(saturating: min(settings.seekStep.seconds, 100))
        let number = 1...99 ~= seconds && MediaTime.seconds(Double(seconds)) == settings.seekStep ? seconds : nil
        let main: Icon = now.hasEnded ? .replay : now.status == .paused ? .play : .pause
        let buttons: [(Control, Icon)] = [
            (.playPause, main), (.skipBack, .skip(forward: false, seconds: number)), (.skipForward, .skip(forward: true, seconds: number)),
        ]
        if alpha > 0 {
            for (control, icon) in buttons {
                if let disc = layout.discs[control] {
                    list.add(.button(icon, diameter: disc.diameter, isPressed: isPressed(control)), disc, alpha)
                }
            }
        }
        let wheel = fades.spinner.value(at: time)
        if wheel > 0 {
            let since = waitingSince.map { time - $0 } ?? .zero
            let step = Int(since.nanoseconds / Self.spinnerStep.nanoseconds % Self.spinnerSteps)
            let disc = layout.spinner
            list.add(.spinner(diameter: disc.diameter, wheel: disc.diameter * 14 / 22, step: step), disc, wheel)
        }
    }

    private func add(_ sign: Sign, _ layout: ControlsLayout, _ alpha: Double, to list: inout PartList) {
        switch sign {
        case .plays(let plays):
            list.add(.button(plays ? .play : .pause, diameter: layout.sign.diameter, isPressed: false), layout.sign, alpha)
        case .seek(let seconds):
            let disc = seconds < 0 ? layout.leftSign : layout.rightSign
            let number = abs(seconds) <= 999 && seconds != 0 ? abs(seconds) : nil
            list.add(.button(.skip(forward: seconds > 0, seconds: number), diameter: disc.diameter, isPressed: false), disc, alpha)
        }
    }

    // MARK: The preview

    private func addPreview(_ layout: ControlsLayout, _ alpha: Double, to list: inout PartList) {
        guard let track = layout.slider else { return }
        let geometry = layout.geometry
        let knob = track.left + Int((now.fraction(shownTime) * Double(track.right - track.left)).rounded())
        let hasPicture = settings.theme.parts.contains(.preview) && previewPicture != nil
        // Without a picture, the preview is as high as its text.
        let (width, height) = hasPicture ? (layout.preview.width, layout.preview.height) : (geometry.pixels(18), geometry.pixels(8))
        let border = hasPicture ? geometry.pixels(0.5) : 0
        let margin = geometry.pixels(ControlsLayout.margin)
        let left = min(max(knob - width / 2, margin), max(margin, geometry.width - margin - width))
        let top = layout.preview.y + layout.preview.height - height
        let part = Part.preview(
            width: width + 2 * border, height: height + 2 * border, border: border,
            radius: geometry.pixels(hasPicture ? 2 : 4), textSize: geometry.pixels(4),
            text: NowPlaying.text(now.elapsed(at: shownTime)), picture: hasPicture ? previewPicture : nil)
        list.add(part, left - border, top - border, alpha)
    }

    /// The preview wanted for the slider: its source, its item time, and its size in pixels.
    package var wantedPreview: (source: String, time: MediaTime, width: Int, height: Int)? {
        guard isSliding, settings.theme.parts.contains(.preview), let layout, now.item != nil, !now.source.isEmpty else { return nil }
        return (now.source, shownTime, layout.preview.width, layout.preview.height)
    }
}

/// A list of parts under construction.
private struct PartList {
    private(set) var parts: [PlacedPart] = []
    let opacity: Double

    init(opacity: Double) { self.opacity = min(max(opacity, 0), 1) }

    mutating func add(_ part: Part, _ x: Int, _ y: Int, _ alpha: Double) {
        parts.append(PlacedPart(part: part, x: x, y: y, alpha: alpha * opacity))
    }

    /// Adds a part around the centre of a disc.
    mutating func add(_ part: Part, _ disc: ControlsLayout.Disc, _ alpha: Double) {
        add(part, disc.x - disc.diameter / 2, disc.y - disc.diameter / 2, alpha)
    }

    mutating func add(
        _ text: String, in box: PixelRectangle, size: Int, isBold: Bool = false, shade: Int = 100,
        _ alignment: Part.Text.Alignment = .leading,
        alpha: Double
    ) {
        if text.isEmpty { return }
        let part = Part.Text(
            text: text, size: size, isBold: isBold, shade: shade, alignment: alignment, hasEllipsis: isBold, width: box.width,
            height: box.height)
        add(.text(part), box.x, box.y, alpha)
    }

    mutating func add(
        _ track: ControlsLayout.Track, _ played: Int, _ loaded: Int, isHeld: Bool, hasKnob: Bool, isAccented: Bool,
        _ geometry: ScreenGeometry,
        _ alpha: Double
    ) {
        let knob = geometry.pixels(isHeld ? ControlsLayout.heldKnobSize : ControlsLayout.knobSize)
        let inset = geometry.pixels(ControlsLayout.heldKnobSize) / 2 + 1
        let slider = Part.Slider(
            width: track.right - track.left + 2 * inset, height: 2 * inset, inset: inset, played: played, loaded: loaded,
            bar: geometry.pixels(isHeld ? ControlsLayout.heldBarSize : ControlsLayout.barSize), knob: hasKnob ? knob : 0,
            isAccented: isAccented)
        add(.slider(slider), track.left - inset, track.y - inset, alpha)
    }
}
