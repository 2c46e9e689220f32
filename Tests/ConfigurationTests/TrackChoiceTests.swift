import KioskVocabulary
import Testing

@testable import KioskConfiguration

/// Tests of languages, tracks, text sizes and the session settings of `[audio]`.
@Suite struct TrackChoiceTests {
    private func configuration(_ text: String) throws -> Configuration {
        try Configuration.parse(Array(text.utf8), path: "kiosk.conf", folder: "/srv")
    }
    private func complaints(_ text: String) -> String {
        do { _ = try configuration(text) } catch { return "\(error)" }
        return ""
    }

    @Test(arguments: [
        ("de", "deu", true), ("de", "ger", true), ("deu", "ger", true), ("de", "de-AT", true), ("de-AT", "de", false),
        ("de-AT", "de-at", true),
        ("en", "deu", false), ("gsw", "gsw", true), ("zh", "chi", true), ("pt-BR", "pt-PT", false), ("pt", "pt_BR", true),
    ]) func languages(wanted: String, has: String, fits: Bool) throws {
        #expect(try #require(LanguageCode(wanted)).matches(try #require(LanguageCode(has))) == fits)
    }

    @Test(arguments: ["", "d", "german", "und", "1", "de-", "de/at", "d3", "de-überlang"]) func notALanguage(text: String) {
        #expect(LanguageCode(text) == nil)
    }

    @Test(
        arguments: [
            ("auto", .automatic), ("off", .off), ("2", .number(2)), ("0", nil), ("1001", nil), ("-1", nil), ("+1", nil), ("", nil),
            ("loud", nil),
        ] as [(String, TrackChoice?)]) func choices(text: String, choice: TrackChoice?)
    { #expect(TrackChoice(text) == choice) }

    @Test func ofThePlaylist() throws {
        let read = try configuration(
            """
            [playback]
            audio-track = "de"
            [[playlist]]
            source = "a.mkv"
            [[playlist]]
            source = "b.mkv"
            audio-track = 2
            video-track = "off"
            """)
        let items = read.playlist.map { $0.resolved(source: $0.source.location, in: read) }
        #expect(items.map(\.audioTrack) == [TrackChoice("de"), .number(2)] && items.map(\.videoTrack) == [.automatic, .off])
        #expect(
            complaints("[playback]\naudio-track = \"loud\"").contains(
                "expected \"auto\", \"off\", the number of a track from 1, or a language"))
        #expect(complaints("[playback]\naudio-track = 0").contains("found 0"))
    }

    @Test(
        arguments: [
            ("2 GB", 2_000_000_000), ("500MB", 500_000_000), ("1.5 GiB", 1_610_612_736), ("1 tb", 1_000_000_000_000), ("2", nil),
            ("GB", nil),
            ("-1 GB", nil), ("1e3 GB", nil), ("9999999999 TB", nil), ("2 GB ", nil),
        ] as [(String, Int64?)]) func sizes(text: String, bytes: Int64?)
    { #expect(ByteCount(text)?.bytes == bytes) }

    @Test func sizesAsTheyAreWritten() {
        #expect(
            ([0, 999, 1_000_000, 1_550_000_000, 2_000_000_000] as [Int64]).map { "\(ByteCount($0))" } == [
                "0 bytes", "999 bytes", "1 MB", "1.6 GB", "2 GB",
            ])
    }

    @Test func theCache() throws {
        #expect(try configuration("").playback.cache == nil)
        #expect(
            try configuration("[playback]\ncache = \"2 GB\"\ncache-folder = \"/srv/c\"").playback.cache == ByteCount(2_000_000_000))
        #expect(
            complaints("[playback]\ncache = \"1 kB\"").contains(
                "expected \"off\" or a size such as \"2 GB\", at least 1 MB, found \"1 kB\""))
        #expect(complaints("[playback]\ncache-folder = \"c\"").contains("expected the absolute path of a folder"))
    }

    @Test func theSession() throws {
        let session = try configuration("[audio]\nmix = true\nfollow = \"port\"\ninterruption = \"pause\"\nduck-volume = 10").audio.session
        #expect(session.mixesWithOthers && session.route == .port && session.interruption == .pause && session.duckedVolume == 0.1)
        #expect(complaints("[audio]\nfollow = \"cable\"").contains("expected \"display\", \"port\" or \"fixed\""))
    }

    @Test func commands() throws {
        let words = CommandWords(folder: "/srv")
        #expect(try words.command("audio-track de") == .player(.selectAudioTrack(.language(LanguageCode("de")!))))
        #expect(try words.command("audio-track off") == .player(.selectAudioTrack(.off)))
        #expect(try words.command("chapter 3") == .player(.selectChapter(3)))
        #expect(
            try words.command("next-chapter") == .player(.skipChapters(1))
                && words.command("previous-chapter") == .player(.skipChapters(-1)))
        #expect(throws: CommandFault.self) { try words.command("chapter 0") }
    }
}
