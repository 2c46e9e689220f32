import ArgumentParser
import Glibc
import KioskConfiguration
import KioskPlatform
import KioskSchedule
import KioskVocabulary

/// `kiosk schedule`: prints what plays when, and why.
struct ScheduleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "Print the times of playback, with reasons; find empty times, and entries that never play.",
        usage: "kiosk schedule [<options>] [--week] [--at <time>]",
        discussion: """
            kiosk takes the times from the configuration file, not from a running player. It does not look at media: it prints a program \
            even if its folder is empty. Exit status: 0; with --strict 1 if an entry never plays, or if nothing plays at some time.
            """)

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "Read this configuration file.", discussion: "Default: ./kiosk.conf, else /etc/kiosk/kiosk.conf.", valueName: "file"),
        completion: .file(extensions: ["conf"]))
    var config: String?

    @Flag(help: "Print all changes of seven days.")
    var week = false

    @Option(
        "Begin at this time of the schedule's time zone, as \"2026-12-24 18:00\" or \"2026-12-24\".", value: "time",
        discussion: "Default: now.", Reading(expected: "a time such as \"2026-12-24 18:00\"", make: Moment.init))
    var at: Moment?

    @Flag(help: "Exit with 1 for entries that never play, and for empty times.")
    var strict = false

    /// A day, optionally with a time.
    struct Moment: Sendable {
        var local: LocalTime

        init?(_ text: String) {
            let parts = text.split(whereSeparator: { $0 == " " || $0 == "T" }).map(String.init)
            guard 1...2 ~= parts.count, let date = CalendarDate(parts[0]), let time = TimeOfDay(parts.count > 1 ? parts[1] : "00:00"),
                time.anchor == .midnight, time.minutes < 1440
            else { return nil }
            local = LocalTime(date, second: time.minutes * 60)
        }
    }

    func run() throws {
        guard let configuration = try Settings.read(config) else {
            throw ValidationError("there is no kiosk.conf here or in /etc/kiosk: name one with --config")
        }
        let clock = WallClock.now
        if at == nil, !clock.isRight {
            print("The clock of this machine is not set: entries with hours, days or dates wait. These times assume a right clock.\n")
        }
        let start = at.map { configuration.clock.zone.firstInstant(notBefore: $0.local) } ?? clock.seconds
        print(ScheduleReport(configuration).text(from: start, days: week ? 7 : nil))
        for zone in configuration.zones where !configuration.configuration(of: zone).schedule.takesAll {
            print("\nThe zone “\(zone.name)”\n".printable)
            print(ScheduleReport(configuration.configuration(of: zone)).text(from: start, days: week ? 7 : nil))
        }
        let findings = ScheduleReport.allFindings(configuration, from: start)
        if !findings.isEmpty { print("\n" + findings.joined(separator: "\n")) }
        if strict, !findings.isEmpty { throw ExitCode(1) }
    }
}

/// A schedule in words.
struct ScheduleReport {
    private let configuration: Configuration
    private let schedule: Schedule
    private let state: ScheduleState

    init(_ configuration: Configuration) {
        (self.configuration, schedule, state) = (configuration, configuration.schedule, ScheduleState(configuration))
    }

    /// Returns the entries that never play, and the times without any, for the main playlist and then for zones.
    static func allFindings(_ configuration: Configuration, from start: Int64) -> [String] {
        ScheduleReport(configuration).findings(from: start)
            + configuration.zones.flatMap { zone in
                ScheduleReport(configuration.configuration(of: zone)).findings(from: start).map { "zone “\(zone.name)”: \($0)" }
            }
    }

    private func shown(_ instant: Int64) -> String {
        let local = schedule.clock.zone.local(at: instant)
        let word = local.date.weekday.word
        return "\(word.prefix(1).uppercased() + word.dropFirst()) \(local.date) \(local.clock)"
    }

    /// Returns the schedule from an instant on: for some days, or until the next change.
    func text(from start: Int64, days: Int?) -> String {
        var table = TextTable(["from", "plays", "because of"])
        let end = days.map { start + Int64($0) * 86_400 }
        var time = start
        var timers = end.map { state.instants(after: start, until: $0) } ?? []
        func addTimers(before limit: Int64) {
            while let first = timers.first, first.instant < limit {
                let timer = configuration.timers[first.timer]
                table.add([shown(first.instant), "does “\(timer.words)”", timer.time.isAlways ? "each day" : timer.time.description])
                timers.removeFirst()
            }
        }
        while true {
            addTimers(before: time)
            add(time, to: &table)
            guard let end, let next = schedule.nextChange(ofWhatIsPlayedAfter: time, before: end) else { break }
            time = next
        }
        addTimers(before: .max)
        var lines = [table.text]
        if days == nil {
            lines.append(
                schedule.nextChange(ofWhatIsPlayedAfter: start, before: start + Schedule.horizon).map { "The next change: \(shown($0))" }
                    ?? "It does not change.")
            if let next = state.instants(after: start, until: start + 8 * 86_400).first {
                lines.append("The next command: \(shown(next.instant)), “\(configuration.timers[next.timer].words)”")
            }
        }
        return lines.joined(separator: "\n")
    }

    private func add(_ time: Int64, to table: inout TextTable) {
        let moment = schedule.moment(at: time)
        if moment.isDark {
            let nights = schedule.nights.compactMap(\.program).filter {
                configuration.clock.isOn(configuration.programs[$0].time, at: time)
            }
            let night = nights.max { configuration.programs[$0].priority < configuration.programs[$1].priority }
            table.add([
                shown(time), "the display is off" + (night.map { ": program “\(configuration.programs[$0].name)”" } ?? ""), reason(night),
            ])
            return
        }
        let played = schedule.played(of: moment.on)
        if played.isEmpty {
            table.add([shown(time), configuration.playback.fallback == nil ? "nothing" : "the fallback", "nothing is on"])
        }
        let inBetween = played.isEmpty ? [] : schedule.inBetween(of: moment.on)
        var last: Int?? = .none
        for entry in played + inBetween {
            let program = schedule.entries[entry].program
            let isFirst = entry == played[0]
            if isFirst || last != .some(program) {
                let every = program.flatMap { configuration.programs[$0].recurrence }.map { ", every \($0) in between" } ?? ""
                table.add([
                    isFirst ? shown(time) : "", (program.map { "program “\(configuration.programs[$0].name)”" } ?? "the playlist") + every,
                    reason(program),
                ])
            }
            last = program
            let source = configuration.entries[entry]
            table.add(["", "  \(source.title ?? source.source.location)", source.time.isAlways ? "" : source.time.description])
        }
    }

    private func reason(_ program: Int?) -> String {
        guard let program else { return "" }
        let (time, priority) = (configuration.programs[program].time, configuration.programs[program].priority)
        return [time.isAlways ? "always" : time.description, priority == 1 ? nil : "priority \(priority)"].compactMap { $0 }.joined(
            separator: ", ")
    }

    /// Returns the entries that do not play within thirteen months, and the times without any within a week.
    func findings(from start: Int64) -> [String] {
        if schedule.takesAll, schedule.nights.isEmpty { return [] }
        var seen: Set<Int> = []
        var (time, holes): (Int64, [(Int64, Int64)]) = (start, [])
        let end = start + Schedule.horizon
        while true {
            let moment = schedule.moment(at: time)
            let played = moment.isDark ? [] : schedule.played(of: moment.on)
            seen.formUnion(played + (played.isEmpty ? [] : schedule.inBetween(of: moment.on)))
            let next = schedule.nextChange(after: time, before: end)
            if played.isEmpty, !moment.isDark, time < start + 7 * 86_400, configuration.playback.fallback == nil {
                holes.append((time, next ?? end))
            }
            guard let next else { break }
            if seen.count == schedule.entries.count, next > start + 7 * 86_400 { break }
            time = next
        }
        let entries = configuration.entries
        let never = schedule.entries.indices.filter { !seen.contains($0) }.map { entry in
            let program = schedule.entries[entry].program.map { " of program “\(configuration.programs[$0].name)”" } ?? ""
            let isOn = schedule.everOn(entry, from: start)
            return "never played: \(entries[entry].source.location)\(program), "
                + (isOn ? "as a higher priority is on at all its times" : "as its time does not come in the next thirteen months")
        }
        let shownHoles = holes.prefix(10).map { "nothing is played from \(shown($0.0)) to \(shown($0.1))" }
        let more = holes.count > 10 ? ["and at \(holes.count - 10) more times within the week"] : []
        return never + shownHoles + more
    }
}
