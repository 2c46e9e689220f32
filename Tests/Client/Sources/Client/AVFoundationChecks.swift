import Foundation
import KioskAVFoundation
import Observation

// Lines of AVPlayer tutorials, unchanged except for the import.

func checkAVFoundation(_ clips: [String]) async throws {
    let display = VideoOutput.offscreen(width: 640, height: 360)
    (VideoOutput.main, AudioOutput.main) = (display, .silent())
    let url = URL(fileURLWithPath: clips[0])

    let asset = AVURLAsset(url: url)
    let (duration, tracks) = try await asset.load(.duration, .tracks)
    let isPlayable = try await asset.load(.isPlayable)
    let videoTracks = try await asset.loadTracks(withMediaType: .video)
    Check.expect(CMTimeGetSeconds(duration) > 1 && isPlayable && !tracks.isEmpty, "AVURLAsset loads properties")
    Check.expect(videoTracks.first?.naturalSize != nil && asset.url.path == url.path, "AVURLAsset loads tracks of a kind")

    let player = AVPlayer(url: url)
    let playerLayer = AVPlayerLayer(player: player)
    playerLayer.videoGravity = .resizeAspectFill
    playerLayer.frame = CGRect(x: 0, y: 0, width: 320, height: 180)
    Check.expect(abs(player.region.width - 0.5) < 0.01 && playerLayer.frame.height == 180, "AVPlayerLayer has a frame in pixels")
    Check.expect(player.status == .readyToPlay && player.error == nil, "AVPlayer is ready")
    Check.expect(await player.preroll(atRate: 1.0), "AVPlayer prerolls")
    Check.expect(player.currentItem?.status == .readyToPlay, "AVPlayerItem is ready then")

    let ticks = Counter()
    let interval = CMTime(seconds: 0.05, preferredTimescale: CMTimeScale(NSEC_PER_SEC))
    var timeObserverToken: Any?
    let queue = DispatchQueue(label: "observers")
    timeObserverToken = player.addPeriodicTimeObserver(forInterval: interval, queue: queue) { time in
        if time.seconds >= 0 { ticks.add() }
    }
    let ended = Counter()
    let observer = NotificationCenter.default.addObserver(
        forName: .AVPlayerItemDidPlayToEndTime, object: player.currentItem, queue: nil
    ) { _ in ended.add() }

    player.volume = 0.5
    player.isMuted = true
    player.actionAtItemEnd = .none
    player.play()
    Check.expect(await eventually { player.timeControlStatus == .playing && player.reasonForWaitingToPlay == nil }, "AVPlayer plays")
    Check.expect(await eventually { ticks.count > 3 } && playerLayer.isReadyForDisplay, "its time is observed on a queue")
    if let token = timeObserverToken {
        player.removeTimeObserver(token)
        timeObserverToken = nil
    }
    player.rate = 2.0
    let rate: Float = player.rate
    Check.expect(rate == 2, "its rate is a Float")
    player.playImmediately(atRate: 1.5)
    Check.expect(player.rate == 1.5, "it plays immediately at a rate")
    let isPlaying = player.timeControlStatus != .paused && player.timeControlStatus != .waitingToPlayAtSpecifiedRate
    Check.expect(isPlaying, "its status has Apple's name")

    // The usual loop of a tutorial.
    let seekTime = CMTimeMakeWithSeconds(CMTimeGetSeconds(duration) - 0.2, preferredTimescale: 600)
    Check.expect(await player.seek(to: seekTime, toleranceBefore: .zero, toleranceAfter: .zero), "it seeks")
    Check.expect(await eventually { ended.count == 1 }, "a notification comes at the end of an item: \(ended.count)")
    Check.expect(await eventually { player.timeControlStatus == .paused } && player.rate == 1.5, "with actionAtItemEnd none the rate stays")
    let landed = Counter()
    player.seek(to: .zero) { finished in if finished { landed.add() } }
    Check.expect(await eventually { landed.count == 1 && player.timeControlStatus == .playing }, "and a seek plays on")
    Check.expect(player.currentTime() < CMTime(value: 1, timescale: 1), "from there: \(player.currentTime())")
    func skipForward() {
        let target = player.currentTime() + CMTime(value: 1, timescale: 4)
        player.seek(to: target)
    }
    skipForward()
    player.pause()
    NotificationCenter.default.removeObserver(observer)
    player.stop()

    // A queue, and a looper.
    let items = clips.map { AVPlayerItem(url: URL(fileURLWithPath: $0)) }
    let queuePlayer = AVQueuePlayer(items: items)
    Check.expect(queuePlayer.items() == items && !queuePlayer.canInsert(items[0], after: nil), "AVQueuePlayer has its items")
    queuePlayer.advanceToNextItem()
    Check.expect(await eventually { queuePlayer.currentItem == items[1] }, "and advances")
    let playerItem = AVPlayerItem(asset: asset)
    let playerLooper = AVPlayerLooper(player: queuePlayer, templateItem: playerItem)
    queuePlayer.play()
    Check.expect(await eventually { playerItem.status == .readyToPlay }, "AVPlayerLooper plays its item")
    let loaded = playerItem.loadedTimeRanges.first?.timeRangeValue
    Check.expect(loaded.map { CMTimeRangeGetEnd($0) == playerItem.duration } == true, "all of a file is loaded: \(loaded as Any)")
    playerLooper.disableLooping()
    queuePlayer.stop()

    let empty = AVPlayer()
    empty.play()
    Check.expect(await eventually { empty.reasonForWaitingToPlay == .noItemToPlay }, "AVPlayer without an item waits for one")
    empty.replaceCurrentItem(with: AVPlayerItem(url: url))
    Check.expect(await eventually { empty.timeControlStatus == .playing }, "and plays it")
    empty.stop()
    (VideoOutput.main, AudioOutput.main) = (.offscreen(), .silent())
    display.close()
}

/// Checks that Swift's Observation tracks the properties.
func checkObservation(_ clips: [String]) async {
    let display = VideoOutput.offscreen(width: 320, height: 180)
    let item = PlayerItem(clips[0])
    let player = Player(nil, video: display)
    func changes(_ property: @escaping () -> Void) -> Counter {
        let counter = Counter()
        withObservationTracking(property) { counter.add() }
        return counter
    }
    let status = changes { _ = player.timeControlStatus }
    let current = changes { _ = player.currentItem }
    let duration = changes { _ = item.duration }
    let size = changes { _ = (item.presentationSize, item.tracks) }
    let (volume, mute) = (changes { _ = player.volume }, changes { _ = player.isMuted })
    player.replaceCurrentItem(with: item)
    player.play()
    Check.expect(await eventually { player.timeControlStatus == .playing }, "it plays: \(player.timeControlStatus)")
    Check.expect(await eventually { status.count >= 1 }, "Observation tells of the status: \(status.count)")
    Check.expect(
        await eventually { current.count >= 1 && duration.count >= 1 && size.count >= 1 }, "of the item, its duration, size and tracks")
    player.volume = 0.25
    Check.expect(volume.count >= 1 && mute.count == 0, "and of what is set, and of nothing else")
    let loaded = changes { _ = item.loadedTimeRanges }
    Check.expect(await eventually { loaded.count >= 1 }, "of what is loaded, from the first look on")
    player.stop()
    display.close()
}
