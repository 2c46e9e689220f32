import CKioskCairo
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

@testable import KioskControlsCore
@testable import KioskInputCore

/// Every state of the controls on one screen, as pictures.
struct Gallery {
    var name: String
    var geometry: ScreenGeometry

    static let glasses = [
        Gallery(name: "7in-1280x720", geometry: ScreenGeometry(width: 1280, height: 720, physicalWidth: 154, physicalHeight: 87)),
        Gallery(name: "7in-480x800", geometry: ScreenGeometry(width: 480, height: 800, physicalWidth: 92, physicalHeight: 154)),
        Gallery(name: "24in-1080p", geometry: Viewer.desk),
        Gallery(name: "65in-4k", geometry: ScreenGeometry(width: 3840, height: 2160, physicalWidth: 1439, physicalHeight: 809)),
        Gallery(name: "24in-1080p-turned", geometry: ScreenGeometry(width: 1080, height: 1920, physicalWidth: 299, physicalHeight: 531)),
        Gallery(name: "4.3in-480x272", geometry: ScreenGeometry(width: 480, height: 272, physicalWidth: 95, physicalHeight: 54)),
    ]

    /// The states, and the way to reach each.
    static let states: [(name: String, make: @Sendable (inout Viewer) -> Void)] = [
        ("playing", { shown(&$0) }),
        (
            "pressed",
            { viewer in
                shown(&viewer)
                let place = viewer.place(.playPause)
                viewer.down(place.x, place.y)
            }
        ),
        (
            "paused",
            { viewer in
                viewer.tap(0.3, 0.3)
                viewer.now.status = .paused
                viewer.wait(.seconds(1))
            }
        ),
        (
            "scrubbing",
            { viewer in
                shown(&viewer)
                let from = viewer.onSlider(0.34), to = viewer.onSlider(0.62)
                let finger = viewer.down(from.x, from.y)
                viewer.move(finger, to.x, to.y)
                viewer.state.show(PreviewPicture(harbour), of: Path(viewer.now.source))
                viewer.wait(.milliseconds(300))
            }
        ),
        (
            "scrubbing-without-picture",
            { viewer in
                shown(&viewer)
                let from = viewer.onSlider(1)
                viewer.down(from.x, from.y)
                viewer.wait(.milliseconds(300))
            }
        ),
        (
            "waiting",
            { viewer in
                viewer.now.status = .waitingToPlay
                viewer.wait(.seconds(2))
            }
        ),
        (
            "waiting-shown",
            { viewer in
                shown(&viewer)
                viewer.now.status = .waitingToPlay
                viewer.wait(.seconds(2))
            }
        ),
        (
            "ended",
            { viewer in
                shown(&viewer)
                viewer.now.time = .seconds(120)
                (viewer.now.status, viewer.now.hasEnded, viewer.now.bufferedUntil) = (.paused, true, .seconds(120))
                viewer.wait(.seconds(1))
            }
        ),
        (
            "toast",
            { viewer in
                viewer.now.volume = 70
                viewer.key("volumeup")
                viewer.wait(.milliseconds(300))
            }
        ),
        (
            "toast-copying",
            { viewer in
                viewer.show(progress: 40)
                viewer.wait(.seconds(2))
            }
        ),
        (
            "toast-muted",
            { viewer in
                viewer.now.isMuted = true
                shown(&viewer)
                viewer.key("mute")
                viewer.wait(.milliseconds(300))
            }
        ),
        (
            "seek",
            { viewer in
                viewer.key("right")
                viewer.key("right")
                viewer.wait(.milliseconds(300))
            }
        ),
        (
            "arabic",
            { viewer in
                viewer.now.title = "الخريف في الميناء"
                viewer.now.place = 12
                viewer.now.count = 108
                shown(&viewer)
            }
        ),
        (
            "japanese-long",
            { viewer in
                viewer.now.title = "港の秋 — 長い題名は画面の端で省略記号になるはずです、そうでなければ順番の表示と重なってしまうでしょう、さらに続く長い長い題名"
                (viewer.now.duration, viewer.now.time, viewer.now.bufferedUntil) = (.seconds(7384), .seconds(3723), .seconds(7384))
                shown(&viewer)
            }
        ),
        ("subtitles", { subtitles(&$0, Self.film) }),
        ("subtitles-thirty", { subtitles(&$0, Self.thirty) }),
        (
            "live",
            { viewer in
                (viewer.now.duration, viewer.now.isSeekable, viewer.now.bufferedUntil) = (nil, false, nil)
                viewer.now.count = 1
                shown(&viewer)
            }
        ),
    ]

    /// The tracks of a film, and more tracks than anyone needs.
    static let film: [AssetTrack] = [
        .made(.audio, "de"), .made(.audio, "en"), .made(.audio, "de", title: "Kommentar der Regie"),
        .made(.audio, "de", title: "Audiodeskription"),
        .made(.subtitle, "de", isForced: true), .made(.subtitle, "de"), .made(.subtitle, "en", isSDH: true), .made(.subtitle, "ar"),
        .made(.subtitle, "pt-BR"),
    ]
    static let thirty: [AssetTrack] =
        "de en fr es it pt nl da sv nb fi is pl cs sk hu ro bg el tr ru uk he fa ja ko zh-Hans zh-Hant th".split(separator: " ").map {
            .made(.subtitle, String($0))
        } + [
            .made(
                .subtitle,
                title: "e\u{301}" + String(repeating: "\u{301}", count: 60) + " \u{202E}" + String(repeating: "title ", count: 20))
        ]

    private static func subtitles(_ viewer: inout Viewer, _ tracks: [AssetTrack]) {
        viewer.now.setTracks(tracks)
        viewer.now.asked.subtitle = .number(4)
        viewer.now.selectedTracks[.subtitle] = viewer.now.tracks.first { $0.kind == .subtitle && $0.number == 4 }?.id
        shown(&viewer)
        viewer.tap(.subtitles)
        viewer.wait(.milliseconds(400))
    }

    private static func shown(_ viewer: inout Viewer) {
        viewer.key("i")
        viewer.wait(.milliseconds(400))
    }

    static let keys: [(String, Command)] = [
        ("i", .showControls), ("volumeup", .player(.changeVolume(by: 5))), ("mute", .player(.toggleMute)),
        ("right", .player(.seekSteps(1))),
    ]

    /// A 16:9 picture.
    static let harbour: Surface = {
        let (width, height) = (320, 180)
        let pixels = (0..<width * height).map { index -> UInt32 in
            let (x, y) = (index % width, index / width)
            let wave = (x / 20 + y / 20) % 2 == 0 ? 12 : 0
            return 0xFF00_0000 | UInt32(70 + x / 4 + wave) << 16 | UInt32(105 + y / 4 + wave) << 8 | UInt32(130 - x / 8 + wave)
        }
        return Surface(width: width, height: height, pixels: pixels)
    }()

    /// Returns the parts of a state.
    func parts(_ make: (inout Viewer) -> Void, settings: ControlsSettings = .test) -> [PlacedPart] {
        var viewer = Viewer(geometry, settings: settings, keys: Self.keys)
        make(&viewer)
        return viewer.parts
    }

    /// Draws an overlay over a picture, as an output blends it.
    static func composed(_ overlay: Overlay, on geometry: ScreenGeometry) -> [UInt32] {
        let (width, height) = (geometry.width, geometry.height)
        var pixels = (0..<width * height).map { index -> UInt32 in
            let (x, y) = (Double(index % width) / Double(width), Double(index / width) / Double(height))
            let part = (x + y) / 2
            return 0xFF00_0000 | UInt32(41 + part * 120) << 16 | UInt32(80 + part * 25) << 8 | UInt32(100 - part * 45)
        }
        for picture in overlay.pictures {
            let surface = picture.surface
            for row in 0..<surface.height where (0..<height).contains(row + picture.y) {
                for column in 0..<surface.width where (0..<width).contains(column + picture.x) {
                    let above = surface.pixels[row * surface.width + column]
                    if above == 0 { continue }
                    let index = (row + picture.y) * width + column + picture.x
                    let below = pixels[index]
                    let rest = 1 - Double(above >> 24) / 255 * picture.alpha
                    func part(_ shift: UInt32) -> UInt32 {
                        UInt32(min(Double(above >> shift & 255) * picture.alpha + Double(below >> shift & 255) * rest, 255).rounded())
                            << shift
                    }
                    pixels[index] = 0xFF00_0000 | part(16) | part(8) | part(0)
                }
            }
        }
        return pixels
    }

    /// Writes pixels to a PNG file.
    static func write(_ pixels: [UInt32], _ geometry: ScreenGeometry, to path: String) {
        var pixels = pixels
        pixels.withUnsafeMutableBytes { memory in
            let surface = cairo_image_surface_create_for_data(
                memory.baseAddress!.assumingMemoryBound(to: UInt8.self), CAIRO_FORMAT_RGB24, Int32(geometry.width), Int32(geometry.height),
                Int32(geometry.width * 4))
            cairo_surface_write_to_png(surface, path)
            cairo_surface_destroy(surface)
        }
    }

    /// Draws every state into a folder.
    static func write(to folder: String, _ theme: Theme = Theme()) {
        var drawing = ControlsDrawing(theme)
        for gallery in glasses {
            for state in states {
                let parts = gallery.parts(state.make)
                let overlay = drawing.overlay(parts, on: gallery.geometry)
                write(composed(overlay, on: gallery.geometry), gallery.geometry, to: "\(folder)/\(gallery.name)-\(state.name).png")
            }
        }
    }
}
