import Glibc
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskMedia

/// Subtitles as values: the information in file names, the choice among several, character sets, and the text of an event.
@Suite struct SubtitleTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private func read(_ text: [UInt8], _ name: String, language: String? = nil, encoding: String? = nil) throws -> [String] {
        let (_, cues) = try SubtitleFile.read(text, name: name, language: language.flatMap { LanguageCode($0) }, encoding: encoding)
        return cues.map { cue in
            guard case .line(let line, let start, let end) = cue else { return "a picture" }
            return "\(start.seconds)–\(end.seconds) \(SubtitleCue.plainText(ofLine: line))"
        }
    }

    @Test(arguments: [
        ("clip.srt", "subrip", nil, false, false), ("clip.de.srt", "subrip", "de", false, false),
        ("clip.DE.SRT", "subrip", "de", false, false),
        ("clip.pt-BR.forced.ass", "ass", "pt-br", true, false), ("clip.eng.sdh.vtt", "webvtt", "eng", false, true),
        ("clip.forced.ssa", "ass", nil, true, false),
    ])
    func names(name: String, codec: String, language: String?, isForced: Bool, isForHardOfHearing: Bool) throws {
        let track = try #require(SubtitleFile.track(of: name, stem: "clip"))
        #expect(track.codec == codec && track.language?.description == language)
        #expect(track.isForced == isForced && track.isForHardOfHearing == isForHardOfHearing)
    }

    /// kiosk copies from a stick the same kinds of subtitle files that it reads beside a clip.
    @Test func endings() {
        for ending in FileExtensions.subtitles { #expect(SubtitleFile.track(of: "clip.\(ending)", stem: "clip") != nil, "\(ending)") }
    }

    /// Names that only resemble a subtitle's: another clip's, another kind, an unknown word.
    @Test(arguments: [
        "clip2.srt", "clip.txt", "clip.mp4", "clip", "clip.", "clip..srt", "clip.part one.srt", "other.srt", "clip.de.fr.srt",
    ])
    func otherNames(name: String) { #expect(SubtitleFile.track(of: name, stem: "clip") == nil) }

    private static func track(
        _ number: Int, _ language: String?, forced: Bool = false, sdh: Bool = false, beside: Bool = false
    ) -> AssetTrack {
        var track = AssetTrack(id: number, kind: .subtitle, number: number, codec: "subrip")
        (track.language, track.isForced) = (language.flatMap { LanguageCode($0) }, forced)
        (track.isForHardOfHearing, track.isBeside, track.isDefault) = (sdh, beside, number == 1)
        return track
    }

    @Test func whichAreShown() {
        let german = LanguageCode("de")
        let tracks = [
            Self.track(1, "en"), Self.track(2, "de", sdh: true), Self.track(3, "ger"), Self.track(4, "de", forced: true),
            Self.track(5, nil, beside: true),
        ]
        #expect(tracks.subtitles(.off, sound: german) == nil)
        #expect(tracks.subtitles(.automatic, sound: german)?.number == 4)
        // No track is forced in the language of the sound, so the file beside the clip is chosen.
        #expect(tracks.subtitles(.automatic, sound: LanguageCode("fr"))?.number == 5)
        #expect(tracks.prefix(3).map { $0 }.subtitles(.automatic, sound: german) == nil)
        #expect(tracks.subtitles(.language(LanguageCode("de")!), sound: nil)?.number == 3)
        #expect([tracks[1], tracks[3]].subtitles(.language(LanguageCode("de")!), sound: nil)?.number == 2)
        #expect(tracks.subtitles(.language(LanguageCode("fr")!), sound: nil) == nil)
        #expect(tracks.subtitles(.number(5), sound: nil)?.isBeside == true && tracks.subtitles(.number(6), sound: nil) == nil)
    }

    private static let german = "1\n00:00:01,000 --> 00:00:02,500\nGrößer, schöner\n"

    @Test func characterSets() throws {
        let expected = ["1.0–2.5 Größer, schöner"]
        #expect(try read(bytes(Self.german), "clip.srt") == expected)
        #expect(try read([0xEF, 0xBB, 0xBF] + bytes(Self.german), "clip.srt") == expected)
        for isLittle in [true, false] {
            let units = Self.german.utf16.flatMap { isLittle ? [UInt8($0 & 255), UInt8($0 >> 8)] : [UInt8($0 >> 8), UInt8($0 & 255)] }
            #expect(try read((isLittle ? [0xFF, 0xFE] : [0xFE, 0xFF]) + units, "clip.srt") == expected)
            #expect(try read(units, "clip.srt") == expected)
        }
        let latin = Self.german.unicodeScalars.map { UInt8($0.value) }
        #expect(try read(latin, "clip.srt") == expected)
        #expect(try read(latin, "clip.de.srt", language: "de") == expected)
    }

    /// Text that is not Unicode is in the Windows code page of its language, or in the named character set.
    @Test func languagesTellSets() throws {
        let head = bytes("1\n00:00:01,000 --> 00:00:02,000\n")
        #expect(try read(head + [0xCF, 0xF0, 0xE8, 0xE2, 0xE5, 0xF2], "clip.ru.srt", language: "ru") == ["1.0–2.0 Привет"])
        #expect(try read(head + [0xCF, 0xF0, 0xE8, 0xE2, 0xE5, 0xF2], "clip.srt", encoding: "CP1251") == ["1.0–2.0 Привет"])
        #expect(try read(head + [0x93, 0xFA, 0x96, 0x7B], "clip.ja.srt", language: "ja") == ["1.0–2.0 日本"])
        #expect(try read(head + [0xE1, 0xE9, 0xE5], "clip.el.srt", language: "el") == ["1.0–2.0 αιε"])
        // Invalid bytes are skipped; with an unknown character set, all bytes beyond ASCII are skipped.
        #expect(try read(head + [0x41, 0x81, 0xFD, 0xFF, 0x42], "clip.ja.srt", language: "ja").first?.hasPrefix("1.0–2.0 A") == true)
        #expect(try read(head + [0x41, 0xE9, 0x42], "clip.srt", encoding: "no such set") == ["1.0–2.0 AB"])
    }

    @Test func formats() throws {
        let vtt = "WEBVTT\n\n00:01.000 --> 00:02.000 line:10% align:start\nup <b>here</b>\n\n00:03.000 --> 00:04.000\ndown\n"
        #expect(try read(bytes(vtt), "clip.vtt") == ["1.0–2.0 up here", "3.0–4.0 down"])
        let ass = """
            [Script Info]
            ScriptType: v4.00+
            [V4+ Styles]
            Format: Name, Fontname, Fontsize
            Style: Default,Arial,20
            [Events]
            Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
            Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\\b1}one{\\b0}\\Ntwo, three{\\p1}m 0 0 l 9 9{\\p0}
            """
        #expect(try read(bytes(ass), "clip.ass") == ["1.0–2.0 one\ntwo, three"])
    }

    @Test(arguments: ["clip.srt", "clip.ass", "clip.vtt"]) func whatIsNone(name: String) {
        for bytes in [[], [0], Array("not a subtitle".utf8), [UInt8](repeating: 0xFF, count: 1000)] {
            #expect(throws: MediaError.self) { try read(bytes, name) }
        }
    }

    /// The reader accepts or refuses damaged files.
    @Test func damage() throws {
        let files = [("clip.srt", Self.german), ("clip.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nhello <i>there</i>\n")]
        var random = UInt64(7)
        for (name, text) in files {
            for _ in 0..<300 {
                var bytes = Array(text.utf8)
                for _ in 0..<4 {
                    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    bytes[Int(random >> 33) % bytes.count] = UInt8(truncatingIfNeeded: random >> 20)
                }
                _ = try? read(bytes, name)
            }
        }
    }

    @Test func placesOfWebVTT() {
        let line = "0,0,Default,,0,0,0,,Hello, you"
        #expect(SubtitleDecoder.line(line, settings: "") == line)
        #expect(SubtitleDecoder.line(line, settings: "line:5%") == "0,0,Default,,0,0,0,,{\\an8}Hello, you")
        #expect(SubtitleDecoder.line(line, settings: "line:50%,center align:start") == "0,0,Default,,0,0,0,,{\\an4}Hello, you")
        #expect(SubtitleDecoder.line(line, settings: "align:right line:-1") == "0,0,Default,,0,0,0,,{\\an3}Hello, you")
        #expect(SubtitleDecoder.line(line, settings: "line: align position:99% \u{0}") == line)
    }

    @Test func namesInAFolder() throws {
        let folder = "/tmp/kiosk-subtitles-\(UInt64.random(in: 0 ... .max))"
        mkdir(folder, 0o755)
        defer {
            for name in ["film.mp4", "film.srt", "film.de.srt", "film2.srt", "Film.srt"] { unlink("\(folder)/\(name)") }; rmdir(folder)
        }
        for name in ["film.mp4", "film.srt", "film.de.srt", "film2.srt", "Film.srt"] {
            close(open("\(folder)/\(name)", O_CREAT | O_WRONLY, 0o644))
        }
        #expect(SubtitleFile.names(beside: "film.mp4", in: folder) == ["film.de.srt", "film.srt"])
        #expect(SubtitleFile.names(beside: "film.mp4", in: "/nowhere") == [])
        #expect(SubtitleFile.names(beside: "film", in: folder) == [])
    }
}
