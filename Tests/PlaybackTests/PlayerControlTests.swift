import Glibc
import KioskAudioCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

@Suite(.blocking) struct PlayerControlTests {
    @Test func aPauseHoldsTheFrameAndGoesOnWithTheNext() throws {
        let stage = Stage([PlaylistItem(source: try Reel.long())])
        for _ in 0..<3 {
            #expect(stage.wait { stage.numbers.count > 5 })
            let before = stage.numbers.count
            let held = try #require(stage.pause())
            let count = stage.numbers.count
            _ = stage.wait(0.3) { false }
            #expect(stage.numbers.count == count)
            let time = stage.player.currentTime
            #expect(abs(time.seconds - Double(held - 1001) / 30) < 0.05)
            stage.player.play()
            #expect(stage.wait { stage.numbers.count > max(count, before) + 5 })
        }
        #expect(stage.plays(Array(1001...1300)), "\(stage.numbers)")
    }

    @Test func pausedBeforeItBegan() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())], isPaused: true)
        #expect(stage.wait(for: 1) && stage.waitUntilStill())
        #expect(stage.pictures == [1], "the first picture is there, and stands")
        #expect(stage.player.timeControlStatus == .paused)
        stage.player.play()
        stage.expectPlays(Array(1...30), count: 40)
    }

    @Test func pausesWhileItPrimes() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())])
        #expect(stage.wait(for: 1))
        for _ in 0..<20 {
            stage.player.perform(.togglePlayback)
            _ = stage.wait(0.01) { false }
        }
        #expect(stage.wait { stage.numbers.count > 35 })
        stage.expectPlays(Array(1...30), count: 40)
    }

    /// An interruption restarts the card.
    @Test func whatChangesNothingDoesNotInterruptTheSound() throws {
        let audio = RecordingOutput()
        let stage = Stage([PlaylistItem(source: try Reel.long())], audio: audio) { $0.loop = .off }
        let player = stage.player
        func expectNothing(_ whileItDoes: String, _ commands: [PlayerCommand]) {
            let count = audio.interruptions
            for command in commands { player.perform(command) }
            #expect(audio.interruptions == count, "\(whileItDoes): \(commands)")
        }
        #expect(stage.wait(for: 1010))
        let idle: [PlayerCommand] = [.setRate(1), .changeVolume(by: 0), .changeVolume(by: 10), .toggleMute, .toggleMute, .nextItem]
        for command in [.play] + idle { expectNothing("plays", [command]) }
        let count = audio.interruptions
        player.pause()
        #expect(audio.interruptions == count + 1)
        for command in [.pause] + idle { expectNothing("pauses", [command]) }
        player.play()
        #expect(audio.interruptions == count + 2)
        #expect(stage.wait(for: 1040))
        #expect(audio.interruptions == count + 2, "\(stage.numbers)")
    }

    @Test func nextPreviousAndRestart() throws {
        let stage = Stage([
            PlaylistItem(source: try Reel.long()), PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: try Reel.fifty()),
        ])
        /// Carries out a command, and returns the next number shown.
        func after(_ command: PlayerCommand) -> Int? {
            #expect(stage.waitUntilStill())
            let count = stage.numbers.count
            stage.player.perform(command)
            #expect(stage.wait { stage.numbers.count > count })
            return stage.numbers.dropFirst(count).first
        }
        #expect(stage.wait(for: 1003))
        #expect(stage.pause() != nil)
        #expect(after(.nextItem) == 1)
        #expect(after(.nextItem) == 101)
        #expect(after(.nextItem) == 1001)
        #expect(after(.previousItem) == 101)
        #expect(after(.previousItem) == 1)
        #expect(after(.seekTo(.milliseconds(500))) == 16)
        #expect(after(.restartItem) == 1)
        #expect(stage.player.snapshot.item == 1)
        stage.player.play()
        #expect(stage.wait(for: 120))
    }

    /// The latency runs from the time of the event to the flip. A pause and the volume do not show on the screen. Commands without an event
    /// time do not count.
    @Test func howSoonTheScreenAnswersIsCounted() throws {
        let stage = Stage([PlaylistItem(source: try Reel.long()), PlaylistItem(source: try Reel.fifty())])
        let player = stage.player
        var total: Int { stage.statistics.inputLatency.total }
        #expect(stage.wait(for: 1003))
        let begin = HostTime.now
        player.perform(.nextItem)
        player.seek(to: .milliseconds(100))
        for command: PlayerCommand in [.pause, .changeVolume(by: -1), .toggleMute, .setRate(1)] { player.perform(command, at: .now) }
        #expect(stage.wait { player.timeControlStatus == .paused } && stage.waitUntilStill())
        #expect(total == 0)
        player.perform(.play, at: .now)
        #expect(stage.wait { total == 1 })
        player.perform(.previousItem, at: .now)
        #expect(stage.wait { total == 2 })
        // An event of two seconds ago.
        player.perform(.seekTo(.seconds(5)), at: .now - .seconds(1.9))
        #expect(stage.wait { total == 3 })
        #expect(stage.statistics.inputLatency.span(within: 1)! > .milliseconds(1900))
        #expect(stage.statistics.inputLatency.span(within: 0.5)! <= HostTime.now - begin)
        // Seeks that wait for each other: each is seen in the end.
        for _ in 0..<10 { player.perform(.seekBy(.milliseconds(100)), at: .now) }
        #expect(stage.wait { total == 13 })
    }

    @Test func skipsInARowAddUp() throws {
        let stage = Stage([
            PlaylistItem(source: try Reel.long()), PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: try Reel.fifty()),
            PlaylistItem(source: try Reel.still()),
        ])
        #expect(stage.wait(for: 1003))
        for _ in 0..<3 { stage.player.advanceToNextItem() }
        #expect(stage.wait(for: 401))
        #expect(stage.player.snapshot.item == 3)
    }

    @Test func aSkipWhileTheFirstItemOpens() throws {
        let silent = try SilentServer()
        let stage = Stage([silent.item, PlaylistItem(source: try Reel.thirty())])
        #expect(stage.wait(for: 0), "the background after half a second")
        stage.player.advanceToNextItem()
        #expect(stage.wait(for: 3), "sooner than the source that says nothing is given up")
    }

    @Test func stopsWhileASourceGivesNothing() throws {
        let silent = try SilentServer()
        let stage = Stage([silent.item])
        _ = stage.wait(0.3) { false }
        let begin = HostTime.now
        stage.stop()
        #expect(HostTime.now - begin < .seconds(60))
    }

    @Test(arguments: [2, 0.5]) func everyPictureIsShownAtAnotherRate(rate: Double) throws {
        let stage = Stage([PlaylistItem(source: try Reel.long())])
        stage.player.rate = rate
        #expect(stage.wait { stage.numbers.count > 100 })
        #expect(stage.player.rate == rate && stage.plays(Array(1001...1300)), "\(stage.numbers)")
    }

    @Test func theRateChangesInMidItem() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())])
        #expect(stage.wait { stage.numbers.count > 10 })
        for rate in [2, 0.5, 1.5, 1, 0.75, 2.0, 1] {
            stage.player.rate = rate
            _ = stage.wait(0.35) { false }
        }
        #expect(stage.wait { stage.statistics.seams > 4 })
        #expect(stage.plays(Array(1...30)), "\(stage.numbers)")
        stage.player.rate = .nan
        #expect(stage.player.rate == 1)
        stage.player.rate = 9
        #expect(stage.player.rate == 2)
    }

    @Test func volumeAndMute() throws {
        let audio = RecordingOutput()
        let stage = Stage(
            [PlaylistItem(source: try Reel.numberedSamples())], display: RecordingDisplay(refreshRate: RecordingDisplay.oddRefreshRate),
            audio: audio)
        /// Returns the loudest sample rendered from now on. Waits for more than one playthrough's sound, however long a busy machine is
        /// silent in between. If silence is expected, it waits for as many samples of any kind.
        func peak(ofSilence isSilence: Bool = false) -> Float {
            let before = audio.samples.count
            #expect(stage.wait { audio.samples.count > before + 9600 })
            let count = audio.samples.count
            #expect(stage.wait { audio.samples.dropFirst(count).count { isSilence || $0 != 0 } > 60_000 })
            return audio.samples.dropFirst(count).map(abs).max() ?? 0
        }
        #expect(stage.wait(for: 10))
        let full = peak()
        #expect(full > 0.9)
        stage.player.volume = 0.5
        #expect(abs(peak() - full / 8) < 0.01, "the cube of a half")
        stage.player.isMuted = true
        #expect(peak(ofSilence: true) == 0)
        stage.player.perform(.changeVolume(by: 900))
        #expect(stage.player.volume == 1)
        #expect(peak(ofSilence: true) == 0)
        stage.player.perform(.toggleMute)
        #expect(abs(peak() - full) < 0.01)
        stage.player.perform(.changeVolume(by: -900))
        #expect(stage.player.volume == 0)
        stage.player.volume = .nan
        #expect(stage.player.volume.isFinite)
    }

    @Test func commandsOfSeveralThreadsAddUp() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())]) { $0.volume = 0 }
        #expect(stage.wait(for: 3))
        let player = stage.player
        let threads = (0..<4).map { _ in
            Thread("viewer") {
                for _ in 0..<25 {
                    player.perform(.changeVolume(by: 1))
                    player.perform(.toggleMute)
                    player.perform(.togglePlayback)
                }
            }
        }
        for thread in threads { thread.join() }
        #expect(player.volume == 1)
        #expect(!player.isMuted)
        let count = stage.numbers.count
        #expect(stage.wait { stage.numbers.count > count + 10 }, "toggled an even number of times, it plays")
    }

    /// Everything at once from several threads, while the display disconnects and reconnects. Afterwards the player still obeys, and has
    /// all its buffers.
    @Test(arguments: [3, 2]) func survivesAStormOfCommands(buffers: Int) throws {
        let display = RecordingDisplay(buffers: buffers)
        let stage = Stage(
            [
                PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: "/nowhere/clip.mp4"), PlaylistItem(source: try Reel.long()),
                PlaylistItem(source: try Reel.still(), duration: .milliseconds(100)), PlaylistItem(source: try Reel.single()),
                PlaylistItem(source: try Reel.covered()), PlaylistItem(source: try Reel.three(), repeatCount: 2),
            ], display: display)
        let player = stage.player
        let threads = (0..<3).map { seed in
            Thread("viewer") {
                var random = SeededRandom(seed: UInt64(seed))
                for _ in 0..<100 {
                    switch Int(abs(random.unit()) * 12) {
                    case 0: player.play()
                    case 1: player.pause()
                    case 2: player.togglePlayback()
                    case 3: player.seek(to: .seconds(10 * abs(random.unit())))
                    case 4: player.seek(by: .seconds(3 * random.unit()))
                    case 5: player.seek(to: .seconds(10 * abs(random.unit())), precision: .keyFrame())
                    case 6: player.advanceToNextItem()
                    case 7: player.returnToPreviousItem()
                    case 8: player.restartItem()
                    case 9: player.rate = 1 + 0.9 * random.unit()
                    case 10: if seed == 0 { display.setConnected(random.unit() > 0) }
                    default: _ = player.snapshot
                    }
                    usleep(UInt32(12_000 * abs(random.unit())))
                }
            }
        }
        for thread in threads { thread.join() }
        display.setConnected(true)
        player.rate = 1
        player.play()
        let count = stage.numbers.count
        #expect(stage.wait { stage.numbers.count > count + 20 }, "\(player.snapshot)")
        while player.snapshot.item != 2 {
            player.advanceToNextItem()
            _ = stage.wait(2) { player.snapshot.item == 2 }
        }
        player.pause()
        player.seek(to: .seconds(5))
        #expect(stage.wait { stage.numbers.last == Reel.number(at: 5) } && stage.waitUntilStill())
        #expect(display.buffersOut <= buffers - 1)
        // If one were lost, the player could not compose the picture after the next.
        for second in 1..<6 {
            player.seek(to: .seconds(Double(second)))
            #expect(stage.wait { stage.numbers.last == Reel.number(at: Double(second)) }, "\(second)")
        }
    }
}

/// A network source that accepts connections and never sends a byte.
final class SilentServer {
    let url: String
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) | listen(descriptor, 8) | getsockname(descriptor, pointer, &length)
            }
        }
        try #require(status == 0)
        url = "tcp://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
    }

    /// An item that the player does not give up during a test.
    var item: PlaylistItem {
        var item = PlaylistItem(source: url)
        item.stream.timeout = .seconds(600)
        return item
    }

    /// Whether a client has connected.
    var isAsked: Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, 0) == 1
    }

    deinit { close(descriptor) }
}
