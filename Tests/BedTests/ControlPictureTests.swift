import Bed
import Foundation
import KioskPlayback
import TestSupport
import Testing

@testable import KioskControlsCore

extension BedTests {
    /// The look of the controls, as scanned out, in every state on displays of every kind. The test checks the pixels that it can judge;
    /// people check the rest. `KIOSK_CONTROLS_PICTURES=/some/folder` keeps all pictures there as PNG; `KIOSK_RECORD=1` renews the README's.
    @Suite struct ControlPictures {
        /// A display, and a title for it.
        struct Case: Sendable, CustomTestStringConvertible {
            var name: String
            var mode: Machine.Mode
            var rotation = 0
            /// The size as scanned out, in millimetres.
            var size: (width: Int, height: Int)
            var title = "Autumn in the harbour"
            var overlays = 2
            var testDescription: String { name }

            /// The size in pixels, as a viewer sees the display.
            var viewed: (width: Int, height: Int) {
                rotation % 180 == 0 ? (mode.width, mode.height) : (mode.height, mode.width)
            }

            /// The places of the controls.
            var layout: ControlsLayout {
                let (across, down) = rotation % 180 == 0 ? size : (size.height, size.width)
                let geometry = ScreenGeometry(
                    width: viewed.width, height: viewed.height, physicalWidth: Double(across), physicalHeight: Double(down))
                return ControlsLayout(geometry: geometry, content: .init(hasQueue: true))
            }

            /// Returns the point on the panel for a point that a viewer sees. The picture is turned clockwise on the panel.
            func onPanel(_ x: Int, _ y: Int) -> (Int, Int) {
                switch rotation {
                case 90: (mode.width - 1 - y, x)
                case 180: (mode.width - 1 - x, mode.height - 1 - y)
                case 270: (y, mode.height - 1 - x)
                default: (x, y)
                }
            }
        }

        static let cases = [
            Case(name: "landscape", mode: .init(width: 1280, height: 720), size: (154, 86)),
            Case(name: "blended", mode: .init(width: 1280, height: 720), size: (154, 86), overlays: 0),
            Case(name: "portrait", mode: .init(width: 480, height: 800), size: (92, 153)),
            Case(name: "turned-90", mode: .init(width: 1280, height: 720), rotation: 90, size: (154, 86), title: "סתיו בנמל"),
            Case(name: "turned-270", mode: .init(width: 1280, height: 720), rotation: 270, size: (154, 86), title: "港の秋、海の色"),
            Case(
                name: "full-hd", mode: .init(width: 1920, height: 1080), size: (531, 299),
                title:
                    "A title that is longer than any display is wide, so that it must end with an ellipsis wherever it is shown, on the widest of walls too, as nobody would read it to its end"
            ),
            Case(name: "4k", mode: .init(width: 3840, height: 2160), size: (1430, 804), title: "خريف في المرفأ"),
        ]

        /// The states, in their order in a run.
        static let states = ["hidden", "paused", "pressed", "playing", "muted", "scrubbing", "toast", "seek", "ended"]

        @Test(arguments: Proof.some(cases, 2)) func `every state`(_ display: Case) async throws {
            let clip = try BedGallery.demo()
            let layout = display.layout
            let disc = try #require(layout.discs[.playPause]), slider = try #require(layout.slider),
                mute = try #require(layout.icons[.mute])
            let (width, height) = display.viewed
            let beside = display.onPanel(width / 20, height / 4), right = display.onPanel(width * 19 / 20, height / 4)
            func onSlider(_ share: Double) -> (Int, Int) {
                display.onPanel(slider.left + Int(Double(slider.right - slider.left) * share), slider.y)
            }
            let configuration = KioskConfiguration(
                display:
                    "gravity = \"fill\"\nrotation = \(display.rotation)\nphysical-size = \"\(display.size.width)x\(display.size.height)\"",
                playback: "loop = \"off\"\nseek-step = 10",
                playlist: [
                    "source = \"\(clip)\"\ntitle = \"\(display.title)\"\nend = 4", "source = \"\(clip)\"\ntitle = \"\(display.title)\"",
                ])
            let machine = Machine {
                ($0.time, $0.recordsSound, $0.mode, $0.overlays) = (.free, false, display.mode, display.overlays)
                if display.mode.width == 480 || display.mode.width == 3840 { $0.kernelArguments = "video=Virtual-1:\(display.mode)" }
            }
            let center = display.onPanel(disc.x, disc.y), speaker = display.onPanel(mute.x, mute.y)
            let record = try await Bed.run("pictures \(display.name)", for: .seconds(21), .kiosk(configuration), on: machine) { at in
                at(0.8, .screenshot(), "hidden")
                at(1, .tap(beside.0, beside.1))
                at(1.6, .screenshot(), "paused")
                at(2, .down(center.0, center.1))
                at(2.2, .screenshot(), "pressed")
                at(2.3, .up())
                at(2.8, .screenshot(), "playing")
                at(3, .tap(speaker.0, speaker.1))
                at(3.3, .screenshot(), "muted")
                at(3.5, .tap(speaker.0, speaker.1))
                // Go to the second item, which has more time left.
                at(5.2, .key(.n))
                at(6, .drag(from: onSlider(0.1), to: onSlider(0.62), over: .seconds(1), stays: .seconds(1.5)))
                at(8.4, .screenshot(), "scrubbing")
                at(8.7, .drag(from: onSlider(0.62), to: onSlider(0.2), over: .seconds(0.2), stays: .milliseconds(100)))
                at(13, .key(.volumeDown))
                at(13.4, .screenshot(), "toast")
                at(14.8, .doubleTap(right.0, right.1))
                at(15.25, .screenshot(), "seek")
                at(19, .screenshot(), "ended")
            }
            let pictures = record.screenshots
            #expect(Self.states.allSatisfy { pictures[$0] != nil })
            guard Self.states.allSatisfy({ pictures[$0] != nil }) else { return }
            try keep(pictures, display)
            judge(pictures, display)
        }

        /// Checks without eyes that a state differs in the right place from states that must look different.
        private func judge(_ pictures: [String: Picture], _ display: Case) {
            let layout = display.layout
            func pixel(_ state: String, _ x: Int, _ y: Int) -> Picture.Color {
                let (column, row) = display.onPanel(x, y)
                return pictures[state]![column, row]
            }
            func differences(_ a: String, _ b: String, around x: Int, _ y: Int, _ reach: Int) -> Int {
                var count = 0
                for row in stride(from: y - reach, through: y + reach, by: 2) {
                    for column in stride(from: x - reach, through: x + reach, by: 2)
                    where !pixel(a, column, row).isLike(pixel(b, column, row), within: 24) { count += 1 }
                }
                return count
            }
            guard let disc = layout.discs[.playPause], let slider = layout.slider, let mute = layout.icons[.mute] else { return }
            let radius = disc.diameter / 2
            #expect(differences("hidden", "paused", around: disc.x, disc.y, radius) > radius, "no disc in the middle")
            #expect(differences("paused", "pressed", around: disc.x, disc.y, radius) > radius, "nothing looks pressed")
            #expect(differences("paused", "playing", around: disc.x, disc.y, radius / 2) > radius / 2, "play and pause look alike")
            #expect(differences("playing", "muted", around: mute.x, mute.y, mute.diameter / 2) > 3, "mute looks like sound")
            #expect(differences("paused", "ended", around: disc.x, disc.y, radius / 2) > radius / 2, "replay looks like play")
            // While a finger scrubs, the bar has the accent's blue up to it. A preview with a white edge is above it.
            let length = Double(slider.right - slider.left)
            #expect(pixel("scrubbing", slider.left + Int(length * 0.3), slider.y).isLike(.init(0x33, 0x9E, 0xFF), within: 48))
            #expect(!pixel("scrubbing", slider.left + Int(length * 0.9), slider.y).isLike(.init(0x33, 0x9E, 0xFF), within: 48))
            #expect(pixel("scrubbing", slider.left + Int(length * 0.62), slider.y).isLike(.init(255, 255, 255), within: 48), "no knob")
            let finger = slider.left + Int(length * 0.62)
            let left = min(
                max(finger - layout.preview.width / 2, layout.geometry.pixels(6)),
                layout.geometry.width - layout.geometry.pixels(6) - layout.preview.width)
            let middle = layout.preview.y + layout.preview.height / 2
            let edge = (left - layout.geometry.pixels(1)...left + 1).contains {
                pixel("scrubbing", $0, middle).isLike(.init(255, 255, 255), within: 64)
            }
            #expect(edge, "no preview at the finger")
            // The toast and the sign of a seek.
            let toast = layout.toast
            #expect(
                pixel("toast", toast.x + toast.width / 2, toast.y + toast.height / 4)
                    != pixel("hidden", toast.x + toast.width / 2, toast.y + toast.height / 4))
            let sign = layout.rightSign
            #expect(differences("toast", "seek", around: sign.x, sign.y, sign.diameter / 2) > sign.diameter / 2, "a seek is not shown")
        }

        /// Makes docs/demo.gif: a clip loops, a tap pauses, another one resumes, and the display is unplugged and plugged in again. Its
        /// pictures were scanned out, ten a second of the display's time.
        @Test(
            .enabled(
                if: ProcessInfo.processInfo.environment["KIOSK_RECORD"] != nil, "it is the README's film: KIOSK_RECORD=1 makes it anew"))
        func `the film of the README`() async throws {
            let clip = try BedGallery.demo()
            let machine = Machine { ($0.time, $0.recordsSound, $0.mode) = (.free, false, .init(width: 1280, height: 720)) }
            let configuration = KioskConfiguration(
                display: "physical-size = \"154x86\"", playlist: ["source = \"\(clip)\"\ntitle = \"The lobby\""])
            // Seconds of the run; the captions count from `begin`
            let (begin, seconds) = (5.5, 10.0)
            let captions = [
                (0.0, "one clip, in a loop"), (2.2, "it comes round without a gap"), (4.0, "a tap pauses"), (5.6, "a tap plays on"),
                (7.2, "the display is unplugged"), (8.4, "and plugged in again"),
            ]
            let record = try await Bed.run("film", for: .seconds(begin + seconds + 1), .kiosk(configuration), on: machine) { at in
                for picture in 0..<Int(seconds * 10) { at(begin + Double(picture) / 10, .screenshot(), "\(1000 + picture)") }
                at(begin + 4.05, .tap(200, 200))
                at(begin + 5.65, .tap(200, 200))
                at(begin + 7.25, .display(false))
                at(begin + 8.45, .display(true))
            }
            let folder = NSTemporaryDirectory() + "kiosk-film-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            var picture: Picture?
            for number in 0..<Int(seconds * 10) {
                picture = record.screenshots["\(1000 + number)"] ?? picture
                try #require(picture, "nothing was scanned out").write(to: "\(folder)/\(1000 + number).png")
            }
            let texts = captions.enumerated().map { index, caption in
                let end = index + 1 < captions.count ? captions[index + 1].0 : seconds
                return
                    "drawtext=text='\(caption.1)':font=Inter:fontsize=20:fontcolor=white:x=(w-tw)/2:y=277:enable='gte(t,\(caption.0))*lt(t,\(end))'"
            }
            let filter = "scale=480:270:flags=area,pad=480:304:0:0:0x202020,\(texts.joined(separator: ",")),split[a][b];"
            _ = try Clips.run([
                "ffmpeg", "-nostdin", "-v", "error", "-y", "-framerate", "10", "-start_number", "1000", "-i", "\(folder)/%d.png",
                "-filter_complex",
                filter + "[a]palettegen=max_colors=128[p];[b][p]paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle",
                Bed.package + "/docs/demo.gif",
            ])
        }

        private func keep(_ pictures: [String: Picture], _ display: Case) throws {
            let environment = ProcessInfo.processInfo.environment
            if let folder = environment["KIOSK_CONTROLS_PICTURES"] {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                for (state, picture) in pictures { try picture.write(to: "\(folder)/\(display.name)-\(state).png") }
            }
            guard environment["KIOSK_RECORD"] != nil else { return }
            if display.name == "landscape" {
                try pictures["scrubbing"]?.write(to: Bed.package + "/docs/controls-landscape.jpg", width: 960)
            }
            if display.name == "portrait" { try pictures["paused"]?.write(to: Bed.package + "/docs/controls-portrait.jpg") }
        }
    }
}
