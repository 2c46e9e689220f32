import KioskPlatform
import KioskVocabulary
import Synchronization

/// Interruptions of the sound by other programs, as ``Options/audioSession`` says. A change of ``InterruptionState``, what follows from it, the observer
/// that watches its time and the event are one step under ``interruptionWatch``: the callers' threads and the event thread take turns.
extension PlaybackEngine {
    /// A program begins to interrupt under a name of its own, or asks again for longer: the sound is made quieter or picture and sound are held,
    /// until ``endInterruption(_:)``, but for `time` at the most.
    package func beginInterruption(_ name: String = "", for time: MediaTime = InterruptionState.longest) {
        let until = now() + min(max(time, .zero), InterruptionState.longest)
        changeInterruption { pipeline in pipeline.interruption.begin(name, until: until, isPlaying: pipeline.playback.wantsPlay) }
    }

    /// A program has ended its interruption.
    package func endInterruption(_ name: String = "") { changeInterruption { $0.interruption.end(name) } }

    /// Whether a program interrupts.
    package var isInterrupted: Bool { pipeline.withLock { $0.interruption.isInterrupted } }

    private func changeInterruption(_ change: (inout Pipeline) -> InterruptionState.Action) {
        interruptionWatch.withLock { watch in
            let (action, isInterrupted) = pipeline.withLock { (change(&$0), $0.interruption.isInterrupted) }
            // The event comes before playing goes on: a caller that sees it play, and stops the player, has been told.
            if !isInterrupted, let observer = watch.take() {
                removeObserver(observer)
                events.send(.interruptionEnded)
            }
            carryOut(action)
            if isInterrupted, watch == nil {
                watch = addPeriodicTimeObserver(forInterval: .milliseconds(500)) { [weak self] _ in self?.endOverdueInterruptions() }
                events.send(.interruptionBegan)
            }
        }
    }

    private func carryOut(_ action: InterruptionState.Action) {
        switch action {
        case .none: break
        case .setGain(let gain):
            let isLouder = gain >= 1
            let time = isLouder ? AudioSession.fadeTime.up : AudioSession.fadeTime.down
            pipeline.withLock { pipeline in
                pipeline.setLoudness { $0.interruptionGain = gain }
                audio.setGain(pipeline.loudness.gain, over: time)
            }
        case .pause: setPlaying(at: nil) { playback, _ in playback.pause() }
        case .play: setPlaying(at: nil) { $0.play(canReplay: $1) }
        }
    }

    private func endOverdueInterruptions() {
        let now = now()
        changeInterruption { $0.interruption.passed(now) }
    }
}
