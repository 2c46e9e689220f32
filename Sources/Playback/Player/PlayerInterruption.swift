import KioskPlatform
import KioskVocabulary

/// Interruptions of the sound by other programs, as ``Options/audioSession`` says.
extension Player {
    /// A program begins to interrupt under a name of its own, or asks again for longer: the sound is made quieter or picture and sound are held,
    /// until ``endInterruption(_:)``, but for `time` at the most.
    package func beginInterruption(_ name: String = "", for time: MediaTime = InterruptionState.longest) {
        let until = now() + min(max(time, .zero), InterruptionState.longest)
        let action: InterruptionState.Action = pipeline.withLock { pipeline in
            let isPlaying = pipeline.playback.wantsPlay
            return pipeline.interruption.begin(name, until: until, isPlaying: isPlaying)
        }
        carryOut(action)
        watchInterruption()
    }

    /// A program has ended its interruption.
    package func endInterruption(_ name: String = "") {
        carryOut(pipeline.withLock { $0.interruption.end(name) })
        watchInterruption()
    }

    /// Whether a program interrupts.
    package var isInterrupted: Bool { pipeline.withLock { $0.interruption.isInterrupted } }

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

    /// Has the time of interruptions be looked at while there are any.
    private func watchInterruption() {
        let isWatched: Bool? = pipeline.withLock { pipeline in
            let isWanted = pipeline.interruption.isInterrupted
            if isWanted == (pipeline.interruptionWatch != nil) { return nil }
            return isWanted
        }
        switch isWatched {
        case nil: break
        case true?:
            let observer = addPeriodicTimeObserver(forInterval: Self.interruptionCheck) { [weak self] _ in self?.endOverdueInterruptions() }
            pipeline.withLock { $0.interruptionWatch = observer }
            events.send(.interruptionBegan)
        case false?:
            let observer = pipeline.withLock { $0.interruptionWatch.take() }
            if let observer { removeObserver(observer) }
            events.send(.interruptionEnded)
        }
    }
    private static let interruptionCheck = MediaTime.milliseconds(500)

    private func endOverdueInterruptions() {
        let now = now()
        carryOut(pipeline.withLock { $0.interruption.passed(now) })
        watchInterruption()
    }
}
