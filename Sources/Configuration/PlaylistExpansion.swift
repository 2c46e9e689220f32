import Platform
import Vocabulary

/// Keeps the items of a playlist in step with its folders and lists: looks into them again and again (``ExpansionSchedule``) and tells
/// what has changed.
///
/// A dead server or a dying disk can hold up a thread that asks for a file's name for ever. So there are two kinds of threads. `playlist`
/// decides when to look and tells the results, and never touches the file system. `folders` looks, entry after entry. When an entry has
/// held it up for ``limit``, that thread is given up: a new one goes on with the entries that follow, and the entry that hangs is left out
/// of all further rounds until its thread comes back, with what was found there last. There is at most one thread for each entry that
/// hangs, and no more than ``mostHung``.
///
/// A list that becomes empty is believed when it is still empty at the next look: somebody may be writing it anew.
package final class PlaylistExpansion: Sendable {
    /// What to tell.
    package enum News: Hashable, Sendable {
        /// What is to be played has changed.
        case items([PlaylistItem])
        /// Something is wrong with a folder or a list; told once until it changes. A line for the log.
        case problem(String)
    }

    private struct State {
        var schedule: ExpansionSchedule
        /// What was found last, entry by entry; nil before the first answer.
        var found: [(items: [PlaylistItem], problems: [String])?]
        /// Entries that hold up a thread that was given up.
        var hung: Set<Int> = []
        /// The number of the thread that looks.
        var worker = 0
        /// The entry to look into next; nil while nothing is to be done.
        var next: Int?
        /// The entry that is being looked into, and since when.
        var current: (entry: Int, since: HostTime)?
        /// Whether all entries have been looked into and that has not been told yet.
        var isComplete = false
        /// The items that were told last; nil before the first time.
        var items: [PlaylistItem]?
        var problems: [String] = []
        var wasEmpty = false
        var hasTold = false
        var isStopping = false
    }

    private enum Work {
        case stop
        case again
        case look
        case news([News])
        case giveUp(worker: Int, [News])
    }

    /// How long one entry may hold up a thread.
    package static let limit = MediaTime.seconds(5)
    /// Where so many hang nothing is looked into any more until one comes back.
    private static let mostHung = 8

    private let names: [String]
    private let isFixed: Bool
    private let expand: @Sendable (Int) -> (items: [PlaylistItem], problems: [String])
    private let assume: @Sendable (Int) -> [PlaylistItem]
    private let limit: MediaTime
    private let state: Monitor<State>

    /// Looks into the playlist of `configuration`; not before ``start(_:)``.
    package convenience init(_ configuration: Configuration) {
        let entries = configuration.playlist
        self.init(
            names: entries.map(\.source.location), isFixed: entries.allSatisfy(\.source.isFixed),
            assume: { configuration.assume(entries[$0]) }, expand: { configuration.expand(entries[$0]) })
    }

    /// Looks into entries called `names` by `expand`, which may block; once where all of them are fixed. An entry that has never answered
    /// is what `assume` says.
    init(
        names: [String], isFixed: Bool = false, limit: MediaTime = PlaylistExpansion.limit,
        assume: @escaping @Sendable (Int) -> [PlaylistItem] = { _ in [] },
        expand: @escaping @Sendable (Int) -> (items: [PlaylistItem], problems: [String])
    ) {
        (self.names, self.isFixed, self.limit, self.assume, self.expand) = (names, isFixed, limit, assume, expand)
        state = Monitor(State(schedule: ExpansionSchedule(now: .now), found: Array(repeating: nil, count: names.count)))
    }

    /// Starts looking; `tell` is called on a thread of its own, in order. Call once.
    package func start(_ tell: @escaping @Sendable (News) -> Void) {
        startWorker(0)
        Thread("playlist") { [self] in
            while true {
                var news: [News] = []
                switch nextWork() {
                case .stop, .again, .look: return
                case .news(let found): news = found
                case .giveUp(let worker, let found):
                    startWorker(worker)
                    news = found
                }
                news.forEach(tell)
                state.signal { state in state.hasTold = state.items != nil }
            }
        }.detach()
    }

    /// Looks no more. Does not wait for the threads: one of them may hang.
    package func stop() { state.signal { $0.isStopping = true } }

    /// Waits until the first items have been told, for `time` at most; false after that.
    @discardableResult
    package func waitForItems(within time: MediaTime) -> Bool { state.wait(until: .now + time) { $0.hasTold ? true : nil } ?? false }

    /// An item began to be shown, at its place on the list; nil when it has left that.
    package func itemBegan(at place: Int?) { state.signal { $0.schedule.began(at: place) } }

    /// Nothing on the list can be played.
    package func nothingCanBePlayed() { state.signal { $0.schedule.nothingCanBePlayed() } }

    // MARK: Telling

    private func nextWork() -> Work {
        while true {
            let deadline = state.withLock { self.deadline($0) }
            let work = state.wait(until: deadline) { state -> Work? in
                self.work(&state) ?? (self.deadline(state) == deadline ? nil : .again)
            }
            switch work {
            case .again, nil: continue
            case .look: state.signal { $0.next = 0 }
            case let work?: return work
            }
        }
    }

    private func deadline(_ state: State) -> HostTime? {
        // Where one hangs others are likely to, on the same disk.
        if let current = state.current { return current.since + (state.hung.isEmpty ? limit : limit.scaled(by: 0.1)) }
        if state.next != nil || isFixed && state.items != nil { return nil }
        return state.schedule.due
    }

    private func work(_ state: inout State) -> Work? {
        if state.isStopping { return .stop }
        if state.isComplete { return .news(takeNews(&state)) }
        guard let deadline = deadline(state), HostTime.now >= deadline else { return nil }
        guard let entry = state.current?.entry else { return .look }
        state.hung.insert(entry)
        state.worker += 1
        (state.current, state.next) = (nil, entry + 1)
        // What the others have brought need not wait for the end of the round.
        return .giveUp(worker: state.worker, takeNews(&state))
    }

    /// What the last round has brought.
    private func takeNews(_ state: inout State) -> [News] {
        state.isComplete = false
        for entry in state.hung where state.found[entry] == nil { state.found[entry] = (assume(entry), []) }
        var problems = state.found.flatMap { $0?.problems ?? [] }
        let seconds = Int(limit.seconds.rounded(.up))
        problems += state.hung.sorted().map {
            "\(names[$0]): no answer for \(seconds) s: its disk or its server hangs; what was found there before is played, if anything"
        }
        let items = state.found.flatMap { $0?.items ?? [] }
        state.schedule.looked(at: .now, hasProblems: !problems.isEmpty, isEmpty: items.isEmpty)
        var news: [News] = problems.filter { !state.problems.contains($0) }.map { .problem($0) }
        state.problems = problems
        let isDoubtful = items.isEmpty && !state.wasEmpty && state.items?.isEmpty == false
        state.wasEmpty = items.isEmpty
        if items != state.items, !isDoubtful {
            state.items = items
            news.append(.items(items))
        }
        return news
    }

    // MARK: Looking

    private func startWorker(_ number: Int) {
        Thread("folders") { [self] in
            while let entry = nextEntry(number) {
                let found = expand(entry)
                state.signal { state in
                    state.found[entry] = found
                    if state.worker == number {
                        (state.current, state.next) = (nil, entry + 1)
                    } else {
                        // It was given up, and has come back: what it found counts.
                        state.hung.remove(entry)
                        state.schedule.answered()
                    }
                }
            }
        }.detach()
    }

    /// The next entry to look into; nil where thread `number` is no longer wanted.
    private func nextEntry(_ number: Int) -> Int? {
        while true {
            let isWanted = state.wait { state -> Bool? in
                if state.isStopping || state.worker != number { return false }
                return state.next == nil ? nil : true
            }
            guard isWanted == true else { return nil }
            let entry: Int? = state.signal { state in
                let next = state.next!
                let isFull = state.hung.count >= Self.mostHung
                let entry = isFull ? nil : (next..<max(next, state.found.count)).first { !state.hung.contains($0) }
                state.current = entry.map { ($0, .now) }
                state.next = nil
                state.isComplete = entry == nil
                return entry
            }
            if let entry { return entry }
        }
    }
}
