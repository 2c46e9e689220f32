import CKioskQRCode
import Foundation
import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskSchedule
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskControlsCore

/// The content, places and drawing of overlays.
@Suite struct OverlayTests {
    private static let clock = LocalClock(zone: .utc)
    private let screen = ScreenGeometry(width: 1920, height: 1080, physicalWidth: 960, physicalHeight: 540)

    private func entry(_ change: (inout Configuration.Overlay) -> Void) -> OverlayEntry {
        var settings = Configuration.Overlay()
        change(&settings)
        return OverlayEntry(settings)
    }

    private func text(
        _ entry: OverlayEntry, at second: Int64 = 1_795_860_000, isRight: Bool = true, over item: PlaylistItem? = nil
    ) -> String? {
        let content = entry.content(
            at: second, HostTime(nanoseconds: 5_000_000_000), isRight: isRight, over: item, Self.clock, ClockFormats())
        return if case .text(let text)? = content { text } else { nil }
    }

    @Test("It lies over what it is for: titles, names, files and folders") func items() {
        func lies(_ patterns: [String], over source: String?, title: String? = nil) -> Bool {
            entry { $0.items = patterns }.lies(over: source.map { PlaylistItem(source: $0, title: title) })
        }
        #expect(lies([], over: nil) && lies([], over: "/srv/a.mp4"))
        #expect(!lies(["a.mp4"], over: nil) && lies(["a.mp4"], over: "/srv/a.mp4") && !lies(["b.mp4"], over: "/srv/a.mp4"))
        #expect(lies(["*.jpg", "a.*"], over: "/srv/a.mp4") && !lies(["*.jpg"], over: "/srv/a.mp4"))
        #expect(lies(["/srv/offers/"], over: "/srv/offers/x/a.mp4") && !lies(["/srv/offers/"], over: "/srv/offers2/a.mp4"))
        #expect(lies(["/srv/offers"], over: "/srv/offers/a.mp4") && lies(["/srv/*/a.mp4"], over: "/srv/offers/a.mp4"))
        #expect(lies(["The making of"], over: "/srv/a.mp4", title: "The making of"))
    }

    @Test("A program's text takes the place of its own until its time is over; a clock that was never set shows nothing") func orders() {
        var news = entry { ($0.kind, $0.text) = (.text, "Own") }
        #expect(text(news) == "Own")
        news.fileText = "From the file"
        #expect(text(news) == "From the file")
        news.order = .init(text: "Fire drill", until: HostTime(nanoseconds: 6_000_000_000))
        #expect(text(news) == "Fire drill")
        news.order?.until = HostTime(nanoseconds: 4_000_000_000)
        #expect(text(news) == "From the file")
        let clock = entry { ($0.kind, $0.format) = (.clock, "%Y-%m-%d %H:%M:%S %j %u") }
        // 2026-11-28 10:00:00, a Saturday.
        #expect(text(clock) == "2026-11-28 10:00:00 332 6" && text(clock, isRight: false) == nil)
        let night = entry { ($0.text, $0.time.hours) = ("Night", DayHours("22:00-06:00")) }
        #expect(text(night) == nil && text(night, at: 1_795_860_000 + 13 * 3600) == "Night")
        #expect(text(night, at: 1_795_860_000 + 13 * 3600, isRight: false) == nil)
    }

    @Test(
        "How often a format says something else",
        arguments: [
            ("%H:%M", 60), ("%H:%M:%S", 1), ("%T", 1), ("%A %d %B", 60), ("%c", 1), ("%-H.%M", 60), ("%%S", 60), ("%Ec", 1), ("%", 60),
        ])
    func ticks(_ format: String, _ seconds: Int64) { #expect(ClockFormats.tick(format) == seconds) }

    @Test("Sizes and places, within the region and the safe area") func places() {
        var look = OverlayLook()
        look.anchor = .topLeft
        look.size = .percent(10)
        var box = OverlayBox(look, on: screen, safeArea: 5)
        #expect((box.x, box.y, box.width, box.height, box.size) == (96, 54, 1728, 972, 108))
        look.region = Region("50 50 50 50")!
        look.size = .millimetres(10)
        box = OverlayBox(look, on: screen, safeArea: 0)
        #expect((box.x, box.y, box.width, box.height) == (960, 540, 960, 540) && box.size == screen.pixels(10))

        #expect(
            box.place(width: 100, height: 40, .topLeft) == (960, 540) && box.place(width: 100, height: 40, .bottomRight) == (1820, 1040))
        #expect(box.place(width: 100, height: 40, .center) == (1390, 790))
        // Overlays with the same anchor do not overlap.
        var stack = OverlayStack()
        let gap = max(2, box.size / 8)
        let places = [OverlayAnchor.top, .top, .bottom, .bottom].map { stack.place(width: 100, height: 40, $0, in: box).y }
        #expect(places == [540, 580 + gap, 1040, 1000 - gap])
    }

    @Test(arguments: ["5%", "0.5%", "100%", "12mm", "12.5mm"]) func size(_ text: String) { #expect(OverlaySize(text)?.description == text) }
    @Test(arguments: ["", "5", "0%", "101%", "-1%", "5 %", "5em", "0mm", "9999mm", "1e3%"]) func noSize(_ text: String) {
        #expect(OverlaySize(text) == nil)
    }

    @Test("Text is as high as it is to be, has an edge and a ground, and is broken where it is too wide") func drawing() throws {
        let drawing = OverlayDrawing()
        var look = OverlayLook()
        look.outline = nil
        let line = try #require(drawing.text("Open until six", look, height: 100, width: 2000))
        #expect(80...130 ~= line.height, "\(line.height)")
        let pixels = Set(line.pixels)
        #expect(pixels.contains(0) && pixels.contains(0xffff_ffff))
        let broken = try #require(drawing.text("Open until six", look, height: 100, width: 300))
        #expect(broken.width <= 300 && broken.height > line.height * 3 / 2)
        look.outline = .black
        let edged = try #require(drawing.text("Open until six", look, height: 100, width: 2000))
        #expect(edged.width > line.width && edged.pixels.contains(0xff00_0000))
        (look.background, look.backgroundOpacity) = (Color(red: 255, green: 0, blue: 0), 100)
        let ground = try #require(drawing.text("Open until six", look, height: 100, width: 2000))
        #expect(ground.pixels[ground.width * (ground.height / 2) + 2] == 0xffff_0000)
        #expect(drawing.text(" \n ", look, height: 100, width: 2000) == nil)
        // Any height and width.
        for (height, width) in [(1, 1), (0, 0), (4000, 10), (1, 100_000)] {
            let surface = drawing.text("Ägypten مصر 埃及", look, height: height, width: width)
            #expect(surface.map { $0.width > 0 && $0.height > 0 } != false)
        }
    }

    @Test("A picture keeps what is transparent, and its shape") func pictures() throws {
        let drawing = OverlayDrawing()
        let half: [UInt32] = (0..<64).map { $0 % 8 < 4 ? 0xffff_0000 : 0 }
        let surface = try #require(drawing.picture(SmallPicture(width: 8, height: 8, pixels: half), height: 80, width: 1000))
        #expect((surface.width, surface.height) == (80, 80))
        #expect(surface.pixels[40 * 80 + 10] == 0xffff_0000 && surface.pixels[40 * 80 + 70] == 0)
        let wide = try #require(drawing.picture(SmallPicture(width: 8, height: 4, pixels: Array(half.prefix(32))), height: 80, width: 40))
        #expect((wide.width, wide.height) == (40, 20))
    }

    @Test("A QR code has its three corners, and a margin", .needs("libqrencode", kiosk_qr_is_available() != 0))
    func codes() throws {
        let drawing = OverlayDrawing()
        let code = try #require(drawing.code("https://example.org/menu", height: 300))
        #expect(code.width == code.height && code.width <= 300 && code.width > 200)
        func isDark(_ x: Int, _ y: Int) -> Bool { code.pixels[y * code.width + x] == 0xff00_0000 }
        let begin = try #require((0..<code.width).first { isDark($0, $0) })
        #expect(isDark(begin, begin) && isDark(code.width - 1 - begin, begin) && isDark(begin, code.width - 1 - begin))
        // The margin has four modules; a corner is seven modules wide.
        let module = begin / 4
        #expect(begin % 4 == 0 && (0..<7 * module).allSatisfy { isDark(begin + $0, begin) } && !isDark(begin + 7 * module, begin))
        #expect(drawing.code(String(repeating: "x", count: 5000), height: 300) == nil)
    }
}
