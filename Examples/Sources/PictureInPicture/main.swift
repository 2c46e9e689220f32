// example-picture-in-picture [hw:…] FILE SMALL   plays one file on the whole display and another in a window over it.
// Every ten seconds the large picture shrinks for a moment.
import KioskAudio
import KioskDisplay
import KioskPlayer

var files = CommandLine.arguments.dropFirst()
// The ALSA name of a sound card.
let device = files.first?.hasPrefix("hw:") == true ? files.removeFirst() : nil
guard files.count == 2, let large = files.first, let small = files.last else {
    fatalError("usage: example-picture-in-picture [hw:…] FILE SMALL")
}

// Two players share one display and one sound card: the card mixes them, and they have one clock.
let display = VideoOutput.display()
let sound = AudioOutput.alsa(device: device, display: display)
let main = QueuePlayer(items: [PlayerItem(large)], loop: .queue, video: display, audio: sound)
let window = QueuePlayer(
    items: [PlayerItem(small)], loop: .queue, video: display, audio: sound, region: Region(x: 0.7, y: 0.05, width: 0.25, height: 0.25))
window.isMuted = true
main.play()
window.play()

while true {
    try await Task.sleep(for: .seconds(10))
    main.setRegion(Region(x: 0, y: 0, width: 0.65, height: 0.65), within: .milliseconds(500))
    try await Task.sleep(for: .seconds(3))
    main.setRegion(.full, within: .milliseconds(500))
}
