import Foundation
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskConfiguration

/// Tests of arrangement files: their values, and the error messages for mistakes in them.
@Suite struct ArrangementTests {
    static func parse(_ text: String) throws(ConfigurationError) -> Arrangement {
        try Arrangement.parse(Array(text.utf8), path: "film.toml", folder: "/srv/clips")
    }

    @Test func everyKeyIsRead() throws {
        let film = try Self.parse(
            """
            [output]
            size = "1280x720"
            rate = "29.97"
            codec = "hevc"
            encoder = "hardware"
            bit-rate = 4000
            title = "A summer"
            [film]
            gravity = "fill"
            background = "#102030"
            image-duration = 3
            transition = "fade"
            transition-duration = 0.5
            font = "DejaVu Sans"
            [music]
            source = "song.m4a"
            start = 2.5
            volume = 60
            mode = "mix"
            repeat = false
            fade-in = 1
            fade-out = 0
            [[clip]]
            card = "Welcome"
            subtitle = "2026"
            background = "#000040"
            color = "#ffff00"
            duration = 2
            [[clip]]
            source = "a.mp4"
            start = "0:01"
            end = 3.5
            gravity = "stretch"
            volume = 80
            muted = true
            repeat = 2
            transition = "cut"
            deinterlace = "off"
            [[clip]]
            source = "https://example.org/b.mp4"
            duration = 4
            transition = "fade"
            transition-duration = 2
            """)
        #expect(film.output.size == PictureSize(width: 1280, height: 720))
        #expect(film.output.rate == FrameRate(30000, 1001))
        #expect((film.output.codec, film.output.quality, film.output.bitRate) == (.hevc, 20, 4_000_000))
        let other = try Self.parse("[output]\nquality = 24\n[[clip]]\nsource = \"a.mp4\"\n")
        #expect(other.output.quality == 24 && other.output.bitRate == nil)
        #expect(film.output.encoder == .hardware && film.output.title == "A summer")
        #expect(film.film.gravity == .resizeAspectFill && film.film.background.description == "#102030")
        #expect(film.film.imageDuration == .seconds(3))
        #expect((film.film.transition, film.film.transitionDuration) == (.fade, .milliseconds(500)))
        #expect(film.film.font == "DejaVu Sans")
        var music = Arrangement.Music(source: "/srv/clips/song.m4a")
        (music.start, music.volume, music.mode, music.isRepeated) = (.milliseconds(2500), 60, .mix, false)
        (music.fadeIn, music.fadeOut) = (.seconds(1), .zero)
        #expect(film.music == music)
        #expect(film.clips.count == 3)
        #expect(
            film.clips[0].content
                == .card(
                    text: "Welcome", subtitle: "2026", background: Color("#000040"), foreground: Color(red: 255, green: 255, blue: 0)))
        #expect(film.clips[0].duration == .seconds(2))
        var clip = Arrangement.Clip(.file("/srv/clips/a.mp4"))
        (clip.start, clip.end, clip.gravity, clip.volume) = (.seconds(1), .milliseconds(3500), .resize, 80)
        (clip.isMuted, clip.repeatCount, clip.transition, clip.deinterlace) = (true, 2, .cut, .off)
        #expect(film.clips[1] == clip)
        #expect(film.clips[2].content == .file("https://example.org/b.mp4"))
        #expect((film.clips[2].transition, film.clips[2].transitionDuration) == (.fade, .seconds(2)))
    }

    @Test(
        "Mistakes are named with line and column, all at once",
        arguments: [
            ("", ["film.toml:1:1: [[clip]]: missing; add one for each source or card"]),
            (
                "[output]\nsize = \"1921x1080\"\n[[clip]]\nsource = \"a\"\n",
                [
                    "film.toml:2:8: [output] size: expected a size such as \"1920x1080\", even numbers from 16 to 8192, found \"1921x1080\""
                ]
            ),
            (
                "[output]\nrate = 5\nqualty = 3\n[[clip]]\nsource = \"a\"\n",
                [
                    "film.toml:2:8: [output] rate: expected pictures a second from 10 to 240, such as 25, \"29.97\" or \"30000/1001\", found 5",
                    "film.toml:3:1: [output] qualty: unknown key, did you mean “quality”?",
                ]
            ),
            (
                "[[clip]]\nsource = \"a\"\ncard = \"b\"\n",
                [
                    "film.toml:3:8: [[clip]] card: a clip is either a source or a card; write another [[clip]] for this"
                ]
            ),
            (
                "[[clip]]\nvolume = 101\n",
                [
                    "film.toml:1:1: [[clip]] source: missing; name a file or a URL, or write a title with card",
                    "film.toml:2:10: [[clip]] volume: expected a whole number from 0 to 100, found 101",
                ]
            ),
            ("[[clip]]\ncard = \"b\"\nstart = 1\n", ["film.toml:3:9: [[clip]] start: belongs to a source; a card has none"]),
            ("[[clip]]\nsource = \"b\"\nsubtitle = \"c\"\n", ["film.toml:3:12: [[clip]] subtitle: belongs to a card"]),
            ("[[clip]]\nsource = \"b\"\nstart = 4\nend = 2\n", ["film.toml:4:7: [[clip]] end: expected a time after start, found 2"]),
            (
                "[clip]\nsource = \"b\"\n",
                [
                    "film.toml:1:1: [[clip]]: expected a list of tables, found a table; write [[clip]], in double brackets, for every entry"
                ]
            ),
            (
                "[output]\nquality = 20\nbit-rate = 4000\n[[clip]]\nsource = \"b\"\n",
                ["film.toml:3:12: [output] bit-rate: replaces quality: leave one of the two out"]
            ),
            ("[musik]\n[[clip]]\nsource = \"b\"\n", ["film.toml:1:2: [musik]: unknown table, did you mean “music”?"]),
            (
                "gravity = \"fit\"\n[[clip]]\nsource = \"b\"\n",
                [
                    "film.toml:1:1: gravity: unknown key outside of every table; it belongs in [film] or [[clip]]"
                ]
            ),
            (
                "[music]\nmode = \"loud\"\n[[clip]]\nsource = \"b\"\n",
                [
                    "film.toml:1:1: [music] source: missing; give a path or a URL",
                    "film.toml:2:8: [music] mode: expected \"duck\", \"mix\" or \"replace\", found \"loud\"",
                ]
            ),
        ]) func mistakes(_ text: String, _ complaints: [String]) throws
    {
        do throws(ConfigurationError) {
            _ = try Self.parse(text)
            Issue.record("no complaint")
        } catch {
            #expect(error.complaints.map(\.description) == complaints)
        }
    }

    @Test func theSampleOfTheManualIsRight() throws {
        let path = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/docs/export.md"
        let manual = try String(contentsOfFile: path, encoding: .utf8)
        let samples = manual.matches(of: #/(?s)```toml\n(.*?)```/#).map { String($0.1) }
        try #require(!samples.isEmpty)
        for sample in samples { #expect(try !Self.parse(sample).clips.isEmpty) }
        // The manual documents every key.
        for table in Arrangement.keys.map(\.facts) {
            for key in table.keys() { #expect(manual.contains("`\(key.name)`"), "\(table.name) \(key.name)") }
        }
    }

    @Test(arguments: [
        ("25", 25, 1), ("29.97", 30000, 1001), ("23.976", 24000, 1001), ("59.94", 60000, 1001), ("30000/1001", 30000, 1001),
        ("12.5", 12500, 1000),
        ("60", 60, 1),
    ]) func rates(_ text: String, _ numerator: Int, _ denominator: Int) {
        #expect(FrameRate(text) == FrameRate(numerator, denominator))
    }

    @Test(arguments: ["", "9", "241", "nan", "30/0", "0/1", "30000/0", "-25", "1e3", "99999999/1"]) func notRates(_ text: String) {
        #expect(FrameRate(text) == nil)
    }

    @Test func picturesLieOnTheGridForEver() throws {
        let rate = try #require(FrameRate(30000, 1001))
        #expect(rate.time(of: 30000) == .seconds(1001))
        #expect(rate.sample(at: 30000 * 1000, sampleRate: 48000) == 1001 * 1000 * 48000)
        // Ten years of frames do not overflow.
        #expect(rate.time(of: 30 * 86400 * 3650) > .seconds(3e8))
    }

    @Test func `a film of what was chosen is what the player shows`() throws {
        let text = """
            [display]
            gravity = "fill"
            background = "#102030"
            rotation = 90
            region = "50 0 50 100"
            [audio]
            volume = 10
            muted = true
            [playback]
            image-duration = 12
            transition = "fade"
            transition-duration = 0.5
            deinterlace = "off"
            audio-track = "de"
            decoder = "hardware"
            """
        let configuration = try Configuration.parse(Array(text.utf8), path: "kiosk.conf", folder: "/srv")
        let film = Arrangement(showing: ["/srv/a.mp4", "/srv/b.jpg"], music: "/srv/c.m4a", in: configuration)
        var expected = Arrangement()
        (expected.film.gravity, expected.film.background) = (.resizeAspectFill, Color(red: 0x10, green: 0x20, blue: 0x30))
        (expected.film.imageDuration, expected.film.transition) = (.seconds(12), .fade)
        (expected.film.transitionDuration, expected.film.audioTrack) = (.milliseconds(500), configuration.playback.audioTrack)
        expected.clips = ["/srv/a.mp4", "/srv/b.jpg"].map { source in
            var clip = Arrangement.Clip(.file(source))
            clip.deinterlace = .off
            return clip
        }
        expected.music = .init(source: "/srv/c.m4a")
        #expect(film == expected && film.film.audioTrack != .automatic)
        // An item of the player has the same values.
        let item = configuration.item(of: "/srv/a.mp4")
        #expect(item.gravity == film.film.gravity && item.audioTrack == film.film.audioTrack)
        #expect(item.deinterlace == film.clips[0].deinterlace)
        // Without settings a still lasts as long as in the player.
        let plain = Arrangement(showing: ["/srv/b.jpg"], music: nil, in: Configuration())
        #expect(plain.film.imageDuration == Configuration().playback.imageDuration && plain.music == nil)
    }
}
