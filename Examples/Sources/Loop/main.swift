// example-loop [hw:…] FILE…   loops files without a gap on a bare console, and on the sound card with this ALSA name.
import KioskAudio
import KioskDisplay
import KioskPlayer

var arguments = CommandLine.arguments.dropFirst()
let device = arguments.first?.hasPrefix("hw:") == true ? arguments.removeFirst() : nil

let display = VideoOutput.display()
let sound = AudioOutput.alsa(device: device, display: display)
let player = QueuePlayer(items: arguments.map { PlayerItem($0) }, loop: .queue, video: display, audio: sound)
player.play()

for await event in player.events {
    if case .itemFailed(let item, let error) = event { print("\(item.asset.source): \(error)") }
}
