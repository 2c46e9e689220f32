import KioskPlatform

/// How often something is played in between. Its text is `10m`, `2h` or `5 items`.
package enum Recurrence: Hashable, Sendable, LosslessStringConvertible {
    /// 1…1440.
    case minutes(Int)
    /// After so many items, 1…1000.
    case items(Int)

    package init?(_ text: String) {
        guard let match = text.wholeMatch(of: /([0-9]{1,4})(m|h| items?)/), let number = Int(match.1) else { return nil }
        switch match.2 {
        case "m", "h":
            let minutes = match.2 == "h" ? number * 60 : number
            guard 1...1440 ~= minutes else { return nil }
            self = .minutes(minutes)
        default:
            guard 1...1000 ~= number else { return nil }
            self = .items(number)
        }
    }

    package var description: String {
        switch self {
        case .minutes(let number): number % 60 == 0 ? "\(number / 60)h" : "\(number)m"
        case .items(1): "1 item"
        case .items(let number): "\(number) items"
        }
    }
}

/// When what is played in between: counts of items and times, in, what is to be played now, out. A pure value.
///
/// Each program has a turn whenever its minutes have gone by since it last began, or so many items have begun; its first turn is as long after it has come
/// on. With each turn it plays the next of its items. What is played in between counts for nobody.
package struct InterludeState: Hashable, Sendable {
    /// A program that is played in between.
    package struct Program: Hashable, Sendable {
        package var recurrence: Recurrence
        /// How many items it has now; none while it is off.
        package var count: Int

        package init(_ recurrence: Recurrence, count: Int) { (self.recurrence, self.count) = (recurrence, count) }
    }

    /// What is to be played: an item of a program.
    package struct Turn: Hashable, Sendable {
        package var program: Int, item: Int
    }

    private struct Progress: Hashable {
        var since: HostTime
        var items = 0
        var next = 0
    }

    private var programs: [Int: Program] = [:]
    private var progress: [Int: Progress] = [:]

    package init() {}

    /// These programs there are from now on, by number. Those that were on count on.
    package mutating func set(_ programs: [Int: Program], at now: HostTime) {
        let before = self.programs
        self.programs = programs.filter { $0.value.count > 0 }
        progress = progress.filter { self.programs[$0.key]?.recurrence == before[$0.key]?.recurrence }
        for number in self.programs.keys where progress[number] == nil { progress[number] = Progress(since: now) }
    }

    /// An item of the playlist is on the screen.
    package mutating func itemStarted() {
        for number in progress.keys { progress[number]!.items += 1 }
    }

    /// When a turn comes at the latest if no item begins; nil where none does.
    package var deadline: HostTime? {
        programs.compactMap { number, program in
            if case .minutes(let minutes) = program.recurrence { progress[number]!.since + .seconds(Double(60 * minutes)) } else { nil }
        }.min()
    }

    /// Whose turn it is, in the order of the programs; it counts as played.
    package mutating func turns(at now: HostTime) -> [Turn] {
        programs.keys.sorted().compactMap { number in
            let (program, so) = (programs[number]!, progress[number]!)
            switch program.recurrence {
            case .minutes(let minutes): if now < so.since + .seconds(Double(60 * minutes)) { return nil }
            case .items(let count): if so.items < count { return nil }
            }
            progress[number] = Progress(since: now, next: so.next + 1)
            return Turn(program: number, item: so.next % program.count)
        }
    }
}
