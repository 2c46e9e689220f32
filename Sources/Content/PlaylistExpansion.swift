import KioskConfiguration
import KioskPlatform
import KioskSchedule
import KioskVocabulary

/// Keeps the items of a playlist in step with its folders, lists and files. The kernel reports changes (``FolderWatch``), kiosk looks into
/// the entries (``ExpansionSchedule``), decides which files are complete (``ContentLedger``), and reports the items to play.
///
/// A dead server or a dying disk can block a thread for ever, even in a lookup of a file's name. So there are several threads:
/// - `playlist` decides when to look and reports the results. It never touches the file system.
/// - `folders` looks into entry after entry. If an entry blocks it for ``limit``, kiosk gives that thread up, and a new one continues with
///   the next entries. Further rounds skip the blocked entry, and keep its last result, until its thread returns. Each blocked entry holds
///   at most one thread, and no more than ``mostHung`` in all.
/// - `probe` opens new files, at a lower priority.
/// - `watch` reads the kernel's events.
///
/// If a folder becomes empty, kiosk waits for a second look: somebody may be refilling it. A list that is being written keeps its former
/// content until it is complete.
package final class PlaylistExpansion: Sendable {
    /// An event to report.
    package enum News: Hashable, Sendable {
        /// The items to play have changed; `atOnce` means before the current item ends.
        case items([PlaylistItem], atOnce: Bool)
        /// The items of the programs that play in between have changed, by program number.
        case inBetween([Int: [PlaylistItem]])
        /// A folder or a list has a problem; reported once until it changes. A line for the log.
        case problem(String)
        /// An event of a file. A line for the log.
        case note(String)
    }

    /// A playlist, and the functions that resolve it.
    struct Plan: Sendable {
        /// The names of its entries.
        var names: [String]
        /// Whether none of them can change.
        var isFixed = false
        /// The assumed content of an entry that has never answered.
        var assume: @Sendable (Int) -> SourceExpansion.Found?
        /// Looks into an entry; may block for ever.
        var expand: @Sendable (Int) -> SourceExpansion
        /// The playlist item for one of an entry's files.
        var item: @Sendable (Int, SourceExpansion.Found) -> PlaylistItem
        /// The item to show if nothing can be played.
        var fallback: PlaylistItem?
        /// The entry that replaces all others if it has items: the entry of a USB stick. It may well be missing. Nobody writes there, so
        /// its files are complete as soon as kiosk sees them.
        var replacing: Int?
        /// When each entry plays, except for the replacing entry; nil if all always play.
        var schedule: Schedule?
        /// The entries that are on.
        var on: Set<Int> = []
        /// How often an entry's items play in a round.
        var weight: @Sendable (Int) -> Int = { _ in 1 }
    }

    /// How long one entry may block a thread.
    package static let limit = Configuration.expansionLimit
    /// The number of blocked entries at which kiosk looks into nothing more until one returns.
    private static let mostHung = 8
    /// The number of looks at an entry while new folders keep appearing; the next round does the rest.
    private static let mostLooks = 10

    private let limit: MediaTime
    private let watch: FolderWatch?
    private let probe: @Sendable (PlaylistItem) -> String?
    private let date: @Sendable () -> Int64
    private let state: Monitor<ExpansionState>

    /// Makes an expansion of the playlist of `configuration`, with `entries` on. It does nothing before ``start(_:)``. `probe` opens a file
    /// and returns the reason why it cannot be played, or nil.
    package convenience init(_ configuration: Configuration, on entries: Set<Int>, probe: @escaping @Sendable (PlaylistItem) -> String?) {
        self.init(Plan(configuration, on: entries), watch: FolderWatch(), probe: probe)
    }

    /// Watches only the file at `path`. Reports it as an item each time it has changed and is complete, and without a version when it is
    /// gone.
    package convenience init(file path: String) {
        let source = PlaylistSource(path, relativeTo: workingFolder)
        let plan = Plan(
            names: [source.location], assume: { _ in nil }, expand: { _ in source.expand() },
            item: { PlaylistItem(source: $1.source, version: $1.version) })
        self.init(plan, watch: FolderWatch())
    }

    /// Makes an expansion of `plan`.
    init(
        _ plan: Plan, limit: MediaTime = PlaylistExpansion.limit, watch: FolderWatch? = nil,
        date: @escaping @Sendable () -> Int64 = { timeOfDay() }, probe: @escaping @Sendable (PlaylistItem) -> String? = { _ in nil }
    ) {
        (self.limit, self.watch, self.probe, self.date) = (limit, watch, probe, date)
        state = Monitor(ExpansionState(plan, limit: limit))
    }

    /// Starts; calls `tell` on a thread of its own, in order. Call once.
    package func start(_ tell: @escaping @Sendable (News) -> Void) {
        watch?.start { [self] changes in state.signal { $0.note(changes, at: .now) } }
        startWorker(0)
        Thread("probe") { [self] in
            // Not ``Thread/giveWay()``: if decoding takes the whole processor, kiosk would never probe a new file, and never play it.
            Thread.comeSecond()
            while probeNext() {}
        }.detach()
        Thread("playlist") { [self] in
            while let work = nextWork() {
                if let worker = work.givenUp { startWorker(worker) }
                if let kept = work.folders { watch?.keep(kept) }
                work.news.forEach(tell)
                state.signal { state in state.hasTold = state.hasTold || state.told != nil }
            }
        }.detach()
    }

    /// Plays another configuration once all its entries have been looked into.
    package func setConfiguration(_ configuration: Configuration, on entries: Set<Int>) { setPlan(Plan(configuration, on: entries)) }

    func setPlan(_ plan: Plan) {
        let worker = state.signal { $0.setPlan(plan, at: .now) }
        startWorker(worker)
    }

    /// Sets the entries of the current configuration that are on, by its schedule. `atOnce` means before the current item ends.
    package func setOn(_ entries: Set<Int>, atOnce: Bool) { state.signal { $0.setOn(entries, atOnce: atOnce) } }

    /// Stops. Does not wait for the threads: one of them may be blocked.
    package func stop() {
        state.signal { $0.isStopping = true }
        watch?.stop()
    }

    /// Waits at most `time` until the first items have been reported; returns false after that.
    @discardableResult
    package func waitForItems(within time: MediaTime) -> Bool { state.wait(until: .now + time) { $0.hasTold ? true : nil } ?? false }

    /// Notes that the player can play none of the reported items.
    package func nothingCanBePlayed() { state.signal { $0.nothingCanBePlayed(at: .now) } }

    /// Looks into all entries soon.
    package func lookAgain() { state.signal { $0.schedule.changed(at: .now) } }

    // MARK: Telling

    private func nextWork() -> ExpansionState.Work? {
        while true {
            let deadline = state.withLock { $0.deadline }
            let work = state.wait(until: deadline) { [date] state -> ExpansionState.Work?? in
                if state.isStopping { return .some(nil) }
                if let work = state.work(at: .now, date: date()) { return .some(work) }
                return state.deadline == deadline ? nil : .some(.again)
            }
            guard let work = work ?? .again else { return nil }
            if !work.isNothing { return work }
            // Wakes the thread that looks.
            state.signal { _ in }
        }
    }

    // MARK: Looking

    private func startWorker(_ number: Int) {
        Thread("folders") { [self] in
            while let (entry, plan, epoch) = nextEntry(number) {
                let begun = HostTime.now
                var found = SourceExpansion()
                var (isPartial, isNew) = (false, true)
                for _ in 0..<Self.mostLooks where isNew {
                    // The kernel does not report changes from before the watch: only a look that adds no watch has seen everything.
                    found = plan.expand(entry)
                    (isPartial, isNew) = watch(&found)
                }
                state.signal { $0.found(found, in: entry, epoch: epoch, begun: begun, isPartial: isPartial, by: number) }
            }
        }.detach()
    }

    /// Watches the folders that an expansion depends on, or the nearest existing folder above a missing one.
    ///
    /// - Returns: whether the kernel reports only some of the changes there, and whether a watch is new.
    private func watch(_ found: inout SourceExpansion) -> (isPartial: Bool, isNew: Bool) {
        guard let watch else { return (false, false) }
        var (isPartial, isNew) = (false, false)
        for folder in found.folders.keys {
            let answer = watch.watchNearest(folder) { found.watch($1, in: $0) }
            (isPartial, isNew) = (isPartial || answer.isPartial, isNew || answer.isNew)
        }
        if let lack = watch.lacks { state.withLock { $0.note(lack) } }
        return (isPartial, isNew)
    }

    /// Returns the next entry to look into; nil once thread `number` has been replaced.
    private func nextEntry(_ number: Int) -> (entry: Int, Plan, epoch: Int)? {
        while true {
            let isWanted = state.wait { state -> Bool? in
                if state.isStopping || state.worker != number { return false }
                return state.hasEntry ? true : nil
            }
            guard isWanted == true else { return nil }
            let next = state.signal { state -> (entry: Int, Plan, epoch: Int)? in
                guard state.worker == number else { return nil }
                return state.takeEntry(at: .now, mostHung: Self.mostHung).map { ($0, state.plan, state.epoch) }
            }
            if let next { return next }
        }
    }

    // MARK: Probing

    /// Probes the next file; false at the end.
    private func probeNext() -> Bool {
        let deadline = state.withLock { $0.fallback.trialDue }
        let next = state.wait(until: deadline) { state -> ExpansionState.Probe? in
            if state.isStopping { return .stop }
            return state.takeProbe(at: .now) ?? (state.fallback.trialDue == deadline ? nil : .again)
        }
        switch next ?? .again {
        case .stop: return false
        case .again: state.signal { _ in }
        case .file(let file, let item):
            let problem = probe(item)
            state.signal { $0.probed(file, problem: problem, at: .now) }
        case .trial(let items):
            let opens = items.contains { probe($0) == nil }
            state.signal { $0.tried(opens: opens, at: .now) }
        }
        return true
    }
}

extension PlaylistExpansion.Plan {
    /// Makes a plan of a configuration, with `entries` on.
    init(_ configuration: Configuration, on entries: Set<Int>) {
        let folder = configuration.playback.usb.folder(state: StickCopy.stateFolder)
        let stick = folder.map { folder in
            var stick = PlaylistEntry(source: PlaylistSource(folder + "/", relativeTo: "/"))
            stick.isRecursive = true
            return stick
        }
        let all = configuration.entries + (stick.map { [$0] } ?? [])
        let schedule = configuration.schedule
        self.init(
            names: all.map(\.source.location), isFixed: all.allSatisfy(\.source.isFixed), assume: { all[$0].assumed },
            expand: { all[$0].expand() },
            item: { all[$0].resolved(source: $1.source, version: $1.version, in: configuration) },
            fallback: configuration.playback.fallback.map { configuration.item(of: $0) }, replacing: folder == nil ? nil : all.count - 1,
            schedule: schedule.takesAll ? nil : schedule, on: entries,
            weight: { all[$0].weight })
    }
}
