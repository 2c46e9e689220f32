import KioskConfiguration
import KioskPlatform
import KioskVocabulary

/// The state of a playlist's files as a pure value: which of them are complete and may be played.
///
///     (new, or another version) ─▶ growing ──unchanged for 2 s, or closed──▶ settled ─▶ probing ─▶ ready
///                                     ▲                                                   └─────▶ broken ──60 s──▶ settled
///                                     └──── being written ─── ready
///
/// The first look into an entry makes its files ready at once, except those written within the last two seconds: a player must not start
/// with probes of a thousand files. kiosk probes each later file once it is complete. If another file takes a file's place, the old item
/// stays on the list until the new file is complete and probed. A file that is being written leaves the list: its former content is already
/// lost. On shares, whose inode numbers may change at any time, ``FileVersion/inode`` is 0. There, a second change tells that a file is
/// being overwritten.
struct ContentLedger {
    /// A file to probe.
    struct Probe: Hashable, Sendable {
        var path: Path
        var version: FileVersion
    }

    private enum Stage: Hashable {
        case growing(since: HostTime)
        case settled
        case probing
        case ready
        case broken(since: HostTime)
    }

    private struct File {
        var version: FileVersion
        var stage: Stage
        /// The version to play; nil if there is none.
        var listed: FileVersion?
        /// When the file left the list.
        var leftAt: HostTime?
        /// When the log last said that the file is being written.
        var saidAt: HostTime?

        mutating func leave(at now: HostTime) {
            if listed != nil { leftAt = now }
            listed = nil
        }
    }

    /// The result of one look into an entry.
    struct Look {
        var sources: [SourceExpansion.Found]
        /// When the look began; it may lack later changes.
        var begun: HostTime
        /// Whether this is the first look there.
        var isFirst: Bool
        /// Whether the playlist names the file itself: then it plays from the first look on, whenever it was written.
        var isNamed = false
        /// Whether a link on the way there has a new target. Such a target was prepared beforehand.
        var isPointedElsewhere = false
        /// Whether nobody writes there, so that every file is complete and can be probed at once.
        var isWhole = false
        /// Playing files that this look does not cover.
        var kept: [Path] = []
    }

    /// How long an unclosed file must stay unchanged to count as complete.
    static let settlingTime = MediaTime.seconds(2)
    /// The age, by its date, at which a file counts as complete at once.
    static let restingTime = MediaTime.seconds(60)
    /// How long after a failed probe kiosk probes an unchanged file again: the disk may have failed.
    static let retryTime = MediaTime.seconds(60)

    /// The least time between two log lines about a file that is written again and again.
    static let quietTime = MediaTime.seconds(60)

    private var files: [Path: File] = [:]
    /// Files that the kernel has reported as complete, and when.
    private var completed: [Path: HostTime] = [:]
    /// Lines for the log.
    private var notes: [String] = []

    // MARK: Events

    /// Takes the looks into all entries. `date` is the time of day, in nanoseconds since 1970.
    mutating func looked(_ looks: [Look], at now: HostTime, date: Int64) {
        var found: Set<Path> = []
        // A file with a new name is still the same file.
        let ready = Set(files.values.filter { $0.stage == .ready }.map(\.version))
        for source in looks.flatMap(\.sources) where files[source.path] == nil {
            if let version = source.version, version.inode != 0, ready.contains(version) {
                files[source.path] = File(version: version, stage: .ready, listed: version)
            }
        }
        for look in looks {
            found.formUnion(look.kept)
            for source in look.sources {
                guard let version = source.version else { continue }
                found.insert(source.path)
                saw(source.path, version, look, at: now, date: date)
            }
        }
        files = files.filter { found.contains($0.key) }
        let begun = looks.map(\.begun).min() ?? now
        // The rest belongs to files that are not on the playlist, or are gone.
        completed = completed.filter { $0.value > begun }
    }

    private mutating func saw(_ path: Path, _ version: FileVersion, _ look: Look, at now: HostTime, date: Int64) {
        let age = MediaTime(nanoseconds: date) - MediaTime(nanoseconds: version.modified)
        let isFresh = age >= .zero && age < Self.settlingTime
        let isComplete =
            look.isWhole || age >= Self.restingTime || look.isPointedElsewhere && !isFresh
            || completed[path].map { $0 <= look.begun } ?? false
        guard var file = files[path] else {
            if look.isFirst, !look.isWhole, !isFresh || isComplete || look.isNamed {
                files[path] = File(version: version, stage: .ready, listed: version)
            } else {
                files[path] = File(version: version, stage: isComplete ? .settled : .growing(since: now))
                if !isComplete { notes.append("\(path) may be incomplete: kiosk plays it once it has not changed for 2 s") }
            }
            return
        }
        if file.version != version {
            // A new file in its place is probably complete: the old item plays until that is known. A file that was overwritten in place,
            // or that changes again and again, has lost its former content.
            let isOverwritten = version.inode != 0 && (version.device, version.inode) == (file.version.device, file.version.inode)
            var isGrowing = false
            if case .growing = file.stage { isGrowing = true }
            if !isComplete, isOverwritten || isGrowing { file.leave(at: now) }
            file.version = version
            file.stage = isComplete ? .settled : .growing(since: now)
        } else {
            switch file.stage {
            case .growing(let since): if isComplete || now - since >= Self.settlingTime { file.stage = .settled }
            case .broken(let since): if now - since >= Self.retryTime { file.stage = .settled }
            case .settled, .probing, .ready: break
            }
        }
        files[path] = file
    }

    /// Notes that a file is being written.
    mutating func written(_ path: Path, at now: HostTime) {
        completed[path] = nil
        guard var file = files[path] else { return }
        if file.listed != nil, file.saidAt.map({ now - $0 >= Self.quietTime }) ?? true {
            notes.append("\(path) is being written: kiosk plays it once it is complete")
            file.saidAt = now
        }
        file.leave(at: now)
        file.stage = .growing(since: now)
        files[path] = file
    }

    /// Notes that a file is complete: its writer has closed it, or it has been moved here.
    mutating func completed(_ path: Path, at now: HostTime) { completed[path] = now }

    /// Notes that a file's dates or permissions have changed.
    mutating func touched(_ path: Path, at now: HostTime) {
        if case .growing? = files[path]?.stage { return }
        completed[path] = now
    }

    /// Whether a known file is being written, so that a look is useless until it is complete.
    func isGrowing(_ path: Path) -> Bool {
        if case .growing? = files[path]?.stage { true } else { false }
    }

    /// Returns the next file to probe; nil if there is none.
    mutating func takeProbe() -> Probe? {
        // Always in the same order, for tests.
        guard let path = files.filter({ $0.value.stage == .settled }).keys.min() else { return nil }
        files[path]!.stage = .probing
        return Probe(path: path, version: files[path]!.version)
    }

    /// Takes the result of a probe; `problem` is the reason why the file cannot be played. Returns whether the list has changed.
    @discardableResult
    mutating func probed(_ probe: Probe, problem: String?, at now: HostTime) -> Bool {
        // A change during the probe makes its result void.
        guard var file = files[probe.path], file.version == probe.version, file.stage == .probing else { return false }
        if let problem {
            (file.stage, file.listed) = (.broken(since: now), nil)
            notes.append("\(probe.path) is left out: \(problem)")
        } else {
            (file.stage, file.listed) = (.ready, file.version)
        }
        files[probe.path] = file
        return true
    }

    // MARK: Results

    /// Returns the version of a file to play; nil if there is none.
    func listed(_ path: Path) -> FileVersion? { files[path]?.listed }

    /// When to look again, because a file may have become complete.
    var due: HostTime? {
        files.values.compactMap { if case .growing(let since) = $0.stage { since + Self.settlingTime } else { nil } }.min()
    }

    /// Whether a file needs a probe.
    var wantsProbe: Bool { files.values.contains { $0.stage == .settled } }

    /// Whether a probe is pending or running.
    var isProbing: Bool { files.values.contains { $0.stage == .settled || $0.stage == .probing } }

    /// Whether a file has just left the list because it is being written: it may soon be complete again.
    func hasJustLeft(at now: HostTime) -> Bool {
        files.values.contains { $0.listed == nil && $0.leftAt.map { now - $0 < Self.settlingTime } ?? false }
    }

    /// Returns the new lines for the log.
    mutating func takeNotes() -> [String] {
        defer { notes = [] }
        return notes
    }
}
