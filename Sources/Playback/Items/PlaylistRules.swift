import KioskPlatform
import KioskVocabulary

/// How a playlist is played; can be changed while it is (``PlaybackEngine/setOptions(_:)``).
struct PlaylistRules: Hashable, Sendable {
    /// What to do at the end.
    var loop = LoopMode.playlist
    /// The order of the rounds; nil is the list's own.
    var shuffle: ShuffledOrder?
    /// How long a still without a duration of its own stands.
    var imageDuration = MediaTime.seconds(10)
    /// How long an item fades into the next; zero is a cut.
    var transition = MediaTime.zero
    /// How far one seek step moves.
    var seekStep = MediaTime.seconds(10)
    /// Whether playing goes on while a finger holds the slider.
    var playsWhileScrubbing = false
    /// How what is not on the list is fetched, which a command plays.
    var stream = StreamSettings()

    init(_ options: PlaybackEngine.Options) {
        (loop, imageDuration, seekStep) = (options.loop, options.imageDuration, options.seekStep)
        (playsWhileScrubbing, stream) = (options.playsWhileScrubbing, options.stream)
        shuffle = options.shuffles ? ShuffledOrder(seed: .random(in: 0 ... .max)) : nil
        transition = options.transition == .cut ? .zero : options.transitionDuration
    }

    /// The list's own order.
    init(loop: LoopMode, shuffle: ShuffledOrder? = nil) { (self.loop, self.shuffle) = (loop, shuffle) }
}

/// An order for each round of a playlist, made of a seed.
///
/// Each item has a number in each round, made of the seed, the round and its identity, and the items are played in the order of these. So
/// an order need not be kept anywhere, an item that comes in mid-round has a place in it, and one that leaves changes nothing for the
/// others. The item that was played last in the round before is not the first: it changes places with the second.
struct ShuffledOrder: Hashable, Sendable {
    struct Round: Hashable, Sendable {
        /// Counted from 0.
        var number: UInt64 = 0
        /// What was played last before it.
        var before: QueueItem.ID?
    }

    var seed: UInt64

    func order(of round: Round, _ list: Playlist) -> [QueueItem.ID] {
        var order = list.items.map(\.id).sorted { (key($0, round), $0) < (key($1, round), $1) }
        if order.count > 1, order[0] == round.before { order.swapAt(0, 1) }
        return order
    }

    /// What follows an item in its round, which may have left the list; nil after the last.
    func next(after item: QueueItem.ID, in round: Round, _ list: Playlist) -> QueueItem.ID? {
        let order = order(of: round, list)
        if let place = order.firstIndex(of: item) { return place + 1 < order.count ? order[place + 1] : nil }
        return order.first { (key($0, round), $0) > (key(item, round), item) }
    }

    /// What comes before an item in its round; nil for the first.
    func previous(before item: QueueItem.ID, in round: Round, _ list: Playlist) -> QueueItem.ID? {
        let order = order(of: round, list)
        if let place = order.firstIndex(of: item) { return place > 0 ? order[place - 1] : nil }
        return order.last { (key($0, round), $0) < (key(item, round), item) }
    }

    /// SplitMix64.
    private func key(_ item: QueueItem.ID, _ round: Round) -> UInt64 {
        var value = seed &+ (round.number &* 0x9E37_79B9_7F4A_7C15) ^ (UInt64(item.number) &* 0xD1B5_4A32_D192_ED03)
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
