import Glibc
import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary
import Synchronization
import TestSupport
import Testing

@testable import KioskPlayback

/// A call that hangs, in a sound card or in a display's driver, and the liveness that a watcher sees.
@Suite(.blocking) struct HangingTests {
    /// An output whose audio thread hangs from some time on, and that another one replaces.
    final class HangingOutput: PCMOutput {
        let format = AudioFormat(sampleRate: 48_000, channelCount: 1)
        let name = "hanging"
        private struct State {
            var hangs = false, standsIn = false, isStopping = false
        }
        private let state = Monitor(State())
        private let thread = Mutex<Thread?>(nil)

        var standsIn: Bool { state.withLock { $0.standsIn } }
        func hang() { state.withLock { $0.hangs = true } }

        func start(_ renderer: any AudioRenderer) {
            let (state, format) = (state, format)
            thread.withLock {
                $0 = Thread("audio") {
                    var sink = SilentSink(format: format, start: .now)
                    while true {
                        let hangs = state.withLock { $0.isStopping ? nil : $0.hangs && !$0.standsIn }
                        guard let hangs else { return }
                        let next = hangs ? HostTime.now + .milliseconds(5) : sink.render(renderer)
                        _ = state.wait(until: next) { $0.isStopping ? true : nil }
                    }
                }
            }
        }

        func interrupt() {}
        func standIn() { state.withLock { $0.standsIn = true } }
        func stop(by deadline: HostTime) -> Bool {
            state.signal { $0.isStopping = true }
            return thread.withLock { $0.take() }?.join(until: deadline) ?? true
        }
    }

    @Test func `pictures go on when the sound card hangs`() throws {
        let output = HangingOutput()
        let stage = Stage([PlaylistItem(source: try Reel.thirty())], audio: output)
        #expect(stage.wait(for: 20))
        // On a starved machine another thread may stand in already; the tests of RenderingWatch check when.
        output.hang()
        #expect(stage.wait { output.standsIn })
        let count = stage.numbers.count
        #expect(stage.wait { stage.numbers.count > count + 40 })
    }

    @Test func `seeks and pauses go on when the sound card hangs`() throws {
        let output = HangingOutput()
        let stage = Stage([PlaylistItem(source: try Reel.long())], audio: output)
        #expect(stage.wait(for: 1010))
        output.hang()
        stage.player.seek(to: .seconds(5))
        #expect(stage.wait(for: Reel.number(at: 5.2)))
        #expect(output.standsIn)
        #expect(stage.pause() != nil)
    }

    /// Each of the player's threads goes on or waits.
    @Test func `a healthy player answers, playing and paused`() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())])
        #expect(stage.wait(for: 5))
        let parts: [PlayerLiveness.Part] = [.feeder, .compositor, .presenter, .audio]
        func answers() -> Bool {
            let before = stage.player.liveness
            return stage.wait {
                let now = stage.player.liveness
                return parts.allSatisfy { now.beats[$0]?.isAtWork == false || now.beats[$0] != before.beats[$0] }
            }
        }
        #expect(answers() && Set(stage.player.liveness.beats.keys).isSuperset(of: parts))
        _ = stage.pause()
        #expect(answers())
        #expect(stage.wait { stage.player.liveness.beats[.picture]?.isAtWork == false })
    }

    @Test func `a compositor that hangs is at work without a beat`() throws {
        let display = RecordingDisplay()
        let stage = Stage([PlaylistItem(source: try Reel.thirty())], display: display)
        #expect(stage.wait(for: 5))
        display.setHanging(true)
        #expect(
            stage.wait {
                stage.player.liveness.beats[.compositor]?.isAtWork == true && stage.player.liveness.beats[.picture]?.isAtWork == true
            })
        #expect(stage.waitUntilStill())
        let before = stage.player.liveness
        usleep(300_000)
        let now = stage.player.liveness
        for part in [PlayerLiveness.Part.compositor, .picture] {
            #expect(now.beats[part] == before.beats[part] && now.beats[part]?.isAtWork == true, "\(part)")
        }
        #expect(now.beats[.presenter]?.isAtWork == false && now.beats[.audio] != before.beats[.audio])
        #expect(!stage.player.stopShowing(by: .now + .milliseconds(50)), "the display must not be closed")
        display.setHanging(false)
        #expect(stage.player.stopShowing(by: .now + .seconds(60)))
    }

    /// The display gets back every buffer that a player had prepared.
    @Test func `players have a display one after the other`() throws {
        let display = RecordingDisplay()
        let item = PlaylistItem(source: try Reel.thirty())
        for turn in 1...20 {
            let count = display.flips.count
            let player = PlaybackEngine(items: [item], video: display, audio: SilentOutput(), readers: .shared)
            player.start()
            let deadline = HostTime.now + .seconds(120)
            while display.flips.count < count + 4, HostTime.now < deadline { usleep(2000) }
            #expect(display.flips.count >= count + 4, "player \(turn) shows nothing")
            player.stop()
            #expect(display.buffersOut == 0, "player \(turn) has taken buffers with it")
        }
        #expect(display.violations == [])
    }
}
