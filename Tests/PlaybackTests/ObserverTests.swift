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
        // On a machine too busy it waits now and then, and plays on.
        func statuses() -> [TimeControlStatus] {
            var statuses: [TimeControlStatus] = []
            for case .statusChanged(let status) in stage.events where status != .waiting && status != statuses.last {
                statuses.append(status)
            }
            return statuses
        }
        #expect(stage.wait { statuses().count >= 3 })
        #expect(statuses() == [.playing, .paused, .playing])
    }

    @Test func timersTickWhateverElseHappens() throws {
        let stage = Stage([PlaylistItem(source: try Reel.still())]) { $0.imageDuration = .seconds(600) }
        #expect(stage.wait { stage.player.timeControlStatus == .playing })
        _ = stage.wait(0.3) { false }  // nothing else happens for ten minutes
        let ticks = Monitor<[MediaTime]>([])
        let quick = Monitor<Int>(0)
        stage.player.addPeriodicTimeObserver(forInterval: .milliseconds(200)) { time in ticks.withLock { $0.append(time) } }
        #expect(stage.wait { ticks.withLock { $0.count } >= 3 })
        stage.player.addPeriodicTimeObserver(forInterval: .milliseconds(20)) { _ in quick.withLock { $0 += 1 } }
        #expect(stage.wait { quick.withLock { $0 } >= 10 })
        let times = ticks.withLock { $0 }
        try #require(!times.isEmpty)
        #expect(times == times.sorted() && times.first! < times.last!)
    }

    @Test func statisticsAgreeWithTheFlips() throws {
        for attempt in 1...3 {
            let stage = Stage([PlaylistItem(source: try Reel.three()), PlaylistItem(source: try Reel.fifty())])
            #expect(stage.wait { stage.numbers.count > 50 })
            _ = stage.pause()
            let (numbers, pictures) = (stage.numbers, stage.pictures)
            #expect(stage.wait { stage.statistics.framesShown == numbers.count })
            #expect(stage.statistics.flipsLost == 0)
            #expect(stage.statistics.framesLate <= numbers.count)
            // Once more where the machine was too busy: of a tenth of a second that was dropped whole the pictures tell no seams.
            if stage.statistics.framesDropped != 0, attempt < 3 { continue }
            let seams = zip(pictures, pictures.dropFirst()).count { ($0 < 200) != ($1 < 200) }
            #expect(stage.statistics.seams == seams)
            return
        }
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
