import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

@Suite(.blocking) struct ObserverTests {
    @Test func eventsComeInOrder() throws {
        let stage = Stage([PlaylistItem(source: try Reel.three()), PlaylistItem(source: try Reel.fifty())])
        #expect(stage.wait { stage.events.count { if case .itemEnded = $0 { true } else { false } } >= 3 })
        let events = stage.events.compactMap { event -> PlaybackEvent? in
            switch event {
            case .itemStarted(let index, let isSeam, _): .itemStarted(item: index, isSeam: isSeam, late: 0)
            // Items are opened ahead of their turn.
            case .statusChanged, .itemStatusChanged: nil
            default: event
            }
        }
        #expect(
            events.prefix(6) == [
                .itemStarted(item: 0, isSeam: false, late: 0), .itemEnded(item: 0), .itemStarted(item: 1, isSeam: true, late: 0),
                .itemEnded(item: 1), .itemStarted(item: 0, isSeam: true, late: 0), .itemEnded(item: 0),
            ])
    }

    @Test func statusFollowsWhatIsAsked() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty())])
        #expect(stage.wait { stage.player.timeControlStatus == .playing })
        stage.player.pause()
        #expect(stage.wait { stage.player.timeControlStatus == .paused })
        stage.player.play()
        #expect(stage.wait { stage.player.timeControlStatus == .playing })
        // On a too busy machine the player sometimes waits, and plays on.
        func statuses() -> [TimeControlStatus] {
            var statuses: [TimeControlStatus] = []
            for case .statusChanged(let status) in stage.events where status != .waitingToPlay && status != statuses.last {
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

    @Test func observersThatAreRemovedAreNotCalled() throws {
        let stage = Stage([PlaylistItem(source: try Reel.three())])
        let player = stage.player
        let (all, some, ticks) = (Monitor<Int>(0), Monitor<Int>(0), Monitor<Int>(0))
        let itself = Monitor<PlayerObserver?>(nil)
        player.addObserver { _ in all.withLock { $0 += 1 } }
        let isRemoved = Monitor(false)
        let removed = player.addObserver { _ in if isRemoved.withLock({ $0 }) { Issue.record("removed, and yet called") } }
        let timer = player.addPeriodicTimeObserver(forInterval: .milliseconds(10)) { _ in ticks.withLock { $0 += 1 } }
        player.removeObserver(removed)
        // A call under way may still finish.
        #expect(stage.wait { all.withLock { $0 } > 1 })
        isRemoved.withLock { $0 = true }
        // An observer that removes itself as soon as it knows its token.
        itself.withLock { token in
            token = player.addObserver { _ in
                some.withLock { $0 += 1 }
                if let token = itself.withLock({ $0 }) { player.removeObserver(token) }
            }
        }
        #expect(stage.wait { all.withLock { $0 } > 10 && ticks.withLock { $0 } > 10 })
        player.removeObserver(timer)
        _ = stage.wait(0.05) { false }
        let (counted, ticked) = (some.withLock { $0 }, ticks.withLock { $0 })
        #expect(counted == 1)
        let count = all.withLock { $0 }
        #expect(stage.wait { all.withLock { $0 } > count + 10 }, "the others go on")
        #expect(some.withLock { $0 } == counted && ticks.withLock { $0 } == ticked)
        // A second removal does nothing.
        player.removeObserver(removed)
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
            // Retry if the machine was too busy: after a dropped tenth of a second, the pictures do not show every seam.
            if stage.statistics.framesDropped != 0, attempt < 3 { continue }
            let seams = zip(pictures, pictures.dropFirst()).count { ($0 < 200) != ($1 < 200) }
            #expect(stage.statistics.seams == seams)
            return
        }
    }

    @Test func aStallIsReportedAsWaiting() throws {
        // The next item sends nothing, like a lost network.
        let silent = try SilentServer()
        let stage = Stage([PlaylistItem(source: try Reel.three()), PlaylistItem(source: silent.url)])
        #expect(stage.wait(for: 303))
        #expect(stage.wait { stage.events.last == .statusChanged(.waitingToPlay) && stage.player.snapshot.buffered.frames == 0 })
        #expect(stage.plays([301, 302, 303]), "\(stage.numbers)")
    }
}
