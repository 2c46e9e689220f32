import KioskConfiguration
import KioskPlatform
import KioskSchedule
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskContent

/// Scheduling rules from the documentation of other players, written in kiosk.conf, with answers worked out by hand from each rule.
///
/// Xibo: the pages "scheduling" to "scheduling_repeats" of xibosignage.com/manual/en, and github.com/xibosignage/xibo/issues. Anthias:
/// website/content/docs/asset-scheduling.md and display-schedule.md of github.com/Screenly/Anthias. BrightSign: the pages "Schedule",
/// "Schedule APIs" and "Time/Clock Event" of brightsign.atlassian.net/wiki/spaces/DOC, and the user guides of BrightAuthor.
///
/// kiosk.conf cannot express some of their rules:
/// - A day of each month, or the third Thursday (Xibo): give each month an entry. The third Thursday of June is `days = "thu"`,
///   `from = "06-15"`, `until = "06-21"`.
/// - Every other week (Xibo): give each week an entry with `from` and `until`.
/// - Each 45 minutes at fixed times (Xibo, BrightSign): list the times in `hours`, or count minutes with `every`.
/// - A percentage of an hour (Xibo): `every`, `weight` or `repeat`. For a tenth, play a minute with `every = "10m"`.
/// - Interleave the items of two campaigns (Xibo): name the items one after the other. kiosk plays all items of one program, then those of
///   the next.
/// - Overlap of interruptions is an error (BrightSign): kiosk plays the one with the higher priority.
/// - Seconds (Anthias): kiosk's times are to the minute.
@Suite(.needs("tzdata", TimeZoneRules(named: "Europe/Berlin") != nil)) struct NeighbourTests {
    enum Player: String, Sendable {
        case xibo = "Xibo"
        case anthias = "Anthias"
        case brightSign = "BrightSign"
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var player: Player
        /// The rule of that player.
        var rule: String
        var conf: String
        var zone: String
        /// Sources without content.
        var empty: Set<String>
        var isClockRight: Bool
        /// Times by the clock of the zone, or with their distance from UTC, and the round that plays then.
        ///
        /// A round is a list of items, then each item in between with "+" before it. It is "dark" or "nothing" if no item plays.
        var answers: KeyValuePairs<String, String>

        init(
            _ name: String, _ player: Player, _ rule: String, _ conf: String, zone: String = "Europe/Berlin", empty: Set<String> = [],
            isClockRight: Bool = true, plays answers: KeyValuePairs<String, String>
        ) {
            (self.name, self.player, self.rule, self.conf) = (name, player, rule, conf)
            (self.zone, self.empty, self.isClockRight, self.answers) = (zone, empty, isClockRight, answers)
        }

        var testDescription: String { "\(player.rawValue): \(name)" }
    }

    @Test("What plays when, as other players document it", arguments: days + nights + dates + ranks + clocks) func plays(
        _ given: Case
    ) throws {
        let configuration = try read("[place]\ntime-zone = \"\(given.zone)\"\n" + given.conf)
        for (time, round) in given.answers {
            let instant = try instant(time, in: configuration.clock.zone)
            let found = try played(configuration, at: instant, isRight: given.isClockRight, empty: given.empty)
            #expect(found == round, "\(time): \(given.rule)")
        }
    }

    // MARK: Days and hours

    static let days: [Case] = [
        Case(
            "an event that is always on", .xibo, "A layout with the day part Always is on the schedule at any time.",
            """
            [[playlist]]
            source = "welcome.mp4"
            """, plays: ["2026-11-27 03:00": "welcome", "2027-01-01 00:00": "welcome", "2031-07-06 12:00": "welcome"]),
        Case(
            "the default layout", .xibo, "Without an event the display shows its default layout.",
            """
            [playback]
            fallback = "default.mp4"
            [[playlist]]
            source = "lunch.mp4"
            hours = "12:00-14:00"
            """,
            plays: [
                "2026-11-27 11:59": "default", "2026-11-27 12:00": "lunch", "2026-11-27 13:59": "lunch", "2026-11-27 14:00": "default",
            ]),
        Case(
            "an event whose content is missing", .xibo, "If a fault keeps an event from the screen, the default layout takes its place.",
            """
            [[playlist]]
            source = "loop.mp4"
            [[program]]
            name = "offers"
            [[program.playlist]]
            source = "offers/"
            """, empty: ["offers"], plays: ["2026-11-27 12:00": "loop"]),
        Case(
            "active all day, every day", .brightSign, "Such a presentation begins at 00:00 of every day and lasts 24 hours.",
            """
            [[playlist]]
            source = "loop.mp4"
            [[program]]
            name = "show"
            hours = "00:00-24:00"
            [[program.playlist]]
            source = "show.mp4"
            """,
            plays: [
                "2026-11-27 00:00": "show", "2026-11-27 23:59": "show", "2026-03-29 03:00": "show", "2026-10-25 02:30+01:00": "show",
            ]),
        Case(
            "weekdays only", .anthias, "An asset plays on the days of its list, from midnight to midnight.",
            """
            [[playlist]]
            source = "offers.mp4"
            days = "mon-fri"
            """,
            plays: [
                "2026-11-27 23:59": "offers", "2026-11-28 00:00": "nothing", "2026-11-29 23:59": "nothing", "2026-11-30 00:00": "offers",
            ]),
        Case(
            "weekday business hours", .anthias, "The window has its first minute and leaves its end out.",
            """
            [[playlist]]
            source = "offers.mp4"
            days = "mon-fri"
            hours = "09:00-17:00"
            """,
            plays: [
                "2026-11-27 08:59": "nothing", "2026-11-27 09:00": "offers", "2026-11-27 16:59": "offers", "2026-11-27 17:00": "nothing",
                "2026-11-28 12:00": "nothing",
            ]),
        Case(
            "a lunch menu beside an asset without times", .anthias, "All active assets take turns in their order.",
            """
            [[playlist]]
            source = "loop.mp4"
            [[playlist]]
            source = "lunch.mp4"
            hours = "11:30-14:00"
            """,
            plays: [
                "2026-11-27 11:29": "loop", "2026-11-27 11:30": "loop, lunch", "2026-11-27 13:59": "loop, lunch",
                "2026-11-27 14:00": "loop",
            ]),
        Case(
            "Monday mornings of five weeks", .anthias, "The dates, the day and the hours must all hold.",
            """
            [[playlist]]
            source = "week.mp4"
            days = "mon"
            hours = "09:00-12:00"
            from = "2026-11-02"
            until = "2026-11-30"
            """,
            plays: [
                "2026-10-26 10:00": "nothing", "2026-11-02 09:00": "week", "2026-11-03 10:00": "nothing", "2026-11-30 11:59": "week",
                "2026-11-30 12:00": "nothing", "2026-12-07 10:00": "nothing",
            ]),
        Case(
            "breakfast with exceptions at the weekend", .xibo, "A day part may begin and end at other times on some days.",
            """
            [[playlist]]
            source = "breakfast.mp4"
            days = "mon-fri"
            hours = "06:00-10:00"
            [[playlist]]
            source = "breakfast.mp4"
            days = "sat, sun"
            hours = "08:00-11:00"
            """,
            plays: [
                "2026-11-27 06:00": "breakfast", "2026-11-27 10:00": "nothing", "2026-11-28 07:59": "nothing",
                "2026-11-28 10:59": "breakfast", "2026-11-29 11:00": "nothing", "2026-11-30 06:00": "breakfast",
            ]),
        Case(
            "breakfast, lunch and dinner", .xibo, "Day parts divide a day. Where one ends, the next begins.",
            """
            [[playlist]]
            source = "breakfast.mp4"
            hours = "06:00-11:00"
            [[playlist]]
            source = "lunch.mp4"
            hours = "11:00-16:00"
            [[playlist]]
            source = "dinner.mp4"
            hours = "16:00-22:00"
            """,
            plays: [
                "2026-11-27 10:59": "breakfast", "2026-11-27 11:00": "lunch", "2026-11-27 15:59": "lunch", "2026-11-27 16:00": "dinner",
                "2026-11-27 22:00": "nothing",
            ]),
        Case(
            "one layout in two day parts", .xibo, "A campaign takes the same layout once for the morning and once for the evening.",
            """
            [[playlist]]
            source = "commuters.mp4"
            hours = "06:00-09:00, 17:00-20:00"
            """,
            plays: [
                "2026-11-27 08:59": "commuters", "2026-11-27 09:00": "nothing", "2026-11-27 16:59": "nothing",
                "2026-11-27 17:00": "commuters", "2026-11-27 20:00": "nothing",
            ]),
        Case(
            "a weekly pattern over the end of the week", .brightSign, "A weekly event has a box to tick for each day.",
            """
            [[playlist]]
            source = "long-weekend.mp4"
            days = "fri-mon"
            """,
            plays: [
                "2026-11-26 12:00": "nothing", "2026-11-27 12:00": "long-weekend", "2026-11-29 12:00": "long-weekend",
                "2026-11-30 12:00": "long-weekend", "2026-12-01 12:00": "nothing",
            ]),
        Case(
            "a change that lasts until the next one", .brightSign,
            "A list of moments: from Monday 01:00 one film, from Saturday 01:00 another.",
            """
            [[playlist]]
            source = "weekday.mp4"
            [[program]]
            name = "weekend"
            [[program.playlist]]
            source = "weekend.mp4"
            days = "sat"
            hours = "01:00-24:00"
            [[program.playlist]]
            source = "weekend.mp4"
            days = "sun"
            [[program.playlist]]
            source = "weekend.mp4"
            days = "mon"
            hours = "00:00-01:00"
            """,
            plays: [
                "2026-11-28 00:59": "weekday", "2026-11-28 01:00": "weekend", "2026-11-29 00:30": "weekend", "2026-11-30 00:59": "weekend",
                "2026-11-30 01:00": "weekday",
            ]),
    ]

    // MARK: Over midnight

    static let nights: [Case] = [
        Case(
            "a Friday night", .anthias, "A window whose end comes before its start goes on after midnight.",
            """
            [[playlist]]
            source = "party.mp4"
            days = "fri"
            hours = "22:00-02:00"
            """,
            plays: [
                "2026-11-27 01:00": "nothing", "2026-11-27 21:59": "nothing", "2026-11-27 22:00": "party", "2026-11-28 01:59": "party",
                "2026-11-28 02:00": "nothing", "2026-11-28 22:00": "nothing",
            ]),
        Case(
            "the night of Monday", .anthias, "The days of a window are those on which it starts.",
            """
            [[playlist]]
            source = "night.mp4"
            days = "mon"
            hours = "22:00-06:00"
            """,
            plays: [
                "2026-11-23 21:30": "nothing", "2026-11-23 22:00": "night", "2026-11-23 23:30": "night", "2026-11-24 02:30": "night",
                "2026-11-24 06:00": "nothing", "2026-11-24 22:00": "nothing", "2026-11-25 02:30": "nothing", "2026-11-23 02:30": "nothing",
            ]),
        Case(
            "a day part over midnight on each day", .xibo, "A day part from 16:00 to 01:00 lasts nine hours, each day.",
            """
            [[playlist]]
            source = "bar.mp4"
            hours = "16:00-01:00"
            """,
            plays: [
                "2026-11-27 00:59": "bar", "2026-11-27 01:00": "nothing", "2026-11-27 15:59": "nothing", "2026-11-27 16:00": "bar",
                "2026-11-28 00:59": "bar",
            ]),
        Case(
            "a start and a length", .brightSign, "An event starts at 22:00 on Saturdays and lasts four hours.",
            """
            [[playlist]]
            source = "club.mp4"
            days = "sat"
            hours = "22:00-02:00"
            """,
            plays: [
                "2026-11-28 01:00": "nothing", "2026-11-28 22:00": "club", "2026-11-29 01:59": "club", "2026-11-29 02:00": "nothing",
                "2026-11-29 23:00": "nothing",
            ]),
        Case(
            "a day part that ends when it starts", .xibo, "Such a day part lasts for a whole day. kiosk wants it in two spans.",
            """
            [[playlist]]
            source = "day.mp4"
            days = "fri"
            hours = "06:00-18:00, 18:00-06:00"
            """,
            plays: [
                "2026-11-27 05:59": "nothing", "2026-11-27 06:00": "day", "2026-11-27 18:00": "day", "2026-11-28 05:59": "day",
                "2026-11-28 06:00": "nothing",
            ]),
        // Anthias ends the asset at the moment of its end date, in the middle of the night. kiosk plays the night to its end.
        Case(
            "the last night of a campaign", .anthias, "The window of the last day goes on after midnight.",
            """
            [[playlist]]
            source = "advent.mp4"
            hours = "20:00-04:00"
            from = "2026-12-01"
            until = "2026-12-24"
            """,
            plays: [
                "2026-12-01 03:00": "nothing", "2026-12-01 20:00": "advent", "2026-12-24 03:59": "advent", "2026-12-24 23:00": "advent",
                "2026-12-25 03:59": "advent", "2026-12-25 04:00": "nothing", "2026-12-25 20:00": "nothing",
            ]),
        Case(
            "the display is on for Friday night only", .anthias,
            "The days are those on which the display comes on; it is off at all other times.",
            """
            [[program]]
            name = "closed"
            off = true
            [[program]]
            name = "open"
            priority = 2
            days = "fri"
            hours = "18:00-06:00"
            [[program.playlist]]
            source = "club.mp4"
            """,
            plays: [
                "2026-11-27 17:30": "dark", "2026-11-27 18:00": "club", "2026-11-28 02:00": "club", "2026-11-28 06:00": "dark",
                "2026-11-28 18:00": "dark",
            ]),
    ]

    // MARK: Dates

    static let dates: [Case] = [
        // Anthias writes the midnight at which it ends, the 28th; `until` is the last day.
        Case(
            "a single day", .anthias, "An asset is active from one midnight to the next.",
            """
            [[playlist]]
            source = "takeover.mp4"
            from = "2026-11-27"
            until = "2026-11-27"
            """,
            plays: [
                "2026-11-26 23:59": "nothing", "2026-11-27 00:00": "takeover", "2026-11-27 23:59": "takeover",
                "2026-11-28 00:00": "nothing",
            ]),
        Case(
            "every weekend from one day until another", .brightSign, "A recurring event has a first day and a last one.",
            """
            [[playlist]]
            source = "market.mp4"
            days = "sat, sun"
            from = "2026-11-28"
            until = "2026-12-06"
            """,
            plays: [
                "2026-11-22 12:00": "nothing", "2026-11-28 00:00": "market", "2026-12-01 12:00": "nothing", "2026-12-06 23:59": "market",
                "2026-12-12 12:00": "nothing",
            ]),
        Case(
            "no end date", .brightSign, "A recurring event without a last day goes on for ever.",
            """
            [[playlist]]
            source = "new.mp4"
            from = "2026-12-01"
            """, plays: ["2026-11-30 23:59": "nothing", "2026-12-01 00:00": "new", "2046-02-28 12:00": "new"]),
        Case(
            "an evening of one date", .brightSign, "An event that does not recur has a date, a start and a length.",
            """
            [[playlist]]
            source = "concert.mp4"
            hours = "20:00-23:00"
            from = "2026-11-27"
            until = "2026-11-27"
            """,
            plays: [
                "2026-11-26 21:00": "nothing", "2026-11-27 19:59": "nothing", "2026-11-27 20:00": "concert", "2026-11-27 23:00": "nothing",
                "2026-11-28 21:00": "nothing",
            ]),
        Case(
            "each year from Christmas to Epiphany", .xibo, "An event of several days repeats yearly, over the end of a year.",
            """
            [[playlist]]
            source = "christmas.mp4"
            from = "12-24"
            until = "01-06"
            """,
            plays: [
                "2026-12-23 23:59": "nothing", "2026-12-24 00:00": "christmas", "2027-01-01 00:00": "christmas",
                "2027-01-06 23:59": "christmas", "2027-01-07 00:00": "nothing", "2031-12-31 12:00": "christmas",
            ]),
        // The year 2028 has a leap day, 2027 and 2100 have none.
        Case(
            "a birthday on the leap day", .xibo, "An event repeats yearly on its date.",
            """
            [[playlist]]
            source = "birthday.mp4"
            from = "02-29"
            until = "02-29"
            """,
            plays: [
                "2027-02-28 12:00": "nothing", "2027-03-01 12:00": "nothing", "2028-02-28 23:59": "nothing", "2028-02-29 00:00": "birthday",
                "2028-02-29 23:59": "birthday", "2028-03-01 00:00": "nothing", "2100-02-28 12:00": "nothing", "2100-03-01 12:00": "nothing",
            ]),
        Case(
            "the third Thursday of June", .xibo, "An event repeats on the third Thursday. It lies between the 15th and the 21st.",
            """
            [[playlist]]
            source = "meeting.mp4"
            days = "thu"
            from = "06-15"
            until = "06-21"
            """,
            plays: [
                "2026-06-11 12:00": "nothing", "2026-06-17 12:00": "nothing", "2026-06-18 12:00": "meeting", "2026-06-25 12:00": "nothing",
                "2027-06-17 12:00": "meeting", "2027-06-18 12:00": "nothing",
            ]),
        Case(
            "one instance taken out of a recurring event", .xibo, "The schedule goes on without it; all other instances stay.",
            """
            [[playlist]]
            source = "loop.mp4"
            [[program]]
            name = "fridays"
            days = "fri"
            hours = "18:00-20:00"
            [[program.playlist]]
            source = "quiz.mp4"
            [[program]]
            name = "no quiz"
            priority = 2
            hours = "18:00-20:00"
            from = "2026-11-27"
            until = "2026-11-27"
            [[program.playlist]]
            source = "loop.mp4"
            """, plays: ["2026-11-20 19:00": "quiz", "2026-11-27 19:00": "loop", "2026-12-04 19:00": "quiz", "2026-12-04 20:00": "loop"]),
    ]

    // MARK: Priorities and shares

    static let ranks: [Case] = [
        Case(
            "the only thing on the screen", .xibo, "An event with a higher priority overrides all others. When it ends, they go on.",
            """
            [[playlist]]
            source = "loop.mp4"
            [[program]]
            name = "ads"
            [[program.playlist]]
            source = "ads.mp4"
            [[program]]
            name = "fire alarm test"
            priority = 5
            days = "wed"
            hours = "11:00-11:10"
            [[program.playlist]]
            source = "test.mp4"
            """,
            plays: [
                "2026-11-25 10:59": "ads", "2026-11-25 11:00": "test", "2026-11-25 11:09": "test", "2026-11-25 11:10": "ads",
                "2026-11-26 11:00": "ads",
            ]),
        Case(
            "three priorities, one inside the other", .xibo, "At each time only the highest priority plays.",
            """
            [[program]]
            name = "inner"
            priority = 3
            hours = "12:00-14:00"
            [[program.playlist]]
            source = "inner.mp4"
            [[program]]
            name = "outer"
            priority = 1
            hours = "08:00-18:00"
            [[program.playlist]]
            source = "outer.mp4"
            [[program]]
            name = "middle"
            priority = 2
            hours = "10:00-16:00"
            [[program.playlist]]
            source = "middle.mp4"
            """,
            plays: [
                "2026-11-27 07:59": "nothing", "2026-11-27 08:00": "outer", "2026-11-27 10:00": "middle", "2026-11-27 12:00": "inner",
                "2026-11-27 14:00": "middle", "2026-11-27 16:00": "outer", "2026-11-27 18:00": "nothing",
            ]),
        Case(
            "events of one priority", .xibo, "They take turns in their order, each campaign as a block.",
            """
            [[playlist]]
            source = "loop.mp4"
            [[program]]
            name = "first"
            priority = 2
            hours = "10:00-14:00"
            [[program.playlist]]
            source = "a.mp4"
            [[program.playlist]]
            source = "b.mp4"
            [[program]]
            name = "second"
            priority = 2
            hours = "12:00-16:00"
            [[program.playlist]]
            source = "c.mp4"
            """,
            plays: [
                "2026-11-27 09:59": "loop", "2026-11-27 10:00": "a, b", "2026-11-27 12:00": "a, b, c", "2026-11-27 14:00": "c",
                "2026-11-27 16:00": "loop",
            ]),
        Case(
            "an interruption at noon", .brightSign, "A new event interrupts an existing one, which goes on afterwards.",
            """
            [[program]]
            name = "day"
            hours = "08:00-17:00"
            [[program.playlist]]
            source = "day.mp4"
            [[program]]
            name = "noon"
            priority = 2
            at = "now"
            hours = "12:00-13:00"
            [[program.playlist]]
            source = "noon.mp4"
            """,
            plays: [
                "2026-11-27 11:59": "day", "2026-11-27 12:00": "noon", "2026-11-27 12:59": "noon", "2026-11-27 13:00": "day",
                "2026-11-27 17:00": "nothing",
            ]),
        Case(
            "an interruption that outlasts its event", .brightSign, "An interruption has a start and a length of its own.",
            """
            [[program]]
            name = "day"
            hours = "08:00-17:00"
            [[program.playlist]]
            source = "day.mp4"
            [[program]]
            name = "evening"
            priority = 2
            hours = "16:00-19:00"
            [[program.playlist]]
            source = "evening.mp4"
            """,
            plays: [
                "2026-11-27 15:59": "day", "2026-11-27 16:00": "evening", "2026-11-27 17:00": "evening", "2026-11-27 19:00": "nothing",
            ]),
        Case(
            "an event at intervals within hours", .brightSign, "It comes again and again between two times, on some days.",
            """
            [[playlist]]
            source = "loop.mp4"
            [[program]]
            name = "safety"
            every = "10m"
            days = "mon-fri"
            hours = "09:00-17:00"
            [[program.playlist]]
            source = "safety.mp4"
            """,
            plays: [
                "2026-11-27 08:59": "loop", "2026-11-27 09:00": "loop + safety", "2026-11-27 16:59": "loop + safety",
                "2026-11-27 17:00": "loop", "2026-11-28 12:00": "loop",
            ]),
        Case(
            "more plays for one campaign", .xibo, "The schedule spreads the plays that a campaign must reach.",
            """
            [[playlist]]
            source = "a.mp4"
            weight = 2
            [[playlist]]
            source = "b.mp4"
            [[playlist]]
            source = "c.mp4"
            """, plays: ["2026-11-27 12:00": "a, b, a, c"]),
        Case(
            "a play count of two", .xibo, "A campaign plays a layout twice before it moves on to the next one.",
            """
            [[playlist]]
            source = "a.mp4"
            repeat = 2
            [[playlist]]
            source = "b.mp4"
            """, plays: ["2026-11-27 12:00": "a twice, b"]),
    ]

    // MARK: Clocks

    /// Berlin: clocks are put on at 2026-03-29 01:00 UTC, and back at 2026-10-25 01:00 UTC.
    static let clocks: [Case] = [
        Case(
            "the clock was never set", .brightSign, "Without a right clock only a presentation without times can be relied on.",
            """
            [[playlist]]
            source = "loop.mp4"
            [[program]]
            name = "offers"
            days = "mon-sun"
            [[program.playlist]]
            source = "offers.mp4"
            """, isClockRight: false, plays: ["1970-01-01 12:00": "loop", "2026-11-27 12:00": "loop"]),
        Case(
            "the time of the display", .xibo, "An event at 11:00 starts at 11:00 by the clock of each display.",
            """
            [[playlist]]
            source = "news.mp4"
            hours = "11:00-12:00"
            """, zone: "America/Halifax",
            plays: ["2026-11-27 11:00Z": "nothing", "2026-11-27 11:00-04:00": "news", "2026-11-27 15:59Z": "news"]),
        Case(
            "the time of the server", .xibo, "If an event runs by the server's time, a display four hours behind starts it at 07:00.",
            """
            [[playlist]]
            source = "news.mp4"
            hours = "11:00-12:00"
            """, zone: "UTC",
            plays: ["2026-11-27 07:00-04:00": "news", "2026-11-27 07:59-04:00": "news", "2026-11-27 11:00-04:00": "nothing"]),
        Case(
            "the day of the display", .anthias, "The local day counts. In Tokyo Monday starts on Sunday at 15:00 UTC.",
            """
            [[playlist]]
            source = "monday.mp4"
            days = "mon"
            """, zone: "Asia/Tokyo",
            plays: [
                "2026-11-29 14:59Z": "nothing", "2026-11-29 15:00Z": "monday", "2026-11-30 14:59Z": "monday",
                "2026-11-30 15:00Z": "nothing",
            ]),
        Case(
            "a window in the hour that is left out", .anthias, "On that day it does not come at all.",
            """
            [[playlist]]
            source = "loop.mp4"
            [[program]]
            name = "night"
            hours = "02:00-03:00"
            [[program.playlist]]
            source = "night.mp4"
            """,
            plays: [
                "2026-03-28 02:30": "night", "2026-03-29 01:59": "loop", "2026-03-29 00:59Z": "loop", "2026-03-29 01:00Z": "loop",
                "2026-03-29 03:00": "loop", "2026-03-30 02:30": "night",
            ]),
        Case(
            "a window in the hour that comes twice", .anthias, "On that day it comes twice.",
            """
            [[playlist]]
            source = "loop.mp4"
            [[program]]
            name = "night"
            hours = "02:15-02:45"
            [[program.playlist]]
            source = "night.mp4"
            """,
            plays: [
                "2026-10-25 02:14+02:00": "loop", "2026-10-25 02:15+02:00": "night", "2026-10-25 02:45+02:00": "loop",
                "2026-10-25 02:14+01:00": "loop", "2026-10-25 02:15+01:00": "night", "2026-10-25 02:44+01:00": "night",
                "2026-10-25 02:45+01:00": "loop",
            ]),
        // In London the clock goes from 00:59 to 02:00.
        Case(
            "a start in the hour that is left out", .xibo, "The start must not stay an hour late on the days that follow.",
            """
            [[playlist]]
            source = "loop.mp4"
            [[program]]
            name = "news"
            hours = "01:30-03:00"
            [[program.playlist]]
            source = "news.mp4"
            """, zone: "Europe/London",
            plays: [
                "2026-03-29 00:59Z": "loop", "2026-03-29 02:00+01:00": "news", "2026-03-29 02:59+01:00": "news",
                "2026-03-29 03:00+01:00": "loop", "2026-03-30 01:29": "loop", "2026-03-30 01:30": "news", "2026-10-26 01:30": "news",
            ]),
        Case(
            "a daily event keeps its hour", .xibo, "A recurring event is on at the same local time in summer and in winter.",
            """
            [[playlist]]
            source = "opening.mp4"
            hours = "09:00-10:00"
            """,
            plays: [
                "2026-03-28 08:00Z": "opening", "2026-03-29 06:59Z": "nothing", "2026-03-29 07:00Z": "opening",
                "2026-03-29 08:00Z": "nothing", "2026-10-24 07:00Z": "opening", "2026-10-25 07:59Z": "nothing",
                "2026-10-25 08:00Z": "opening",
            ]),
        Case(
            "nights of seven hours and of nine", .anthias, "The clock on the wall decides when a window ends.",
            """
            [[playlist]]
            source = "night.mp4"
            days = "sat"
            hours = "22:00-06:00"
            """,
            plays: [
                "2026-03-28 21:00Z": "night", "2026-03-29 03:59Z": "night", "2026-03-29 04:00Z": "nothing", "2026-10-24 19:59Z": "nothing",
                "2026-10-24 20:00Z": "night", "2026-10-25 00:30Z": "night", "2026-10-25 01:30Z": "night", "2026-10-25 04:59Z": "night",
                "2026-10-25 05:00Z": "nothing",
            ]),
    ]

    // MARK: In between

    struct Timeline: Sendable, CustomTestStringConvertible {
        var name: String
        var player: Player
        var rule: String
        var conf: String
        /// The length of each item.
        var seconds: [String: Int]
        /// The items with their beginnings, in minutes and seconds.
        var answer: [String]

        init(_ name: String, _ player: Player, _ rule: String, _ conf: String, seconds: [String: Int], plays answer: [String]) {
            (self.name, self.player, self.rule, self.conf, self.seconds, self.answer) = (name, player, rule, conf, seconds, answer)
        }

        var testDescription: String { "\(player.rawValue): \(name)" }
    }

    static let timelines: [Timeline] = [
        // Turns come due at 10:00, 20:00 and 30:00.
        Timeline(
            "so many seconds of each hour", .xibo, "An interrupt layout plays between two others, spread over the hour.",
            """
            [[playlist]]
            source = "film.mp4"
            [[program]]
            name = "notice"
            every = "10m"
            [[program.playlist]]
            source = "notice.mp4"
            """, seconds: ["film": 240, "notice": 45],
            plays: [
                "0:00 film", "4:00 film", "8:00 film", "12:00 notice", "12:45 film", "16:45 film", "20:45 notice", "21:30 film",
                "25:30 film", "29:30 film", "33:30 notice",
            ]),
        // Xibo then plays its interrupt layout several times in a row. kiosk plays it once.
        Timeline(
            "a film that is longer than the interval", .xibo, "The turns wait for the end of the film.",
            """
            [[playlist]]
            source = "film.mp4"
            [[program]]
            name = "notice"
            every = "10m"
            [[program.playlist]]
            source = "notice.mp4"
            """, seconds: ["film": 3300, "notice": 45], plays: ["0:00 film", "55:00 notice", "55:45 film", "110:45 notice", "111:30 film"]),
        // In kiosk the first turn comes after the first hour.
        Timeline(
            "at most one play an hour", .xibo, "An event may have a maximum number of plays per hour.",
            """
            [[playlist]]
            source = "film.mp4"
            [[program]]
            name = "promotion"
            every = "1h"
            [[program.playlist]]
            source = "promotion.mp4"
            """, seconds: ["film": 1500, "promotion": 10],
            plays: [
                "0:00 film", "25:00 film", "50:00 film", "75:00 promotion", "75:10 film", "100:10 film", "125:10 promotion", "125:20 film",
            ]),
        Timeline(
            "half of all plays", .xibo, "A share of 50 % with items of one length: one of the others, then one of these.",
            """
            [[playlist]]
            source = "film.mp4"
            [[program]]
            name = "ads"
            every = "1 item"
            [[program.playlist]]
            source = "a.mp4"
            [[program.playlist]]
            source = "b.mp4"
            """, seconds: ["film": 60, "a": 60, "b": 60],
            plays: ["0:00 film", "1:00 a", "2:00 film", "3:00 b", "4:00 film", "5:00 a"]),
        Timeline(
            "a quarter of all plays", .xibo, "A share of 25 % with items of one length: three of the others, then one of these.",
            """
            [[playlist]]
            source = "red.mp4"
            [[playlist]]
            source = "blue.mp4"
            [[program]]
            name = "notices"
            every = "3 items"
            [[program.playlist]]
            source = "notice.mp4"
            [[program.playlist]]
            source = "price.mp4"
            """, seconds: ["red": 60, "blue": 60, "notice": 60, "price": 60],
            plays: [
                "0:00 red", "1:00 blue", "2:00 red", "3:00 notice", "4:00 blue", "5:00 red", "6:00 blue", "7:00 price", "8:00 red",
            ]),
        // BrightSign counts the interval by the clock, kiosk from the end of the interruption. It is due at 10:00, 20:45 and 31:30.
        Timeline(
            "an event at intervals that interrupts", .brightSign, "An event in the middle of a film comes after so many minutes.",
            """
            [[playlist]]
            source = "film.mp4"
            [[program]]
            name = "call"
            every = "10m"
            at = "now"
            [[program.playlist]]
            source = "call.mp4"
            """, seconds: ["film": 960, "call": 45],
            plays: [
                "0:00 film", "10:00 call", "10:45 film again", "16:45 film", "20:45 call", "21:30 film again", "31:30 call",
                "32:15 film again", "34:15 film",
            ]),
    ]

    @Test("What plays in between, as other players document it", arguments: timelines) func playsInBetween(_ given: Timeline) throws {
        let configuration = try read(given.conf)
        #expect(try timeline(configuration, given.seconds, count: given.answer.count) == given.answer, "\(given.rule)")
    }

    // MARK: Mistakes

    struct Mistake: Sendable, CustomTestStringConvertible {
        var name: String
        var player: Player
        var rule: String
        var line: String

        init(_ name: String, _ player: Player, _ rule: String, _ line: String) {
            (self.name, self.player, self.rule, self.line) = (name, player, rule, line)
        }

        var testDescription: String { "\(player.rawValue): \(name)" }
    }

    /// Other players differ on some of these, so kiosk reports an error.
    static let mistakes: [Mistake] = [
        Mistake(
            "a window that ends when it starts", .anthias, "It is never open. To Xibo the same is a whole day.", "hours = \"09:00-09:00\""),
        Mistake("an end before the start", .anthias, "The asset is never active.", "from = \"2026-12-24\"\nuntil = \"2026-12-01\""),
        Mistake("a window with one end", .anthias, "Both times are set, or neither.", "hours = \"09:00-\""),
        Mistake("no day at all", .anthias, "At least one day is necessary.", "days = \"\""),
        Mistake("a day of each month", .xibo, "Events can repeat on a day of each month; kiosk has no such rule.", "from = \"15\""),
    ]

    @Test("What kiosk does not take", arguments: mistakes) func notTaken(_ given: Mistake) {
        #expect(throws: ConfigurationError.self, "\(given.rule)") { try read("[[playlist]]\nsource = \"a.mp4\"\n" + given.line) }
    }

    // MARK: Reading and playing

    private func read(_ text: String) throws -> Configuration {
        try Configuration.parse(Array(text.utf8), path: "kiosk.conf", folder: "/srv")
    }

    /// "2026-11-27 09:00", "2026-11-27 09:00+01:00" or "2026-11-27 08:00Z". The clock must show the first of these once on that day.
    private func instant(_ text: String, in zone: TimeZoneRules) throws -> Int64 {
        let match = try #require(text.wholeMatch(of: /(\S+) (..:..)(?:(Z)|([+-])(..:..))?/))
        let time = try #require(TimeOfDay(String(match.2)))
        let local = LocalTime(try #require(CalendarDate(String(match.1))), second: time.minutes * 60)
        let asUTC = Int64(local.date.day) * 86_400 + Int64(local.second)
        if match.3 != nil { return asUTC }
        guard let sign = match.4, let distance = match.5 else {
            let instants = zone.instants(of: local)
            try #require(instants.count == 1, "the clock shows \(text) \(instants.count) times")
            return instants[0]
        }
        let seconds = Int64(try #require(TimeOfDay(String(distance))).minutes) * 60
        return sign == "+" ? asUTC - seconds : asUTC + seconds
    }

    /// Returns the name of a source in the tables.
    private func name(_ source: String) -> String { String(source.split(separator: "/").last ?? "").replacing(".mp4", with: "") }

    /// Returns the round that the player gets at an instant. Every source has content, except the `empty` ones.
    private func played(_ configuration: Configuration, at instant: Int64, isRight: Bool, empty: Set<String>) throws -> String {
        let moment = configuration.schedule.moment(at: instant, isRight: isRight)
        if moment.isDark { return "dark" }
        var state = ExpansionState(PlaylistExpansion.Plan(configuration, on: moment.on), limit: .seconds(5))
        let now = HostTime(nanoseconds: 1_000_000_000)
        state.schedule = ExpansionSchedule(now: now)
        var items: [PlaylistItem] = []
        var inBetween: [Int: [PlaylistItem]] = [:]
        while let work = state.work(at: now, date: instant * 1_000_000_000) {
            for news in work.news {
                switch news {
                case .items(let told, _): items = told
                case .inBetween(let told): inBetween = told
                case .problem, .note: break
                }
            }
            while let entry = state.takeEntry(at: now, mostHung: 8) {
                var found = SourceExpansion()
                let source = configuration.entries[entry].source.location
                if !empty.contains(name(source)) { found.sources = [.init(source)] }
                state.found(found, in: entry, epoch: state.epoch, begun: now, isPartial: false, by: state.worker)
            }
        }
        if items.isEmpty { return "nothing" }
        let round = items.map { name($0.source) + ($0.repeatCount == 2 ? " twice" : "") }.joined(separator: ", ")
        let others = inBetween.keys.sorted().flatMap { inBetween[$0] ?? [] }.map { name($0.source) }
        return ([round] + others).joined(separator: " + ")
    }

    /// Plays the playlist round after round, with the items in between, until `count` items have begun.
    private func timeline(_ configuration: Configuration, _ seconds: [String: Int], count: Int) throws -> [String] {
        let films = configuration.playlist.map { name($0.source.location) }
        var programs: [Int: InterludeState.Program] = [:]
        for (number, program) in configuration.programs.enumerated() {
            programs[number] = .init(try #require(program.recurrence), isAtOnce: program.changesAtOnce, count: program.playlist.count)
        }
        var (state, second, lines) = (InterludeState(), 0, [String]())
        func now() -> HostTime { HostTime(nanoseconds: Int64(second) * 1_000_000_000) }
        func begin(_ item: String, isListed: Bool, isNew: Bool = true) {
            lines.append("\(second / 60):\(second % 60 < 10 ? "0" : "")\(second % 60) \(item)\(isNew ? "" : " again")")
            state.itemStarted(isListed: isListed, isNew: isNew, at: now())
        }
        func playBetween(_ turn: InterludeState.Turn) throws {
            let item = name(configuration.programs[turn.program].playlist[turn.item].source.location)
            begin(item, isListed: false)
            second += try #require(seconds[item])
        }
        state.set(programs, at: now())
        for round in 0..<count {
            let film = films[round % films.count]
            begin(film, isListed: true)
            var end = second + (try #require(seconds[film]))
            var waiting: [InterludeState.Turn] = []
            func take() throws {
                for turn in state.turns(at: now()) {
                    if programs[turn.program]!.isAtOnce {
                        let rest = end - second
                        try playBetween(turn)
                        begin(film, isListed: true, isNew: false)
                        end = second + rest
                    } else if !waiting.contains(where: { $0.program == turn.program }) {
                        waiting.append(turn)
                    }
                }
            }
            try take()
            while let due = state.deadline.map({ Int($0.nanoseconds / 1_000_000_000) }), due < end {
                second = max(second, due)
                try take()
            }
            second = end
            for turn in waiting { try playBetween(turn) }
        }
        return Array(lines.prefix(count))
    }
}
