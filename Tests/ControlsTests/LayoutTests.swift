import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskControlsCore

@Suite struct LayoutTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var geometry: ScreenGeometry
        var isNarrow: Bool
        /// Pixels per millimetre.
        var density: Double
    }

    private static func row(
        _ name: String, _ width: Int, _ height: Int, _ size: (Double, Double)?, isNarrow: Bool = false, density: Double
    ) -> Row {
        let geometry = ScreenGeometry(width: width, height: height, physicalWidth: size?.0, physicalHeight: size?.1)
        return Row(testDescription: name, geometry: geometry, isNarrow: isNarrow, density: density)
    }

    private static let rows: [Row] = [
        row("7\" 1280x720", 1280, 720, (154, 87), density: 8.3),
        row("7\" 800x480", 800, 480, (154, 92), density: 5.2),
        row("7\" upright", 480, 800, (92, 154), isNarrow: true, density: 5.2),
        row("7\" 1080p", 1920, 1080, (155, 87), density: 12.4),
        row("10\" 1280x800", 1280, 800, (217, 136), density: 5.9),
        row("24\" 1080p", 1920, 1080, (531, 299), density: 3.6),
        row("24\" upright", 1080, 1920, (299, 531), density: 3.6),
        row("27\" 4K", 3840, 2160, (597, 336), density: 6.4),
        row("65\" 4K: text would be 11 px high", 3840, 2160, (1439, 809), density: 3.3),
        row("65\" 1080p: likewise", 1920, 1080, (1439, 809), density: 3.3),
        row("65\" 4K upright", 2160, 3840, (809, 1439), density: 3.3),
        row("5\" 800x480", 800, 480, (108, 65), isNarrow: true, density: 7.4),
        row("4.3\" 480x272", 480, 272, (95, 54), isNarrow: true, density: 5.05),
        row("3.5\" 480x320: nothing would fit", 480, 320, (73, 49), isNarrow: true, density: 6.4),
        row("a bar, 1920x360", 1920, 360, (475, 89), density: 4.04),
        row("upright bar, 360x1920", 360, 1920, (89, 475), isNarrow: true, density: 4.04),
        row("unknown: 800x480 counts as 7\"", 800, 480, nil, density: 5.2),
        row("unknown: 1280x800 counts as 10\"", 1280, 800, nil, density: 5.9),
        row("unknown: 1080p counts as 24\"", 1920, 1080, nil, density: 3.6),
        row("unknown: 4K counts as 43\"", 3840, 2160, nil, density: 4.0),
        row("nonsense counts as unknown", 1920, 1080, (0, -3), density: 3.6),
        row("not a number", 1920, 1080, (.nan, 299), density: 3.6),
    ]

    @Test(arguments: rows) func `millimetres become pixels`(_ row: Row) {
        #expect(abs(row.geometry.density - row.density) < 0.06, "\(row.geometry.density)")
        #expect(ControlsLayout(geometry: row.geometry).isNarrow == row.isNarrow)
    }

    /// Every kind of content: times of all lengths, a single item and a list, a live stream.
    private static let contents: [ControlsLayout.Content] = [4, 5, 7, 8].flatMap { length in
        [true, false].flatMap { queue in
            [true, false].map { ControlsLayout.Content(hasQueue: queue, hasDuration: $0, hasSelection: queue, timeLength: length) }
        }
    }

    @Test(arguments: rows) func `targets are nine millimetres or more, on the geometry, and do not overlap`(_ row: Row) {
        let geometry = row.geometry
        // Rounding may lose a pixel.
        let least = Int((9 * geometry.density).rounded(.down))
        for content in Self.contents {
            let layout = ControlsLayout(geometry: geometry, content: content)
            let targets = layout.controls.map { ($0, layout.target(of: $0)!) }
            for (control, box) in targets {
                #expect(box.width >= least && box.height >= least, "\(control) \(box)")
                #expect(
                    box.x >= 0 && box.y >= 0 && box.x + box.width <= geometry.width && box.y + box.height <= geometry.height,
                    "\(control) \(box)")
                for (other, otherBox) in targets where other != control {
                    let isApart =
                        box.x + box.width <= otherBox.x || otherBox.x + otherBox.width <= box.x || box.y + box.height <= otherBox.y
                        || otherBox.y + otherBox.height <= box.y
                    #expect(isApart, "\(control) \(box) and \(other) \(otherBox)")
                }
            }
        }
    }

    @Test(arguments: rows) func `what is drawn is on the geometry, and a control can be touched where it is drawn`(_ row: Row) {
        for content in Self.contents {
            let layout = ControlsLayout(geometry: row.geometry, content: content)
            let (width, height) = (row.geometry.width, row.geometry.height)
            for box in [layout.title, layout.place, layout.elapsed, layout.remaining, layout.toast, layout.toastBelowTitle].compactMap({
                $0
            }) {
                #expect(box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height, "\(box)")
            }
            for (control, disc) in layout.discs.merging(layout.icons, uniquingKeysWith: { $1 }) {
                #expect(layout.control(atX: Double(disc.x) / Double(width), y: Double(disc.y) / Double(height)) == control)
            }
            if let track = layout.slider {
                #expect(track.right - track.left >= row.geometry.pixels(35), "a slider of \(track.right - track.left) px")
                for x in [track.left, track.right] {
                    #expect(layout.control(atX: Double(x) / Double(width), y: Double(track.y) / Double(height)) == .slider)
                }
            }
            #expect(layout.topScrim.height + layout.bottomScrim.height <= height)
        }
    }

    @Test(arguments: rows) func `discs do not touch each other, nor the title`(_ row: Row) {
        let layout = ControlsLayout(geometry: row.geometry)
        let discs = Array(layout.discs.values)
        for (index, disc) in discs.enumerated() {
            for other in discs[(index + 1)...] { #expect(abs(disc.x - other.x) > (disc.diameter + other.diameter) / 2, "\(disc) \(other)") }
            #expect(disc.y - disc.diameter / 2 >= layout.title!.y + layout.title!.height)
        }
    }

    @Test func `the sizes of the drawing, on geometry that has room for them`() {
        let layout = ControlsLayout(geometry: ScreenGeometry(width: 2000, height: 1200, physicalWidth: 250, physicalHeight: 150))
        #expect(layout.discs[.playPause]?.diameter == 24 * 8)
        #expect(layout.discs[.skipBack]?.diameter == 16 * 8)
        #expect(layout.discs[.playPause]!.x - layout.discs[.skipBack]!.x == 36 * 8)
        #expect(layout.discs[.playPause]!.y == 600)
        #expect(layout.title!.x == 6 * 8)
        #expect(layout.slider!.y == 1200 - Int(10.5 * 8))
        #expect((layout.topScrim.height, layout.bottomScrim.height) == (26 * 8, 42 * 8))
        #expect((layout.preview.width, layout.preview.height) == (34 * 8, 19 * 8))
        #expect((layout.toast.width, layout.toast.height, layout.toast.y) == (64 * 8, 13 * 8, 6 * 8))
        #expect(layout.spinner.diameter == 22 * 8)
        #expect(layout.controls == Set(Control.allCases).subtracting([.shelf, .subtitles, .rotate, .back]))
    }

    @Test func `turned, width and height change places`() {
        let mode = DisplayMode(
            width: 1920, height: 1080, refreshPeriod: .milliseconds(16), name: "", physicalWidth: 531, physicalHeight: 299)
        let upright = ScreenGeometry(mode: mode, rotation: .clockwise90)
        #expect((upright.width, upright.height) == (1080, 1920))
        #expect(upright.density == ScreenGeometry(mode: mode, rotation: .clockwise180).density)
    }

    @Test func `parts that are off are neither drawn nor touched`() {
        for part in ControlsPart.allCases {
            let parts = Set(ControlsPart.allCases).subtracting([part])
            let layout = ControlsLayout(
                geometry: Viewer.desk, content: ControlsLayout.Content(parts: parts, hasShelf: true, hasSelection: true, hasBack: true))
            #expect(layout.controls == Set(Control.allCases.filter { $0.part != part }))
            #expect((layout.title == nil) == (part == .title))
            #expect((layout.elapsed == nil) == (part == .times))
        }
    }

    @Test func `what does not act: buttons are not there, slider and times are only drawn`() {
        let layout = ControlsLayout(geometry: Viewer.desk, content: ControlsLayout.Content(allowed: []))
        #expect(layout.controls == [])
        #expect(layout.discs.isEmpty && layout.icons.isEmpty && layout.volume == nil)
        #expect(layout.slider != nil && layout.remaining != nil)
    }

    @Test func `a fraction of the slider`() {
        let track = ControlsLayout.Track(left: 100, right: 300, y: 0)
        for (x, fraction) in [(0.0, 0.0), (100, 0), (200, 0.5), (250, 0.75), (300, 1), (1000, 1)] {
            #expect(track.fraction(at: x) == fraction)
        }
        #expect(ControlsLayout.Track(left: 5, right: 5, y: 0).fraction(at: 5) == 0)
    }
}
