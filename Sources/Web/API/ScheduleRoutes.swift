import KioskCommands
import KioskConfiguration
import KioskPlatform
import KioskSchedule

/// The schedule of the next seven days.
enum ScheduleRoutes {
    static func routes(_ configuration: @escaping @Sendable () -> Configuration) -> [Route] {
        [
            Route(.get, "schedule", "Report what plays when, from now on for seven days.", scope: .view) { _ throws(APIError) in
                .json(200, Week(configuration()).facts(from: WallClock.now))
            }
        ]
    }

    /// A week of a configuration.
    struct Week {
        private let configuration: Configuration
        private let schedule: Schedule
        private static let mostChanges = 2000

        init(_ configuration: Configuration) { (self.configuration, schedule) = (configuration, configuration.schedule) }

        func facts(from clock: WallClock) -> JSONValue {
            let end = clock.seconds + 7 * 86_400
            var changes: [JSONValue] = []
            var time = clock.seconds
            while changes.count < Self.mostChanges {
                changes.append(change(at: time))
                guard let next = schedule.nextChange(ofWhatIsPlayedAfter: time, before: end) else { break }
                time = next
            }
            let commands = ScheduleState(schedule, timers: configuration.timers.map { ScheduleState.Timer($0.moment, $0.time) }).instants(
                after: clock.seconds, until: end
            ).prefix(Self.mostChanges).map { command in
                JSONValue.object([
                    "at": local(command.instant).json, "instant": command.instant.json,
                    "command": configuration.timers[command.timer].words.json,
                ])
            }
            return .object([
                "from": local(clock.seconds).json, "until": local(end).json, "clockIsSet": .bool(clock.isRight),
                "constant": .bool(schedule.isConstant), "changes": .array(changes), "commands": .array(commands),
            ])
        }

        private func local(_ instant: Int64) -> String {
            let local = schedule.clock.zone.local(at: instant)
            return "\(local.date)T\(local.clock)"
        }

        /// What plays from an instant on.
        private func change(at instant: Int64) -> JSONValue {
            let moment = schedule.moment(at: instant)
            let played = moment.isDark ? [] : schedule.played(of: moment.on)
            let inBetween = played.isEmpty ? [] : schedule.inBetween(of: moment.on)
            let entries = (played + inBetween).map { entry in
                let source = configuration.entries[entry]
                let program = schedule.entries[entry].program
                return JSONValue.object([
                    "title": (source.title ?? source.source.location.withoutCredentials).json,
                    "program": program.map { configuration.programs[$0].name }.json,
                    "time": (source.time.isAlways ? nil : source.time.description).json,
                    "inBetween": .bool(inBetween.contains(entry)),
                ])
            }
            return .object([
                "at": local(instant).json, "instant": instant.json, "dark": .bool(moment.isDark),
                "fallback": .bool(!moment.isDark && played.isEmpty && configuration.playback.fallback != nil), "entries": .array(entries),
            ])
        }
    }
}
