// example-loop FILE…   plays files one after the other for ever, without a gap, on a bare console.
import KioskAudio
import KioskDisplay
import KioskPlayer

let display = VideoOutput.display()
let items = CommandLine.arguments.dropFirst().map { PlayerItem($0) }
let player = QueuePlayer(items: items, loop: .queue, video: display, audio: .alsa(display: display))
player.play()

for await event in player.events {
    if case .itemFailed(let item, let error) = event { print("\(item.asset.source): \(error)") }
}
