import Configuration
import KioskPlatform
import KioskVocabulary
import Schedule

/// Keeps the items of a playlist in step with its folders, lists and files: is told by the kernel what changes there (``FolderWatch``), looks
/// into them (``ExpansionSchedule``), finds out what is complete (``ContentLedger``), and tells what is to be played.
///
/// A dead server or a dying disk can hold up a thread that asks for a file's name for ever. So there are several threads. `playlist`
/// decides when to look and tells the results, and never touches the file system. `folders` looks, entry after entry. When an entry has
/// held it up for ``limit``, that thread is given up: a new one goes on with the entries that follow, and the entry that hangs is left out
/// of all further rounds until its thread comes back, with what was found there last. There is at most one thread for each entry that
/// hangs, and no more than ``mostHung``. `probe` opens files that are new, and gives way to all others. `watch` reads what the kernel tells.
///
/// A folder that becomes empty is believed when it is still empty at the next look: somebody may be filling it anew. A list that is being
/// written counts when it is complete; until then what it said before does.
package final class PlaylistExpansion: Sendable {
    /// What to tell.
    package enum News: Hashable, Sendable {
        /// What is to be played has changed; `atOnce` where it is not to wait for the end of what is on the screen.
        case items([PlaylistItem], atOnce: Bool)
        /// What programs have that are played in between, by their numbers, has changed.
        case inBetween([Int: [PlaylistItem]])
        /// Something is wrong with a folder or a list; told once until it changes. A line for the log.
        case problem(String)
        /// What happens to a file. A line for the log.
        case note(String)
    }

    /// A playlist, and how to find out what it stands for.
    struct Plan: Sendable {
        /// What its entries are called.
        var names: [String]
        /// Whether none of them can change.
        var isFixed = false
        /// What an entry is taken for that has never answered.
        var assume: @Sendable (Int) -> SourceExpansion.Found?
        /// Looks into an entry; may block for ever.
        var expand: @Sendable (Int) -> SourceExpansion
        /// What is played of one of its files.
        var item: @Sendable (Int, SourceExpansion.Found) -> PlaylistItem
        /// What is shown where nothing can be played.
        var fallback: PlaylistItem?
        /// The entry whose items are played instead of all others, where it has any: a USB stick's. It may well be missing, and nobody writes
        /// there, so that its files are complete when they are seen.
        var replacing: Int?
        /// When each entry is played, but the one that replaces all others; nil where all are always.
        var schedule: Schedule?
        /// The entries that are on.
        var on: Set<Int> = []
        /// How often the items of an entry come in a round.
        var weight: @Sendable (Int) -> Int = { _ in 1 }
    }

    /// How long one entry may hold up a thread.
    package static let limit = Configuration.expansionLimit
    /// Where so many hang nothing is looked into any more until one comes back.
    private static let mostHung = 8
    /// Where folders go on appearing after so many looks at an entry the rest is left to the next round.
    private static let mostLooks = 10

    private let limit: MediaTime
    private let watch: FolderWatch?
    private let probe: @Sendable (PlaylistItem) -> String?
    private let date: @Sendable () -> Int64
    private let state: Monitor<ExpansionState>

    /// Looks into the playlist of `configuration`, of which `entries` are on; not before ``start(_:)``. `probe` opens a file and says why it cannot be
    /// played, nil where it can.
    package convenience init(_ configuration: Configuration, on entries: Set<Int>, probe: @escaping @Sendable (PlaylistItem) -> String?) {
        self.init(Plan(configuration, on: entries), watch: FolderWatch(), probe: probe)
    }

    /// Looks after the file at `path` alone: it is told as an item whenever it has changed and is complete, as one without a version when it
    /// is gone.
    package convenience init(file path: String) {
        let source = PlaylistSource(path, relativeTo: workingFolder)
        let plan = Plan(
            names: [source.location], assume: { _ in nil }, expand: { _ in source.expand() },
            item: { PlaylistItem(source: $1.source, version: $1.version) })
        self.init(plan, watch: FolderWatch())
    }

    /// Looks into what `plan` says.
    init(
        _ plan: Plan, limit: MediaTime = PlaylistExpansion.limit, watch: FolderWatch? = nil,
        date: @escaping @Sendable () -> Int64 = { timeOfDay() }, probe: @escaping @Sendable (PlaylistItem) -> String? = { _ in nil }
    ) {
        (self.limit, self.watch, self.probe, self.date) = (limit, watch, probe, date)
        state = Monitor(ExpansionState(plan, limit: limit))
    }

    /// Starts looking; `tell` is called on a thread of its own, in order. Call once.
    package func start(_ tell: @escaping @Sendable (News) -> Void) {
        watch?.start { [self] changes in state.signal { $0.note(changes, at: .now) } }
        startWorker(0)
        Thread("probe") { [self] in
            // Where decoding takes all of the processor, what gives way to everything would never be probed, and no new file ever be played.
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

    /// Plays what another configuration says, from when all of that has been looked into.
    package func setConfiguration(_ configuration: Configuration, on entries: Set<Int>) { setPlan(Plan(configuration, on: entries)) }

    func setPlan(_ plan: Plan) {
        let worker = state.signal { $0.setPlan(plan, at: .now) }
        startWorker(worker)
    }

    /// These entries of the present configuration are on, by its schedule. `atOnce`: that is not to wait for the end of what is on the screen.
    package func setOn(_ entries: Set<Int>, atOnce: Bool) { state.signal { $0.setOn(entries, atOnce: atOnce) } }

    /// Looks no more. Does not wait for the threads: one of them may hang.
    package func stop() {
        state.signal { $0.isStopping = true }
        watch?.stop()
    }

    /// Waits until the first items have been told, for `time` at most; false after that.
    @discardableResult
    package func waitForItems(within time: MediaTime) -> Bool { state.wait(until: .now + time) { $0.hasTold ? true : nil } ?? false }

    /// The player says that nothing it was given can be played.
    package func nothingCanBePlayed() { state.signal { $0.nothingCanBePlayed(at: .now) } }

    /// Looks into everything soon.
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
            // For the thread that looks.
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
                    // What has changed before it was watched is not told: only a look that finds nothing new to watch has seen everything.
                    found = plan.expand(entry)
                    (isPartial, isNew) = watch(&found)
                }
                state.signal { $0.found(found, in: entry, epoch: epoch, begun: begun, isPartial: isPartial, by: number) }
            }
        }.detach()
    }

    /// Watches what an expansion depends on, and where that is missing the nearest folder there is.
    ///
    /// - Returns: whether not all changes there are told, and whether something of it was not watched before.
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

    /// The next entry to look into; nil where thread `number` is no longer wanted.
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

    /// Probes what is to be probed next; false at the end.
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
    /// What a configuration says, of which `entries` are on.
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
