import Glibc
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskControlsCore

@Suite struct DrawingTests {
    /// Writes pictures to look at: KIOSK_GALLERY=FOLDER swift test --filter DrawingTests.gallery
    @Test(.enabled(if: getenv("KIOSK_GALLERY") != nil)) func gallery() {
        Gallery.write(to: String(cString: getenv("KIOSK_GALLERY")))
    }

    private static func parts(_ state: String, on geometry: ScreenGeometry = Viewer.desk) -> [PlacedPart] {
        Gallery(name: "", geometry: geometry).parts(Gallery.states.first { $0.name == state }!.make)
    }

    @Test func `what has not changed is not drawn again`() {
        var viewer = Viewer(keys: Gallery.keys)
        var drawing = ControlsDrawing(Theme())
        viewer.key("i")
        viewer.wait(.milliseconds(16))
        _ = drawing.overlay(viewer.parts, on: viewer.geometry)
        let first = drawing.drawn
        for _ in 0..<15 {
            viewer.wait(.milliseconds(16))
            _ = drawing.overlay(viewer.parts, on: viewer.geometry)
        }
        #expect(drawing.drawn - first <= 3, "a fade is no drawing; the slider may be a pixel further: \(drawing.drawn - first)")
        let faded = drawing.drawn
        viewer.now.status = .paused
        for _ in 0..<100 {
            viewer.wait(.milliseconds(100))
            _ = drawing.overlay(viewer.parts, on: viewer.geometry)
        }
        #expect(drawing.drawn - faded <= 1, "the button's sign")
    }

    @Test func `what was drawn ahead is there when the controls are shown`() {
        var viewer = Viewer(keys: Gallery.keys)
        viewer.now.status = .paused
        viewer.settle()
        var drawing = ControlsDrawing(Theme())
        drawing.prepare(viewer.state.partsWhenShown(at: viewer.time))
        let ahead = drawing.drawn
        viewer.key("i")
        viewer.wait(.milliseconds(300))
        _ = drawing.overlay(viewer.parts, on: viewer.geometry)
        #expect(ahead > 10 && drawing.drawn == ahead + 2, "all but the two scrims")
    }

    /// The list of subtitles may take one megabyte more; it does on a 7" panel.
    @Test func `no more than eight megabytes at 1080p, on any panel`() {
        for size in [(155.0, 87.0), (344, 194), (531, 299), (1439, 809)] {
            let geometry = ScreenGeometry(width: 1920, height: 1080, physicalWidth: size.0, physicalHeight: size.1)
            for state in Gallery.states {
                var drawing = ControlsDrawing(Theme())
                _ = drawing.overlay(Gallery(name: "", geometry: geometry).parts(state.make), on: geometry)
                let most = state.name.hasPrefix("subtitles") ? 9 : 8
                #expect(drawing.byteCount <= most << 20, "\(state.name) on \(size): \(drawing.byteCount)")
            }
        }
    }

    @Test func `every surface is premultiplied, and what is scrimmed is black`() {
        var drawing = ControlsDrawing(Theme())
        for state in Gallery.states {
            let overlay = drawing.overlay(Self.parts(state.name), on: Viewer.desk)
            for picture in overlay.pictures {
                let isSound = picture.surface.pixels.allSatisfy { pixel in
                    let alpha = pixel >> 24
                    return pixel >> 16 & 255 <= alpha && pixel >> 8 & 255 <= alpha && pixel & 255 <= alpha
                }
                #expect(isSound)
            }
            if state.name == "playing" {
                let scrim = overlay.pictures[1].surface
                #expect(abs(Int(scrim.pixels.last! >> 24) - 184) <= 2, "0.72 at the edge: \(scrim.pixels.last! >> 24)")
                #expect(scrim.pixels[0] >> 24 <= 2)
            }
        }
    }

    /// Returns the range of columns with visible pixels.
    private func ink(_ surface: Surface) -> ClosedRange<Int>? {
        let columns = (0..<surface.width).filter { x in (0..<surface.height).contains { surface.pixels[$0 * surface.width + x] >> 24 > 40 }
        }
        return columns.isEmpty ? nil : columns.first!...columns.last!
    }

    private func text(_ text: String, width: Int = 600, hasEllipsis: Bool = true, font: String = "Inter, sans-serif") -> Surface {
        var theme = Theme()
        theme.font = font
        let drawing = ControlsDrawing(theme)
        return drawing.draw(.text(.init(text: text, size: 24, isBold: true, hasEllipsis: hasEllipsis, width: width, height: 40)))
    }

    @Test func `a title begins where one begins to read`() {
        #expect(ink(text("Autumn in the harbour"))!.lowerBound < 10)
        let arabic = ink(text("الخريف في الميناء"))!
        #expect(arabic.upperBound > 590 && arabic.lowerBound > 300)
        let hebrew = ink(text("סתיו בנמל"))!
        #expect(hebrew.upperBound > 590 && hebrew.lowerBound > 300)
        #expect(ink(text("港の秋"))!.lowerBound < 10)
    }

    @Test func `a title that is too long ends in an ellipsis, whatever it is written in`() {
        for title in ["Autumn ", "港の秋", "الخريف "] {
            let drawn = ink(text(String(repeating: title, count: 100)))!
            #expect(drawn.count > 520 && drawn.upperBound < 600)
        }
    }

    @Test func `a time that is too long is made smaller`() {
        let drawn = ink(text("\u{2212}123:45:67", width: 60, hasEllipsis: false))!
        #expect(drawn.count > 40)
    }

    @Test func `figures are of one width, so that times do not tremble`() {
        let widths = Set("0123456789".map { digit in ink(text("\(digit)\(digit)\(digit)I"))!.upperBound })
        #expect(widths.max()! - widths.min()! <= 1, "\(widths)")
    }

    @Test func `lines, control characters and nothing at all are drawn in one line`() {
        for title in ["one\ntwo", "tab\tbed", "\u{2028}", "\u{202E}abc", "a\u{0}b", "", String(repeating: "x", count: 100_000)] {
            #expect(text(title).height == 40)
        }
    }

    @Test func `a font that is not there is written in another`() { #expect(ink(text("abc", font: "No Such Font"))!.count > 20) }

    @Test func `the accent is the played part of the slider`() {
        var theme = Theme()
        theme.accent = Color(red: 255, green: 0, blue: 0)
        let drawing = ControlsDrawing(theme)
        let slider = Part.Slider(width: 220, height: 20, inset: 10, played: 100, loaded: 150, bar: 4, knob: 12, isAccented: true)
        let surface = drawing.draw(.slider(slider))
        func pixel(_ x: Int) -> UInt32 { surface.pixels[10 * 220 + x] }
        #expect(pixel(50) == 0xFFFF_0000)
        #expect(pixel(110) == 0xFFFF_FFFF, "the knob")
        #expect(pixel(140) >> 24 > pixel(190) >> 24, "loaded is brighter than what is not")
    }
}
