import KioskSchedule
// [place], [[program]] and [[at]]; and the time keys of a playlist's entries.
import KioskVocabulary

extension Configuration {
    /// `[place]`.
    package struct Place: Hashable, Sendable {
        /// A name of the time zone database; nil for the machine's time zone.
        package var timeZone: String?
        /// Degrees; positive for north and east.
        package var latitude: Double?
        package var longitude: Double?
    }

    /// `[[program]]`: a playlist that replaces the main playlist at its own times.
    package struct Program: Hashable, Sendable {
        package var name = ""
        package var time = TimeRule()
        package var priority = 1
        package var changesAtOnce = false
        /// How often it plays between other items; nil if it replaces them.
        package var recurrence: Recurrence?
        /// Whether it switches the display off instead of playing.
        package var isNight = false
        package var playlist: [PlaylistEntry] = []
    }

    /// `[[at]]`: a command at a time of day.
    package struct Timer: Hashable, Sendable {
        package var moment = TimeOfDay("00:00")!
        /// Its days; its hours are nil.
        package var time = TimeRule()
        package var command = Command.player(.restartPlaylist)
        /// The command as written in the file.
        package var words = ""
    }
}

/// A row with a time rule.
protocol TimedRow: TableRow {
    var time: TimeRule { get set }
}

extension TimedRow {
    /// The keys of the days.
    static var dayKeys: [Key<Self>] {
        keyList {
            """
            Days of the week, such as "mon-fri, sun". Hours after midnight belong to the day on which they
            began. No default: each day. An example:
            """
            Key(
                "days", \.time.days, .text("days of the week such as \"mon-fri, sun\""), example: "\"mon-fri\"")
            """
            First and last day, such as "2026-12-01", or "12-01" for every year. The time may begin in one
            year and end in the next. No default: always. An example:
            """
            Key("from", \.time.from, .text("a day such as \"2026-12-01\" or \"12-01\", in quotes"), example: "\"12-01\"")
            Key("until", \.time.until, .text("a day such as \"2026-12-24\" or \"12-24\", in quotes"), example: "\"12-24\"")
        }
    }

    /// The keys of the days and hours.
    static var timeKeys: [Key<Self>] {
        var keys = dayKeys
        keys.insert(
            contentsOf: keyList {
                """
                Hours of these days, one span or several: "09:00-18:00, 20:00-02:00". A span that ends before it
                begins goes on after midnight; 24:00 is the end of a day. "sunrise" and "sunset" are times, too,
                and so are "sunset-30m" and "sunrise+1h": set the place in [place]. No default: all day long.
                An example:
                """
                Key(
                    "hours", \.time.hours, .text("spans of a day such as \"09:00-18:00\" or \"sunset-23:30\", with commas between them"),
                    example: "\"09:00-18:00\"")
            }, at: 1)
        return keys
    }

    static func checkTime(_ row: Self, _ table: TableReader) {
        if row.time.isBackwards { table.complain("expected a day that is not before from", about: "until") }
        if row.time.isMixed { table.complain("from and until are both days of one year, or both of each year", about: "until") }
    }
}

extension Configuration.Place: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        Time zone of days and hours, by its name in the time zone database; timedatectl list-timezones
        lists the names. No default: the time zone of the machine. An example:
        """
        Key(
            "time-zone", \.timeZone, .line("a time zone such as \"Europe/Berlin\"", longest: 100), example: "\"Europe/Berlin\"",
            objection: { TimeZoneRules(named: $0) == nil ? "there is no time zone “\($0)”; timedatectl list-timezones lists them" : nil })
        """
        Place of the display, in degrees, for sunrise and sunset: south and west are negative. No default:
        the sun rises at 06:00 and sets at 18:00. An example:
        """
        Key("latitude", \.latitude, .degrees(90), example: "52.52")
        Key("longitude", \.longitude, .degrees(180), example: "13.40")
    }

    static func check(_ row: inout Self, _ table: TableReader) {
        if row.latitude != nil { table.require("longitude", "latitude alone is no place") }
        if row.longitude != nil { table.require("latitude", "longitude alone is no place") }
    }
}

extension Configuration.Program: TimedRow {
    static let keys: [Key<Self>] = keyList {
        "Name of the program in kiosk schedule and in the log. Every program needs one."
        Key("name", \.name, .line("a name", longest: 100), example: "\"evening\"", missing: "give it a name")
        for key in timeKeys { key }
        """
        Of all programs that are on, kiosk plays the one with the highest priority. If several have that
        priority, kiosk plays all of these, one after the other. The playlist of [[playlist]] has priority
        0. If a program has nothing to play, kiosk plays the next one.
        """
        Key("priority", \.priority, .priority)
        """
        "boundary" waits for the end of the current item when the program begins or ends. "now" does not
        wait.
        """
        Key("at", \.changesAtOnce, Kind<ChangeMoment>.word.map({ $0 == .now }, back: { $0 ? .now : .boundary }))
        """
        Interval at which kiosk plays one item of this program: "10m", "2h" or "5 items". The item comes
        between those of the other programs or of the playlist, and does not replace them. With at = "now"
        kiosk interrupts the current item, and resumes it afterwards. kiosk ignores the priority of such a
        program. No default. An example:
        """
        Key("every", \.recurrence, .text("how often, such as \"10m\", \"2h\" or \"5 items\""), example: "\"10m\"")
        """
        Set true to switch the display off for the time of the program. kiosk then shows and plays nothing
        until the program ends, unless a program with a higher priority is on. Such a program has no
        playlist.
        """
        Key("off", \.isNight, .flag)
        """
        Playlist of the program: [[program.playlist]] has the keys of [[playlist]], and belongs to the
        [[program]] above it.
        """
        Key(list: "program.playlist", \.playlist, explainedIn: "playlist")
    }

    static func check(_ row: inout Self, _ table: TableReader) {
        checkTime(row, table)
        if row.isNight, row.recurrence != nil {
            table.complain("a program that switches the display off cannot play in between", about: "every")
        }
        if row.isNight, !row.playlist.isEmpty { table.complain("plays nothing: leave [[program.playlist]] out", about: "off") }
        if !row.isNight, row.playlist.isEmpty { table.require("playlist", "give it a playlist: [[program.playlist]]") }
    }

    private enum ChangeMoment: String, CaseIterable {
        case boundary, now
    }
}

extension Configuration.Timer: TimedRow {
    static let keys: [Key<Self>] = keyList {
        #"Time of day, or "sunset", "sunrise+30m" and so on."#
        Key(
            "time", \.moment, .text("a time such as \"04:00\" or \"sunset+30m\""), example: "\"04:00\"",
            missing: "give a time", objection: { $0.anchor == .midnight && $0.minutes == 1440 ? "expected a time before 24:00" : nil })
        """
        A command as in [input.keys], but "restart" ends the player and starts it again. If the player
        starts after this time, it catches up. It sets the last volume, rate and rotation, and switches
        the display off or on as the last command did. It skips other commands.
        """
        Key(
            "do", \.command,
            .command(otherwise: "leave the [[at]] out to do nothing") { CommandWords(folder: $0, restart: .program(.restart)) },
            example: "\"restart\"", missing: "give a command")
        for key in dayKeys { key }
    }

    static func check(_ row: inout Self, _ table: TableReader) {
        checkTime(row, table)
        row.words = table.entry("do")?.value.kind.string ?? ""
    }
}

extension Kind where Value == Int {
    /// A priority.
    static var priority: Self { number(in: -1000...1000) }
}

extension Kind where Value == Double {
    /// A number of degrees, of either sign.
    static func degrees(_ most: Double) -> Self {
        Self(
            "degrees from -\(Int(most)) to \(Int(most))",
            schema: "\"type\": \"number\", \"minimum\": -\(Int(most)), \"maximum\": \(Int(most))",
            shown: { "\($0)" }
        ) { value, _ in
            switch value {
            case .integer(let number): abs(Double(number)) <= most ? Double(number) : nil
            case .float(let number): abs(number) <= most ? number : nil
            default: nil
            }
        }
    }
}

extension Configuration {
    /// The entries of the playlist, followed by those of all programs.
    package var entries: [PlaylistEntry] { playlist + programs.flatMap(\.playlist) }

    /// The clock of days and hours.
    package var clock: LocalClock {
        let coordinates = place.latitude.flatMap { latitude in place.longitude.map { GeographicPlace(latitude: latitude, longitude: $0) } }
        return LocalClock(zone: place.timeZone.flatMap { TimeZoneRules(named: $0) } ?? .local, place: coordinates)
    }

    /// The schedule of ``entries``.
    package var schedule: Schedule {
        let own = playlist.map { Schedule.Entry([$0.time], rank: .init(entry: $0.priority)) }
        let others = programs.enumerated().flatMap { number, program in
            program.playlist.map { entry in
                Schedule.Entry(
                    [program.time, entry.time], rank: .init(program: program.priority, entry: entry.priority), program: number,
                    isInBetween: program.recurrence != nil)
            }
        }
        let nights = programs.enumerated().filter(\.element.isNight).map { number, program in
            Schedule.Entry([program.time], rank: .init(program: program.priority), program: number)
        }
        return Schedule(own + others, nights: nights, clock: clock)
    }
}
