import KioskPlatform

/// Subtitles in a list of their own: the parts to fetch, and the cues for the decoded pictures. A pure value.
///
/// Cues have times on the stream's clock (``StreamTicks``), which wraps after a day. It also jumps if the encoder of a live stream
/// restarts, or if its parts come from elsewhere. So a cue gets its item time from the decoded picture, once the pictures are close.
///
///     list ─▶ parts to fetch ─▶ cues on the stream's clock ─▶ due: cues in item time
struct ListedSubtitles {
    /// A decoded picture: its item time, and the stream's clock at it.
    struct Place: Hashable {
        var time: MediaTime, ticks: StreamTicks
    }

    private struct Cue {
        /// The number of the cue's part.
        var part: Int
        /// The origin of the times on the stream's clock; nil if they count from the beginning of the item.
        var zero: StreamTicks?
        var start: MediaTime, end: MediaTime
        /// The line without its first field, the line number.
        var line: Substring
        var isDelivered = false
    }

    /// The identity of a cue. A cue that lasts into the next part is in both.
    private struct Key: Hashable {
        var start: Int64, duration: MediaTime, line: Substring
    }

    private var list: HLSSubtitleList?
    /// The numbers of parts that have arrived, or cannot.
    private var settled: Set<Int> = []
    /// For a live list: the first part in use.
    private var first: Int?
    private var cues: [Cue] = []
    private var keys: Set<Key> = []
    private var lines = 0
    /// The last picture for which ``due(at:)`` looked through the cues; it holds the offset of the two clocks.
    private var looked: Place?

    /// The lead of fetched parts over the pictures, and that of delivered cues.
    static let ahead = MediaTime.seconds(30), due = MediaTime.seconds(10)
    /// The age after which a live stream forgets a cue.
    private static let past = MediaTime.seconds(10)
    /// The number of parts at the end of a live list to read. The list may be far longer; kiosk begins to play at its third part before the
    /// end.
    private static let liveParts = 5
    /// The most parts by which the pictures may be behind a live list.
    private static let lag = 100
    private static let mostCues = 50_000, mostLines = 1 << 20

    var isLive: Bool { list.map { !$0.hasEnded } ?? false }
    /// The number of stored cues, keys and part numbers.
    var held: Int { cues.count + keys.count + settled.count }

    // MARK: Parts

    /// Takes the current list.
    mutating func take(_ list: HLSSubtitleList) {
        if !list.hasEnded || first != nil, let last = list.parts.last?.number {
            // The server has restarted.
            if let newest = settled.max(), newest > last + Self.liveParts { settled = [] }
            first = settled.isEmpty ? list.parts.suffix(Self.liveParts).first?.number : first
            let oldest = list.parts[0].number
            settled = settled.filter { $0 >= oldest }
        }
        self.list = list
    }

    /// Returns the next part to fetch, for pictures at an item time; nil if no part is missing.
    func next(at time: MediaTime) -> HLSSubtitleList.Part? {
        guard let list else { return nil }
        if let first { return list.parts.first { $0.number >= first && !settled.contains($0.number) } }
        return list.parts.first { $0.end > time && $0.start < time + Self.ahead && !settled.contains($0.number) }
    }

    /// Whether all parts for an item time have arrived.
    func isComplete(at time: MediaTime) -> Bool {
        guard let list else { return false }
        return !list.parts.contains { $0.start <= time && time < $0.end && !settled.contains($0.number) }
    }

    /// Adds a part's cues. Their times count from `zero`; nil counts from the beginning of the item.
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

    /// Marks a part as missing for good.
    mutating func leaveOut(_ part: HLSSubtitleList.Part) { settled.insert(part.number) }

    private func key(of cue: Cue) -> Key {
        Key(start: cue.zero.map { ($0 + cue.start).value } ?? -1 - cue.start.nanoseconds, duration: cue.end - cue.start, line: cue.line)
    }

    // MARK: Cues

    /// Returns the undelivered cues for pictures from here on, in item time.
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
                // A cue that is not yet due may lie beyond a jump.
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

    /// Returns a cue's item time, to a millisecond like its own times.
    private func itemTime(of cue: Cue, at place: Place) -> MediaTime {
        let time = cue.zero.map { place.time + ($0 + cue.start).since(place.ticks) } ?? cue.start
        return .milliseconds((time.nanoseconds + (time < .zero ? -500_000 : 500_000)) / 1_000_000)
    }

    /// Prepares to deliver all cues again, because the renderer has forgotten them.
    mutating func restart() {
        for index in cues.indices { cues[index].isDelivered = false }
        (looked, lines) = (nil, 0)
    }
}
