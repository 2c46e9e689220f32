import KioskMedia
import KioskPlatform
import KioskVocabulary

/// Decides about sources whose decoder has died half-way. Such a source is played once more from behind the place, in case only that does
/// harm. If it dies again, it is left out for a while, and longer each time. A pure value.
///
/// | event | next turn |
/// |---|---|
/// | it has died | from behind the place on |
/// | it was played from there to its end, or until something else was wanted | from its beginning, as if nothing had happened |
/// | it has died again | none for 10 s, then from its beginning; twice as long after each further death, up to an hour |
/// | its disk or share gave nothing | the same, up to a minute: it may be there again at any time |
/// | its file has changed | from its beginning, as if nothing had happened |
///
/// So a clip with one bad place plays up to that and from there on, in turns. The only source of a list is never left out if half a second
/// of it can be seen: there is nothing else to show.
struct CrashRecord: Sendable {
    /// The next turn of a source.
    enum Turn: Hashable, Sendable {
        case fromBeginning
        /// From behind the item time at which it died, for this reason.
        case behind(MediaTime, String)
        /// Left out for so long, because it died for this reason.
        case leftOut(for: MediaTime, String)
    }

    private struct Entry {
        var version: FileVersion?
        /// The item time at which it died last, and the reason.
        var place: MediaTime, reason: String
        /// How often it has died in a row.
        var deaths = 1
        /// How much was seen from its beginning on before it died.
        var seen: MediaTime
        var isNextBehind: Bool
        /// How long it is left out, and until when.
        var pause = MediaTime.zero
        var isLeftOutUntil: HostTime?

        /// Leaves it out from `now` on, for longer than last time.
        mutating func leaveOut(from now: HostTime, atMost longest: MediaTime) {
            pause = min(max(pause + pause, shortestPause), longest)
            (isNextBehind, isLeftOutUntil) = (false, now + pause)
        }
    }

    static let shortestPause = MediaTime.seconds(10), longestPause = MediaTime.seconds(3600), longestSilence = MediaTime.seconds(60)
    /// A clip that plays for this long is worth showing again.
    static let worthSeeing = MediaTime.milliseconds(500)
    private static let mostEntries = 1000

    private var entries: [Path: Entry] = [:] {
        didSet { if entries.count > Self.mostEntries { entries.removeAll() } }
    }

    /// Notes that a source's decoder has died at item time `place` of a turn that began at `start`.
    ///
    /// - Parameter isLast: whether the source ends too soon behind the place to show anything of that.
    mutating func died(
        _ source: Path, _ version: FileVersion?, of reason: String, at place: MediaTime, from start: MediaTime, isLast: Bool, now: HostTime
    ) {
        let seen = place - start
        guard var entry = entries[source], entry.version == version else {
            entries[source] = Entry(version: version, place: place, reason: reason, seen: seen, isNextBehind: !isLast)
            return
        }
        let wasBehind = start > entry.place
        // A turn that was open already before the last death says nothing new.
        if entry.isNextBehind, !wasBehind { return }
        if !wasBehind { entry.seen = seen }
        (entry.place, entry.reason) = (wasBehind ? entry.place : place, reason)
        if isLast, !wasBehind, seen >= Self.worthSeeing {
            // Everything that can be seen was seen.
            entry.deaths = 1
        } else {
            entry.deaths += 1
            if entry.deaths == 1 { entry.isNextBehind = !isLast }
            if entry.deaths > 1 { entry.leaveOut(from: now, atMost: Self.longestPause) }
        }
        entries[source] = entry
    }

    /// Notes that the disk or share of a source has given nothing for too long: so it will the next time.
    mutating func fellSilent(_ source: Path, _ version: FileVersion?, of reason: String, now: HostTime) {
        var entry =
            entries[source].flatMap { $0.version == version ? $0 : nil }
            ?? Entry(version: version, place: .zero, reason: reason, deaths: 0, seen: .zero, isNextBehind: false)
        (entry.reason, entry.seen) = (reason, .zero)
        entry.leaveOut(from: now, atMost: Self.longestSilence)
        entries[source] = entry
    }

    /// Notes that a turn of a source is over without a death.
    mutating func ended(_ source: Path) {
        guard entries[source] != nil else { return }
        (entries[source]!.deaths, entries[source]!.pause) = (0, .zero)
        (entries[source]!.isNextBehind, entries[source]!.isLeftOutUntil) = (false, nil)
    }

    /// Notes that nothing can be decoded from behind the place: the next turn begins at the beginning.
    mutating func hasNothingBehind(_ source: Path) { entries[source]?.isNextBehind = false }

    /// Returns the next turn of a source whose file has this version.
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
