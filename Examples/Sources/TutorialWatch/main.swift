// tutorial-watch [--offscreen] FILE…   plays files with the usual controls: tap to pause, drag the slider, and leave by the arrow.
import Foundation
import KioskAVFoundation
import KioskControls
import KioskInput
import Stage

let stage = try Stage(usage: "tutorial-watch [--offscreen] FILE…", count: 1, keys: ["space", "left", "right", "esc"])
let player = AVQueuePlayer(items: stage.files.map { AVPlayerItem(url: $0) })

let playerViewController = AVPlayerViewController(player, input: stage.input)
playerViewController.configuration.parts.insert(.back)
playerViewController.backAction = {
    print("back")
    exit(0)
}
player.play()

if stage.isOffscreen {
    await stage.until("plays \(stage.files[0].lastPathComponent)") {
        player.timeControlStatus == .playing && player.statistics.framesShown > 5
    }

    /// Touches the middle of a control, as a finger does.
    func touch(_ control: PlayerControls.Control) async {
        await stage.until("touches \(control)") { playerViewController.region(of: control) != nil }
        guard let region = playerViewController.region(of: control) else { return }
        let (x, y) = (region.x + region.width / 2, region.y + region.height / 2)
        playerViewController.send(.touch(.init(phase: .began, x: x, y: y)))
        try? await Task.sleep(for: .milliseconds(100))
        playerViewController.send(.touch(.init(phase: .ended, x: x, y: y)))
        try? await Task.sleep(for: .milliseconds(100))
    }
    playerViewController.show()
    await touch(.playPause)
    await stage.until("is paused") { player.timeControlStatus == .paused }
    try stage.photograph("watch")
    let duration = player.currentItem?.duration ?? .zero
    await touch(.slider)
    await stage.until("has gone to the middle") { abs(player.currentTime().seconds - duration.seconds / 2) < 0.3 }
    await touch(.nextItem)
    await stage.until("has gone to \(stage.files[1].lastPathComponent)") { player.currentItem == player.items()[1] }
    await touch(.playPause)
    await stage.until("plays again") { player.timeControlStatus == .playing }
    await touch(.back)
}
while true { try await Task.sleep(for: .seconds(3600)) }
