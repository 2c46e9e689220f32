import Configuration
import Glibc
import KioskPlatform
import KioskVocabulary
import Schedule

/// What ``PlaylistExpansion``'s threads share, and what follows from what happens. Touched with its lock held.
struct ExpansionState {
    /// What an entry has brought.
    private struct Entry {
        /// What the last look has found.
        var expansion: SourceExpansion
        /// The last one of which all lists were complete; nil while there was none.
        var counted: SourceExpansion?
        var begun: HostTime
        var isFirst: Bool
        var isPointedElsewhere: Bool
        var isPartial: Bool
    }

    /// What thread `playlist` has to do.
    struct Work {
        var news: [PlaylistExpansion.News] = []
        /// The number of the thread that looks from now on, where the one before was given up.
        var givenUp: Int?
        /// The folders to be watched, where that has changed.
        var folders: Set<Path>?

        static let again = Work()
        var isNothing: Bool { news.isEmpty && givenUp == nil && folders == nil }
    }

    /// What thread `probe` has to do.
    enum Probe {
        case stop
        case again
        case file(ContentLedger.Probe, PlaylistItem)
        case trial([PlaylistItem])
    }

    private(set) var plan: PlaylistExpansion.Plan
    /// Grows with each plan.
    private(set) var epoch = 0
    var schedule: ExpansionSchedule
    private var ledger = ContentLedger()
    private(set) var fallback: FallbackState
    private let limit: MediaTime

    /// What was found last, entry by entry; nil before the first answer.
    private var entries: [Entry?]
    /// Entries that hold up a thread that was given up.
    private var hung: Set<Int> = []
    /// The number of the thread that looks.
    private(set) var worker = 0
    /// The entry to look into next; nil while nothing is to be done.
    private var next: Int?
    /// The entry that is being looked into, and since when.
    private var current: (entry: Int, since: HostTime)?
    /// When the present round has begun.
    private var roundBegun: HostTime
    /// Whether all entries have been looked into and that has not been told yet.
    private var isComplete = false
    /// Whether what is known of the files has changed and that has not been told yet.
    private var hasLedgerNews = false
    /// Whether the fallback has come or gone and that has not been told yet.
    private var hasFallbackNews = false
    /// Whether a round of this plan has come to its end.
    private var hasLooked = false
    /// Whether what is on has changed and is not to wait.
    private var isUrgent = false
    /// The items that were told last; nil before the first time.
    private(set) var told: [PlaylistItem]?
    private var toldInBetween: [Int: [PlaylistItem]] = [:]
    private var problems: [String] = []
    private var wasEmpty = false
    private var lacksWatches = false
    /// Until when what was told last is left as it is, though nothing of it can be played.
    private var awaitedUntil: HostTime?
    /// Lines for the log.
    private var notes: [String] = []
    private var folders: [Path: SourceExpansion.Names] = [:]
    /// What files that links lead to are called on the list.
    private var names: [Path: Path] = [:]
    var hasTold = false
    var isStopping = false

    init(_ plan: PlaylistExpansion.Plan, limit: MediaTime) {
        (self.plan, self.limit) = (plan, limit)
        (schedule, roundBegun) = (ExpansionSchedule(now: .now), .now)
        fallback = FallbackState(plan.fallback)
        entries = Array(repeating: nil, count: plan.names.count)
    }

    // MARK: What happens

    /// Another playlist is to be looked into. Returns the number of the thread that does so.
    mutating func setPlan(_ plan: PlaylistExpansion.Plan, at now: HostTime) -> Int {
        self.plan = plan
        epoch += 1
        worker += 1
        entries = Array(repeating: nil, count: plan.names.count)
        (hung, next, current, isComplete, hasLooked, wasEmpty) = ([], nil, nil, false, false, false)
        let list = fallback.list
        fallback = FallbackState(plan.fallback)
        if let list { fallback.setList(list) }
        schedule.restart(at: now)
        return worker
    }

    /// An entry has been looked into.
    mutating func found(_ found: SourceExpansion, in entry: Int, epoch: Int, begun: HostTime, isPartial: Bool, by number: Int) {
        guard epoch == self.epoch else { return }
        let before = entries[entry]
        var found = found
        // No stick is plugged in, or there is nothing on it: that is no mistake.
        if entry == plan.replacing { found.problems = [] }
        // Others write there, too, and such file systems may number a file anew at each look.
        if isPartial {
            for index in found.sources.indices { found.sources[index].version?.inode = 0 }
            for index in found.lists.indices { found.lists[index].version?.inode = 0 }
        }
        entries[entry] = Entry(
            expansion: found, counted: before?.counted, begun: begun,
            // What another list names has been there for long, perhaps.
            isFirst: before?.expansion.lists != found.lists,
            isPointedElsewhere: before.map { $0.expansion.links != found.links || $0.isPointedElsewhere } ?? false, isPartial: isPartial)
        if worker == number {
            (current, next) = (nil, entry + 1)
        } else {
            // It was given up, and has come back: what it found counts.
            hung.remove(entry)
            schedule.changed(at: begun)
        }
    }

    /// The kernel does not tell of all that it was asked for.
    mutating func note(_ lack: FolderWatch.Lack) {
        if lacksWatches { return }
        lacksWatches = true
        switch lack {
        case .watches:
            notes.append(
                "the system has no inotify watch left: kiosk looks at folders every 5 s; raise fs.inotify.max_user_watches and "
                    + "max_user_instances")
        case .descriptors:
            notes.append(
                "no file descriptor is left to watch folders: kiosk looks at them every 5 s; raise the limit (LimitNOFILE= of the unit, ulimit -n)"
            )
        }
    }

    /// The kernel has told of changes.
    mutating func note(_ changes: [FolderWatch.Change], at now: HostTime) {
        // What has been written and closed since they were read last is complete again, as if another file had taken its place.
        var closed: [Path: Int] = [:]
        for (index, change) in changes.enumerated() where change.kind == .completed {
            if let name = change.name { closed[change.folder.appending(name)] = index }
        }
        for (index, change) in changes.enumerated() {
            guard let name = change.name else {
                if change.kind == .mounts || change.kind == .anything { schedule.changed(at: now) }
                continue
            }
            let isWanted =
                switch folders[change.folder] {
                case .all: change.isFolder || PlaylistSource.isMedia(name.string)
                case .only(let names): names.contains(name)
                case nil: true  // of a round that is not over
                }
            guard isWanted else { continue }
            let place = change.folder.appending(name)
            let path = names[place] ?? place
            switch change.kind {
            case .written where closed[place].map({ $0 > index }) ?? false: break
            case .written:
                // Nothing is to be seen there before it is complete.
                if ledger.isGrowing(path) {
                    ledger.written(path, at: now)
                    continue
                }
                ledger.written(path, at: now)
                hasLedgerNews = true
            case .completed: ledger.completed(path, at: now)
            case .touched: ledger.touched(path, at: now)
            case .appeared, .gone, .anything, .mounts: break
            }
            schedule.changed(at: now)
        }
    }

    mutating func setOn(_ entries: Set<Int>, atOnce: Bool) {
        if plan.on == entries { return }
        (plan.on, isUrgent, hasLedgerNews) = (entries, atOnce, true)
    }

    mutating func probed(_ probe: ContentLedger.Probe, problem: String?, at now: HostTime) {
        if ledger.probed(probe, problem: problem, at: now) { hasLedgerNews = true }
    }

    mutating func nothingCanBePlayed(at now: HostTime) {
        fallback.nothingCanBePlayed(at: now)
        hasFallbackNews = true
    }

    mutating func tried(opens: Bool, at now: HostTime) {
        fallback.tried(opens: opens, at: now)
        hasFallbackNews = true
    }

    // MARK: What is to be done

    /// When there is something to do even if nothing happens.
    var deadline: HostTime? {
        // Where one hangs others are likely to, on the same disk.
        if let current { return current.since + (hung.isEmpty ? limit : limit.scaled(by: 0.1)) }
        if next != nil || plan.isFixed && hasLooked { return nil }
        return [ledger.due, awaitedUntil, schedule.due].compactMap { $0 }.min()
    }

    /// What thread `playlist` has to do; nil where there is nothing.
    mutating func work(at now: HostTime, date: Int64) -> Work? {
        if isComplete {
            let wanted = takeRound(at: now, date: date)
            return Work(news: takeNews(at: now), folders: wanted)
        }
        if hasLedgerNews || hasFallbackNews {
            let news = takeNews(at: now)
            if !news.isEmpty { return Work(news: news) }
        }
        guard let deadline, now >= deadline else { return nil }
        guard let entry = current?.entry else {
            (next, roundBegun) = (0, now)
            return .again
        }
        hung.insert(entry)
        worker += 1
        (current, next) = (nil, entry + 1)
        // What the others have brought need not wait for the end of the round.
        _ = takeRound(at: now, date: date)
        return Work(news: takeNews(at: now), givenUp: worker)
    }

    /// Whether there is something to look into.
    var hasEntry: Bool { next != nil }

    /// The next entry to look into; nil where there is none.
    mutating func takeEntry(at now: HostTime, mostHung: Int) -> Int? {
        guard let next else { return nil }
        let entry = hung.count >= mostHung ? nil : (next..<max(next, entries.count)).first { !hung.contains($0) }
        current = entry.map { ($0, now) }
        self.next = nil
        isComplete = entry == nil
        return entry
    }

    mutating func takeProbe(at now: HostTime) -> Probe? {
        if let probe = ledger.takeProbe() {
            for (number, entry) in entries.enumerated() {
                if let found = entry?.expansion.sources.first(where: { $0.path == probe.path }) {
                    return .file(probe, plan.item(number, found))
                }
                if entry?.expansion.lists.contains(where: { $0.path == probe.path }) ?? false {
                    ledger.probed(probe, problem: nil, at: now)
                    hasLedgerNews = true
                    return .again
                }
            }
            ledger.probed(probe, problem: nil, at: now)
            return .again
        }
        if let due = fallback.trialDue, now >= due { return .trial(fallback.trial) }
        return nil
    }

    /// Takes over what the round has found; returns the folders to be watched where all entries have answered.
    private mutating func takeRound(at now: HostTime, date: Int64) -> Set<Path>? {
        isComplete = false
        hasLooked = true
        hasLedgerNews = true
        let answered = entries.compactMap { $0 }
        let looks = zip(entries.indices, plan.names).compactMap { index, name in
            entries[index].map { entry in
                ContentLedger.Look(
                    sources: entry.expansion.sources + entry.expansion.lists, begun: entry.begun, isFirst: entry.isFirst,
                    isNamed: entry.expansion.sources.map(\.path) == [Path(name)], isPointedElsewhere: entry.isPointedElsewhere,
                    isWhole: index == plan.replacing,
                    kept: entry.counted?.sources.map(\.path) ?? [])
            }
        }
        ledger.looked(looks, at: now, date: date)
        for index in entries.indices {
            entries[index]?.isFirst = false
            entries[index]?.isPointedElsewhere = false
        }
        var all = SourceExpansion()
        for entry in answered { all.append(entry.expansion) }
        (folders, names) = (all.folders, all.names)
        schedule.looked(
            begun: roundBegun, at: now, hasProblems: !hung.isEmpty || answered.contains { !$0.expansion.problems.isEmpty },
            isEmpty: all.sources.isEmpty, isPartial: answered.contains(where: \.isPartial))
        return answered.count == entries.count ? Set(folders.keys) : nil
    }

    /// What has changed since the last time.
    private mutating func takeNews(at now: HostTime) -> [PlaylistExpansion.News] {
        (hasLedgerNews, hasFallbackNews) = (false, false)
        var news: [PlaylistExpansion.News] = (notes + ledger.takeNotes()).map { .note($0) }
        notes = []
        guard hasLooked, entries.indices.allSatisfy({ entries[$0] != nil || hung.contains($0) }) else { return news }

        var listed: [[PlaylistItem]] = []
        var problems: [String] = []
        var isEmpty = true
        for index in entries.indices {
            if let expansion = entries[index]?.expansion, expansion.lists.allSatisfy({ $0.version == ledger.listed($0.path) }) {
                entries[index]!.counted = expansion
            }
            let sources = entries[index].map { $0.counted?.sources ?? [] } ?? (plan.assume(index).map { [$0] } ?? [])
            problems += entries[index]?.expansion.problems ?? []
            if !sources.isEmpty { isEmpty = false }
            listed.append(
                sources.compactMap { source -> PlaylistItem? in
                    guard source.version != nil else { return plan.item(index, source) }
                    return ledger.listed(source.path).map { plan.item(index, .init(source.source, $0)) }
                })
        }
        let items = played(of: listed)
        let inBetween = items.isEmpty ? [:] : inBetween(of: listed)
        if inBetween != toldInBetween {
            toldInBetween = inBetween
            news.append(.inBetween(inBetween))
        }
        let seconds = Int(limit.seconds.rounded(.up))
        problems += hung.sorted().map {
            "\(plan.names[$0]): no answer for \(seconds) s: its disk or its server hangs; kiosk plays the files found there before, if any"
        }
        news += problems.filter { !self.problems.contains($0) }.map { .problem($0) }
        self.problems = problems

        let isDoubtful = !plan.isFixed && isEmpty && !wasEmpty && told?.isEmpty == false
        wasEmpty = isEmpty
        // The last item has gone, and the one in its place is being probed, or it is about to be complete: no gap between them.
        let isAwaited = items.isEmpty && told?.isEmpty == false && (ledger.isProbing || ledger.hasJustLeft(at: now))
        awaitedUntil = isAwaited ? now + ContentLedger.settlingTime : nil
        if items != fallback.list, !isDoubtful, !isAwaited { fallback.setList(items) }
        if let played = fallback.played, played != told {
            if fallback.isShown { news.append(.note("nothing can be played: kiosk shows \(played[0].name) until something can")) }
            told = played
            news.append(.items(played, atOnce: isUrgent))
        }
        isUrgent = false
        return news
    }
}

extension ExpansionState {
    /// What is played of the items of all entries.
    private func played(of listed: [[PlaylistItem]]) -> [PlaylistItem] {
        if let replacing = plan.replacing, !listed[replacing].isEmpty { return listed[replacing] }
        var entries = listed.indices.filter { $0 != plan.replacing }
        if let schedule = plan.schedule {
            entries = schedule.played(of: plan.on.intersection(entries)) { !listed[$0].isEmpty }
        }
        return Self.spread(entries.flatMap { entry in listed[entry].map { ($0, plan.weight(entry)) } })
    }

    /// What is played between them of the items of all entries, by the programs that are on.
    private func inBetween(of listed: [[PlaylistItem]]) -> [Int: [PlaylistItem]] {
        guard let schedule = plan.schedule else { return [:] }
        var items: [Int: [PlaylistItem]] = [:]
        for entry in schedule.inBetween(of: plan.on) {
            items[schedule.entries[entry].program!, default: []] += listed[entry]
        }
        return items
    }

    /// Each item as often as its weight says, at even distances in the round; what is there once stays where it is.
    static func spread(_ items: [(item: PlaylistItem, weight: Int)]) -> [PlaylistItem] {
        if items.allSatisfy({ $0.weight == 1 }) { return items.map(\.item) }
        let places = items.enumerated().flatMap { number, entry in
            (0..<entry.weight).map {
                (place: (Double($0) + (Double(number) + 0.5) / Double(items.count)) / Double(entry.weight), entry.item)
            }
        }
        return places.sorted { $0.place < $1.place }.map(\.1)
    }
}

/// Nanoseconds since 1970 by the clock of the system, as file systems date their files.
func timeOfDay() -> Int64 { nanoseconds(of: CLOCK_REALTIME) }
