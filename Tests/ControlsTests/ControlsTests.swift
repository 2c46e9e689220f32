import CKioskCairo
import Glibc
import KioskAudioCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaders
import KioskVocabulary
import Synchronization
import TestSupport
import Testing

@testable import KioskControlsCore
@testable import KioskDisplayCore
@testable import KioskInputCore

/// The controls with a player that plays a clip into memory.
@Suite(.blocking, .serialized) struct ControlsTests {
    private struct Turnable: ControlsScreen {
        let display: DisplayOutput
        var mode: DisplayMode? { display.mode }
        var nextRotation: Rotation { display.nextRotation }
        func rotate(_ rotation: Rotation?) { display.rotate(rotation) }
        func rotation(after rotation: Rotation?) -> Rotation { display.rotation(after: rotation) }
    }

    /// A player with controls, and its screen.
    private final class Screen {
        let display: DisplayOutput
        let player: PlaybackEngine
        let controls: Controls
        private let folder = "/tmp/kiosk-controls-\(getpid())-\(HostTime.now.nanoseconds)"
        private var finger = 0
        /// The pictures shown since ``watch()``, without repetitions.
        private let seen: Flips

        final class Flips: Sendable {
            let pictures = Mutex<[[UInt32]]?>(nil)

            func note(_ pixels: ScreenPixels) {
                pictures.withLock { pictures in
                    guard pictures != nil else { return }
                    let planes = pixels.planes
                    let picture = (0..<pixels.height).flatMap { y in
                        let row = UnsafeRawPointer(planes.data.0!) + y * Int(planes.strides.0)
                        return UnsafeBufferPointer(start: row.assumingMemoryBound(to: UInt32.self), count: pixels.width)
                    }
                    if pictures?.last != picture { pictures?.append(picture) }
                }
            }
        }

        init(
            _ mode: ControlsMode = .full, size: (Int, Int) = (1280, 720), rotation: Rotation = .none, clip: String? = nil
        ) throws {
            mkdir(folder, 0o700)
            let clip = try clip ?? Clips.named("keyframes.mp4")
            var settings = DisplaySettings(connector: .offscreen, rotation: rotation)
            settings.mode = .size(width: size.0, height: size.1, refresh: 60)
            let flips = Flips()
            seen = flips
            display = DisplayOutput.offscreen(settings) { _, pixels in flips.note(pixels) }
            var options = PlaybackEngine.Options()
            options.loop = .item
            let items = [PlaylistItem(source: clip, gravity: .resizeAspectFill, title: "Harbour"), PlaylistItem(source: clip)]
            player = PlaybackEngine(items: items, options: options, video: display, audio: SilentOutput(), readers: .shared)
            var own = ControlsSettings.test
            own.mode = mode
            let keys = try KeyMap(
                bindings: [("r", .rotate(nil)), ("i", .showControls), ("h", .hideControls)].map { (KeyTrigger($0)!, $1) })
            controls = Controls(own, keys: keys, player: player, screen: Turnable(display: display))
            controls.start { true }
            player.start()
            try #require(until { self.player.snapshot.item != nil && self.player.snapshot.status == .playing })
        }

        deinit {
            controls.stop()
            player.stop()
            display.close()
            rmdir(folder)
        }

        func until(_ condition: () throws -> Bool) rethrows -> Bool {
            let end = HostTime.now + .seconds(120)
            while HostTime.now < end {
                if try condition() { return true }
                usleep(20_000)
            }
            return false
        }

        private func touch(_ x: Double, _ y: Double, _ phase: ContactEvent.Phase) {
            let contact = Contact(slot: 0, id: finger, x: x, y: y, surface: .display)
            controls.handler.handle(.contact(ContactEvent(device: DeviceID(rawValue: 0), contact: contact, phase: phase, time: .now)))
        }

        /// Taps; two taps in the middle third are never a double tap.
        func tap(_ x: Double, _ y: Double) {
            finger += 1
            touch(x, y, .down)
            touch(x, y, .up)
        }

        func key(_ name: String) {
            for phase in [KeyEvent.Phase.press, .release] {
                let key = (try? KeyCode(named: name))!
                controls.handler.handle(.key(KeyEvent(device: DeviceID(rawValue: 1), key: key, phase: phase, time: .now)))
            }
        }

        /// Returns the screen once it has stood still for half a second.
        func settled() throws -> [UInt32] {
            var last = try picture()
            _ = try until {
                usleep(500_000)
                let next = try picture()
                defer { last = next }
                return next == last
            }
            return last
        }

        /// Returns every picture shown while `body` runs, however long that takes: 0xXXRRGGBB.
        func watch(_ body: () throws -> Void) rethrows -> [[UInt32]] {
            seen.pictures.withLock { $0 = [] }
            try body()
            return seen.pictures.withLock { $0.take() ?? [] }
        }

        /// Returns the screen as scanned out: 0x00RRGGBB.
        func picture() throws -> [UInt32] {
            let path = "\(folder)/screen.png"
            try display.snapshot(to: path)
            defer { unlink(path) }
            let surface = cairo_image_surface_create_from_png(path)
            defer { cairo_surface_destroy(surface) }
            let (width, height) = (Int(cairo_image_surface_get_width(surface)), Int(cairo_image_surface_get_height(surface)))
            let pixels = try #require(cairo_image_surface_get_data(surface))
            let stride = Int(cairo_image_surface_get_stride(surface))
            return (0..<width * height).map { index in
                let pixel = UnsafeRawPointer(pixels).load(fromByteOffset: index / width * stride + index % width * 4, as: UInt32.self)
                return pixel & 0xFFFFFF
            }
        }
    }

    @Test func `a tap pauses and shows the controls, another one plays, and they go`() throws {
        let screen = try Screen()
        /// Pauses with a tap, and returns the number of pixels that the controls cover.
        func covered() throws -> Int {
            screen.tap(0.5, 0.3)
            #expect(screen.until { screen.player.snapshot.status == .paused })
            let paused = try screen.settled()
            screen.key("h")
            #expect(try screen.until { try screen.picture() != paused }, "the controls were on the screen")
            let bare = try screen.settled()
            return zip(paused, bare).count { $0 != $1 }
        }
        var changed = try covered()
        // On a busy machine, loading fonts may take longer than the half second of a settled screen.
        for _ in 0..<5 where changed == 0 {
            screen.tap(0.5, 0.3)
            #expect(screen.until { screen.player.snapshot.status == .playing })
            changed = try covered()
        }
        let size = 1280 * 720
        #expect(changed > size / 20 && changed < size / 4 * 3, "\(changed) of \(size)")
        screen.tap(0.5, 0.3)
        #expect(screen.until { screen.player.snapshot.status == .playing })
    }

    @Test func `tap-only shows a sign in the middle for a moment, none shows nothing`() throws {
        for mode in [ControlsMode.tapOnly, .none] {
            let screen = try Screen(mode)
            /// The tap toggles playback, and the command pauses at once: only the sign still moves.
            func seesSign() throws -> Bool {
                var bare: [UInt32] = []
                let seen = try screen.watch {
                    screen.tap(0.5, 0.3)
                    screen.controls.perform(.player(.pause))
                    #expect(screen.until { screen.player.snapshot.status == .paused })
                    bare = try screen.settled()
                }
                return seen.contains { picture in
                    let changed = picture.indices.filter { picture[$0] & 0xFFFFFF != bare[$0] }
                    // 24 mm around the middle of 1280x720, which counts as 10".
                    return !changed.isEmpty && changed.allSatisfy { abs($0 % 1280 - 640) < 80 && abs($0 / 1280 - 360) < 80 }
                }
            }
            // On a busy machine the sign may be over before it is drawn.
            let attempts = mode == .tapOnly ? 10 : 1
            #expect(try (0..<attempts).contains { _ in try seesSign() } == (mode == .tapOnly))
        }
    }

    @Test func `turned while they are shown, they are there, upright`() throws {
        let screen = try Screen()
        screen.tap(0.3, 0.3)
        #expect(screen.until { screen.player.snapshot.status == .paused })
        let upright = try screen.settled()
        screen.key("r")
        #expect(screen.until { screen.display.rotation == .clockwise90 })
        /// Returns the screen with and without the controls.
        func pictures() throws -> (turned: [UInt32], bare: [UInt32]) {
            let turned = try screen.settled()
            screen.key("h")
            _ = try screen.until { try screen.picture() != turned }
            return (turned, try screen.settled())
        }
        var (turned, bare) = try pictures()
        // On a busy machine, loading fonts may take longer than the half second of a settled screen.
        for _ in 0..<5 where turned == bare {
            screen.key("i")
            (turned, bare) = try pictures()
        }
        // The bottom of the rotated picture is the left edge of the scanned-out one: the shade is there.
        func darker(_ columns: Range<Int>) -> Int {
            (0..<720).reduce(0) { sum, row in
                sum + columns.count { turned[row * 1280 + $0] & 255 < bare[row * 1280 + $0] & 255 }
            }
        }
        #expect(darker(0..<40) > 720 * 40 / 2 && darker(500..<540) < 720 * 40 / 2)
        #expect(turned != upright)
    }

    @Test func `a tap on the button and on a line of its list shows other subtitles, and none`() throws {
        let clip = try Clips.make("listed.mp4", ["-i", Clips.named("keyframes.mp4"), "-c", "copy"])
        for language in ["de", "en"] {
            // Only the English subtitles are visible, all the time.
            let times = language == "en" ? "00:00:00,000 --> 00:10:00,000" : "00:20:00,000 --> 00:21:00,000"
            _ = try Clips.file("listed.\(language).srt", Array("1\n\(times)\nSeen all the while\n".utf8))
        }
        let screen = try Screen(clip: clip)
        screen.controls.perform(.player(.pause))
        #expect(screen.until { screen.player.snapshot.status == .paused })
        let bare = try screen.settled()
        let geometry = ScreenGeometry(mode: try #require(screen.display.mode), rotation: .none)
        let layout = ControlsLayout(geometry: geometry, content: .init(hasSelection: true))
        func tap(_ box: PixelRectangle) {
            screen.tap(
                (Double(box.x) + Double(box.width) / 2) / Double(geometry.width),
                (Double(box.y) + Double(box.height) / 2) / Double(geometry.height))
        }
        func number() -> Int? {
            let facts = screen.player.currentFacts
            return facts?.tracks.first { $0.id == facts?.selectedTracks[.subtitle] }?.number
        }
        func choose(_ name: String) throws {
            screen.key("i")
            tap(try #require(layout.target(of: .subtitles)))
            let facts = screen.player.currentFacts
            let now = NowPlaying(screen.player.snapshot, facts, of: PlaylistItem(source: clip), rate: 1)
            let panel = MediaSelectionPanel(now.selectionGroups, over: layout, at: .now)
            let line = try #require(
                panel.lines.firstIndex { if case .option(let option, _, _) = $0 { option.displayName == name } else { false } })
            tap(panel.place(ofLine: line, at: .now))
            screen.key("h")
        }
        #expect(number() == nil)
        try choose("English")
        #expect(screen.until { number() == 2 })
        // In the lower half, once the controls are gone.
        let areSeen = try screen.until {
            let lines = try screen.picture()
            let changed = bare.indices.filter { bare[$0] != lines[$0] }
            return !changed.isEmpty && changed.allSatisfy { $0 / 1280 > 360 }
        }
        #expect(areSeen)
        try choose("Off")
        #expect(screen.until { number() == nil })
        #expect(try screen.until { try screen.picture() == bare })
    }

    @Test func `nothing is asked of a thread that has ended`() throws {
        let screen = try Screen()
        screen.controls.stop()
        screen.tap(0.5, 0.5)
        #expect(screen.until { screen.player.snapshot.status == .paused })
        screen.controls.stop()
    }
}
