/// When each entry plays: a pure function of rules, a clock, and whether that clock is right.
///
/// Entries are on or off. Of the entries that are on, all those of the highest rank play, in their order. The schedule does not know
/// whether an entry has anything to play. An entry without rules is always on. A clock that was never set decides nothing: entries with
/// rules are then off.
///
/// The display is dark while a *night* is on, unless a program of a higher rank is on. Nights do not displace entries: they leave the set
/// of entries that play unchanged.
package struct Schedule: Hashable, Sendable {
    /// An entry of the playlist, or of a program.
    package struct Entry: Hashable, Sendable {
        /// The rules of the entry and of its program; all must hold.
        package var rules: [TimeRule]
        /// The rank of its program, and its own rank in that program.
        package var rank: Rank
        /// The number of its program; nil for an entry of the playlist itself.
        package var program: Int?
        /// Whether it plays between other items, and displaces none.
        package var isInBetween = false

        package init(_ rules: [TimeRule], rank: Rank = Rank(), program: Int? = nil, isInBetween: Bool = false) {
            (self.rules, self.rank, self.program) = (rules.filter { !$0.isAlways }, rank, program)
            self.isInBetween = isInBetween
        }

        package var isAlways: Bool { rules.isEmpty }
    }

    package struct Rank: Hashable, Sendable {
        package var program = 0
        package var entry = 0

        package init(program: Int = 0, entry: Int = 0) { (self.program, self.entry) = (program, entry) }
    }

    package var entries: [Entry]
    package var nights: [Entry]
    package var clock: LocalClock

    package init(_ entries: [Entry], nights: [Entry] = [], clock: LocalClock) {
        (self.entries, self.nights, self.clock) = (entries, nights, clock)
    }

    /// Whether the result is independent of time.
    package var isConstant: Bool { entries.allSatisfy(\.isAlways) && nights.allSatisfy(\.isAlways) }

    /// Whether all entries play, in their order, at all times.
    package var takesAll: Bool {
        isConstant && Set(entries.map(\.rank)).count < 2 && !entries.contains(where: \.isInBetween)
    }

    /// Returns whether the display is dark at an instant, with these entries on.
    package func isDark(at instant: Int64, isRight: Bool = true, on: Set<Int>) -> Bool {
        let ranks = nights.filter { night in night.rules.allSatisfy { isRight && clock.isOn($0, at: instant) } }.map(\.rank.program)
        guard let rank = ranks.max() else { return false }
        return on.allSatisfy { entries[$0].isInBetween || entries[$0].rank.program <= rank }
    }

    /// The entries that are on, and whether the display is dark.
    package struct Moment: Hashable, Sendable {
        package var on: Set<Int>
        package var isDark: Bool
    }

    package func moment(at instant: Int64, isRight: Bool = true) -> Moment {
        let on = on(at: instant, isRight: isRight)
        return Moment(on: on, isDark: isDark(at: instant, isRight: isRight, on: on))
    }

    /// Returns the entries that are on at an instant, in seconds since 1970. If the clock is not right, entries with rules are off.
    package func on(at instant: Int64, isRight: Bool = true) -> Set<Int> {
        // Many entries have the same rules.
        var known: [TimeRule: Bool] = [:]
        func isOn(_ rule: TimeRule) -> Bool {
            if let known = known[rule] { return known }
            let isOn = isRight && clock.isOn(rule, at: instant)
            known[rule] = isOn
            return isOn
        }
        return Set(entries.indices.filter { entries[$0].rules.allSatisfy(isOn) })
    }

    /// Returns the entries that play, of those that are on: of those with items, the ones of the highest rank.
    package func played(of on: Set<Int>, having hasItems: (Int) -> Bool = { _ in true }) -> [Int] {
        let able = on.sorted().filter { !entries[$0].isInBetween && hasItems($0) }
        guard let program = able.map({ entries[$0].rank.program }).max() else { return [] }
        let chosen = able.filter { entries[$0].rank.program == program }
        // Each program has its own order of ranks.
        var highest: [Int?: Int] = [:]
        for entry in chosen { highest[entries[entry].program] = max(highest[entries[entry].program] ?? .min, entries[entry].rank.entry) }
        return chosen.filter { entries[$0].rank.entry == highest[entries[$0].program] }
    }

    /// Returns the entries that play in between, of those that are on.
    package func inBetween(of on: Set<Int>) -> [Int] { on.sorted().filter { entries[$0].isInBetween } }

    /// Returns the next instant at which the set of entries that are on, or the dark display, changes; nil if there is none before `limit`.
    package func nextChange(after instant: Int64, before limit: Int64? = nil) -> Int64? {
        let rules = Set((entries + nights).flatMap(\.rules))
        if rules.isEmpty { return nil }
        let present = moment(at: instant)
        let end = limit ?? instant + Self.horizon
        var time = instant
        while let next = rules.compactMap({ clock.nextEdge(of: $0, after: time) }).min(), next < end {
            if moment(at: next) != present { return next }
            time = next
        }
        return nil
    }

    /// Returns the next instant at which the set of entries that play, if all have items, or the dark display, changes; nil if there is
    /// none before `limit`.
    package func nextChange(ofWhatIsPlayedAfter instant: Int64, before limit: Int64) -> Int64? {
        func shown(_ instant: Int64) -> [Int]? {
            let moment = moment(at: instant)
            return moment.isDark ? nil : played(of: moment.on) + inBetween(of: moment.on)
        }
        let present = shown(instant)
        var time = instant
        while let next = nextChange(after: time, before: limit) {
            if shown(next) != present { return next }
            time = next
        }
        return nil
    }

    /// Returns whether an entry is on at any time within the ``horizon``.
    package func everOn(_ entry: Int, from instant: Int64) -> Bool {
        let alone = Schedule([entries[entry]], clock: clock)
        return !alone.on(at: instant).isEmpty || alone.nextChange(after: instant) != nil
    }

    /// How many seconds ahead to search: a year and a month. Later changes are found in time.
    package static let horizon: Int64 = 396 * 86_400
}
