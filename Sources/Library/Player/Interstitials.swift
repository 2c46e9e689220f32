internal import KioskPlatform
internal import KioskPlayback
internal import Synchronization

/// Items to play at a time of another item, before that goes on: AVPlayerInterstitialEvent.
public struct InterstitialEvent: Hashable, Sendable, Identifiable {
    /// The limits for viewers.
    public struct Restrictions: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: Int

        /// Creates a set from its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// A seek of the player beyond the event goes to the event, until the event has been played.
        public static let constrainsSeekingForwardInPrimaryContent = Restrictions(rawValue: 1)
    }

    /// The item that it interrupts.
    public var primaryItem: PlayerItem
    /// Its name among the events of a controller.
    public var identifier: String
    /// The time of the item to interrupt it at, above zero. To play something before or after an item, put it on the queue.
    public var time: CMTime
    /// What to play, in order. Of its options, the repetitions do not apply. None of these items may be on the player's queue.
    public var templateItems: [PlayerItem]
    /// The limits for viewers.
    public var restrictions: Restrictions = []
    /// How much later than at the interruption the item goes on; negative is earlier. A live stream goes on where it is then.
    public var resumptionOffset = CMTime.zero
    /// Whether it is played only the first time that playback passes it.
    public var willPlayOnce = false

    /// Creates an event that is played each time that playback passes its time.
    public init(primaryItem: PlayerItem, identifier: String, time: CMTime, templateItems: [PlayerItem]) {
        (self.primaryItem, self.identifier, self.time, self.templateItems) = (primaryItem, identifier, time, templateItems)
    }

    /// Its name.
    public var id: String { identifier }
}

/// Plays items at times of other items, in the same player: AVPlayerInterstitialEventController.
///
/// When playback passes the time of an event, the picture stands until the first item of the event is ready, usually for some frames. The
/// items of an event follow each other without a gap; then the interrupted item goes on. ``Player/currentItem`` is the item on the screen,
/// of the event or not. A seek across an event passes nothing. Of two events at one time only the first is played.
///
/// Keep a reference to the controller: its events end with it, or with the player. From any thread.
public final class InterstitialEventController: Sendable {
    private struct State {
        weak var player: Player?
        var events: [InterstitialEvent] = []
        var current: (event: InterstitialEvent, ids: [QueueItem.ID], hasBegun: Bool)?
        var played: Set<String> = []
        /// The last event and the time when its item went on: playback passes its time once more soon after.
        var last: (id: String, end: HostTime)?
        var boundaries: PlayerObserver?, observer: PlayerObserver?
    }

    private let state: Mutex<State>
    private let updates = Broadcast<InterstitialEvent?>()

    /// Creates a controller without events.
    public init(primaryPlayer player: Player) {
        state = Mutex(State(player: player))
        let observer = player.engine.addObserver { [weak self] event in self?.note(event) }
        state.withLock { $0.observer = observer }
        player.seekLimit.withLock { $0 = { [weak self] in self?.limited($0) ?? $0 } }
    }

    deinit {
        state.withLock { state in
            guard let player = state.player else { return }
            for observer in [state.boundaries, state.observer] { observer.map { player.engine.removeObserver($0) } }
        }
    }

    /// The player whose items it interrupts; nil once that has ended.
    public var primaryPlayer: Player? { state.withLock { $0.player } }

    /// The events, in any order. An event that is being played goes on, also if it is not among the new ones. The past of an event stays
    /// with its name. Events without an item, or with a time that is not above zero, are ignored.
    public var events: [InterstitialEvent] {
        get { state.withLock { $0.events } }
        set {
            let (player, former) = state.withLock { state in
                defer { state.boundaries = nil }
                (state.events, state.played) = (newValue, state.played.intersection(newValue.map(\.id)))
                return (state.player, state.boundaries)
            }
            guard let player else { return }
            if let former { player.engine.removeObserver(former) }
            let times = newValue.filter { !$0.templateItems.isEmpty && $0.time > .zero }.compactMap { $0.time.mediaTime }
            if times.isEmpty { return }
            let boundaries = player.engine.addBoundaryTimeObserver(forTimes: times) { [weak self] in self?.timePassed() }
            state.withLock { $0.boundaries = boundaries }
        }
    }

    /// The event that is being played; nil while there is none.
    public var currentEvent: InterstitialEvent? { state.withLock { $0.current?.event } }

    /// The current event now, and whenever it changes: AVPlayerInterstitialEventMonitor's notification.
    public var currentEventUpdates: AsyncStream<InterstitialEvent?> { updates.stream(.some(currentEvent), limit: 16) }

    /// Ends the current event now: its item goes on, later than at the interruption by `resumptionOffset`, or by that of the event if it is
    /// ``CMTime/invalid``. Does nothing without a current event.
    public func cancelCurrentEvent(withResumptionOffset resumptionOffset: CMTime = .invalid) {
        let player: Player? = state.withLock { state in
            // Without a picture so far, it ends with the next item all the same.
            state.current?.hasBegun = true
            return state.current == nil ? nil : state.player
        }
        guard let player else { return }
        player.engine.cancelInterludes(offset: resumptionOffset.mediaTime)
    }

    // MARK: The event thread of the player

    /// How long after the time of an event its observer may be called.
    private static let lateness = CMTime.seconds(1)
    /// Within this time after an event its item passes the event's time once more: the picture of that time began before it.
    private static let samePass = MediaTime.seconds(1)

    private func timePassed() {
        guard let player = primaryPlayer, let item = player.currentItem else { return }
        let now = player.currentTime()
        let event: InterstitialEvent? = state.withLock { state in
            guard state.current == nil else { return nil }
            let event = state.events.first { event in
                event.primaryItem == item && !event.templateItems.isEmpty && event.time > .zero && event.time <= now
                    && now - event.time < Self.lateness && !(event.willPlayOnce && state.played.contains(event.id))
                    && !(state.last.map { $0.id == event.id && .now - $0.end < Self.samePass } ?? false)
            }
            guard let event else { return nil }
            state.current = (event, [], false)
            state.played.insert(event.id)
            return event
        }
        guard let event else { return }
        let offset = event.resumptionOffset.mediaTime ?? .zero
        var ids: [QueueItem.ID] = []
        player.board.add(event.templateItems, to: player.engine) {
            ids = player.engine.playInterludes(event.templateItems.map(\.entry), offset: offset)
            return ids
        }
        state.withLock { $0.current = ids.isEmpty ? nil : (event, ids, false) }
        if !ids.isEmpty { updates.tell(event) }
    }

    private func note(_ event: PlaybackEvent) {
        switch event {
        case .itemStarted(let id, _, _):
            let ended: (ids: [QueueItem.ID], player: Player?)? = state.withLock { state in
                guard let current = state.current else { return nil }
                if current.ids.contains(id) {
                    state.current?.hasBegun = true
                    return nil
                }
                // A frame that was on its way to the screen may have begun another item before.
                guard current.hasBegun else { return nil }
                (state.current, state.last) = (nil, (current.event.id, .now))
                return (current.ids, state.player)
            }
            guard let ended else { return }
            ended.player?.board.remove(ended.ids)
            updates.tell(nil)
        case .itemFailed(let id, _):
            state.withLock { state in if state.current?.ids.contains(id) == true { state.current?.hasBegun = true } }
        default: break
        }
    }

    // MARK: Seeking

    /// Returns the target of a seek of the player: the first restricting event before it that has not been played.
    private func limited(_ target: MediaTime) -> MediaTime {
        guard let player = primaryPlayer, let item = player.currentItem else { return target }
        let now = player.engine.currentTime
        return state.withLock { state in
            let times = state.events.filter { event in
                event.primaryItem == item && event.restrictions.contains(.constrainsSeekingForwardInPrimaryContent)
                    && !event.templateItems.isEmpty && !state.played.contains(event.id)
            }.compactMap { $0.time.mediaTime }.filter { $0 > now && $0 <= target }
            return times.min().map { max(now, $0 - Self.approach) } ?? target
        }
    }

    /// How long before an event a seek to it goes, so that playback passes it.
    private static let approach = MediaTime.milliseconds(50)
}
