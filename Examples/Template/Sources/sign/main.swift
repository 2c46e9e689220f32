// sign FILE…   loops the files. A tap pauses or resumes; an arrow key selects the next or the previous file.
import Glibc
import KioskAudio
import KioskDisplay
import KioskInput
import KioskPlayer

let files = CommandLine.arguments.dropFirst()
guard !files.isEmpty else {
    print("usage: sign FILE…")
    exit(64)
}

let display = VideoOutput.display()
let player = QueuePlayer(items: files.map { PlayerItem($0) }, loop: .queue, video: display, audio: .alsa(display: display))
let input = try InputDevices(keys: ["KEY_LEFT", "KEY_RIGHT"], display: display)
player.play()

let failures = Task {
    for await event in player.events {
        if case .itemFailed(_, let error) = event { print(error) }
    }
}

for await event in input.events {
    switch event {
    case .touch(let touch) where touch.phase == .began:
        if player.timeControlStatus == .paused { player.play() } else { player.pause() }
    case .key(let key) where key.phase == .pressed:
        if key.name == "KEY_LEFT" { player.returnToPreviousItem() } else { player.advanceToNextItem() }
    default: break
    }
}
