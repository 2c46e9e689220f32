// example-exhibit ATTRACT LEFT RIGHT   loops one file until a visitor touches the display, then plays the film of that half and returns.
import KioskAudio
import KioskDisplay
import KioskInput
import KioskPlayer

let files = CommandLine.arguments.dropFirst().map { PlayerItem($0) }
guard files.count == 3 else { fatalError("usage: example-exhibit ATTRACT LEFT RIGHT") }
let (attract, films) = (files[0], Array(files[1...]))

let display = VideoOutput.display()
let player = QueuePlayer(items: [attract], loop: .queue, video: display, audio: .alsa(display: display))
let input = try InputDevices(display: display)
player.play()

// A film is in the queue only while it plays. So the attract film follows every film, and itself.
let watching = Task {
    for await event in player.events {
        guard case .itemStarted(let item, _) = event else { continue }
        for film in films where film != item { player.remove(film) }
        print(item == attract ? "attract" : item == films[0] ? "left" : "right")
    }
}

for await event in input.events {
    guard case .touch(let touch) = event, touch.phase == .began else { continue }
    let film = films[touch.x < 0.5 ? 0 : 1]
    player.insert(film, after: attract)
    player.go(to: film)
}
