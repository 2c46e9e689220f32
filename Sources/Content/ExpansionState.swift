import Glibc
import KioskConfiguration
import KioskPlatform
import KioskSchedule
import KioskVocabulary

/// The state that the threads of ``PlaylistExpansion`` share, and its transitions. Use it only with its lock held.
struct ExpansionState {
    /// The result of an entry.
    private struct Entry {
        /// The result of the last look.
        var expansion: SourceExpansion
        /// The last result whose lists were all complete; nil if there was none.
        var counted: SourceExpansion?
        var begun: HostTime
        var isFirst: Bool
        var isPointedElsewhere: Bool
        var isPartial: Bool
    }

    /// The work for thread `playlist`.
    struct Work {
        var news: [PlaylistExpansion.News] = []
        /// The number of the new thread that looks, if kiosk gave up the one before.
        var givenUp: Int?
        /// The folders to watch, if they have changed.
        var folders: Set<Path>?

        static let again = Work()
        var isNothing: Bool { news.isEmpty && givenUp == nil && folders == nil }
    }

    /// The work for thread `probe`.
    enum Probe {
        case stop
        case again
        case file(ContentLedger.Probe, PlaylistItem)
        case trial([PlaylistItem])
    }

    private(set) var plan: PlaylistExpansion.Plan
    /// Increases with each plan.
    private(set) var epoch = 0
    var schedule: ExpansionSchedule
    private var ledger = ContentLedger()
    private(set) var fallback: FallbackState
    private let limit: MediaTime

    /// The last results, by entry; nil before the first answer.
    private var entries: [Entry?]
    /// Entries that block a thread that kiosk has given up.
    private var hung: Set<Int> = []
    /// The number of the thread that looks.
    private(set) var worker = 0
    /// The entry to look into next; nil if there is no work.
    private var next: Int?
    /// The entry that the thread looks into, and since when.
    private var current: (entry: Int, since: HostTime)?
    /// When the current round began.
    private var roundBegun: HostTime
    /// Whether a round has ended and is not reported yet.
    private var isComplete = false
    /// Whether the ledger has changed and that is not reported yet.
    private var hasLedgerNews = false
    /// Whether the fallback has changed and that is not reported yet.
    private var hasFallbackNews = false
    /// Whether a round of this plan has ended.
    private var hasLooked = false
    /// Whether the entries that are on have changed, and the change must not wait.
    private var isUrgent = false
    /// The items reported last; nil before the first report.
    private(set) var told: [PlaylistItem]?
    private var toldInBetween: [Int: [PlaylistItem]] = [:]
    private var problems: [String] = []
    private var wasEmpty = false
    private var lacksWatches = false
    /// Until when the last report stays valid though none of its items can be played.
    private var awaitedUntil: HostTime?
    /// Lines for the log.
    private var notes: [String] = []
    private var folders: [Path: SourceExpansion.Names] = [:]
    /// The names on the list of files that links lead to.
    private var names: [Path: Path] = [:]
    var hasTold = false
    var isStopping = false

    init(_ plan: PlaylistExpansion.Plan, limit: MediaTime) {
        (self.plan, self.limit) = (plan, limit)
        (schedule, roundBegun) = (ExpansionSchedule(now: .now), .now)
        fallback = FallbackState(plan.fallback)
        entries = Array(repeating: nil, count: plan.names.count)
    }

    // MARK: Events

    /// Starts to look into another playlist. Returns the number of the thread that does so.
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

    /// Takes the result of a look into an entry.
    mutating func found(_ found: SourceExpansion, in entry: Int, epoch: Int, begun: HostTime, isPartial: Bool, by number: Int) {
        guard epoch == self.epoch else { return }
        let before = entries[entry]
        var found = found
        // An unplugged or empty stick is no problem.
        if entry == plan.replacing { found.problems = [] }
        // Such file systems have other writers, and may give a file a new number at each look.
        if isPartial {
            for index in found.sources.indices { found.sources[index].version?.inode = 0 }
            for index in found.lists.indices { found.lists[index].version?.inode = 0 }
        }
        entries[entry] = Entry(
            expansion: found, counted: before?.counted, begun: begun,
            // A file that a changed list names may be old.
            isFirst: before?.expansion.lists != found.lists,
            isPointedElsewhere: before.map { $0.expansion.links != found.links || $0.isPointedElsewhere } ?? false, isPartial: isPartial)
        if worker == number {
            (current, next) = (nil, entry + 1)
        } else {
            // The given-up thread has returned: its result counts.
            hung.remove(entry)
            schedule.changed(at: begun)
        }
    }

    /// Notes that the kernel cannot watch all folders.
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

    /// Notes changes that the kernel has reported.
    mutating func note(_ changes: [FolderWatch.Change], at now: HostTime) {
        // A file that was written and closed since the last read is complete again, like a new file in its place.
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
                case nil: true  // the round has not ended
                }
            guard isWanted else { continue }
            let place = change.folder.appending(name)
            let path = names[place] ?? place
            switch change.kind {
            case .written where closed[place].map({ $0 > index }) ?? false: break
            case .written:
                // There is no use in a look before the file is complete.
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

    // MARK: Work

    /// When there is work even without an event.
    var deadline: HostTime? {
        // If one entry is blocked, others on the same disk probably are.
        if let current { return current.since + (hung.isEmpty ? limit : limit.scaled(by: 0.1)) }
        if next != nil || plan.isFixed && hasLooked { return nil }
        return [ledger.due, awaitedUntil, schedule.due].compactMap { $0 }.min()
    }

    /// Returns the work for thread `playlist`; nil if there is none.
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
        // The results of the other entries need not wait for the end of the round.
        _ = takeRound(at: now, date: date)
        return Work(news: takeNews(at: now), givenUp: worker)
    }

    /// Whether there is an entry to look into.
    var hasEntry: Bool { next != nil }

    /// Returns the next entry to look into; nil if there is none.
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

    /// Takes over the round's results; returns the folders to watch if all entries have answered.
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

    /// Returns the changes since the last report.
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
        // The last item has gone, and its successor is being probed or nearly complete: kiosk leaves no gap between them.
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
    /// Returns the items to play of those of all entries.
    private func played(of listed: [[PlaylistItem]]) -> [PlaylistItem] {
        if let replacing = plan.replacing, !listed[replacing].isEmpty { return listed[replacing] }
        var entries = listed.indices.filter { $0 != plan.replacing }
        if let schedule = plan.schedule {
            entries = schedule.played(of: plan.on.intersection(entries)) { !listed[$0].isEmpty }
        }
        return Self.spread(entries.flatMap { entry in listed[entry].map { ($0, plan.weight(entry)) } })
    }

    /// Returns the items that the active programs play in between.
    private func inBetween(of listed: [[PlaylistItem]]) -> [Int: [PlaylistItem]] {
        guard let schedule = plan.schedule else { return [:] }
        var items: [Int: [PlaylistItem]] = [:]
        for entry in schedule.inBetween(of: plan.on) {
            items[schedule.entries[entry].program!, default: []] += listed[entry]
        }
        return items
    }

    /// Repeats each item by its weight, at even distances in the round. An item of weight 1 keeps its place.
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

/// Returns nanoseconds since 1970 by the system clock, as file systems date their files.
func timeOfDay() -> Int64 { nanoseconds(of: CLOCK_REALTIME) }
