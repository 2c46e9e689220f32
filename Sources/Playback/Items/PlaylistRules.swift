import KioskPlatform
import KioskVocabulary

/// The rules for playing a playlist. They can change during playback (``PlaybackEngine/setOptions(_:)``).
struct PlaylistRules: Hashable, Sendable {
    /// The action at the end of the list.
    var loop = LoopMode.playlist
    /// The order of the rounds; nil for the list's own.
    var shuffle: ShuffledOrder?
    /// The duration of a still without a duration of its own.
    var imageDuration = MediaTime.seconds(10)
    /// The duration of the fade from an item into the next; zero is a cut.
    var transition = MediaTime.zero
    /// The distance of one seek step.
    var seekStep = MediaTime.seconds(10)
    /// Whether playback goes on while a finger holds the slider.
    var playsWhileScrubbing = false
    /// The network settings for sources that are not on the list and that a command plays.
    var stream = StreamSettings()

    init(_ options: PlaybackEngine.Options) {
        (loop, imageDuration, seekStep) = (options.loop, options.imageDuration, options.seekStep)
        (playsWhileScrubbing, stream) = (options.playsWhileScrubbing, options.stream)
        shuffle = options.shuffles ? ShuffledOrder(seed: .random(in: 0 ... .max)) : nil
        transition = options.transition == .cut ? .zero : options.transitionDuration
    }

    /// Creates rules with the list's own order, or with `shuffle`.
    init(loop: LoopMode, shuffle: ShuffledOrder? = nil) { (self.loop, self.shuffle) = (loop, shuffle) }
}

/// A shuffled order for each round of a playlist, derived from a seed.
///
/// Each item has a number in each round, derived from the seed, the round and the item's identity; the items play in the order of these
/// numbers. So no order has to be stored. An item that joins in mid-round has a place in it, and one that leaves changes nothing for the
/// others. If the last item of the round before comes first, it changes places with the second.
struct ShuffledOrder: Hashable, Sendable {
    struct Round: Hashable, Sendable {
        /// The round's number, counted from 0.
        var number: UInt64 = 0
        /// The last item played before the round.
        var before: QueueItem.ID?
    }

    var seed: UInt64

    func order(of round: Round, _ list: Playlist) -> [QueueItem.ID] {
        var order = list.items.map(\.id).sorted { (key($0, round), $0) < (key($1, round), $1) }
        if order.count > 1, order[0] == round.before { order.swapAt(0, 1) }
        return order
    }

    /// Returns the item after another one in its round, also for an item that has left the list; nil after the last.
    func next(after item: QueueItem.ID, in round: Round, _ list: Playlist) -> QueueItem.ID? {
        let order = order(of: round, list)
        if let place = order.firstIndex(of: item) { return place + 1 < order.count ? order[place + 1] : nil }
        return order.first { (key($0, round), $0) > (key(item, round), item) }
    }

    /// Returns the item before another one in its round; nil for the first.
    func previous(before item: QueueItem.ID, in round: Round, _ list: Playlist) -> QueueItem.ID? {
        let order = order(of: round, list)
        if let place = order.firstIndex(of: item) { return place > 0 ? order[place - 1] : nil }
        return order.last { (key($0, round), $0) < (key(item, round), item) }
    }

    /// Returns an item's number in a round, by SplitMix64.
    private func key(_ item: QueueItem.ID, _ round: Round) -> UInt64 {
        var value = seed &+ (round.number &* 0x9E37_79B9_7F4A_7C15) ^ (UInt64(item.number) &* 0xD1B5_4A32_D192_ED03)
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
