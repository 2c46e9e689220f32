// tutorial-transport [--offscreen] FILE   plays a file with a bar of its own: a button, a slider to drag, and times.
import Foundation
import KioskAVFoundation
import KioskControls
import KioskInput
import Stage

let stage = try Stage(usage: "tutorial-transport [--offscreen] FILE", count: 1)
let player = AVPlayer(url: stage.files[0])

/// The bar at the lower edge of the display: its parts in pixels, and its drawing.
struct TransportBar {
    var size: PixelSize
    var height: Double { Double(size.height) / 6 }
    var button: (x: Double, radius: Double) { (height / 2, height / 4) }
    var slider: ClosedRange<Double> { height * 2...Double(size.width) - height * 2 }

    /// Returns `1:05`.
    func text(_ time: CMTime) -> String {
        guard time.isNumeric else { return "–:––" }
        let seconds = Int(time.seconds)
        return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
    }

    func drawing(time: CMTime, duration: CMTime, isPlaying: Bool) -> Bitmap {
        var canvas = Canvas(width: size.width, height: Int(height))
        canvas.fill(.black.opacity(0.6))
        let (x, y, r) = (button.x, height / 2, button.radius)
        if isPlaying {
            for side in [-1.0, 0.4] {
                canvas.fill(.rectangle(x: x + side * r * 0.7, y: y - r, width: r * 0.42, height: r * 2), with: .white)
            }
        } else {
            canvas.fill(.polygon([.init(x: x - r * 0.6, y: y - r), .init(x: x - r * 0.6, y: y + r), .init(x: x + r, y: y)]), with: .white)
        }
        let share = duration.isNumeric && duration > .zero ? min(time.seconds / duration.seconds, 1) : 0
        let knob = slider.lowerBound + (slider.upperBound - slider.lowerBound) * share
        let ends = (Canvas.Point(x: slider.lowerBound, y: y), Canvas.Point(x: slider.upperBound, y: y))
        canvas.stroke(.line(from: ends.0, to: ends.1), with: .white.opacity(0.4), lineWidth: 6)
        canvas.stroke(.line(from: ends.0, to: .init(x: knob, y: y)), with: .white, lineWidth: 6)
        canvas.fill(.circle(x: knob, y: y, radius: height / 8), with: .white)
        let font = Canvas.Font(size: height / 3)
        canvas.draw(text(time), x: slider.lowerBound - height / 3, y: y - height / 4, font: font, alignment: .trailing)
        canvas.draw(text(duration), x: slider.upperBound + height / 3, y: y - height / 4, font: font)
        return canvas.bitmap()
    }
}

func draw() {
    guard let size = VideoOutput.main.size else { return }
    let bar = TransportBar(size: size)
    let drawing = bar.drawing(
        time: player.currentTime(), duration: player.currentItem?.duration ?? .indefinite, isPlaying: player.timeControlStatus == .playing)
    VideoOutput.main.overlay = [OverlayPicture(drawing, x: 0, y: size.height - drawing.height)]
}

// The observer of every tutorial. It is called at once after a pause or a seek, too.
let token = player.addPeriodicTimeObserver(forInterval: CMTime(seconds: 0.1, preferredTimescale: 600), queue: .main) { _ in draw() }

/// Acts on a touch: the button plays or pauses, and the slider seeks as long as a finger is on it.
func handle(_ touch: InputDevices.Touch) async {
    guard let size = VideoOutput.main.size, touch.phase == .began || touch.phase == .moved else { return }
    let (bar, x, y) = (TransportBar(size: size), touch.x * Double(size.width), touch.y * Double(size.height))
    guard y > Double(size.height) - bar.height, let duration = player.currentItem?.duration, duration.isNumeric else { return }
    if x < bar.height {
        guard touch.phase == .began else { return }
        if player.timeControlStatus == .paused { player.play() } else { player.pause() }
    } else {
        let share = min(max((x - bar.slider.lowerBound) / (bar.slider.upperBound - bar.slider.lowerBound), 0), 1)
        await player.seek(to: CMTimeMultiplyByFloat64(duration, multiplier: share), toleranceBefore: .zero, toleranceAfter: .zero)
    }
}
player.play()

if let input = stage.input {
    for await event in input.events { if case .touch(let touch) = event { await handle(touch) } }
} else {
    await stage.until("plays") { player.timeControlStatus == .playing && player.statistics.framesShown > 5 }
    await handle(.init(phase: .began, x: 0.03, y: 0.95))
    await stage.until("the button pauses") { player.timeControlStatus == .paused }
    await handle(.init(phase: .began, x: 0.3, y: 0.95))
    await handle(.init(phase: .moved, x: 0.5, y: 0.95))
    let duration = player.currentItem?.duration ?? .zero
    await stage.until("the slider seeks to the middle") { abs(player.currentTime().seconds - duration.seconds / 2) < 0.1 }
    draw()
    try await Task.sleep(for: .milliseconds(300))
    try stage.photograph("transport")
    await handle(.init(phase: .began, x: 0.03, y: 0.95))
    await stage.until("the button plays") { player.timeControlStatus == .playing }
    player.removeTimeObserver(token)
    player.stop()
}
