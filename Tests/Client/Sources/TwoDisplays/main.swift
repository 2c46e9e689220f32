// TwoDisplays CARD CLIP OTHER [SECONDS]   loops a clip on each of two displays of one seat until a signal interrupts it.
// The first clip's sound goes to the ALSA device CARD. With SECONDS both start at one instant, that many seconds from now;
// the program prints the remaining time on standard error.
import Glibc
import KioskAudio
import KioskDisplay
import KioskPlayer

let words = Array(CommandLine.arguments.dropFirst())
guard (3...4).contains(words.count) else { fatalError("usage: TwoDisplays CARD CLIP OTHER [SECONDS]") }
let seat = DisplaySeat()
let first = seat.open(DisplayConfiguration(connector: "Virtual-1"))
let second = seat.open(DisplayConfiguration(connector: "Virtual-2"))
let players = [
    QueuePlayer(items: [PlayerItem(words[1])], loop: .queue, video: first, audio: .alsa(device: words[0])),
    QueuePlayer(items: [PlayerItem(words[2])], loop: .queue, video: second),
]
if let wait = words.dropFirst(3).first.flatMap(Double.init) {
    let instant = CMTime.hostTime + .seconds(wait)
    for player in players { player.setRate(1, time: .milliseconds(500), atHostTime: instant) }
    let line = "both begin in \((instant - .hostTime).seconds) s\n"
    write(STDERR_FILENO, line, line.utf8.count)
} else {
    for player in players { player.play() }
}

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
