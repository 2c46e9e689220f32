import KioskDisplay
import KioskPlatform
import KioskPlayer
import TestSupport
import Testing

@Suite(.blocking) struct MetricsTests {
    private static func short() throws -> String { try Clips.numbered("short.mp4", frames: 15, from: 401) }

    private func latencies(_ events: [MetricEvent]) -> [CMTime] {
        events.compactMap { if case .firstFrame(let latency) = $0.kind { latency } else { nil } }
    }

    @Test func showingsHaveTheirFirstFrameTheirSeamsAndTheirSums() async throws {
        let display = VideoOutput.offscreen(width: 320, height: 180)
        let items = [PlayerItem(try Clips.named("thirty.mp4")), PlayerItem(try Self.short())]
        let player = QueuePlayer(items: [], loop: .queue, video: display)
        let (all, second) = (Watched(player.metrics), Watched(items[1].metrics))
        for item in items { player.insert(item) }
        player.play()
        func sums(of item: PlayerItem) -> [MetricEvent.Summary] {
            all.all.compactMap { event in
                if case .playbackSummary(let summary) = event.kind, event.item == item { summary } else { nil }
            }
        }
        #expect(await eventually { sums(of: items[0]).count >= 2 && sums(of: items[1]).count >= 2 })
        player.stop()
        let events = all.all
        #expect(latencies(events).count == 1 && latencies(events)[0] > .zero, "\(events.map(\.kind))")
        #expect(events.first?.item == items[0])
        #expect(events.contains { if case .likelyToKeepUp(let time) = $0.kind { time > .zero } else { false } })
        let seams = events.filter { if case .seam(let late) = $0.kind { late >= 0 } else { false } }
        #expect(seams.count >= 3 && seams.map(\.item).prefix(3) == [items[1], items[0], items[1]])
        // Two frames of each showing may be counted beside those that are shown: the player drops frames on a busy machine.
        for (item, frames) in zip(items, [30, 15]) {
            for sum in sums(of: item) {
                #expect(sum.framesShown > 0 && sum.framesShown <= frames && sum.framesLate <= sum.framesShown, "\(sum)")
                #expect((frames - 2...frames + 2) ~= sum.framesShown + sum.framesDropped, "\(sum)")
            }
        }
        #expect(zip(events, events.dropFirst()).allSatisfy { $0.hostTime <= $1.hostTime })
        let own = second.all
        #expect(!own.isEmpty && own.allSatisfy { $0.item == items[1] } && own == events.filter { $0.item == items[1] })
        display.close()
    }

    @Test func aSeekIsMeasuredToItsFrame() async throws {
        let display = VideoOutput.offscreen(width: 320, height: 180)
        let player = Player(video: display)
        let watched = Watched(player.metrics)
        player.replaceCurrentItem(with: PlayerItem(try Clips.named("thirty.mp4")))
        #expect(await eventually { latencies(watched.all).count == 1 }, "a paused player has a first frame, too")
        #expect(await player.seek(to: .milliseconds(500)))
        func seeks() -> [MetricEvent] { watched.all.filter { if case .seek = $0.kind { true } else { false } } }
        #expect(await eventually { seeks().count == 1 })
        let seek = try #require(seeks().first)
        #expect(abs((seek.mediaTime - .milliseconds(500)).seconds) < 0.04, "\(seek)")
        if case .seek(let latency) = seek.kind { #expect(latency > .zero && latency < .seconds(60)) }
        #expect(latencies(watched.all).count == 1)
        player.stop()
        display.close()
    }

    @Test func aStallIsReportedWithItsDuration() async throws {
        let clip = try Clips.numbered(
            "stalls.mp4", frames: 600, extra: ["-g", "30", "-bf", "0", "-preset", "ultrafast", "-movflags", "+faststart"])
        let bytes = try Clips.bytes(clip)
        let server = try FileServer(.init(bytes))
        server.change { $0.rate = bytes.count / 14 }
        let display = VideoOutput.offscreen(width: 320, height: 180)
        let player = Player(PlayerItem(server.url("stalls.mp4")), video: display)
        let watched = Watched(player.metrics)
        player.play()
        #expect(await eventually { player.timeControlStatus == .playing && player.currentTime() > .seconds(1) })
        server.change { $0.rate = 2000 }
        #expect(await eventually { watched.all.contains { $0.kind == .stallBegan } })
        server.change { $0.rate = nil }
        func ends() -> [CMTime] { watched.all.compactMap { if case .stallEnded(let time) = $0.kind { time } else { nil } } }
        #expect(await eventually { !ends().isEmpty })
        #expect(ends()[0] > .zero)
        let kinds = watched.all.map(\.kind)
        #expect(try #require(kinds.firstIndex(of: .stallBegan)) < (try #require(kinds.firstIndex(of: .stallEnded(duration: ends()[0])))))
        player.stop()
        display.close()
    }

    @Test func aFaultIsMeasuredAndAStreamEndsWithItsPlayer() async throws {
        let display = VideoOutput.offscreen(width: 320, height: 180)
        let missing = PlayerItem("/nowhere/at/all.mp4")
        let own = Watched(missing.metrics)
        let player = QueuePlayer(items: [missing, PlayerItem(try Self.short())], loop: .queue, video: display)
        let metrics = player.metrics
        player.play()
        let hasFailed = await eventually {
            own.all.contains { if case .error(let error) = $0.kind { "\(error)".contains("all.mp4") } else { false } }
        }
        #expect(hasFailed)
        player.stop()
        for await _ in metrics {}
        display.close()
    }
}
