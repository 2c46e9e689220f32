import Media
import Platform
import Playback
import TestSupport
import Testing

@Suite(.blocking) struct ObserverTests {
    @Test func eventsComeInOrder() throws {
        let stage = Stage([PlaylistItem(source: try Reel.three()), PlaylistItem(source: try Reel.fifty())])
        #expect(stage.wait { stage.events.count { if case .itemEnded = $0 { true } else { false } } >= 3 })
        let events = stage.events.compactMap { event -> PlayerEvent? in
            switch event {
            case .itemStarted(let index, let isSeam, _): .itemStarted(index: index, isSeam: isSeam, late: 0)
            case .statusChanged: nil
            default: event
            }
        }
        #expect(
            events.prefix(6) == [
                .itemStarted(index: 0, isSeam: false, late: 0), .itemEnded(index: 0), .itemStarted(index: 1, isSeam: true, late: 0),
                .itemEnded(index: 1), .itemStarted(index: 0, isSeam: true, late: 0), .itemEnded(index: 0),
            ])
    }

    @Test func statusFollowsWhatIsAsked() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())])
        #expect(stage.wait { stage.player.timeControlStatus == .playing })
        stage.player.pause()
        #expect(stage.wait { stage.player.timeControlStatus == .paused })
        stage.player.play()
        #expect(stage.wait { stage.player.timeControlStatus == .playing })
        func statuses() -> [TimeControlStatus] {
            stage.events.compactMap { if case .statusChanged(let status) = $0 { status } else { nil } }.filter { $0 != .waiting }
        }
        #expect(stage.wait { statuses().count >= 3 })
        #expect(statuses() == [.playing, .paused, .playing])
    }

    @Test func timersTickWhateverElseHappens() throws {
        let stage = Stage([PlaylistItem(source: try Reel.long())])
        #expect(stage.wait { stage.player.timeControlStatus == .playing })
        _ = stage.wait(0.3) { false }  // nothing else happens for ten seconds
        let ticks = Monitor<[MediaTime]>([])
        let quick = Monitor<Int>(0)
        stage.player.addPeriodicTimeObserver(forInterval: .milliseconds(200)) { time in ticks.withLock { $0.append(time) } }
        #expect(stage.wait(3) { ticks.withLock { $0.count } >= 3 })
        stage.player.addPeriodicTimeObserver(forInterval: .milliseconds(20)) { _ in quick.withLock { $0 += 1 } }
        #expect(stage.wait(3) { quick.withLock { $0 } >= 10 })
        let times = ticks.withLock { $0 }
        try #require(!times.isEmpty)
        #expect(times == times.sorted() && times.first! < times.last!)
    }

    @Test func statisticsAgreeWithTheFlips() throws {
        let stage = Stage([PlaylistItem(source: try Reel.three()), PlaylistItem(source: try Reel.fifty())])
        #expect(stage.wait { stage.numbers.count > 50 })
        _ = stage.pause()
        let (numbers, pictures) = (stage.numbers, stage.pictures)
        #expect(stage.wait { stage.statistics.framesShown == numbers.count })
        let seams = zip(pictures, pictures.dropFirst()).count { ($0 < 200) != ($1 < 200) }
        #expect(stage.statistics.seams == seams)
        #expect(stage.statistics.flipsLost == 0)
        #expect(stage.statistics.framesLate <= numbers.count)
    }

    @Test func aStallIsReportedAsWaiting() throws {
        // What follows gives nothing, like a network that has gone.
        let silent = try SilentServer()
        let stage = Stage([PlaylistItem(source: try Reel.three()), PlaylistItem(source: silent.url)])
        #expect(stage.wait(for: 303))
        #expect(stage.wait { stage.events.last == .statusChanged(.waiting) && stage.player.snapshot.buffered.frames == 0 })
        #expect(stage.plays([301, 302, 303]), "\(stage.numbers)")
    }
}
