internal import KioskPlayback
public import KioskVocabulary
internal import Synchronization

/// Plays items one after the other, and from the beginning again where it is asked to: each seam without a vblank late, a frame lost or a hole
/// in the sound.
///
/// Other than AVQueuePlayer's, its items stay on the list when they have been played: it is a playlist.
public final class QueuePlayer: Player, @unchecked Sendable {
    // Sendable as its superclass is: it adds nothing that is stored.

    /// What comes after the last item.
    public enum LoopMode: Hashable, Sendable {
        /// Nothing: its last frame stays.
        case off
        /// The first.
        case queue
        /// What comes after each item is that item again.
        case item
    }

    /// A player that stands still on the first picture of the first of these items.
    public convenience init(
        items: [PlayerItem], loop: LoopMode = .off, video: VideoOutput, audio: AudioOutput = .silent(), region: Region = .full
    ) {
        self.init(items, loop: loop.engine, video: video, audio: audio, region: region)
    }

    /// What is played, in order.
    public var queue: [PlayerItem] { engine.items.compactMap { items[$0.id] } }

    /// What comes after the last item; changes with the next one that begins.
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

    /// Puts an item behind another one, or at the end.
    ///
    /// - Returns: false where it is on the list already, or `other` is not: nothing has changed then.
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

    /// Takes an item off the list. Where it is on the screen it plays to its end.
    public func remove(_ item: PlayerItem) {
        guard let id = items.id(of: item) else { return }
        engine.remove([id])
        items.remove([id])
    }

    /// Takes all items off the list. What is on the screen plays to its end.
    public func removeAllItems() {
        let all = engine.items.map(\.id)
        engine.remove(all)
        items.remove(all)
    }

    /// Goes to the next item now; its first frame follows the frame on the screen without a dark one.
    public func advanceToNextItem() { engine.advanceToNextItem() }

    /// Goes to the item before.
    public func returnToPreviousItem() { engine.returnToPreviousItem() }

    /// Goes to an item of the list, playing or paused as it is.
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

/// Repeats an item of a queue player without a seam, for as long as it is wanted: AVPlayerLooper.
public final class PlayerLooper: Sendable {
    private let player: QueuePlayer

    /// Has `player` play `item`, and nothing else, again and again. Its queue is `item` from then on.
    public init(player: QueuePlayer, item: PlayerItem) {
        self.player = player
        player.loopMode = .item
        if player.queue != [item] { player.replaceCurrentItem(with: item) }
    }

    /// Has the showing that is on the screen be the last one.
    public func disableLooping() { player.loopMode = .off }
}
