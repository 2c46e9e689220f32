import KioskPlatform
import KioskVocabulary
import Synchronization

/// The programs that ask for silence, and the reaction: AVAudioSession's interruptions as a pure value. Events in, actions out.
///
/// Several programs may ask, each under its own name. The interruption ends when the last of them has ended it, or its time is over: a
/// program that has crashed ends nothing. If it paused playback, playback resumes at its end, unless somebody has pressed play or pause
/// meanwhile.
package struct InterruptionState: Hashable, Sendable {
    enum Action: Hashable, Sendable {
        case none
        /// Multiply the amplitude of the sound by this factor from now on.
        case setGain(Double)
        case pause
        /// Resume playback, if it is still paused by the interruption.
        case play
    }

    private let session: AudioSession
    /// The programs that ask, and until when at the most.
    private var holders: [String: HostTime] = [:]
    /// Whether the interruption paused playback, and nobody has played or paused since.
    private var hasPaused = false

    /// The most names that are remembered.
    private static let mostHolders = 64
    /// No interruption lasts longer than this.
    package static let longest = MediaTime.seconds(3600)

    init(_ session: AudioSession) { self.session = session }

    var isInterrupted: Bool { !holders.isEmpty }

    /// The time at which the first of them runs out.
    var deadline: HostTime? { holders.values.min() }

    /// Notes that a program begins to interrupt, or asks again for longer.
    mutating func begin(_ name: String, until: HostTime, isPlaying: Bool) -> Action {
        guard holders.count < Self.mostHolders || holders[name] != nil else { return .none }
        let isFirst = holders.isEmpty
        holders[name] = until
        guard isFirst else { return .none }
        switch session.interruption {
        case .duck:
            let volume = session.duckedVolume.isFinite ? min(max(session.duckedVolume, 0), 1) : 1
            return .setGain(AudioQueue.gain(ofVolume: volume))
        case .mute: return .setGain(0)
        case .pause:
            hasPaused = isPlaying
            return isPlaying ? .pause : .none
        }
    }

    /// Notes that a program has ended its interruption; an unknown name ends nothing.
    mutating func end(_ name: String) -> Action {
        guard holders.removeValue(forKey: name) != nil else { return .none }
        return ended
    }

    /// Ends the interruptions whose time is over.
    mutating func passed(_ now: HostTime) -> Action {
        let before = holders.count
        holders = holders.filter { $0.value > now }
        return holders.count < before ? ended : .none
    }

    private var ended: Action {
        mutating get {
            guard holders.isEmpty else { return .none }
            switch session.interruption {
            case .duck, .mute: return .setGain(1)
            case .pause:
                defer { hasPaused = false }
                return hasPaused ? .play : .none
            }
        }
    }

    /// Notes that a viewer or a program plays or pauses: that holds beyond the interruption.
    mutating func overruled() { hasPaused = false }
}

/// Interruptions of the sound by other programs, as set in ``Options/audioSession``. A change of ``InterruptionState``, its action, the
/// observer of its time and the event are one step under ``interruptionWatch``. So the callers' threads and the event thread take turns.
extension PlaybackEngine {
    /// Begins an interruption by a program under its own name, or extends it. The sound gets quieter, or picture and sound are held, until
    /// ``endInterruption(_:)``, but for `time` at the most.
    package func beginInterruption(_ name: String = "", for time: MediaTime = InterruptionState.longest) {
        let until = now() + min(max(time, .zero), InterruptionState.longest)
        changeInterruption { pipeline in pipeline.interruption.begin(name, until: until, isPlaying: pipeline.playback.wantsPlay) }
    }

    /// Ends the interruption of a program.
    package func endInterruption(_ name: String = "") { changeInterruption { $0.interruption.end(name) } }

    /// Whether a program interrupts.
    package var isInterrupted: Bool { pipeline.withLock { $0.interruption.isInterrupted } }

    /// Whether an interruption pauses playback.
    package var pausesForInterruptions: Bool { options.audioSession.interruption == .pause }

    private func changeInterruption(_ change: (inout Pipeline) -> InterruptionState.Action) {
        interruptionWatch.withLock { watch in
            let (action, isInterrupted) = pipeline.withLock { (change(&$0), $0.interruption.isInterrupted) }
            // Send the event before playback resumes: a caller that sees it play, and stops the player, has got the event.
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
            setLoudness(over: time) { $0.interruptionGain = gain }
        case .pause: setPlaying(at: nil) { playback, _ in playback.pause() }
        case .play: setPlaying(at: nil) { $0.play(canReplay: $1) }
        }
    }

    private func endOverdueInterruptions() {
        let now = now()
        changeInterruption { $0.interruption.passed(now) }
    }
}
