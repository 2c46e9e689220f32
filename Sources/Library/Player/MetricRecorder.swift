internal import KioskPlatform
internal import KioskPlayback
internal import KioskVocabulary
internal import Synchronization

/// Makes metrics of a player's events and counts, from the moment that somebody wants them. Called on the event thread.
final class MetricRecorder: Sendable {
    /// An item on the screen, with its counts when it began.
    private struct Showing {
        var id: QueueItem.ID
        var item: PlayerItem
        var begin: ItemStatistics
        var stalls = 0, stalledTime = MediaTime.zero
    }

    private struct State {
        var showing: Showing?
        /// Since when the player waits to play.
        var waits: HostTime? = .now
    }

    let events = Broadcast<MetricEvent>()
    private let isWanted = Atomic(false)
    private let state = Mutex(State())

    /// Measures from now on. From any thread.
    func begin(_ engine: PlaybackEngine) { if !isWanted.exchange(true, ordering: .relaxed) { engine.measure() } }

    /// Makes metrics of an event. Call it before the board notes the event: that may drop the item.
    func note(_ event: PlaybackEvent, _ board: ItemBoard, _ engine: PlaybackEngine) {
        let waited: MediaTime? = if case .statusChanged(let status) = event { noteStatus(status) } else { nil }
        guard isWanted.load(ordering: .relaxed) else { return }
        func tell(_ id: QueueItem.ID?, _ kind: MetricEvent.Kind, at time: MediaTime? = nil) {
            if let item = id.flatMap({ board[$0] }) { self.tell(item, kind, at: time ?? engine.currentTime) }
        }
        switch event {
        case .itemStarted(let id, let isSeam, let late):
            endShowing(engine)
            guard let item = board[id] else { return }
            var counts = engine.snapshot.statistics.items[id] ?? ItemStatistics()
            // The first frame belongs to this showing.
            if late > 0 { counts.framesLate = max(0, counts.framesLate - 1) }
            state.withLock { $0.showing = Showing(id: id, item: item, begin: counts) }
            if isSeam { tell(id, .seam(lateVblanks: late)) }
        case .itemEnded: endShowing(engine)
        case .itemFailed(let id, let message): tell(id, .error(PlaybackError(message)))
        case .statusChanged: if let waited { tell(engine.currentItem, .likelyToKeepUp(timeTaken: CMTime(waited))) }
        case .measured(.moved(let id, let time, let latency, let isSeek)):
            tell(id, isSeek ? .seek(latency: CMTime(latency)) : .firstFrame(latency: CMTime(latency)), at: time)
        case .measured(.stallBegan(let id)): tell(id, .stallBegan)
        case .measured(.stallEnded(let id, let duration)):
            state.withLock { state in
                guard var showing = state.showing.take() else { return }
                (showing.stalls, showing.stalledTime) = (showing.stalls + 1, showing.stalledTime + duration)
                state.showing = showing
            }
            tell(id, .stallEnded(duration: CMTime(duration)))
        case .measured(.variantChosen(let id, let variant, let former)):
            tell(id, .variantSwitch(from: former.map(Asset.Variant.init), to: Asset.Variant(variant)))
        case .itemStatusChanged, .nothingPlayable, .playlistEnded, .interruptionBegan, .interruptionEnded, .subtitle: break
        }
    }

    /// Returns how long the player has waited, if it plays from now on.
    private func noteStatus(_ status: TimeControlStatus) -> MediaTime? {
        state.withLock { state in
            defer { state.waits = status == .waitingToPlay ? .now : nil }
            return status == .playing ? state.waits.map { .now - $0 } : nil
        }
    }

    /// Sums up the item that was on the screen.
    private func endShowing(_ engine: PlaybackEngine) {
        guard let showing = state.withLock({ $0.showing.take() }), let end = engine.snapshot.statistics.items[showing.id] else { return }
        // If the same item follows, its next showing has begun already.
        let isOver = end.playthroughs > showing.begin.playthroughs
        let summary = MetricEvent.Summary(
            framesShown: isOver ? end.framesInLastPlaythrough : end.framesInPlaythrough,
            framesLate: end.framesLate - showing.begin.framesLate, framesDropped: end.framesDropped - showing.begin.framesDropped,
            stallCount: showing.stalls, timeSpentRecoveringFromStall: CMTime(showing.stalledTime))
        tell(showing.item, .playbackSummary(summary), at: engine.currentTime)
    }

    private func tell(_ item: PlayerItem, _ kind: MetricEvent.Kind, at time: MediaTime) {
        let event = MetricEvent(item: item, hostTime: .hostTime, mediaTime: CMTime(time), kind: kind)
        events.tell(event)
        item.measurements.tell(event)
    }
}
