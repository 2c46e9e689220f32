import KioskMedia
import KioskPlatform

extension Feeder {
    /// Has a live stream be played as fast as it is sent.
    mutating func followSender(of reader: PlaythroughReader) {
        let now = now()
        let heard = audio.isRunning && !audio.ranDry ? audio.timelineTime(at: now) : nil
        let pace = reader.followSender(heard: heard, written: sound.end, format: audio.format, mayCatchUp: fades.fade == nil, at: now)
        setPace(pace)
    }

    func setPace(_ pace: LivePace?) {
        if pace == nil, pipeline.withLock({ $0.livePace == nil }) { return }
        pipeline.withLock { $0.livePace = pace }
    }
}
