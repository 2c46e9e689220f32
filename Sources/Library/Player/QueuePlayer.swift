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

    /// The items, in order.
    public var queue: [PlayerItem] { engine.items.compactMap { items[$0.id] } }

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
        let present = queue
        if present.contains(item) { return false }
        var place = present.count
        if let other {
            guard let index = present.firstIndex(of: other) else { return false }
            place = index + 1
        }
        items.add([item], to: engine) { engine.insert([item.entry], at: place) }
        return true
    }

    /// Removes an item from the list. If it is on the screen, it plays to its end.
    public func remove(_ item: PlayerItem) {
        guard let id = items.id(of: item) else { return }
        engine.remove([id])
        items.remove([id])
    }

    /// Removes all items from the list. The item on the screen plays to its end.
    public func removeAllItems() {
        let all = engine.items.map(\.id)
        engine.remove(all)
        items.remove(all)
    }

    /// Goes to the next item now; no dark frame comes between.
    public func advanceToNextItem() { engine.advanceToNextItem() }

    /// Goes to the previous item.
    public func returnToPreviousItem() { engine.returnToPreviousItem() }

    /// Goes to an item of the list, and keeps playing or pausing.
    public func go(to item: PlayerItem) {
        guard let id = items.id(of: item), let place = engine.item(id)?.place else { return }
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

    /// Makes `player` repeat `item`, and nothing else. From then on its queue is `item`.
    public init(player: QueuePlayer, item: PlayerItem) {
        self.player = player
        player.loopMode = .item
        if player.queue != [item] { player.replaceCurrentItem(with: item) }
    }

    /// Makes the current showing the last one.
    public func disableLooping() { player.loopMode = .off }
}
