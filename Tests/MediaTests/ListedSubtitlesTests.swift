import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskMedia

@Suite struct ListedSubtitlesTests {
    // MARK: Lists

    private let master = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="English",LANGUAGE="en",DEFAULT=YES,AUTOSELECT=YES,URI="en.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="English, for all",LANGUAGE="en",CHARACTERISTICS="public.easy-to-read,public.accessibility.transcribes-spoken-dialog",URI="sdh.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="Signs",LANGUAGE="de",FORCED=YES,URI="/signs.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="other",NAME="Other",URI="other.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="Nowhere"
        #EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="cc",NAME="CC",INSTREAM-ID="CC1"
        #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360,SUBTITLES="s"
        360p.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=2500000,RESOLUTION=1280x720
        720p.m3u8

        """

    @Test func aMasterListNamesThem() throws {
        let variants = try #require(HLSVariants(master))
        let found = variants.subtitles(of: 0) { HTTPAddress.resolve($0, against: "https://h/a/m.m3u8") }
        #expect(found.map(\.address) == ["https://h/a/en.m3u8", "https://h/a/sdh.m3u8", "https://h/signs.m3u8"])
        #expect(found.map(\.name) == ["English", "English, for all", "Signs"])
        #expect(found.map(\.language?.description) == ["en", "en", "de"])
        #expect(found.map(\.isDefault) == [true, false, false] && found.map(\.isForced) == [false, false, true])
        #expect(found.map(\.isForHardOfHearing) == [false, true, false])
        #expect(variants.subtitles(of: 1) { $0 }.isEmpty, "a variant that names no group has none")
        #expect(variants.subtitles(of: nil) { $0 }.count == 3, "groups that no variant names have none")
        let rest = variants.list(with: 0) { $0 }
        #expect(!rest.contains("SUBTITLES,") && rest.contains("CLOSED-CAPTIONS") && rest.contains("360p.m3u8"), "\(rest)")
    }

    @Test func aListIsRead() throws {
        let list = try #require(
            HLSSubtitleList(
                """
                #EXTM3U
                #EXT-X-TARGETDURATION:6
                #EXT-X-MEDIA-SEQUENCE:41
                #EXTINF:6.000,
                a.vtt
                #EXT-X-GAP
                #EXTINF:6,
                b.vtt
                #EXT-X-BYTERANGE:100@20
                #EXTINF:2.5,title, with a comma
                c.vtt?x=1,2
                #EXT-X-BYTERANGE:50
                #EXTINF:2.5,
                c.vtt?x=1,2
                #EXT-X-ENDLIST
                """))
        #expect(list.parts.map(\.number) == [41, 43, 44] && list.parts.map(\.address) == ["a.vtt", "c.vtt?x=1,2", "c.vtt?x=1,2"])
        #expect(list.parts.map(\.start) == [.zero, .seconds(12), .seconds(14.5)] && list.parts.map(\.range) == [nil, 20..<120, 120..<170])
        #expect(list.hasEnded && list.targetDuration == .seconds(6) && list.fault == nil)
        #expect(HLSSubtitleList("WEBVTT\n") == nil && HLSSubtitleList("") == nil)
        #expect(HLSSubtitleList("#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\"\n")?.fault == .encrypted)
        #expect(HLSSubtitleList("#EXTM3U\n#EXT-X-KEY:METHOD=NONE\n")?.fault == nil)
        #expect(HLSSubtitleList("#EXTM3U\n#EXT-X-MAP:URI=\"i.mp4\"\n")?.fault == .notText)
    }

    /// Numbers of a list are clamped so that later arithmetic cannot overflow.
    @Test(arguments: ["9223372036854775807", "-9223372036854775808", "99999999999999999999", "1e999", "nan", "-1", "", "x"])
    func numbersAreClamped(number: String) throws {
        var text = "#EXTM3U\n#EXT-X-TARGETDURATION:\(number)\n#EXT-X-MEDIA-SEQUENCE:\(number)\n"
        for _ in 0..<3 { text += "#EXT-X-BYTERANGE:\(number)@\(number)\n#EXTINF:\(number),\na.vtt\n#EXT-X-BYTERANGE:\(number)\n" }
        let list = try #require(HLSSubtitleList(text))
        #expect((MediaTime.seconds(1)...(.seconds(60))).contains(list.targetDuration))
        #expect(list.parts.count == 3 && list.parts.allSatisfy { $0.duration >= .zero && $0.start >= .zero && $0.number >= 0 })
        var subtitles = ListedSubtitles()
        subtitles.take(list)
        for time in [MediaTime.zero, .seconds(1e9), .seconds(-1e9)] { _ = (subtitles.next(at: time), subtitles.isComplete(at: time)) }
    }

    // MARK: Times

    @Test(
        arguments: [
            ("WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n\n", 900_000),
            ("WEBVTT - title\r\nX-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:10.000\r\n\r\n", 0),
            ("\u{feff}WEBVTT\nKind: captions\nX-TIMESTAMP-MAP=LOCAL:00:01.500,MPEGTS:0\n", (1 << 33) - 135_000),
            ("WEBVTT\n\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000\n", nil), ("WEBVTT\n\n00:00.000 --> 00:01.000\n", nil),
            ("WEBVTT\nX-TIMESTAMP-MAP=LOCAL:x,MPEGTS:900000\n", nil), ("WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:-5\n", nil),
            ("WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:9223372036854775807\n", Int64.max % (1 << 33)), ("", nil),
        ] as [(String, Int64?)])
    func whereThePartsBelong(text: String, zero: Int64?) { #expect(WebVTTMap(Array(text.utf8))?.zero.value == zero) }

    @Test func theClockTurns() {
        let turn = StreamTicks.turn
        #expect(StreamTicks(-1).value == turn - 1 && StreamTicks(turn).value == 0 && StreamTicks(.min).value >= 0)
        #expect(StreamTicks(.seconds(10)).value == 900_000 && StreamTicks(.seconds(-1)).value == turn - 90_000)
        #expect(StreamTicks(90_000).since(StreamTicks(turn - 90_000)) == .seconds(2))
        #expect(StreamTicks(turn - 90_000).since(StreamTicks(90_000)) == .seconds(-2))
        for time in [MediaTime(nanoseconds: .max), MediaTime(nanoseconds: .min)] {
            #expect((0..<turn).contains(StreamTicks(time).value) && (0..<turn).contains((StreamTicks(5) + time).value))
        }
    }

    // MARK: Parts and cues

    /// Returns a list of parts of six seconds.
    private func list(_ numbers: Range<Int>, isLive: Bool = false) throws -> HLSSubtitleList {
        let parts = numbers.map { "#EXTINF:6,\n\($0).vtt\n" }.joined()
        return try #require(
            HLSSubtitleList("#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:\(numbers.lowerBound)\n" + parts + (isLive ? "" : "#EXT-X-ENDLIST\n")))
    }

    private func line(_ text: String, _ start: Double, _ end: Double) -> SubtitleCue {
        .line("0,0,Default,,0,0,0,,\(text)", start: .seconds(start), end: .seconds(end))
    }

    private func place(_ seconds: Double, ticks: Int64) -> ListedSubtitles.Place {
        .init(time: .seconds(seconds), ticks: StreamTicks(ticks))
    }

    /// Returns each cue in the form `1 first 0.5–2`.
    private func words(_ cues: [SubtitleCue]) -> [String] {
        cues.map { cue in
            guard case .line(let line, let start, let end) = cue else { return "pictures" }
            return "\(line.prefix { $0 != "," }) \(SubtitleCue.plainText(ofLine: line)) \(start.seconds)–\(end.seconds)"
        }
    }

    @Test func partsAreFetchedAheadOfThePictures() throws {
        var subtitles = ListedSubtitles()
        #expect(subtitles.next(at: .zero) == nil && !subtitles.isComplete(at: .zero))
        subtitles.take(try list(0..<100))
        var fetched: [Int] = []
        while let part = subtitles.next(at: .seconds(1)) {
            fetched.append(part.number)
            subtitles.add([], from: nil, of: part)
        }
        #expect(fetched == [0, 1, 2, 3, 4, 5] && subtitles.isComplete(at: .seconds(35)) && !subtitles.isComplete(at: .seconds(36)))
        #expect(subtitles.next(at: .seconds(7))?.number == 6)
        let sought = try #require(subtitles.next(at: .seconds(303)))
        #expect(sought.number == 50)
        subtitles.leaveOut(sought)
        #expect(subtitles.next(at: .seconds(303))?.number == 51 && subtitles.isComplete(at: .seconds(303)))
        #expect(
            subtitles.next(at: .seconds(600)) == nil && subtitles.isComplete(at: .seconds(600)),
            "behind its end there is nothing to wait for")
    }

    @Test func aLiveListIsFollowed() throws {
        var subtitles = ListedSubtitles()
        subtitles.take(try list(1000..<1600, isLive: true))
        var fetched: [Int] = []
        func fetch() {
            while let part = subtitles.next(at: .seconds(3)) {
                fetched.append(part.number)
                subtitles.add([], from: StreamTicks(0), of: part)
            }
        }
        fetch()
        #expect(fetched == Array(1595..<1600), "not what was long ago")
        subtitles.take(try list(1001..<1601, isLive: true))
        fetch()
        #expect(fetched.last == 1600 && fetched.count == 6)
        subtitles.take(try list(0..<3, isLive: true))
        fetch()
        #expect(fetched.suffix(3) == [0, 1, 2], "its server has been started again")
        subtitles.take(try list(1..<4))
        fetch()
        #expect(fetched.last == 3 && fetched.count == 10, "it has ended")
    }

    @Test func cuesAreDueByTheStreamsClock() throws {
        var subtitles = ListedSubtitles()
        let list = try list(0..<4)
        subtitles.take(list)
        subtitles.add([line("first", 0.5, 2), line("long", 5, 7)], from: StreamTicks(900_000), of: list.parts[0])
        subtitles.add([line("long", 5, 7), line("late", 20, 21)], from: StreamTicks(900_000), of: list.parts[1])
        #expect(words(subtitles.due(at: place(0, ticks: 900_000))) == ["0 first 0.5–2.0", "1 long 5.0–7.0"], "what is in two parts is one")
        #expect(subtitles.due(at: place(0.04, ticks: 903_600)).isEmpty)
        #expect(words(subtitles.due(at: place(11, ticks: 1_890_000))) == ["2 late 20.0–21.0"])
        subtitles.restart()
        #expect(
            words(subtitles.due(at: place(15, ticks: 2_250_000))) == ["0 long 5.0–7.0", "1 late 20.0–21.0"], "after a seek, from its start")
    }

    @Test func cuesGoWithAClockThatTurnsOrJumps() throws {
        var subtitles = ListedSubtitles()
        let list = try list(0..<4, isLive: true)
        subtitles.take(list)
        let turn = StreamTicks.turn
        subtitles.add([line("before", 1, 2), line("behind", 6, 7)], from: StreamTicks(turn - 450_000), of: list.parts[0])
        #expect(words(subtitles.due(at: place(100, ticks: turn - 450_000))) == ["0 before 101.0–102.0", "1 behind 106.0–107.0"])
        // The encoder restarts: its clock jumps, and the pictures continue without a gap.
        subtitles.add([line("elsewhere", 1, 2)], from: StreamTicks(5_000_000_000), of: list.parts[1])
        #expect(subtitles.due(at: place(105, ticks: 0)).isEmpty, "nobody knows yet when that is")
        #expect(words(subtitles.due(at: place(110, ticks: 5_000_000_000))) == ["2 elsewhere 111.0–112.0"])
    }

    @Test func timesWithoutAClockAreThoseOfTheItem() throws {
        var subtitles = ListedSubtitles()
        let list = try list(0..<2)
        subtitles.take(list)
        subtitles.add([line("plain", 1, 2)], from: nil, of: list.parts[0])
        #expect(words(subtitles.due(at: place(0, ticks: 126_000))) == ["0 plain 1.0–2.0"])
    }

    @Test func aLiveStreamTakesNoMoreMemoryWithTime() throws {
        var subtitles = ListedSubtitles()
        var count = 0
        for number in 0..<5000 {
            let list = try list(max(0, number - 5)..<number + 1, isLive: true)
            subtitles.take(list)
            while let part = subtitles.next(at: .zero) {
                let start = Double(part.number * 6)
                subtitles.add(
                    [line("\(part.number)", start, start + 6), line("\(part.number)!", start, start + 6)], from: StreamTicks(0), of: part)
            }
            count += subtitles.due(at: place(Double(number * 6), ticks: Int64(number) * 540_000)).count
        }
        #expect(count == 10_000 && subtitles.held < 50, "\(count), \(subtitles.held)")
    }
}
