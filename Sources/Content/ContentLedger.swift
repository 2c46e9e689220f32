import Configuration
import KioskPlatform
import KioskVocabulary

/// What is known of the files of a playlist, as a pure value: which of them are complete and may be played.
///
///     (new, or another version) ─▶ growing ──unchanged for 2 s, or closed──▶ settled ─▶ probing ─▶ ready
///                                     ▲                                                   └─────▶ broken ──60 s──▶ settled
///                                     └──── somebody writes ── ready
///
/// What is there when an entry is looked into for the first time is ready at once, but for what was written within the last two seconds: a
/// player must not begin with a probe of a thousand files. Everything that comes later is probed when it is complete. Where another file has
/// taken a file's place, its old item stays on the list until the new one is complete and has been probed. A file that somebody writes into
/// leaves it: what it held before is lost already. On shares, whose inode numbers may change at any time (``FileVersion/inode`` is 0), the two
/// are told apart by whether it changes a second time.
struct ContentLedger {
    /// A file to be probed.
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
        /// The version that is played; nil while none is.
        var listed: FileVersion?
        /// When none was any more.
        var leftAt: HostTime?
        /// When it was said last that somebody writes into it.
        var saidAt: HostTime?

        mutating func leave(at now: HostTime) {
            if listed != nil { leftAt = now }
            listed = nil
        }
    }

    /// What one look into an entry has found.
    struct Look {
        var sources: [SourceExpansion.Found]
        /// When it began: what is told of later than that is not in it.
        var begun: HostTime
        /// Whether nobody has looked there before.
        var isFirst: Bool
        /// Whether somebody has named the file itself: then it is played from the first look on, whenever it was written.
        var isNamed = false
        /// Whether a link on the way there leads elsewhere than before: what it leads to has been put together beforehand.
        var isPointedElsewhere = false
        /// Whether nobody writes there, so that every file is complete: it is to be probed at once.
        var isWhole = false
        /// Files that are played, and of which this look says nothing.
        var kept: [Path] = []
    }

    /// A file that has been like this for so long, and that nobody has closed, is taken for complete.
    static let settlingTime = MediaTime.seconds(2)
    /// And one that was written last so long ago, by its date, at once.
    static let restingTime = MediaTime.seconds(60)
    /// What is broken is probed again after this, though nobody has changed it: a disk may have failed.
    static let retryTime = MediaTime.seconds(60)

    /// What is written again and again is said no more often than this.
    static let quietTime = MediaTime.seconds(60)

    private var files: [Path: File] = [:]
    /// Files of which the kernel has told that they are complete, and when.
    private var completed: [Path: HostTime] = [:]
    /// Lines for the log.
    private var notes: [String] = []

    // MARK: What happens

    /// All entries have been looked into. `date` is the time of day, in nanoseconds since 1970.
    mutating func looked(_ looks: [Look], at now: HostTime, date: Int64) {
        var found: Set<Path> = []
        // Another name makes no other file of it.
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
        // Of files that nobody plays, or that have gone again.
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
            // Another file that has taken its place is complete, most likely: what is played goes on until that is known. One that was
            // written in place has lost what it held, and so has one that changes again and again.
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

    /// Somebody writes into a file.
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

    /// A file is complete: it was closed by who wrote it, or has been moved here.
    mutating func completed(_ path: Path, at now: HostTime) { completed[path] = now }

    /// The dates of a file have changed, or its rights.
    mutating func touched(_ path: Path, at now: HostTime) {
        if case .growing? = files[path]?.stage { return }
        completed[path] = now
    }

    /// Whether a file that is known is being written, so that nothing is to be seen there before it is complete.
    func isGrowing(_ path: Path) -> Bool {
        if case .growing? = files[path]?.stage { true } else { false }
    }

    /// A file to be probed now; nil while there is none.
    mutating func takeProbe() -> Probe? {
        // The same one first each time, so that a test sees the same.
        guard let path = files.filter({ $0.value.stage == .settled }).keys.min() else { return nil }
        files[path]!.stage = .probing
        return Probe(path: path, version: files[path]!.version)
    }

    /// A file has been probed; `problem` is why it cannot be played. True where the list changes by that.
    @discardableResult
    mutating func probed(_ probe: Probe, problem: String?, at now: HostTime) -> Bool {
        // It may have changed meanwhile: then that is what counts.
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

    // MARK: What follows

    /// The version of a file that is to be played; nil while none is.
    func listed(_ path: Path) -> FileVersion? { files[path]?.listed }

    /// When to look again because a file may have become complete.
    var due: HostTime? {
        files.values.compactMap { if case .growing(let since) = $0.stage { since + Self.settlingTime } else { nil } }.min()
    }

    /// Whether a file is to be probed.
    var wantsProbe: Bool { files.values.contains { $0.stage == .settled } }

    /// Whether a file is about to be known to be playable, or not.
    var isProbing: Bool { files.values.contains { $0.stage == .settled || $0.stage == .probing } }

    /// Whether a file was played until a moment ago that somebody writes into: it may be complete again soon.
    func hasJustLeft(at now: HostTime) -> Bool {
        files.values.contains { $0.listed == nil && $0.leftAt.map { now - $0 < Self.settlingTime } ?? false }
    }

    /// What is to be said, once.
    mutating func takeNotes() -> [String] {
        defer { notes = [] }
        return notes
    }
}
