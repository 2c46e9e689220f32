import KioskPlatform

/// Subtitles in a list of their own: which parts of it are to be fetched, and which cues of those belong to the pictures that are decoded. A pure value.
///
/// The times of cues are on the clock of the stream (``StreamTicks``), which begins anew after a day, and jumps where a live stream's encoder is started again
/// or where its parts come from elsewhere. So a cue gets its item time when the pictures are close to it: by the one that is decoded then.
///
///     list ─▶ parts to fetch ─▶ cues on the stream's clock ─▶ due: cues in item time
struct ListedSubtitles {
    /// A picture that has been decoded: its item time, and what the stream's clock shows then.
    struct Place: Hashable {
        var time: MediaTime, ticks: StreamTicks
    }

    private struct Cue {
        /// The number of the part that it is from.
        var part: Int
        /// What its times count from on the stream's clock; nil where that is the beginning of the item.
        var zero: StreamTicks?
        var start: MediaTime, end: MediaTime
        /// The line without its first field, which counts the lines.
        var line: Substring
        var isDelivered = false
    }

    /// What tells cues apart: one that lasts into the next part is in that, too.
    private struct Key: Hashable {
        var start: Int64, duration: MediaTime, line: Substring
    }

    private var list: HLSSubtitleList?
    /// Numbers of parts that are there, or cannot be.
    private var settled: Set<Int> = []
    /// Of a live list: all parts before it are none of ours.
    private var first: Int?
    private var cues: [Cue] = []
    private var keys: Set<Key> = []
    private var lines = 0
    /// When cues were last looked through, and what was the offset of the two clocks then.
    private var looked: Place?

    /// So far ahead of the pictures parts are fetched, and cues delivered.
    static let ahead = MediaTime.seconds(30), due = MediaTime.seconds(10)
    /// Cues that are longer over are forgotten in a live stream.
    private static let past = MediaTime.seconds(10)
    /// A live list may be far longer than what is still to be seen of it: kiosk begins at its third part before the end.
    private static let liveParts = 5
    /// The pictures may be so many parts behind a live list.
    private static let lag = 100
    private static let mostCues = 50_000, mostLines = 1 << 20

    var isLive: Bool { list.map { !$0.hasEnded } ?? false }
    /// Cues, what tells them apart, and parts that are known of.
    var held: Int { cues.count + keys.count + settled.count }

    // MARK: Parts

    /// The list as it is now.
    mutating func take(_ list: HLSSubtitleList) {
        if !list.hasEnded || first != nil, let last = list.parts.last?.number {
            // Its server has been started again.
            if let newest = settled.max(), newest > last + Self.liveParts { settled = [] }
            first = settled.isEmpty ? list.parts.suffix(Self.liveParts).first?.number : first
            let oldest = list.parts[0].number
            settled = settled.filter { $0 >= oldest }
        }
        self.list = list
    }

    /// The part to be fetched next, while the pictures are at an item time; nil where all is there that is wanted.
    func next(at time: MediaTime) -> HLSSubtitleList.Part? {
        guard let list else { return nil }
        if let first { return list.parts.first { $0.number >= first && !settled.contains($0.number) } }
        return list.parts.first { $0.end > time && $0.start < time + Self.ahead && !settled.contains($0.number) }
    }

    /// Whether everything has come that belongs to an item time.
    func isComplete(at time: MediaTime) -> Bool {
        guard let list else { return false }
        return !list.parts.contains { $0.start <= time && time < $0.end && !settled.contains($0.number) }
    }

    /// A part has come. Its times count from `zero`; nil where they count from the beginning of the item.
    mutating func add(_ cues: [SubtitleCue], from zero: StreamTicks?, of part: HLSSubtitleList.Part) {
        if self.cues.count + cues.count > Self.mostCues { (self.cues, keys, settled) = ([], [], []) }
        settled.insert(part.number)
        for cue in cues.prefix(Self.mostCues) {
            guard case .line(let line, let start, let end) = cue, let comma = line.firstIndex(of: ",") else { continue }
            let cue = Cue(part: part.number, zero: zero, start: start, end: end, line: line[comma...])
            if keys.insert(key(of: cue)).inserted { self.cues.append(cue) }
        }
        looked = nil
    }

    /// A part cannot be had.
    mutating func leaveOut(_ part: HLSSubtitleList.Part) { settled.insert(part.number) }

    private func key(of cue: Cue) -> Key {
        Key(start: cue.zero.map { ($0 + cue.start).value } ?? -1 - cue.start.nanoseconds, duration: cue.end - cue.start, line: cue.line)
    }

    // MARK: Cues

    /// Those that have not been delivered and belong to pictures from here on, in item time.
    mutating func due(at place: Place) -> [SubtitleCue] {
        if let looked, isNear(looked, place) { return [] }
        looked = place
        var due: [SubtitleCue] = []
        for index in cues.indices where !cues[index].isDelivered {
            let cue = cues[index]
            let start = itemTime(of: cue, at: place)
            let end = start + (cue.end - cue.start)
            guard start < place.time + Self.due, end > place.time - Self.past else { continue }
            cues[index].isDelivered = true
            due.append(.line("\(lines)\(cue.line)", start: start, end: end))
            lines = (lines + 1) % Self.mostLines
        }
        if first != nil {
            let oldest = (list?.parts.first?.number ?? 0) - Self.lag
            let isOver = cues.map { cue in
                // What is not due yet may lie behind a jump.
                cue.part < oldest || cue.isDelivered && itemTime(of: cue, at: place) + (cue.end - cue.start) < place.time - Self.past
            }
            if isOver.contains(true) {
                for (cue, isOver) in zip(cues, isOver) where isOver { keys.remove(key(of: cue)) }
                cues = zip(cues, isOver).filter { !$1 }.map(\.0)
            }
        }
        return due
    }

    private func isNear(_ one: Place, _ other: Place) -> Bool {
        let step = other.time - one.time
        return step >= .zero && step < .seconds(1) && abs((other.ticks.since(one.ticks) - step).nanoseconds) < 1_000_000
    }

    /// To a millisecond, as its own times are.
    private func itemTime(of cue: Cue, at place: Place) -> MediaTime {
        let time = cue.zero.map { place.time + ($0 + cue.start).since(place.ticks) } ?? cue.start
        return .milliseconds((time.nanoseconds + (time < .zero ? -500_000 : 500_000)) / 1_000_000)
    }

    /// All are to be delivered again: what draws them has forgotten them.
    mutating func restart() {
        for index in cues.indices { cues[index].isDelivered = false }
        (looked, lines) = (nil, 0)
    }
}
