/// When what is played, and when what is done: a pure function of rules, a clock and whether that is right.
///
/// Entries are on or off. Of those that are on, the ones of the highest rank are played, all of them, in their order; it is not known here whether an entry has
/// anything to play. What says nothing of time is on always. A clock that was never set decides nothing: then what says something of time is off.
///
/// The display is dark while a *night* is on that no program of a higher rank displaces. Nights displace nothing themselves: what is played meanwhile, or would
/// be, is what is played without them.
package struct Schedule: Hashable, Sendable {
    /// An entry of the playlist, or of a program.
    package struct Entry: Hashable, Sendable {
        /// All of these hold at a time: its own, and that of its program.
        package var rules: [TimeRule]
        /// The program's, and its own among the entries of that.
        package var rank: Rank
        /// The number of its program; nil of what is on the playlist itself.
        package var program: Int?
        /// Whether it is played between the others, and takes nobody's place.
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

    /// Whether time has anything to say.
    package var isConstant: Bool { entries.allSatisfy(\.isAlways) && nights.allSatisfy(\.isAlways) }

    /// Whether all entries are played, in their order, at any time.
    package var takesAll: Bool {
        isConstant && Set(entries.map(\.rank)).count < 2 && !entries.contains(where: \.isInBetween)
    }

    /// Whether the display is dark at an instant, when these entries are on.
    package func isDark(at instant: Int64, isRight: Bool = true, on: Set<Int>) -> Bool {
        let ranks = nights.filter { night in night.rules.allSatisfy { isRight && clock.isOn($0, at: instant) } }.map(\.rank.program)
        guard let rank = ranks.max() else { return false }
        return on.allSatisfy { entries[$0].isInBetween || entries[$0].rank.program <= rank }
    }

    /// What is on and whether the display is dark.
    package struct Moment: Hashable, Sendable {
        package var on: Set<Int>
        package var isDark: Bool
    }

    package func moment(at instant: Int64, isRight: Bool = true) -> Moment {
        let on = on(at: instant, isRight: isRight)
        return Moment(on: on, isDark: isDark(at: instant, isRight: isRight, on: on))
    }

    /// The entries that are on at an instant, in seconds since 1970; what waits for a clock is not, where that is not right.
    package func on(at instant: Int64, isRight: Bool = true) -> Set<Int> {
        // Many have the same rules.
        var known: [TimeRule: Bool] = [:]
        func isOn(_ rule: TimeRule) -> Bool {
            if let known = known[rule] { return known }
            let isOn = isRight && clock.isOn(rule, at: instant)
            known[rule] = isOn
            return isOn
        }
        return Set(entries.indices.filter { entries[$0].rules.allSatisfy(isOn) })
    }

    /// Of entries that are on, those that are played: of the highest rank of those that have something.
    package func played(of on: Set<Int>, having hasItems: (Int) -> Bool = { _ in true }) -> [Int] {
        let able = on.sorted().filter { !entries[$0].isInBetween && hasItems($0) }
        guard let program = able.map({ entries[$0].rank.program }).max() else { return [] }
        let chosen = able.filter { entries[$0].rank.program == program }
        // Each program has an order of its own.
        var highest: [Int?: Int] = [:]
        for entry in chosen { highest[entries[entry].program] = max(highest[entries[entry].program] ?? .min, entries[entry].rank.entry) }
        return chosen.filter { entries[$0].rank.entry == highest[entries[$0].program] }
    }

    /// Of entries that are on, those that are played between the others.
    package func inBetween(of on: Set<Int>) -> [Int] { on.sorted().filter { entries[$0].isInBetween } }

    /// The next instant at which other entries are on than at `instant`, or the display is dark and was not, or the other way round; nil where that is not
    /// before `limit`.
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

    /// The next instant at which other entries are played, if all of them have something, or the display is dark or is not; nil where that is not before
    /// `limit`.
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

    /// Whether an entry is on at any time within the ``horizon``.
    package func everOn(_ entry: Int, from instant: Int64) -> Bool {
        let alone = Schedule([entries[entry]], clock: clock)
        return !alone.on(at: instant).isEmpty || alone.nextChange(after: instant) != nil
    }

    /// What begins later than in so many seconds is looked for when that is nearer: a year and a month.
    package static let horizon: Int64 = 396 * 86_400
}
