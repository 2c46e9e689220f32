import KioskSchedule
import TestSupport
import Testing

@testable import KioskConfiguration

/// Tests of docs/recipes.md: each link leads to a recipe, and each kiosk.conf does what its heading says.
/// `RecipeCommandTests` run the commands of the page.
@Suite struct RecipesTests {
    /// Returns the anchor that GitHub generates for a heading.
    private func anchor(_ heading: String) -> String {
        let kept = heading.lowercased().filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" }
        return kept.replacing(" ", with: "-")
    }

    private func configuration(of heading: String) throws -> Configuration {
        let text = try #require(try RecipePage().configuration(of: heading), "\(heading)")
        return try parsed(text)
    }

    /// Returns the instant of an hour on Friday, 27 November 2026, by the clock of a kiosk.conf.
    private func instant(_ hour: Int, _ configuration: Configuration) throws -> Int64 {
        let date = try #require(CalendarDate("2026-11-27"))
        return configuration.clock.zone.firstInstant(notBefore: LocalTime(date, second: hour * 3600))
    }

    @Test func `each recipe has a link, and each link a recipe`() throws {
        let page = try RecipePage()
        let links = page.introduction.matches(of: #/\[([^\]]+)\]\(#([^)]+)\)/#)
        let headings = page.recipes.map(\.heading)
        #expect(headings.count >= 17)
        #expect(links.map { String($0.output.1) } == headings)
        #expect(links.map { String($0.output.2) } == headings.map(anchor))
        for recipe in page.recipes { #expect(!recipe.blocks.isEmpty, "\(recipe.heading)") }
    }

    @Test func `each kiosk.conf is whole and without a mistake`() throws {
        let texts = try RecipePage().configurations
        #expect(texts.count >= 12)
        for text in texts {
            let isWhole = text.contains("[[playlist]]\nsource = ")
            #expect(isWhole, "\(text)")
            #expect(throws: Never.self, "\(text)") { _ = try parsed(text) }
        }
    }

    @Test func `the display is on from 9 to 18 h`() throws {
        let configuration = try configuration(of: "Play only from 9 to 18 h")
        let schedule = configuration.schedule
        for (hour, isDark) in [(0, true), (8, true), (9, false), (10, false), (17, false), (18, true), (20, true)] {
            let moment = schedule.moment(at: try instant(hour, configuration))
            #expect(moment.isDark == isDark, "\(hour) h")
            #expect(schedule.played(of: moment.on) == [0], "\(hour) h")
        }
    }

    @Test func `commands come at the times that the recipes name`() throws {
        let volume = try configuration(of: "Lower the volume at night").timers
        #expect(volume.map(\.words) == ["volume 20", "volume 80"])
        #expect(volume.map { $0.moment.description } == ["22:00", "07:00"])
        let restart = try configuration(of: "Restart at 4").timers
        #expect(restart.map(\.words) == ["restart"])
        #expect(restart.map { $0.moment.description } == ["04:00"])
        #expect((volume + restart).allSatisfy { $0.time.isAlways })
    }
}
