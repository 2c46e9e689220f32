import KioskPlatform
import KioskSchedule
import KioskVocabulary
import Testing

@testable import KioskConfiguration

@Suite struct ZoneConfigurationTests {
    private func read(_ text: String) throws -> Configuration {
        try Configuration.parse(Array(text.utf8), path: "kiosk.conf", folder: "/srv")
    }

    private let text = """
        [display]
        gravity = "fill"
        region = "0 0 70 100"
        background = "#102030"
        [audio]
        volume = 40
        muted = true
        [playback]
        usb = "play"
        fallback = "sorry.png"
        image-duration = 7
        [[playlist]]
        source = "main.mp4"
        [[program]]
        name = "evening"
        [[program.playlist]]
        source = "evening.mp4"
        [[overlay]]
        name = "clock"
        kind = "clock"
        [[zone]]
        name = "quiet"
        region = "70 0 30 50"
        on-tap = "zone quiet next"
        [[zone.playlist]]
        source = "a.jpg"
        [[zone]]
        name = "loud"
        region = "70 50 30 50"
        gravity = "stretch"
        background = "#ffffff"
        volume = 30
        [[zone.playlist]]
        source = "b.mp4"
        gravity = "fit"
        hours = "09:00-18:00"
        """

    @Test func aZoneIsAPlayerOfItsOwn() throws {
        let configuration = try read(text)
        #expect(configuration.zones.map(\.name) == ["quiet", "loud"])
        #expect(configuration.entries.map(\.source.location) == ["/srv/main.mp4", "/srv/evening.mp4"])
        let (quiet, loud) = (
            configuration.configuration(of: configuration.zones[0]), configuration.configuration(of: configuration.zones[1])
        )
        #expect(quiet.entries.map(\.source.location) == ["/srv/a.jpg"] && quiet.zones == [] && quiet.overlays == [])
        #expect(quiet.display.region == Region(x: 0.7, y: 0, width: 0.3, height: 0.5))
        #expect(quiet.display.gravity == .resizeAspectFill && loud.display.gravity == .resize)
        #expect(quiet.display.background == Color("#102030") && loud.display.background == Color("#ffffff"))
        #expect(quiet.audio.volume == 0 && loud.audio.volume == 30 && !loud.audio.isMuted)
        // A silent zone does not decode sound.
        #expect(quiet.playlist[0].audioTrack == .off && loud.playlist[0].audioTrack == nil)
        #expect(quiet.playback.usb == .off && quiet.playback.fallback == nil && quiet.playback.imageDuration == .seconds(7))
        #expect(quiet.schedule.takesAll && !loud.schedule.takesAll)
        #expect(configuration.zones.map(\.takesTaps) == [true, false])
    }

    @Test func whatItemsSayOfTapsCountsToo() throws {
        let zones = try read(
            """
            [[zone]]
            name = "a"
            region = "0 0 50 50"
            [[zone.playlist]]
            source = "a.jpg"
            wait-for = "tap"
            [[zone]]
            name = "b"
            region = "50 50 50 50"
            [[zone.playlist]]
            source = "b.jpg"
            on-tap = "play c.mp4"
            """)
        #expect(zones.zones.map(\.takesTaps) == [true, true])
        #expect(zones.commandSources == ["/srv/c.mp4"])
    }

    @Test func theCommandLineBeatsIt() throws {
        var configuration = try read(text)
        configuration.gravity = .resizeAspect
        #expect(configuration.zones.allSatisfy { $0.gravity == nil && $0.playlist[0].gravity == nil })
        configuration.sources = ["/srv/other.mp4"]
        #expect(configuration.zones == [] && configuration.entries.count == 1)
    }

    @Test func aChangeNeedsNoRestart() throws {
        let (old, new) = (try read(text), try read(text + "\nvolume = 31\n"))
        let change = ConfigurationChange(from: old, to: new)
        #expect(change.applied == ["[[zone]]"] && change.postponed == [])
    }
}
