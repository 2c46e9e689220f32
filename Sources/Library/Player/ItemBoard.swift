internal import KioskPlayback
public import KioskVocabulary
internal import Synchronization

/// Which of the engine's items is which ``PlayerItem``, and who is told what happens.
final class ItemBoard: Sendable {
    private struct State {
        var items: [QueueItem.ID: PlayerItem] = [:]
        /// What has left the list.
        var gone: [QueueItem.ID] = []
        /// Of that, what is not to be played to its end.
        var replaced: Set<QueueItem.ID> = []
    }

    private let state = Mutex(State())
    /// Everything that happens from now on.
    let events = Broadcast<PlayerEvent>()

    subscript(id: QueueItem.ID) -> PlayerItem? { state.withLock { $0.items[id] } }

    /// The identity of an item on the list.
    func id(of item: PlayerItem) -> QueueItem.ID? {
        state.withLock { state in state.items.first { $0.value === item }?.key }
    }

    /// Items come onto the engine's list by `enlist`, which returns their identities. The lock is held, so that no event of theirs comes
    /// before they are known.
    func add(_ new: [PlayerItem], to engine: PlaybackEngine, _ enlist: () -> [QueueItem.ID]) {
        state.withLock { state in
            for (id, item) in zip(enlist(), new) {
                state.items[id] = item
                item.setPlace(engine, id)
            }
        }
    }

    /// Items have left the list. What is on the screen may be one of them: it is kept until another one is.
    func remove(_ ids: [QueueItem.ID]) { state.withLock { $0.gone += ids } }

    /// Items are to be replaced at once: none of them is the current one any more.
    func replace(_ ids: [QueueItem.ID]) { state.withLock { $0.replaced.formUnion(ids) } }

    /// Whether an item gives way at once.
    func isReplaced(_ id: QueueItem.ID) -> Bool { state.withLock { $0.replaced.contains(id) } }

    /// Something has happened in the engine. Called on its event thread.
    func note(_ event: PlaybackEvent) { if let event = translated(event) { events.tell(event) } }

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
            self[id]?.note(LegibleText(text: text, timeRange: start.duration..<max(start, end).duration))
            return nil
        }
    }

    /// Another item is on the screen than those that have left the list.
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

/// Tells all who have asked, each by a stream of its own. From any thread.
package final class Broadcast<Element: Sendable>: Sendable {
    private let state = Mutex((last: 0, streams: [Int: AsyncStream<Element>.Continuation](), hasEnded: false))

    package init() {}

    /// `first`, and all that is told from now on, until the end; of what nobody takes the newest `limit`.
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

    /// Nothing more is told.
    package func end() {
        let streams = state.withLock { state in
            defer { (state.streams, state.hasEnded) = ([:], true) }
            return state.streams
        }
        for stream in streams.values { stream.finish() }
    }
}

/// What happens in a player, in order.
public enum PlayerEvent: Hashable, Sendable {
    /// The first frame of an item is on the screen. `isSeam` where it followed the frame before without a seek or a skip.
    case itemStarted(PlayerItem, isSeam: Bool)
    /// An item was on the screen to its end.
    case itemEnded(PlayerItem)
    /// Something is wrong with an item: it could not be opened or broke off, and what follows is played; or it is played without its sound,
    /// or seems to be cut off.
    case itemFailed(PlayerItem, PlaybackError)
    /// Nothing there is can be played. It is tried again by itself.
    case nothingPlayable
    /// The last item has ended, and its last frame stays.
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
