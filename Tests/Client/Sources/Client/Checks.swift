import Glibc
import KioskAudio
import KioskDisplay
import KioskInput
import KioskPlayer

func checkAssets(_ clips: [String]) async throws {
    let properties = try await Asset(clips[0]).load()
    Check.expect(properties.duration.isNumeric && properties.duration > .seconds(1), "an asset has a duration")
    Check.expect(
        properties.tracks.contains { $0.mediaType == .video && $0.naturalSize != nil && $0.nominalFrameRate != nil }, "and a picture track")
    Check.expect(properties.chapters.isEmpty && !properties.metadata.hasArtwork, "no chapters and no cover")
    let artwork = try await Asset(clips[0]).loadArtwork()
    Check.expect(artwork == nil, "which cannot be loaded either")
    do {
        _ = try await Asset("/nowhere/at/all.mp4").load()
        Check.expect(false, "what is not there cannot be loaded")
    } catch {
        Check.expect("\(error)".contains("all.mp4"), "what is not there cannot be loaded, and the error names it: \(error)")
    }
}

/// Checks the properties of an item before, during and after its use by a player.
func checkItem(_ clips: [String]) async throws {
    let display = VideoOutput.offscreen(width: 320, height: 180)
    let properties = try await Asset(clips[0]).load()
    let (item, missing) = (PlayerItem(clips[0]), PlayerItem("/nowhere/at/all.mp4"))
    Check.expect(item.status == .unknown && item.duration.isIndefinite && item.tracks.isEmpty, "nothing is known of a new item")
    Check.expect(item.presentationSize == nil && !item.isPlaybackLikelyToKeepUp, "nor how large it is")
    let player = QueuePlayer(items: [item, missing], loop: .queue, video: display)
    player.play()
    Check.expect(await eventually { item.status == .readyToPlay && player.currentItem == item }, "a player opens it")
    Check.expect(item.error == nil, "without an error")
    let duration = item.duration
    Check.expect(abs((duration - properties.duration).seconds) < 0.1, "its duration is its asset's: \(duration)")
    let natural = properties.tracks.first { $0.mediaType == .video }?.naturalSize
    Check.expect(item.presentationSize == natural, "so is its size: \(item.presentationSize as Any)")
    Check.expect(item.tracks.map(\.assetTrack.id) == properties.tracks.map(\.id), "so are its tracks")
    Check.expect(
        item.loadedTimeRanges == [CMTimeRange(start: .zero, duration: duration)] && item.seekableTimeRanges == item.loadedTimeRanges,
        "all of a file is there")
    Check.expect(item.isPlaybackLikelyToKeepUp, "and will be")
    Check.expect(item.chapters == properties.chapters && item.metadata == properties.metadata, "it tells what its asset does")

    func isHeard() -> Bool { item.tracks.contains { $0.assetTrack.mediaType == .audio && $0.isEnabled } }
    Check.expect(isHeard(), "its sound is on")
    Check.expect(item.select(.none, in: .audio) && !item.select(.none, in: .audio), "a track is switched off once")
    Check.expect(await eventually { !isHeard() }, "its sound is off")
    if let sound = properties.tracks.first(where: { $0.mediaType == .audio }) { item.select(.track(sound), in: .audio) }
    Check.expect(await eventually { isHeard() }, "and on again")
    Check.expect(!item.select(.automatic, in: .subtitle), "subtitles are not drawn")
    Check.expect(
        await eventually { missing.error?.description.contains("no such file") == true }, "why an item failed is known: \(missing.status)")

    // An item keeps its selection for another player.
    item.select(.none, in: .audio)
    player.stop()
    let other = Player(item, video: display)
    other.play()
    Check.expect(await eventually { !item.tracks.isEmpty }, "another player has it")
    Check.expect(!isHeard() && item.tracks.contains { $0.isEnabled }, "as it was chosen")
    other.replaceCurrentItem(with: nil)
    Check.expect(await eventually { other.currentItem == nil || item.tracks.isEmpty || !isHeard() }, "an item can leave")
    other.stop()
    display.close()
}

/// Checks a session that pauses and one that ducks: an application's own interruptions.
func checkSession(_ clips: [String]) async {
    let display = VideoOutput.offscreen(width: 320, height: 180)
    var session = AudioSession()
    session.interruption = .pause
    session.duckedVolume = 7
    let sound = AudioOutput.silent(session: session)
    Check.expect(sound.session == session, "an output has its session")
    let player = QueuePlayer(items: [PlayerItem(clips[0])], loop: .queue, video: display, audio: sound)
    let events = player.events
    player.play()
    Check.expect(await eventually { player.timeControlStatus == .playing }, "it plays")
    player.beginInterruption(by: "a")
    player.beginInterruption(by: "b", for: .seconds(60))
    Check.expect(await eventually { player.timeControlStatus == .paused } && player.isInterrupted, "an interruption pauses it")
    player.endInterruption(by: "a")
    player.endInterruption(by: "nobody")
    Check.expect(player.isInterrupted && player.timeControlStatus == .paused, "until the last of two has ended")
    player.endInterruption(by: "b")
    Check.expect(await eventually { player.timeControlStatus == .playing } && !player.isInterrupted, "then it plays on")
    player.beginInterruption(for: .milliseconds(300))
    Check.expect(await eventually { player.timeControlStatus == .paused }, "it can be interrupted again")
    Check.expect(await eventually { player.timeControlStatus == .playing }, "an interruption that nobody ends has its time")
    player.stop()
    var seen: [PlayerEvent] = []
    for await event in events where event == .interruptionBegan || event == .interruptionEnded { seen.append(event) }
    Check.expect(seen == [.interruptionBegan, .interruptionEnded, .interruptionBegan, .interruptionEnded], "events tell: \(seen)")

    // The session selects the card; without a card the output is silent.
    var mixed = AudioSession()
    (mixed.mixesWithOthers, mixed.route) = (true, .port)
    let card = AudioOutput.alsa(session: mixed)
    Check.expect(card.session == mixed && !card.name.isEmpty, "a card is opened by its session: \(card.name)")
    display.close()
}

func checkPlayer(_ clips: [String]) async {
    let display = VideoOutput.offscreen(width: 640, height: 360)
    let item = PlayerItem(clips[0])
    let player = Player(item, video: display, audio: .silent())
    Check.expect(player.timeControlStatus != .playing, "a player stands still at first")
    let (periods, boundaries) = (Counter(), Counter())
    let periodic = player.addPeriodicTimeObserver(forInterval: .milliseconds(50)) { _ in periods.add() }
    let boundary = player.addBoundaryTimeObserver(forTimes: [.milliseconds(500)]) { boundaries.add() }
    player.play()
    Check.expect(await eventually { player.timeControlStatus == .playing }, "it plays")
    Check.expect(await eventually { item.status == .readyToPlay && player.currentItem == item }, "its item is ready")
    Check.expect(await eventually { boundaries.count == 1 }, "a boundary observer is called")
    Check.expect(periods.count > 3, "a periodic observer is called")
    player.removeTimeObserver(periodic)
    player.removeTimeObserver(boundary)
    try? await Task.sleep(for: .milliseconds(100))
    let former = periods.count
    try? await Task.sleep(for: .milliseconds(300))
    Check.expect(periods.count == former, "an observer that was removed is not")

    player.rate = 1.5
    Check.expect(player.rate == 1.5 && player.defaultRate == 1, "a rate is told as it was set, and is not the default: \(player.rate)")
    player.rate = -1
    Check.expect(player.rate == 1.5, "nothing is played backwards")
    player.pause()
    Check.expect(player.rate == 0, "the rate of a pause is 0")
    player.defaultRate = 2
    Check.expect(player.rate == 0 && player.defaultRate == 2, "the default is for later")
    player.play()
    Check.expect(player.rate == 2, "and then it is played at")
    (player.defaultRate, player.rate) = (1, 1)
    item.videoGravity = .resizeAspectFill
    Check.expect(item.videoGravity == .resizeAspectFill, "a picture is fitted another way while it plays")

    player.pause()
    Check.expect(await player.seek(to: .milliseconds(800)), "a seek lands")
    Check.expect(abs(player.currentTime() / .milliseconds(1) - 800) < 50, "where it was to: \(player.currentTime())")
    async let first = player.seek(to: .milliseconds(200))
    async let second = player.seek(to: .milliseconds(300))
    async let third = player.seek(to: .milliseconds(400))
    let landed = await [first, second, third]
    Check.expect(landed.contains(true), "of several seeks at once the last one lands: \(landed)")

    player.play()
    let before = player.statistics
    for turn in 0..<20 {
        player.setRegion(turn % 2 == 0 ? Region(x: 0.5, y: 0.5, width: 0.4, height: 0.4) : .full, within: .milliseconds(turn % 3 * 20))
        try? await Task.sleep(for: .milliseconds(60))
    }
    Check.expect(player.region == .full, "the picture goes into a window and back")
    Check.expect(player.statistics.framesShown > before.framesShown, "and plays meanwhile")
    Check.expect((try? display.png())?.starts(with: [0x89, 0x50, 0x4e, 0x47]) == true, "what is on the screen is a PNG")

    let bad = PlayerItem("/nowhere/at/all.mp4")
    player.replaceCurrentItem(with: bad)
    Check.expect(player.currentItem == bad, "an item is the current one from the moment that it is set")
    Check.expect(
        await eventually { if case .failed = bad.status { true } else { false } }, "an item that cannot be played has failed: \(bad.status)"
    )
    let good = PlayerItem(clips[1])
    player.replaceCurrentItem(with: good)
    Check.expect(player.currentItem == good, "and gives way to another")
    Check.expect(await player.seek(to: .milliseconds(500)), "in which one can seek at once")
    Check.expect(abs(player.currentTime() / .milliseconds(1) - 500) < 50, "to where it was to: \(player.currentTime())")
    player.replaceCurrentItem(with: nil)
    Check.expect(player.currentItem == nil, "with none there is none")
    player.play()
    player.stop()
    Check.expect(player.timeControlStatus == .paused && player.rate == 0, "a player that was stopped is paused")
    display.close()
}

func checkQueue(_ clips: [String]) async {
    let display = VideoOutput.offscreen(width: 320, height: 180)
    var short = PlayerItem.Options()
    short.end = .milliseconds(400)
    let items = clips.map { PlayerItem($0, options: short) }
    let player = QueuePlayer(items: [items[0]], loop: .queue, video: display)
    Check.expect(player.insert(items[1]) && !player.insert(items[1]), "an item is on a queue once")
    Check.expect(player.items() == items, "in its order")
    let events = player.events
    player.play()
    var started: [PlayerItem] = []
    for await event in events {
        if case .itemStarted(let item, let isSeam) = event {
            Check.expect(isSeam || started.isEmpty, "each item follows by a seam")
            started.append(item)
        }
        if started.count == 4 { break }
    }
    Check.expect(started == [items[0], items[1], items[0], items[1]], "a queue loops")
    player.go(to: items[0])
    Check.expect(await eventually { player.currentItem == items[0] }, "one can go to an item")
    player.remove(items[1])
    Check.expect(player.items() == [items[0]], "and take one off")
    let looper = PlayerLooper(player: player, templateItem: items[0])
    Check.expect(player.loopMode == .item, "a looper repeats an item")
    looper.disableLooping()
    let statuses = player.timeControlStatusUpdates
    player.stop()
    for await _ in statuses {}
    Check.expect(true, "sequences end with their player")
    display.close()
}

/// Checks that each of many players on one display shows its pictures. The players are stopped or released one after the other.
func checkManyPlayers(_ clips: [String]) async {
    let display = VideoOutput.offscreen(width: 320, height: 180)
    for turn in 1...20 {
        let player = Player(PlayerItem(clips[turn % 2]), video: display)
        player.play()
        let isSeen = await eventually { player.statistics.framesShown >= 5 }
        Check.expect(isSeen, "player \(turn) on a display shows frames: \(player.statistics.framesShown)")
        // Every other player is released without a stop, and ends after the next one has started.
        if turn % 2 == 0 { player.stop() }
    }
    display.close()
    Check.expect((try? display.png()) == nil, "and then the display is closed")
}

func checkTwoPlayers(_ clips: [String]) async {
    // Two players on one output and one sound, and a third on its own output.
    let (display, other) = (VideoOutput.offscreen(width: 640, height: 360), VideoOutput.offscreen(width: 320, height: 180, refreshRate: 50))
    let sound = AudioOutput.silent()
    let large = QueuePlayer(items: [PlayerItem(clips[0])], loop: .queue, video: display, audio: sound)
    let small = QueuePlayer(
        items: [PlayerItem(clips[1])], loop: .queue, video: display, audio: sound, region: Region(x: 0.7, y: 0.1, width: 0.25, height: 0.25)
    )
    let third = QueuePlayer(items: [PlayerItem(clips[1])], loop: .queue, video: other)
    let all = [large, small, third]
    for player in all { player.play() }
    Check.expect(
        await eventually { all.allSatisfy { $0.statistics.framesShown > 30 } },
        "three players play at once: \(all.map(\.statistics.framesShown))")
    small.setRegion(Region(x: 0.1, y: 0.5, width: 0.4, height: 0.4), within: .milliseconds(200))
    Check.expect(await eventually { small.region.width == 0.4 }, "a window moves")
    small.pause()
    let (still, moving) = (small.currentTime(), large.statistics.framesShown)
    Check.expect(await eventually { large.statistics.framesShown > moving + 10 }, "one plays on while another one is paused")
    Check.expect(small.currentTime() - still < .milliseconds(200), "which stands still")
    small.stop()
    large.stop()
    third.stop()
    display.close()
    other.close()
}

func checkInput() {
    // Events for an application's own tests.
    let touch = InputDevices.Touch(phase: .began, id: 3, x: 0.5, y: 0.25)
    let key = InputDevices.Key(name: "KEY_SPACE", phase: .pressed, time: .seconds(1))
    Check.expect(InputDevices.Event.touch(touch) != .key(key) && touch.x == 0.5, "an application can make events for its tests")
    do throws(InputDevices.UnknownKeyError) {
        _ = try InputDevices(keys: ["spcae"])
        Check.expect(false, "a key that there is not is refused")
    } catch { Check.expect("\(error)".contains("SPACE"), "a key that there is not is refused: \(error)") }
}

/// Checks isolation: processes read media if `kiosk-reader` is beside this program, unless isolation is off.
/// Runs before all other checks, because loaded libraries stay loaded.
func checkIsolation(_ clips: [String]) async {
    Check.expect(Player.isolation == .automatic, "processes read media, where there is a program for that")
    let display = VideoOutput.offscreen(width: 320, height: 180)
    for isolation in [Player.Isolation.automatic, .off] {
        Player.isolation = isolation
        let player = Player(PlayerItem(clips[0]), video: display)
        player.play()
        Check.expect(await eventually { player.statistics.framesShown >= 5 }, "\(isolation): it plays")
        Check.expect(hasLoaded("libavcodec") == (isolation == .off), "\(isolation): no decoder is loaded here but where it is to be")
        player.stop()
    }
    Player.isolation = .automatic
    display.close()
}

/// Returns whether this process has loaded a library.
private func hasLoaded(_ name: String) -> Bool {
    guard let file = fopen("/proc/self/maps", "r") else { return false }
    defer { fclose(file) }
    var (line, capacity): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
    defer { free(line) }
    while getline(&line, &capacity, file) > 0 { if let line, strstr(line, name) != nil { return true } }
    return false
}
