import KioskDisplay
import KioskPlatform
import KioskPlayer
import TestSupport
import Testing

@Suite(.blocking) struct InterstitialTests {
    private static func primary() throws -> String {
        try Clips.numbered("primary.mp4", frames: 180, extra: ["-g", "15", "-bf", "0", "-preset", "ultrafast"])
    }
    private static func spot(_ name: String) throws -> PlayerItem { PlayerItem(try Clips.numbered("\(name).mp4", frames: 12, from: 501)) }

    /// Returns the items in the order of their showings.
    private func started(_ events: [PlayerEvent]) -> [PlayerItem] {
        events.compactMap { if case .itemStarted(let item, _) = $0 { item } else { nil } }
    }

    @Test func itemsPlayInTheMiddleOfAnotherWhichGoesOn() async throws {
        let display = VideoOutput.offscreen(width: 320, height: 180)
        let (item, one, other) = (PlayerItem(try Self.primary()), try Self.spot("one"), try Self.spot("other"))
        let player = Player(video: display)
        let controller = InterstitialEventController(primaryPlayer: player)
        var event = InterstitialEvent(primaryItem: item, identifier: "a", time: .seconds(1), templateItems: [one, other])
        event.resumptionOffset = .seconds(2)
        controller.events = [event]
        let (events, changes) = (Watched(player.events), Watched(controller.currentEventUpdates))
        player.replaceCurrentItem(with: item)
        player.play()
        #expect(await eventually { controller.currentEvent == event && player.currentItem == one })
        #expect(await eventually { player.currentItem == other })
        #expect(await eventually { controller.currentEvent == nil && player.currentItem == item })
        #expect(player.currentTime() >= .seconds(3) && player.currentTime() < .seconds(6), "\(player.currentTime())")
        #expect(await eventually { events.all.contains(.playedToEnd) }, "\(events.all)")
        #expect(started(events.all) == [item, one, other, item], "once, although its time passes again: \(events.all)")
        let seams = events.all.compactMap { if case .itemStarted(_, let isSeam) = $0 { isSeam } else { nil } }
        #expect(seams == [false, false, true, true], "the items of an event follow without a gap, and so does the interrupted one")
        #expect(changes.all == [nil, event, nil])
        player.stop()
        display.close()
    }

    @Test func anEventIsCancelledAndReturnsElsewhere() async throws {
        let display = VideoOutput.offscreen(width: 320, height: 180)
        let item = PlayerItem(try Self.primary())
        let spot = PlayerItem(try Clips.numbered("long-spot.mp4", frames: 900, from: 2001, extra: ["-preset", "ultrafast"]))
        let player = Player(video: display)
        let controller = InterstitialEventController(primaryPlayer: player)
        controller.cancelCurrentEvent()
        controller.events = [InterstitialEvent(primaryItem: item, identifier: "a", time: .milliseconds(400), templateItems: [spot, spot])]
        player.replaceCurrentItem(with: item)
        player.play()
        #expect(await eventually { player.currentItem == spot && player.statistics.framesShown > 20 })
        controller.cancelCurrentEvent(withResumptionOffset: .seconds(3))
        #expect(await eventually { controller.currentEvent == nil && player.currentItem == item })
        #expect(player.currentTime() >= .seconds(3), "\(player.currentTime())")
        player.stop()
        display.close()
    }

    @Test func anEventPlaysOnceIfWantedAndOtherwiseEachTime() async throws {
        let display = VideoOutput.offscreen(width: 320, height: 180)
        let (item, one, other) = (PlayerItem(try Self.primary()), try Self.spot("one"), try Self.spot("other"))
        let player = Player(video: display)
        let controller = InterstitialEventController(primaryPlayer: player)
        var once = InterstitialEvent(primaryItem: item, identifier: "once", time: .milliseconds(500), templateItems: [one])
        once.willPlayOnce = true
        let often = InterstitialEvent(primaryItem: item, identifier: "often", time: .seconds(2), templateItems: [other])
        controller.events = [often, once]
        let events = Watched(player.events)
        player.replaceCurrentItem(with: item)
        player.play()
        #expect(await eventually { started(events.all) == [item, one, item, other, item] }, "\(events.all)")
        try await Task.sleep(for: .seconds(1.2))
        await player.seek(to: .zero)
        #expect(await eventually { started(events.all).filter { $0 == other }.count == 2 }, "\(events.all)")
        #expect(started(events.all).filter { $0 == one }.count == 1, "\(events.all)")
        player.stop()
        display.close()
    }

    @Test func aSeekDoesNotPassAnEventThatRestrictsIt() async throws {
        let display = VideoOutput.offscreen(width: 320, height: 180)
        let (item, one) = (PlayerItem(try Self.primary()), try Self.spot("one"))
        let player = Player(video: display)
        let controller = InterstitialEventController(primaryPlayer: player)
        var event = InterstitialEvent(primaryItem: item, identifier: "a", time: .seconds(2), templateItems: [one])
        event.restrictions = .constrainsSeekingForwardInPrimaryContent
        controller.events = [event]
        player.replaceCurrentItem(with: item)
        #expect(await eventually { item.status == .readyToPlay && player.statistics.framesShown > 0 })
        #expect(await player.seek(to: .seconds(4)))
        #expect(player.currentTime() < .seconds(2) && player.currentTime() > .milliseconds(1900), "\(player.currentTime())")
        player.play()
        #expect(await eventually { player.currentItem == one })
        #expect(await eventually { player.currentItem == item && controller.currentEvent == nil })
        player.pause()
        #expect(await player.seek(to: .zero))
        #expect(await player.seek(to: .seconds(4)))
        #expect(player.currentTime() >= .seconds(3.9), "once played, it restricts nothing: \(player.currentTime())")
        player.stop()
        display.close()
    }

    @Test func anEventThatCannotBePlayedIsOver() async throws {
        let display = VideoOutput.offscreen(width: 320, height: 180)
        let (item, missing) = (PlayerItem(try Self.primary()), PlayerItem("/nowhere/at/all.mp4"))
        let player = Player(video: display)
        let controller = InterstitialEventController(primaryPlayer: player)
        controller.events = [InterstitialEvent(primaryItem: item, identifier: "a", time: .seconds(1), templateItems: [missing])]
        let (events, changes) = (Watched(player.events), Watched(controller.currentEventUpdates))
        player.replaceCurrentItem(with: item)
        player.play()
        #expect(await eventually { changes.all.count == 3 && changes.all.last == .some(nil) }, "\(changes.all)")
        #expect(await eventually { events.all.contains(.playedToEnd) }, "\(events.all)")
        #expect(started(events.all) == [item, item])
        player.stop()
        display.close()
    }
}
