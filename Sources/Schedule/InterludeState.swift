import KioskPlatform

/// How often a program plays in between. Its text is `10m`, `2h` or `5 items`.
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

/// The turns of the programs that play in between. A pure value: it takes times and started items, and returns the items to play now.
///
/// A program has a turn whenever its minutes have passed since its last turn, or so many items have begun. Its first turn is equally long
/// after it comes on. Each turn plays its next item. Items that play in between do not count.
///
/// Only one program interrupts an item at a time: others that interrupt wait until the interrupted item continues. The minutes of such a
/// program count from its end, so the playlist always advances.
package struct InterludeState: Hashable, Sendable {
    /// A program that is on and plays in between.
    package struct Program: Hashable, Sendable {
        package var recurrence: Recurrence
        /// Whether it interrupts the current item.
        package var isAtOnce: Bool
        /// Its current number of items.
        package var count: Int

        package init(_ recurrence: Recurrence, isAtOnce: Bool = false, count: Int) {
            (self.recurrence, self.isAtOnce, self.count) = (recurrence, isAtOnce, count)
        }
    }

    /// A turn: an item of a program to play now.
    package struct Turn: Hashable, Sendable {
        package var program: Int, item: Int
    }

    private struct Progress: Hashable {
        var since: HostTime
        var items = 0
        var next = 0
    }

    /// A running interruption: whether its item has been seen, and how many items of the playlist have begun before that.
    private struct Interruption: Hashable {
        var program: Int
        var isSeen = false
        var others = 0
    }

    private var programs: [Int: Program] = [:]
    private var progress: [Int: Progress] = [:]
    private var interruption: Interruption?

    package init() {}

    /// Sets the programs, by number. Those that were on before keep their counts.
    package mutating func set(_ programs: [Int: Program], at now: HostTime) {
        progress = progress.filter { programs[$0.key]?.recurrence == self.programs[$0.key]?.recurrence }
        self.programs = programs
        for number in programs.keys where progress[number] == nil { progress[number] = Progress(since: now) }
    }

    /// Notes an item on the screen. `isListed`: it is on the playlist; `isNew`: it begins, and is not the result of a seek.
    package mutating func itemStarted(isListed: Bool, isNew: Bool, at now: HostTime) {
        guard isListed else {
            interruption?.isSeen = true
            return
        }
        if let present = interruption {
            if present.isSeen {
                // The interrupted item continues.
                interruption = nil
                progress[present.program]?.since = now
                progress[present.program]?.items = 0
                return
            }
            // The first such item may have been on its way to the screen; after a second one, the interrupting item has failed.
            interruption = present.others == 0 ? Interruption(program: present.program, others: 1) : nil
        }
        if isNew { for number in progress.keys { progress[number]!.items += 1 } }
    }

    /// Returns whether a program can have a turn now.
    private func isAble(_ program: Program) -> Bool { program.count > 0 && !(program.isAtOnce && interruption != nil) }

    /// When the next turn comes if no item begins; nil if there is none.
    package var deadline: HostTime? {
        programs.compactMap { number, program in
            guard case .minutes(let minutes) = program.recurrence, isAble(program) else { return nil }
            return progress[number]!.since + .seconds(Double(60 * minutes))
        }.min()
    }

    /// Returns the turns due now, in the order of the programs; they count as played.
    package mutating func turns(at now: HostTime) -> [Turn] {
        var turns: [Turn] = []
        for number in programs.keys.sorted() {
            let (program, so) = (programs[number]!, progress[number]!)
            guard isAble(program) else { continue }
            switch program.recurrence {
            case .minutes(let minutes): if now < so.since + .seconds(Double(60 * minutes)) { continue }
            case .items(let count): if so.items < count { continue }
            }
            progress[number] = Progress(since: now, next: so.next + 1)
            if program.isAtOnce { interruption = Interruption(program: number) }
            turns.append(Turn(program: number, item: so.next % program.count))
        }
        return turns
    }
}
