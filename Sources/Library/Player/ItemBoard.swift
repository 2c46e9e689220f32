internal import KioskPlayback
public import KioskVocabulary
internal import Synchronization

/// Maps the engine's items to each ``PlayerItem``, and sends the events.
final class ItemBoard: Sendable {
    private struct State {
        var items: [QueueItem.ID: PlayerItem] = [:]
        /// The items that have left the list.
        var gone: [QueueItem.ID] = []
        /// Those of them that must not play to their end.
        var replaced: Set<QueueItem.ID> = []
    }

    private let state = Mutex(State())
    /// The events of the player.
    let events = Broadcast<PlayerEvent>()
    /// The measurements of the player.
    let metrics = MetricRecorder()

    subscript(id: QueueItem.ID) -> PlayerItem? { state.withLock { $0.items[id] } }

    /// The identity of an item on the list.
    func id(of item: PlayerItem) -> QueueItem.ID? {
        state.withLock { state in state.items.first { $0.value === item }?.key }
    }

    /// Adds items to the engine's list by `enlist`, which returns their identities. Holds the lock, so none of their events comes before
    /// they are known.
    func add(_ new: [PlayerItem], to engine: PlaybackEngine, _ enlist: () -> [QueueItem.ID]) {
        state.withLock { state in
            for (id, item) in zip(enlist(), new) {
                state.items[id] = item
                state.gone.removeAll { $0 == id }
                item.setPlace(engine, id, metrics)
            }
        }
    }

    /// Marks items that have left the list. One of them may be on the screen: the board keeps it until another item is.
    func remove(_ ids: [QueueItem.ID]) { state.withLock { $0.gone += ids } }

    /// Marks items that are replaced at once: none of them is the current one any more.
    func replace(_ ids: [QueueItem.ID]) { state.withLock { $0.replaced.formUnion(ids) } }

    /// Whether an item is being replaced.
    func isReplaced(_ id: QueueItem.ID) -> Bool { state.withLock { $0.replaced.contains(id) } }

    /// Translates an event of the engine. Called on its event thread.
    func note(_ event: PlaybackEvent) {
        guard let event = translated(event) else { return }
        events.tell(event)
        Self.tap.withLock { $0 }?(event)
    }

    /// A listener to the events of all players: notifications of Foundation.
    fileprivate static let tap = Mutex<(@Sendable (PlayerEvent) -> Void)?>(nil)

    private func translated(_ event: PlaybackEvent) -> PlayerEvent? {
        switch event {
        case .itemStarted(let id, let isSeam, _):
            guard let item = self[id] else { return nil }
            forget(besides: id)
            item.note(.readyToPlay)
            return .itemStarted(item, isSeam: isSeam)
        case .itemEnded(let id): return self[id].map { .itemEnded($0) }
        case .itemFailed(let id, let message):
            return self[id].map { .itemFailed($0, PlaybackError(message)) }
        case .itemStatusChanged(let id, let status):
            self[id]?.note(PlayerItem.Status(status))
            return nil
        case .nothingPlayable: return .nothingPlayable
        case .playlistEnded: return .playedToEnd
        case .statusChanged(let status): return .timeControlStatusChanged(status)
        case .interruptionBegan: return .interruptionBegan
        case .interruptionEnded: return .interruptionEnded
        case .subtitle(let id, let text, let start, let end):
            self[id]?.note(LegibleText(text: text, timeRange: CMTimeRange(start..<max(start, end))))
            return nil
        case .measured: return nil
        }
    }

    /// Drops the items that have left the list, except the one on the screen.
    private func forget(besides present: QueueItem.ID) {
        state.withLock { state in
            for id in state.gone where id != present {
                state.items[id] = nil
                state.replaced.remove(id)
            }
            state.gone.removeAll { $0 != present }
        }
    }
}

extension Player {
    /// Calls `listener` with the events of all players, on their event threads. For one listener in a process.
    package static func tapEvents(_ listener: @escaping @Sendable (PlayerEvent) -> Void) { ItemBoard.tap.withLock { $0 = listener } }
}

/// Sends elements to any number of streams. From any thread.
package final class Broadcast<Element: Sendable>: Sendable {
    private let state = Mutex((last: 0, streams: [Int: AsyncStream<Element>.Continuation](), hasEnded: false))

    package init() {}

    /// Returns a stream of `first` and all later elements until the end. It keeps the newest `limit` elements that are not taken.
    package func stream(_ first: Element? = nil, limit: Int = 1024) -> AsyncStream<Element> {
        AsyncStream(bufferingPolicy: .bufferingNewest(limit)) { continuation in
            if let first { continuation.yield(first) }
            let number: Int? = state.withLock { state in
                if state.hasEnded { return nil }
                state.last += 1
                state.streams[state.last] = continuation
                return state.last
            }
            guard let number else { return continuation.finish() }
            continuation.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.streams.removeValue(forKey: number) } }
        }
    }

    package func tell(_ element: Element) { for stream in state.withLock({ $0.streams }).values { stream.yield(element) } }

    /// Ends all streams.
    package func end() {
        let streams = state.withLock { state in
            defer { (state.streams, state.hasEnded) = ([:], true) }
            return state.streams
        }
        for stream in streams.values { stream.finish() }
    }
}

/// An event of a player, in order.
public enum PlayerEvent: Hashable, Sendable {
    /// The first frame of an item is on the screen. `isSeam` is true if it followed the previous frame without a seek or a skip.
    case itemStarted(PlayerItem, isSeam: Bool)
    /// An item has been on the screen to its end.
    case itemEnded(PlayerItem)
    /// An item has a fault. Either it could not be opened or broke off, and the next one plays. Or it plays without its sound, or seems to
    /// be truncated.
    case itemFailed(PlayerItem, PlaybackError)
    /// No item can be played. The player retries by itself.
    case nothingPlayable
    /// The last item has ended; its last frame stays.
    case playedToEnd
    /// ``Player/timeControlStatus`` has changed.
    case timeControlStatusChanged(TimeControlStatus)
    /// The first interruption has begun, or the last one has ended: ``Player/beginInterruption(by:for:)``.
    case interruptionBegan, interruptionEnded
}

extension PlayerItem.Status {
    fileprivate init(_ status: ItemFacts.Status) {
        self =
            switch status {
            case .unknown: .unknown
            case .readyToPlay: .readyToPlay
            case .failed(let reason): .failed(PlaybackError(reason))
            }
    }
}
