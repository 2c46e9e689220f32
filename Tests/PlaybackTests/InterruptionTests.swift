import KioskPlatform
import KioskVocabulary
import Synchronization
import TestSupport
import Testing

@testable import KioskPlayback

/// Other programs take the sound and give it back.
@Suite(.blocking) struct InterruptionTests {
    private func state(_ kind: AudioSession.Interruption) -> InterruptionState {
        var session = AudioSession()
        (session.interruption, session.duckedVolume) = (kind, 0.5)
        return InterruptionState(session)
    }
    private func at(_ seconds: Double) -> HostTime { HostTime(nanoseconds: 0) + .seconds(seconds) }

    @Test func theFirstBeginsAndTheLastEnds() {
        var state = state(.duck)
        #expect(state.begin("a", until: at(100), isPlaying: true) == .setGain(0.125))
        #expect(state.begin("b", until: at(100), isPlaying: true) == .none)
        #expect(state.end("a") == .none)
        #expect(state.end("a") == .none && state.end("nobody") == .none)
        #expect(state.end("b") == .setGain(1) && !state.isInterrupted)
    }

    @Test func aProgramThatHasCrashedEndsToo() {
        var state = state(.mute)
        #expect(state.begin("a", until: at(10), isPlaying: true) == .setGain(0))
        #expect(state.begin("a", until: at(20), isPlaying: true) == .none)
        #expect(state.passed(at(15)) == .none && state.deadline == at(20))
        #expect(state.passed(at(20)) == .setGain(1) && state.passed(at(30)) == .none)
    }

    @Test func aPauseGoesOnUnlessSomebodyHasSaidOtherwise() {
        var state = state(.pause)
        #expect(state.begin("a", until: at(10), isPlaying: true) == .pause)
        #expect(state.end("a") == .play)
        #expect(state.begin("a", until: at(10), isPlaying: false) == .none)
        #expect(state.end("a") == .none, "it was paused before")
        #expect(state.begin("a", until: at(10), isPlaying: true) == .pause)
        state.overruled()
        #expect(state.end("a") == .none)
    }

    /// Every sample stays in its place: the ramp changes only the loudness.
    @Test func duckingLosesNoSample() throws {
        let audio = RecordingOutput()
        // The sound does not follow this display, so each sample is heard as it is.
        let display = RecordingDisplay(refreshRate: RecordingDisplay.oddRefreshRate)
        let stage = Stage([PlaylistItem(source: try Reel.numberedSamples())], display: display, audio: audio) {
            $0.audioSession.duckedVolume = 0.5
        }
        // Counts heard samples and not the clock's time: a busy machine plays less.
        func plays(seconds: Double) -> Bool {
            let begin = audio.samples.count { $0 != 0 }
            return stage.wait { audio.samples.count { $0 != 0 } >= begin + Int(seconds * 48_000) }
        }
        #expect(stage.wait(for: 10))
        stage.player.beginInterruption("announcement")
        #expect(stage.player.isInterrupted && stage.events.contains(.interruptionBegan) || stage.wait { stage.player.isInterrupted })
        #expect(plays(seconds: 0.8))
        stage.player.endInterruption("announcement")
        #expect(plays(seconds: 1.2))
        #expect(stage.wait { stage.events.contains(.interruptionEnded) })
        stage.stop()
        let heard = audio.samples.filter { $0 != 0 }
        let gains = heard.enumerated().map { Double($1 / Reel.sample($0)) }
        #expect(
            gains.allSatisfy { 0.124...1.001 ~= $0 }, "another sample than its own: \(gains.firstIndex { !(0.124...1.001 ~= $0) } ?? -1)")
        #expect(gains.contains { abs($0 - 0.125) < 0.001 } && abs(gains.last! - 1) < 0.001)
        // Down in a quarter of a second, up in eight tenths, without a step.
        #expect(zip(gains, gains.dropFirst()).allSatisfy { abs($0 - $1) < 0.01 })
        let down = gains.count { $0 < 0.999 } - gains.count { $0 < 0.126 }
        #expect(abs(Double(down) / 48_000 - 1.05) < 0.1, "\(down)")
    }

    @Test func aPauseByAnotherProgram() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())]) { $0.audioSession.interruption = .pause }
        #expect(stage.wait(for: 5))
        stage.player.beginInterruption(for: .milliseconds(600))
        #expect(stage.wait { stage.player.timeControlStatus == .paused })
        #expect(stage.wait { stage.player.timeControlStatus == .playing }, "its time is over")
        #expect(!stage.player.isInterrupted && stage.plays(Array(1...30)))
    }

    /// The event thread calls the watch as soon as there is one. Several threads begin and end interruptions; observers get each beginning
    /// and each end once.
    @Test func eventsTakeTurns() async throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())])
        let player = stage.player
        let seen = Mutex<[PlaybackEvent]>([])
        let observer = player.addObserver { event in
            if event == .interruptionBegan || event == .interruptionEnded { seen.withLock { $0.append(event) } }
        }
        await withTaskGroup { group in
            for name in ["a", "b", "c"] {
                group.addTask {
                    for _ in 0..<300 {
                        player.beginInterruption(name)
                        player.endInterruption(name)
                    }
                }
            }
        }
        #expect(stage.wait { seen.withLock { $0.count > 1 && $0.last == .interruptionEnded } })
        let events = seen.withLock { $0 }
        #expect(events.enumerated().allSatisfy { $1 == ($0 % 2 == 0 ? .interruptionBegan : .interruptionEnded) })
        #expect(!player.isInterrupted && player.interruptionWatch.withLock { $0 == nil })
        player.removeObserver(observer)
    }
}
