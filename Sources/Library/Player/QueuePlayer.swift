internal import KioskPlayback
public import KioskVocabulary
internal import Synchronization

/// Plays items one after the other, and loops on request. No seam has a late vblank, a lost frame or a gap in the sound.
///
/// Unlike AVQueuePlayer, it keeps played items on the list: it is a playlist.
public final class QueuePlayer: Player, @unchecked Sendable {
    // Sendable like its superclass: it adds no stored property.

    /// The item after the last one.
    public enum LoopMode: Hashable, Sendable {
        /// None: the last frame stays.
        case off
        /// The first item.
        case queue
        /// The same item again, after each item.
        case item
    }

    /// Creates a player, paused on the first picture of the first of these items.
    public convenience init(
        items: [PlayerItem], loop: LoopMode = .off, video: VideoOutput, audio: AudioOutput = .silent(), region: Region = .full
    ) {
        self.init(items, loop: loop.engine, video: video, audio: audio, region: region)
    }

    /// Returns the items, in order. Unlike AVQueuePlayer's, they stay on the list when they have been played.
    public func items() -> [PlayerItem] { engine.items.compactMap { board[$0.id] } }

    /// The item after the last one; a change takes effect with the next item.
    public var loopMode: LoopMode {
        get { LoopMode(options.withLock { $0.loop }) }
        set {
            options.withLock { options in
                let former = options
                options.loop = newValue.engine
                engine.setOptions(options, instead: former)
            }
        }
    }

    /// Inserts an item after another one, or at the end.
    ///
    /// - Returns: false if it is on the list already, or `other` is not: nothing has changed then.
    @discardableResult public func insert(_ item: PlayerItem, after other: PlayerItem? = nil) -> Bool {
        guard let place = place(of: item, after: other) else { return false }
        board.add([item], to: engine) { engine.insert([item.entry], at: place) }
        return true
    }

    /// Whether ``insert(_:after:)`` would insert the item.
    public func canInsert(_ item: PlayerItem, after other: PlayerItem? = nil) -> Bool { place(of: item, after: other) != nil }

    private func place(of item: PlayerItem, after other: PlayerItem?) -> Int? {
        let present = items()
        if present.contains(item) { return nil }
        guard let other else { return present.count }
        return present.firstIndex(of: other).map { $0 + 1 }
    }

    /// Removes an item from the list. If it is on the screen, it plays to its end.
    public func remove(_ item: PlayerItem) {
        guard let id = board.id(of: item) else { return }
        engine.remove([id])
        board.remove([id])
    }

    /// Removes all items from the list. The item on the screen plays to its end.
    public func removeAllItems() {
        let all = engine.items.map(\.id)
        engine.remove(all)
        board.remove(all)
    }

    /// Goes to the next item now; no dark frame comes between.
    public func advanceToNextItem() { engine.advanceToNextItem() }

    /// Goes to the previous item.
    public func returnToPreviousItem() { engine.returnToPreviousItem() }

    /// Goes to an item of the list, and keeps playing or pausing.
    public func go(to item: PlayerItem) {
        guard let id = board.id(of: item), let place = engine.item(id)?.place else { return }
        engine.perform(.selectItem(place + 1))
    }
}

extension QueuePlayer.LoopMode {
    private static let modes: KeyValuePairs<Self, KioskVocabulary.LoopMode> = [.off: .off, .queue: .playlist, .item: .item]

    fileprivate init(_ mode: KioskVocabulary.LoopMode) { self = Self.modes.first { $0.value == mode }!.key }
    fileprivate var engine: KioskVocabulary.LoopMode { Self.modes.first { $0.key == self }!.value }
}

/// Repeats an item of a queue player without a seam, until it is disabled: AVPlayerLooper.
public final class PlayerLooper: Sendable {
    private let player: QueuePlayer

    /// Makes `player` repeat `templateItem`, and nothing else. From then on its queue is that item itself: a loop needs no copies.
    public init(player: QueuePlayer, templateItem item: PlayerItem) {
        self.player = player
        player.loopMode = .item
        if player.items() != [item] { player.replaceCurrentItem(with: item) }
    }

    /// Makes the current showing the last one.
    public func disableLooping() { player.loopMode = .off }
}
