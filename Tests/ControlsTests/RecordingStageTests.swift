import Foundation
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskControlsCore
@testable import KioskInputCore

@Suite struct RecordingStageTests {
    private static func at(_ seconds: Double) -> HostTime { HostTime(nanoseconds: 0) + .seconds(seconds) }

    @Test func aGreetingThatIsKept() {
        var stage = RecordingStage(.keep)
        #expect(stage.order(.preview, at: Self.at(1)) == [.open])
        #expect(stage.opened(at: Self.at(1.2)) == [] && stage.state == .framing)
        #expect(stage.order(.start, at: Self.at(2)) == [.begin])
        #expect(stage.order(.pause, at: Self.at(3)) == [.pause])
        #expect(stage.order(.resume, at: Self.at(4)) == [.resume])
        #expect(stage.order(.stop, at: Self.at(5)) == [.end])
        // Too early: the file is still being finished.
        #expect(stage.order(.keep, at: Self.at(5)) == [])
        #expect(stage.ended(isThere: true, at: Self.at(5.2)) == [.close, .keep] && stage.state == .idle)
    }

    @Test func aReviewAndARetake() {
        var stage = RecordingStage(.review)
        #expect(stage.order(.toggle, at: Self.at(1)) == [.open])
        #expect(stage.opened(at: Self.at(1)) == [.begin])
        // The recording ends by itself.
        #expect(stage.ended(isThere: true, at: Self.at(9)) == [.close, .play] && stage.state == .reviewing)
        #expect(stage.order(.retake, at: Self.at(10)) == [.stopPlaying, .discard, .open])
        #expect(stage.opened(at: Self.at(11)) == [] && stage.state == .framing)
        #expect(stage.order(.start, at: Self.at(12)) == [.begin])
        #expect(stage.order(.toggle, at: Self.at(13)) == [.end])
        #expect(stage.ended(isThere: true, at: Self.at(13)) == [.close, .play])
        #expect(stage.order(.keep, at: Self.at(14)) == [.stopPlaying, .keep] && stage.state == .idle)
    }

    @Test func whoeverWalksAwayIsNotWaitedForForEver() {
        var stage = RecordingStage(.review)
        _ = stage.order(.start, at: Self.at(0))
        _ = stage.opened(at: Self.at(0))
        #expect(stage.deadline == nil, "a recording ends by its duration")
        #expect(stage.ended(isThere: true, at: Self.at(30)) == [.close, .play])
        #expect(stage.expire(at: Self.at(89)) == [])
        #expect(stage.expire(at: Self.at(90)) == [.stopPlaying, .discard] && stage.state == .idle)

        _ = stage.order(.preview, at: Self.at(100))
        _ = stage.opened(at: Self.at(100))
        #expect(stage.expire(at: Self.at(161)) == [.close] && stage.state == .idle)
    }

    @Test func whatFails() {
        var stage = RecordingStage(.review)
        _ = stage.order(.start, at: Self.at(0))
        #expect(stage.failed() == [.close] && stage.state == .idle)
        _ = stage.order(.start, at: Self.at(0))
        _ = stage.opened(at: Self.at(0))
        #expect(stage.ended(isThere: false, at: Self.at(0)) == [.close] && stage.state == .idle)
        _ = stage.order(.start, at: Self.at(0))
        _ = stage.opened(at: Self.at(0))
        #expect(stage.order(.cancel, at: Self.at(1)) == [.end])
        #expect(stage.ended(isThere: true, at: Self.at(1)) == [.close, .discard] && stage.state == .idle)
        // Cancel while the camera opens.
        _ = stage.order(.start, at: Self.at(2))
        #expect(stage.order(.cancel, at: Self.at(2)) == [.close])
        #expect(stage.opened(at: Self.at(3)) == [.close] && stage.state == .idle)
    }

    /// Any sequence of orders and events closes the camera in the end.
    @Test func anyOrder() {
        var seed: UInt64 = 3
        var stage = RecordingStage(.review)
        var isOpen = false
        func random(_ count: Int) -> Int {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(seed >> 40) % count
        }
        for step in 0..<20_000 {
            var actions: [RecordingStage.Action]
            switch random(6) {
            case 0: actions = stage.opened(at: Self.at(Double(step)))
            case 1: actions = stage.ended(isThere: random(4) > 0, at: Self.at(Double(step)))
            case 2: actions = random(10) == 0 ? stage.failed() : []
            default: actions = stage.order(RecordingOrder.allCases[random(RecordingOrder.allCases.count)], at: Self.at(Double(step)))
            }
            for action in actions {
                if action == .open { isOpen = true }
                if action == .close { isOpen = false }
                if [.begin, .pause, .resume, .end].contains(action) { #expect(isOpen) }
            }
            if stage.state == .idle || stage.state == .reviewing { #expect(!isOpen, "step \(step)") }
        }
    }

    // MARK: On the display

    @Test func thePreviewFits() {
        func fit(_ width: Int, _ height: Int, _ screenWidth: Int, _ screenHeight: Int) -> [Int] {
            let place = ScreenGeometry(width: screenWidth, height: screenHeight, physicalWidth: nil, physicalHeight: nil).fit(width, height)
            return [place.x, place.y, place.width, place.height]
        }
        #expect(fit(1280, 720, 1920, 1080) == [0, 0, 1920, 1080])
        #expect(fit(640, 480, 1280, 720) == [160, 0, 960, 720])
        #expect(fit(720, 1280, 1280, 720) == [438, 0, 404, 720])
    }

    @Test func buttonsAreWhereTheyAreDrawn() {
        let geometry = ScreenGeometry(width: 1280, height: 720, physicalWidth: nil, physicalHeight: nil)
        let panel = RecordingPanel(buttons: [.stop, .pause, .cancel])
        for place in panel.places(on: geometry) {
            #expect(panel.button(atX: Double(place.x) / 1280, y: Double(place.y) / 720, on: geometry) == place.button)
        }
        #expect(panel.button(atX: 0.5, y: 0.2, on: geometry) == nil)
    }

    @Test func buttonsByKeys() throws {
        func meaning(_ name: String, _ panel: RecordingPanel, _ phase: KeyEvent.Phase = .press) throws -> RecordingPanel.KeyMeaning? {
            let key = KeyEvent(device: DeviceID(rawValue: 0), key: try KeyCode(named: name), phase: phase, time: .now)
            return panel.meaning(of: key)
        }
        var panel = RecordingPanel(buttons: [.stop, .pause, .cancel])
        for name in ["KEY_OK", "KEY_ENTER", "KEY_SELECT"] { #expect(try meaning(name, panel) == .press(.stop)) }
        #expect(try meaning("KEY_RIGHT", panel) == .focus(1))
        #expect(try meaning("KEY_LEFT", panel) == .focus(0))
        panel.focus = 2
        #expect(try meaning("KEY_OK", panel) == .press(.cancel))
        #expect(try meaning("KEY_RIGHT", panel) == .focus(2))
        #expect(try meaning("KEY_LEFT", panel, .repeat) == .focus(1))
        // A held key does not press one button after another.
        #expect(try meaning("KEY_OK", panel, .repeat) == .nothing)
        #expect(try meaning("KEY_OK", panel, .release) == nil)
        // The Back key does not discard a running recording.
        #expect(try meaning("KEY_BACK", panel) == .nothing)
        #expect(try meaning("KEY_ESC", RecordingPanel(buttons: [.start, .cancel])) == .press(.cancel))
        #expect(try meaning("KEY_VOLUMEUP", panel) == nil && meaning("KEY_SPACE", panel) == nil)
        let none = RecordingPanel(buttons: [])
        #expect(try meaning("KEY_OK", none) == .nothing && meaning("KEY_LEFT", none) == .nothing)
    }
}
