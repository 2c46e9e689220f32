// TwoDisplays CARD CLIP OTHER   plays a clip on each display of one seat, again and again, until it is interrupted; the first is heard on an ALSA device.
import Glibc
import KioskAudio
import KioskDisplay
import KioskPlayer

let words = Array(CommandLine.arguments.dropFirst())
guard words.count == 3 else { fatalError("usage: TwoDisplays CARD CLIP OTHER") }
let seat = DisplaySeat()
let first = seat.open(DisplayConfiguration(connector: "Virtual-1"))
let second = seat.open(DisplayConfiguration(connector: "Virtual-2"))
let players = [
    QueuePlayer(items: [PlayerItem(words[1])], loop: .queue, video: first, audio: .alsa(device: words[0])),
    QueuePlayer(items: [PlayerItem(words[2])], loop: .queue, video: second),
]
for player in players { player.play() }

var signals = sigset_t()
sigemptyset(&signals)
sigaddset(&signals, SIGINT)
sigaddset(&signals, SIGTERM)
sigprocmask(SIG_BLOCK, &signals, nil)
var number: Int32 = 0
sigwait(&signals, &number)
for player in players { player.stop() }
first.close()
second.close()
