import KioskMedia
import KioskPlatform
import KioskVocabulary

/// What is done with sources whose decoder has died in the middle. A source is played once more from behind the place, in case only that does harm;
/// where it dies again it is left out for a while, and longer each time. A pure value.
///
/// | what has happened | its next turn |
/// |---|---|
/// | it has died | from behind the place on |
/// | it was played from there to its end, or to where something else was wanted | from its beginning again, as if nothing had happened |
/// | it has died again | none for 10 s, then from its beginning; twice as long after each further death, up to an hour |
/// | its disk or share gave nothing | the same, up to a minute: it may be there again at any time |
/// | it has changed | from its beginning, as if nothing had happened |
///
/// So a clip with one bad place is seen up to that and from there on, in turns. The only source of a list is never left out where half a second of
/// it is seen: there is nothing else to be seen.
struct CrashRecord: Sendable {
    /// What a source's next turn is.
    enum Turn: Hashable, Sendable {
        case fromBeginning
        /// From behind the item time at which it died of this reason.
        case behind(MediaTime, String)
        /// Nothing for so long, as it died of this reason.
        case leftOut(for: MediaTime, String)
    }

    private struct Entry {
        var version: FileVersion?
        /// Where it died last, and of what, in item time.
        var place: MediaTime, reason: String
        /// How often it has died in a row.
        var deaths = 1
        /// How much of it was seen from its beginning on when it died there.
        var seen: MediaTime
        var isNextBehind: Bool
        /// For how long it is left out, and until when.
        var pause = MediaTime.zero
        var isLeftOutUntil: HostTime?

        /// It is left out from `now` on, for longer than last time.
        mutating func leaveOut(from now: HostTime, atMost longest: MediaTime) {
            pause = min(max(pause + pause, shortestPause), longest)
            (isNextBehind, isLeftOutUntil) = (false, now + pause)
        }
    }

    static let shortestPause = MediaTime.seconds(10), longestPause = MediaTime.seconds(3600), longestSilence = MediaTime.seconds(60)
    /// Whatever is seen for so long is worth being seen again.
    static let worthSeeing = MediaTime.milliseconds(500)
    private static let mostEntries = 1000

    private var entries: [Path: Entry] = [:] {
        didSet { if entries.count > Self.mostEntries { entries.removeAll() } }
    }

    /// A source's decoder has died at item time `place` of a turn that began at `start`.
    ///
    /// - Parameter isLast: whether the source ends too soon behind the place for anything to be seen of that.
    mutating func died(
        _ source: Path, _ version: FileVersion?, of reason: String, at place: MediaTime, from start: MediaTime, isLast: Bool, now: HostTime
    ) {
        let seen = place - start
        guard var entry = entries[source], entry.version == version else {
            entries[source] = Entry(version: version, place: place, reason: reason, seen: seen, isNextBehind: !isLast)
            return
        }
        let wasBehind = start > entry.place
        // One that was open already when it died before says nothing new.
        if entry.isNextBehind, !wasBehind { return }
        if !wasBehind { entry.seen = seen }
        (entry.place, entry.reason) = (wasBehind ? entry.place : place, reason)
        if isLast, !wasBehind, seen >= Self.worthSeeing {
            // All of it was seen that there is to be seen.
            entry.deaths = 1
        } else {
            entry.deaths += 1
            if entry.deaths == 1 { entry.isNextBehind = !isLast }
            if entry.deaths > 1 { entry.leaveOut(from: now, atMost: Self.longestPause) }
        }
        entries[source] = entry
    }

    /// What a source is read from has given nothing for too long: so it will the next time.
    mutating func fellSilent(_ source: Path, _ version: FileVersion?, of reason: String, now: HostTime) {
        var entry =
            entries[source].flatMap { $0.version == version ? $0 : nil }
            ?? Entry(version: version, place: .zero, reason: reason, deaths: 0, seen: .zero, isNextBehind: false)
        (entry.reason, entry.seen) = (reason, .zero)
        entry.leaveOut(from: now, atMost: Self.longestSilence)
        entries[source] = entry
    }

    /// A turn of a source is over without a death.
    mutating func ended(_ source: Path) {
        guard entries[source] != nil else { return }
        (entries[source]!.deaths, entries[source]!.pause) = (0, .zero)
        (entries[source]!.isNextBehind, entries[source]!.isLeftOutUntil) = (false, nil)
    }

    /// Nothing can be decoded from behind the place: its turn is one from its beginning.
    mutating func hasNothingBehind(_ source: Path) { entries[source]?.isNextBehind = false }

    /// What the next turn is of a source that is a file of this version.
    ///
    /// - Parameter isAlone: whether nothing else is on the list.
    mutating func turn(of source: Path, _ version: FileVersion?, isAlone: Bool, now: HostTime) -> Turn {
        guard let entry = entries[source] else { return .fromBeginning }
        if entry.version != version {
            entries[source] = nil
            return .fromBeginning
        }
        if let until = entry.isLeftOutUntil, now < until, !isAlone || entry.seen < Self.worthSeeing {
            return .leftOut(for: entry.pause, entry.reason)
        }
        return entry.isNextBehind ? .behind(entry.place, entry.reason) : .fromBeginning
    }
}
