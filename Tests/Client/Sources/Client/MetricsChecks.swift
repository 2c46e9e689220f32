import KioskDisplay
import KioskPlayer

/// Checks that an application gets measurements, pictures of its own, and events in the middle of an item.
func checkMetrics(_ clips: [String]) async {
    let display = VideoOutput.offscreen(width: 320, height: 180)
    let items = clips.map { PlayerItem($0) }
    let player = QueuePlayer(items: items, loop: .queue, video: display)
    let metrics = player.metrics
    player.play()
    var kinds: [MetricEvent.Kind] = []
    for await event in metrics {
        kinds.append(event.kind)
        if case .seam(let late) = event.kind {
            Check.expect(event.item == items[1] && late >= 0, "a seam is measured: \(late) vblanks late")
            break
        }
    }
    let first: CMTime? = if case .firstFrame(let latency)? = kinds.first { latency } else { nil }
    Check.expect(first.map { $0 > .zero } ?? false, "a first frame is measured: \(kinds)")
    Check.expect(kinds.contains { if case .playbackSummary = $0 { true } else { false } }, "and the showing of an item")
    player.stop()
    display.close()
}

func checkSamples(_ clips: [String]) async {
    let output = VideoOutput.samples(width: 640, height: 360)
    let player = QueuePlayer(items: [PlayerItem(clips[0])], loop: .queue, video: output)
    player.play()
    Check.expect(await eventually { output.sample(forHostTime: .hostTime) != nil }, "an application takes pictures")
    let sample = output.sample(forHostTime: .hostTime)
    Check.expect(await eventually { output.hasNewSample(forHostTime: .hostTime, after: sample) }, "one after the other")
    let bytes = sample?.withPlane(0) { bytes, plane in bytes.byteCount >= plane.bytesOfPixels }
    Check.expect(bytes == true && sample?.drmPrime == nil, "each is in memory")
    let bitmap = try? sample?.bitmap(width: 64, height: 36)
    Check.expect(bitmap?.width == 64 && bitmap?.height == 36, "and converted on request")
    player.stop()
    output.close()
}

func checkInterstitials(_ clips: [String]) async {
    let display = VideoOutput.offscreen(width: 320, height: 180)
    let (item, spot) = (PlayerItem(clips[0]), PlayerItem(clips[1]))
    let player = Player(item, video: display)
    let controller = InterstitialEventController(primaryPlayer: player)
    controller.events = [InterstitialEvent(primaryItem: item, identifier: "spot", time: .milliseconds(300), templateItems: [spot])]
    player.play()
    Check.expect(await eventually { player.currentItem == spot && controller.currentEvent != nil }, "an event interrupts an item")
    controller.cancelCurrentEvent(withResumptionOffset: .zero)
    Check.expect(await eventually { player.currentItem == item && controller.currentEvent == nil }, "which goes on afterwards")
    player.stop()
    display.close()
}

func checkLayers(_ clips: [String]) async {
    let displays = (0..<2).map { _ in VideoOutput.offscreen(width: 320, height: 180) }
    let players = [Player(PlayerItem(clips[0]), video: displays[0]), Player(video: displays[1])]
    let empty = try? displays[1].png()
    let layer = PlayerLayer(player: players[0], on: displays[1], region: Region(x: 0, y: 0, width: 0.5, height: 0.5))
    players[0].play()
    Check.expect(await eventually { (try? displays[1].png()) != empty }, "a layer shows a player on another display")
    layer.remove()
    Check.expect(await eventually { (try? displays[1].png()) == empty }, "until it is removed")
    for player in players { player.stop() }
    for display in displays { display.close() }
}
