// example-overlay FILE   loops a file, and draws a progress bar over it.
import KioskAudio
import KioskDisplay
import KioskPlayer

guard let file = CommandLine.arguments.dropFirst().first else { fatalError("usage: example-overlay FILE") }

let display = VideoOutput.display()
let player = QueuePlayer(items: [PlayerItem(file)], loop: .queue, video: display, audio: .alsa(display: display))

extension Bitmap {
    /// Returns a bar of `width` pixels. The fraction `share` is white, the rest is translucent black.
    static func bar(width: Int, share: Double) -> Bitmap? {
        let done = Int(Double(width) * share)
        return Bitmap(width: width, height: 16) { x, _ in x < done ? 0xffff_ffff : 0x8000_0000 }
    }
}

let observer = player.addPeriodicTimeObserver(forInterval: .milliseconds(200)) { time in
    guard let size = display.size, let duration = player.currentItem?.duration, duration.isNumeric,
        let bar = Bitmap.bar(width: size.width / 2, share: time / duration)
    else { return }
    display.overlay = [OverlayPicture(bar, x: size.width / 4, y: size.height / 20)]
}
player.play()

for await event in player.events {
    if case .itemFailed(let item, let error) = event { print("\(item.asset.source): \(error)") }
}
player.removeTimeObserver(observer)
