import KioskPlayback
import KioskVocabulary

/// The positions of all parts on the screen. A pure value: the screen, the parts and the content in, rectangles in pixels out.
///
/// All lengths are millimetres of screen until the last step. A target is at least ``leastTarget`` across and down, whatever its icon, and
/// no two overlap. There are two forms. The wide one has everything in one row along the bottom. On a screen narrower than ``narrowWidth``,
/// the slider has a row of its own above the times. The layout leaves out parts that do not fit beside the slider. The volume bar goes
/// first, then the buttons for the previous and next item. On a low screen the discs in the middle become smaller.
package struct ControlsLayout: Hashable, Sendable {
    /// The content that a layout depends on besides the screen.
    package struct Content: Hashable, Sendable {
        /// The parts to draw.
        package var parts = Theme().parts
        /// The controls that act. The slider and the times are drawn even if they do not act; buttons are not.
        package var allowed = Set(Control.allCases)
        /// Whether the playlist has other items.
        package var hasQueue = true
        /// Whether the item has a duration: a slider, and a time at its end.
        package var hasDuration = true
        /// Whether there is a shelf to open.
        package var hasShelf = false
        /// Whether the item has subtitles, or several sound tracks.
        package var hasSelection = false
        /// Whether there is a button ``Control/back``.
        package var hasBack = false
        /// The number of characters of the longest time shown: 4 for 9:59, 7 for 1:00:00.
        package var timeLength = 4

        /// Returns whether a button is drawn: a button that does not act is not.
        fileprivate func draws(_ control: Control) -> Bool { control.part.map(parts.contains) ?? true && allowed.contains(control) }
    }

    /// A round part.
    struct Disc: Hashable, Sendable {
        /// The centre, and the diameter.
        var x: Int, y: Int, diameter: Int

        static let empty = Disc(x: 0, y: 0, diameter: 1)
    }

    /// A bar to drag along: the section that stands for 0…1.
    struct Track: Hashable, Sendable {
        var left: Int, right: Int, y: Int

        /// Returns the fraction at a horizontal position.
        func fraction(at x: Double) -> Double { min(max((x - Double(left)) / Double(max(1, right - left)), 0), 1) }
    }

    static let margin = 6.0, leastTarget = 9.0, narrowWidth = 130.0
    static let titleSize = 5.2, placeSize = 4.2, timeSize = 4.4
    static let discSize = 24.0, narrowDiscSize = 22.0, skipSize = 16.0, narrowSkipSize = 14.0, spinnerSize = 22.0
    static let barSize = 1.0, heldBarSize = 1.5, knobSize = 4.2, heldKnobSize = 6.8, iconSize = 5.2, volumeLength = 22.0
    static let toastSize = (width: 64.0, height: 13.0), noticeSize = (width: 110.0, height: 12.0),
        previewSize = (width: 34.0, height: 19.0), previewDistance = 8.0
    static let scrimHeights = (top: 26.0, bottom: 42.0)
    /// The height of targets at the top, from half the margin.
    static let topTarget = 11.0
    /// The shortest slider that has a volume bar beside it.
    static let leastSlider = 60.0
    /// How far a finger may leave a target and still count as on it.
    static let slop = 5.0

    package let geometry: ScreenGeometry
    package let isNarrow: Bool
    private var targets: [Control: PixelRectangle] = [:]

    private(set) var title: PixelRectangle?, place: PixelRectangle?
    private(set) var elapsed: PixelRectangle?, remaining: PixelRectangle?
    private(set) var slider: Track?, volume: Track?
    /// The discs in the middle, and the icons of the bottom bar.
    private(set) var discs: [Control: Disc] = [:], icons: [Control: Disc] = [:]
    private(set) var topScrim = PixelRectangle.empty, bottomScrim = PixelRectangle.empty
    private(set) var spinner = Disc.empty
    /// The signs for the effect of a gesture: in the middle, and in the left and right thirds.
    private(set) var sign = Disc.empty, leftSign = Disc.empty, rightSign = Disc.empty
    private(set) var toast = PixelRectangle.empty, toastBelowTitle = PixelRectangle.empty
    /// The height of the parts at the bottom.
    private(set) var bottomBar = 0
    /// A line of news, below all of these.
    private(set) var notice = PixelRectangle.empty
    /// The slider's preview: its size without the border, and its upper edge.
    private(set) var preview = PixelRectangle.empty

    package init(geometry: ScreenGeometry, content: Content = Content()) {
        self.geometry = geometry
        isNarrow = geometry.millimetres.width < Self.narrowWidth
        placeAlongEdges(content)
        let barTop = placeBottomBar(content)
        bottomBar = geometry.height - geometry.pixel(barTop)
        placeMiddle(content, above: barTop)
    }

    // MARK: From millimetres to pixels

    private func disc(_ x: Double, _ y: Double, _ diameter: Double) -> Disc {
        Disc(x: geometry.pixel(x), y: geometry.pixel(y), diameter: geometry.pixels(diameter))
    }

    private func track(_ left: Double, _ right: Double, _ y: Double) -> Track {
        Track(left: geometry.pixel(left), right: geometry.pixel(right), y: geometry.pixel(y))
    }

    // MARK: Positions

    private mutating func placeAlongEdges(_ content: Content) {
        let (width, height) = geometry.millimetres
        let margin = Self.margin
        // Limits the scrims, so that a low screen has more picture than shade.
        topScrim = geometry.box(0, 0, width, min(Self.scrimHeights.top, height * 0.25))
        let bottomHeight = min(Self.scrimHeights.bottom, height * 0.4)
        bottomScrim = geometry.box(0, height - bottomHeight, width, bottomHeight)
        var (left, right) = (margin, width - margin)
        if content.hasBack, content.draws(.back) {
            icons[.back] = disc(left + 3, margin + 3, Self.iconSize)
            targets[.back] = geometry.box(left - 3, margin - 3, 12, Self.topTarget)
            left += 12
        }
        let buttons = [(Control.shelf, content.hasShelf), (.subtitles, content.hasSelection), (.rotate, true)]
        for (control, isThere) in buttons where isThere && content.draws(control) {
            icons[control] = disc(right - 3, margin + 3, Self.iconSize)
            targets[control] = geometry.box(right - 9, margin - 3, 12, Self.topTarget)
            right -= 12
        }
        if content.parts.contains(.title) {
            let placeWidth = content.hasQueue ? 22.0 : 0
            title = geometry.box(left, margin - 1, right - left - placeWidth, 8)
            if content.hasQueue { place = geometry.box(right - placeWidth, margin - 1, placeWidth, 8) }
        }
        let toastWidth = min(Self.toastSize.width, width - 2 * margin)
        toast = geometry.box((width - toastWidth) / 2, margin, toastWidth, Self.toastSize.height)
        toastBelowTitle = geometry.box((width - toastWidth) / 2, margin + 9, toastWidth, Self.toastSize.height)
        let noticeWidth = min(Self.noticeSize.width, width - 2 * margin)
        notice = geometry.box((width - noticeWidth) / 2, margin + 10 + Self.toastSize.height, noticeWidth, Self.noticeSize.height)
        let signSize = min(Self.discSize, height - 2, width / 3 - 2)
        sign = disc(width / 2, height / 2, signSize)
        leftSign = disc(width / 6, height / 2, signSize)
        rightSign = disc(width * 5 / 6, height / 2, signSize)
    }

    /// Places the parts at the bottom, from the ends inwards. Returns the top of their targets.
    private mutating func placeBottomBar(_ content: Content) -> Double {
        let (width, height) = geometry.millimetres
        let margin = Self.margin
        let sliderY = height - margin - (isNarrow ? 14 : 4.5)
        let rowY = isNarrow ? sliderY + 8 : sliderY
        // The targets of the row and of the slider, top and bottom.
        let row = isNarrow ? (top: sliderY + 3.6, bottom: sliderY + 13.2) : (top: sliderY - 6, bottom: sliderY + 6)
        let sliderRow = isNarrow ? (top: sliderY - 6, bottom: sliderY + 3.6) : row
        func target(_ left: Double, _ length: Double, in row: (top: Double, bottom: Double)) -> PixelRectangle {
            geometry.box(left, row.top, length, row.bottom - row.top)
        }

        let hasSlider = content.parts.contains(.slider) && content.hasDuration
        let hasTimes = content.parts.contains(.times)
        let hasRemaining = hasTimes && content.hasDuration
        let timeWidth = Self.width(ofTime: content.timeLength)
        let remainingWidth = hasRemaining ? timeWidth + 0.7 * Self.timeSize : 0
        var (left, right) = (margin, width - margin)
        // The free length between the times; if all parts share a row, the slider takes its share.
        var free = right - left - (hasTimes ? timeWidth + 4 : 0) - (hasRemaining ? remainingWidth + 4 : 0)
        if hasSlider, !isNarrow { free -= Self.leastSlider }
        func fits(_ length: Double) -> Bool {
            if free < length { return false }
            free -= length
            return true
        }
        let hasMute = content.draws(.mute) && fits(10)
        let hasItems = content.draws(.nextItem) && content.hasQueue && fits(20)
        let hasVolume = content.draws(.volume) && fits(Self.volumeLength + 5)

        if hasVolume {
            volume = track(right - Self.volumeLength, right, rowY)
            targets[.volume] = target(right - Self.volumeLength - 2.5, Self.volumeLength + 5, in: row)
            right -= Self.volumeLength + 2.5
        }
        if hasMute {
            // Its left half is heavier: it stands 3 mm from the margin, and its target reaches beyond that.
            icons[.mute] = disc(right - (hasVolume ? 5 : 3), rowY, Self.iconSize)
            targets[.mute] = target(right - (hasVolume ? 10 : 8), 10, in: row)
            right -= hasVolume ? 10 : 8
        }
        if hasItems {
            for control in [Control.nextItem, .previousItem] {
                icons[control] = disc(right - 5, rowY, Self.iconSize)
                targets[control] = target(right - 10, 10, in: row)
                right -= 10
            }
        }
        if hasMute || hasItems { right -= 2 }
        if hasTimes {
            elapsed = geometry.box(left, rowY - 4, timeWidth, 8)
            left += timeWidth + 4
        }
        if hasRemaining {
            remaining = geometry.box(right - remainingWidth, rowY - 4, remainingWidth, 8)
            if content.allowed.contains(.remaining) {
                targets[.remaining] = target(right - remainingWidth - 1, remainingWidth + 2, in: row)
            }
            right -= remainingWidth + 4
        }
        if hasSlider {
            if isNarrow { (left, right) = (margin, width - margin) }
            slider = track(left, right, sliderY)
            if content.allowed.contains(.slider) { targets[.slider] = target(left - 2.5, right - left + 5, in: sliderRow) }
        }
        let previewWidth = min(Self.previewSize.width, width - 2 * margin)
        preview = geometry.box(0, sliderY - Self.previewDistance - Self.previewSize.height, previewWidth, Self.previewSize.height)
        return sliderRow.top
    }

    /// Places the discs between the title and the bottom bar.
    private mutating func placeMiddle(_ content: Content, above barTop: Double) {
        let (width, height) = geometry.millimetres
        // Below the title, and below the targets beside it.
        let (top, bottom) = (Self.margin + (hasTopButtons ? Self.topTarget - 3 : 7), barTop - 1)
        let skip = min(isNarrow ? Self.narrowSkipSize : Self.skipSize, bottom - top)
        let gap = min(isNarrow ? 26 : 36, width / 2 - Self.margin / 2 - skip / 2)
        let size = min(isNarrow ? Self.narrowDiscSize : Self.discSize, bottom - top, 2 * (gap - skip / 2 - 1))
        let y = max(min(height / 2, bottom - size / 2), top + size / 2)
        func button(_ control: Control, _ x: Double, _ diameter: Double) -> (Disc, PixelRectangle) {
            let target = max(diameter, Self.leastTarget)
            return (disc(x, y, diameter), geometry.box(x - target / 2, y - target / 2, target, target))
        }
        var buttons: [(Control, x: Double, size: Double)] = []
        if content.draws(.playPause) { buttons.append((.playPause, width / 2, size)) }
        if content.draws(.skipBack), content.hasDuration {
            buttons += [(.skipBack, width / 2 - gap, skip), (.skipForward, width / 2 + gap, skip)]
        }
        for (control, x, size) in buttons { (discs[control], targets[control]) = button(control, x, size) }
        spinner = disc(width / 2, y, min(Self.spinnerSize, size))
    }

    /// Returns the width of a time with this number of characters; every third from the end is a colon. A digit is 0.66 em wide and a colon
    /// 0.36, in the widest of the usual fonts.
    private static func width(ofTime length: Int) -> Double {
        let colons = max(1, (length - 1) / 3)
        return max((Double(length - colons) * 0.66 + Double(colons) * 0.36) * timeSize, leastTarget - 2)
    }

    /// Whether the toast below the title would cover the discs, on a low screen.
    var toastCoversMiddle: Bool {
        discs.values.contains { $0.y - $0.diameter / 2 < toastBelowTitle.y + toastBelowTitle.height }
    }

    /// Whether there are buttons beside the title.
    var hasTopButtons: Bool { [Control.shelf, .subtitles, .rotate, .back].contains { targets[$0] != nil } }

    /// The controls with a target.
    package var controls: Set<Control> { Set(targets.keys) }

    /// Returns the target of a control.
    package func target(of control: Control) -> PixelRectangle? { targets[control] }

    /// Returns the control at a position, 0…1 from the left and from the top.
    package func control(atX x: Double, y: Double) -> Control? {
        targets.first { $0.value.contains(x * Double(geometry.width), y * Double(geometry.height), slop: 0) }?.key
    }

    /// Returns whether a finger that went down on `control` is still on it, at a position.
    func isOn(_ control: Control, atX x: Double, y: Double) -> Bool {
        targets[control]?.contains(x * Double(geometry.width), y * Double(geometry.height), slop: Self.slop * geometry.density) ?? false
    }
}

extension PixelRectangle {
    fileprivate static let empty = PixelRectangle(x: 0, y: 0, width: 1, height: 1)

    fileprivate func contains(_ px: Double, _ py: Double, slop: Double) -> Bool {
        px >= Double(x) - slop && px < Double(x + width) + slop && py >= Double(y) - slop && py < Double(y + height) + slop
    }
}
