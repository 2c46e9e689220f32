// tutorial-looper [--offscreen] FILM CLIP…   plays a film, and clips in a loop in a small window. A tap changes the window's sound, two taps its speed.
import Foundation
import KioskAVFoundation
import KioskControls
import KioskInput
import Stage

let stage = try Stage(usage: "tutorial-looper [--offscreen] FILM CLIP…", count: 2)

let film = AVPlayer(url: stage.files[0])
film.isMuted = true

// The window: clips one after the other, and then the first again.
let clips = stage.files.dropFirst().map { AVPlayerItem(url: $0) }
let looper = QueuePlayer(
    items: clips, loop: .queue, video: .main, audio: .main, region: Region(x: 0.65, y: 0.05, width: 0.3, height: 0.3))
looper.isMuted = true

/// The number of clips that the window has begun.
actor Turns {
    private(set) var count = 0
    func begin() { count += 1 }
}
let turns = Turns()
let counting = Task { for await event in looper.events { if case .itemStarted = event { await turns.begin() } } }

// Controls that are never shown tell of gestures.
let controls = PlayerControls(looper, input: stage.input)
controls.showsPlaybackControls = false
let gestures = Task {
    for await event in controls.events {
        guard case .gesture(let gesture) = event else { continue }
        switch gesture {
        case .tap(let x, let y) where looper.region.contains(x: x, y: y): looper.isMuted.toggle()
        case .doubleTap(let x, let y) where looper.region.contains(x: x, y: y): looper.rate = looper.rate == 1 ? 2 : 1
        default: break
        }
    }
}
extension Region {
    func contains(x: Double, y: Double) -> Bool { self.x...self.x + width ~= x && self.y...self.y + height ~= y }
}
film.play()
looper.play()

if stage.isOffscreen {
    await stage.until("both play") { film.statistics.framesShown > 5 && looper.statistics.framesShown > 5 }
    try stage.photograph("looper")

    /// Taps the window.
    func tap() async {
        controls.send(.touch(.init(phase: .began, x: 0.8, y: 0.2)))
        try? await Task.sleep(for: .milliseconds(60))
        controls.send(.touch(.init(phase: .ended, x: 0.8, y: 0.2)))
    }
    await tap()
    await stage.until("a tap lets it be heard") { !looper.isMuted }
    try await Task.sleep(for: .seconds(1))
    await tap()
    try await Task.sleep(for: .milliseconds(120))
    await tap()
    await stage.until("two taps double its speed") { looper.rate == 2 }
    for (clip, name) in zip(clips + [clips[0]], ["its first clip", "its second clip", "its first clip again"]) {
        await stage.until(name) { looper.currentItem == clip }
        let end = clip.duration
        if end.isNumeric { await looper.seek(to: end - CMTime(seconds: 0.3, preferredTimescale: 600)) }
    }
    await stage.until("without a late picture at a seam") { looper.statistics.seams >= 2 }
    looper.stop()
    film.stop()
} else {
    while true { try await Task.sleep(for: .seconds(3600)) }
}
