import CTestSupport
import Foundation
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskReaders

/// HLS subtitles, which a reader fetches itself: on demand and live, from a server and from a folder.
@Suite(.blocking) struct ListedSubtitleReaderTests {
    private static let kinds: [Readers.Isolation] = test_is_sanitized() ? [.thread] : [.process, .thread]
    private static let thread = Readers(executable: "/nowhere", isolation: .thread)

    private func readers(_ isolation: Readers.Isolation) -> Readers { isolation == .process ? .shared : Self.thread }

    // MARK: Material

    /// Makes eight seconds of black pictures, 25 a second, whose clock begins at `clock` seconds. Segments last one second: `v0.ts` and on.
    private static func folder(clock: Double) throws -> String {
        let name = "listed-\(Int(clock * 10))", folder = Clips.folder + "/" + name
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let clip = try Clips.make(
            "listed.mp4",
            ["-f", "lavfi", "-i", "color=black:s=320x180:r=25:d=8", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-bf", "0"])
        let times = ["-muxdelay", "0", "-muxpreload", "0", "-output_ts_offset", "\(clock)"]
        let list = ["-f", "hls", "-hls_time", "1", "-hls_list_size", "0", "-hls_playlist_type", "vod"]
        _ = try Clips.make(name + "/v.m3u8", ["-i", clip, "-c", "copy"] + times + list)
        return folder
    }

    private static let master = """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="English",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=320x180,SUBTITLES="s"
        v.m3u8

        """

    /// Four segments of two seconds. Each has a cue from 0.52 s to 1.48 s.
    private static func subtitles(clock: Double?, end: String = "#EXT-X-ENDLIST\n") -> [String: String] {
        var list = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n"
        var files: [String: String] = [:]
        for part in 0..<4 {
            list += "#EXTINF:2,\nen\(part).vtt\n"
            let map = clock.map { "X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:\(Int64($0 * 90_000) % (1 << 33))\n" } ?? ""
            files["/en\(part).vtt"] = "WEBVTT\n\(map)\n00:0\(part * 2).520 --> 00:0\(part * 2 + 1).480 line:90%\npart \(part)\n"
        }
        files["/en.m3u8"] = list + end
        files["/master.m3u8"] = master
        return files
    }

    /// The times of the pictures with a subtitle.
    private static let spoken = (0..<4).flatMap { part in (13...36).map { MediaTime.milliseconds(Int64(part * 2000 + $0 * 40)) } }

    private static func server(_ folder: String, _ texts: [String: String]) throws -> FileServer {
        try FileServer(
            .init(files: { path in
                texts[path].map { Array($0.utf8) } ?? FileManager.default.contents(atPath: folder + path).map { [UInt8]($0) }
            }))
    }

    private static func order(_ source: String, takesTime: Bool = true) -> OpenOrder {
        var order = OpenOrder(.play, source)
        order.takesTime = takesTime
        var subtitles = SubtitleOrder()
        subtitles.choice = .language(LanguageCode("en")!)
        subtitles.style = SubtitleStyle(font: "DejaVu Sans", size: 7, safeArea: 5)
        subtitles.screen = SubtitleScreen(size: PixelSize(width: 320, height: 180))
        order.subtitles = subtitles
        return order
    }

    /// Takes all pictures from a client. Returns their times and the subtitle news.
    private func all(of client: ReaderClient, inRealTime: Bool = false) -> (pictures: [MediaTime], news: [SubtitleNews]) {
        var (times, news) = ([MediaTime](), [SubtitleNews]())
        let begin = HostTime.now
        while let frame = client.nextFrame() {
            times.append(frame.time)
            if inRealTime, case let early = begin + frame.time - .now, early > .zero { usleep(UInt32(early.nanoseconds / 1000)) }
            news += client.takeSubtitles()
        }
        let deadline = HostTime.now + .seconds(60)
        client.draw(Self.order(client.source).subtitles!, at: .seconds(100))
        while HostTime.now < deadline, case let more = client.takeSubtitles(), !more.isEmpty { news += more }
        return (times, news)
    }

    /// Returns those of the times that have a subtitle.
    private func shown(_ news: [SubtitleNews], _ times: [MediaTime]) -> [MediaTime] {
        times.filter { time in
            let last = news.compactMap { if case .seen(let pictures, _, let from) = $0, from <= time { pictures } else { nil } }.last
            return last.map { !$0.isEmpty } ?? false
        }
    }

    private func said(_ news: [SubtitleNews]) -> [ReaderCue] { news.compactMap { if case .said(let cue) = $0 { cue } else { nil } } }

    // MARK: On demand

    /// The stream's clock begins at ten seconds, wraps in the middle, or is missing from the subtitles. Each from a server and a folder.
    @Test(arguments: kinds, [10.0, 95_440, nil])
    func theyAreSeenWithTheirPictures(isolation: Readers.Isolation, clock: Double?) throws {
        let folder = try Self.folder(clock: clock ?? 1.4)
        let texts = Self.subtitles(clock: clock)
        let server = try Self.server(folder, texts)
        for (name, text) in texts { try Data(text.utf8).write(to: URL(fileURLWithPath: folder + name)) }
        for source in [server.url("master.m3u8"), folder + "/master.m3u8"] {
            let client = try ReaderClient(Self.order(source), by: readers(isolation), Interruption())
            let tracks = client.description.tracks.filter { $0.kind == .subtitle }
            #expect(tracks.map(\.summary) == ["1 en webvtt “English”"] && client.selectedTracks[.subtitle] == tracks.first?.id)
            let (times, news) = all(of: client)
            #expect(times.count == 200 && client.problems == [], "\(client.problems)")
            #expect(shown(news, times) == Self.spoken, "\(source) \(shown(news, times).map(\.seconds))")
            #expect(said(news).map(\.text) == ["part 0", "part 1", "part 2", "part 3"])
            #expect(said(news).first?.start == .milliseconds(520) && said(news).first?.end == .milliseconds(1480), "\(said(news))")
        }
        #expect(server.requests.count { $0.path == "/en2.vtt" } == 1)
    }

    /// In a pause the player does not look again, so the seek itself must report the subtitles there.
    @Test(arguments: kinds) func whatIsSeenAfterASeek(isolation: Readers.Isolation) throws {
        let server = try Self.server(try Self.folder(clock: 10), Self.subtitles(clock: 10))
        let client = try ReaderClient(Self.order(server.url("master.m3u8")), by: readers(isolation), Interruption())
        for (seconds, isSpoken) in [(5.0, true), (1, true), (3.8, false), (7, true), (0, false)] {
            _ = client.takeSubtitles()
            let landed = try client.seek(to: .seconds(seconds), precision: .exact)
            let news = client.takeSubtitles()
            #expect(landed == .seconds(seconds) && shown(news, [landed]).isEmpty == !isSpoken, "\(seconds): \(news.count)")
        }
    }

    /// Late subtitles still appear, even with the picture that is already on the screen.
    @Test(arguments: kinds) func theirListComesLate(isolation: Readers.Isolation) throws {
        let folder = try Self.folder(clock: 10)
        let texts = Self.subtitles(clock: 10)
        let isThere = Monitor(false)
        let server = try FileServer(
            .init(files: { path in
                if path == "/en.m3u8", !isThere.withLock({ $0 }) { return nil }
                return texts[path].map { Array($0.utf8) } ?? FileManager.default.contents(atPath: folder + path).map { [UInt8]($0) }
            }))
        var order = Self.order(server.url("master.m3u8"), takesTime: false)
        order.start = .seconds(5)
        let client = try ReaderClient(order, by: readers(isolation), Interruption())
        var time: MediaTime?
        if let frame = client.nextFrame() { time = frame.time }
        let first = try #require(time)
        _ = client.nextFrame()
        #expect(shown(client.takeSubtitles(), [first]).isEmpty)
        isThere.signal { $0 = true }
        let deadline = HostTime.now + .seconds(60)
        while !server.requests.contains(where: { $0.path == "/en2.vtt" }), HostTime.now < deadline { usleep(20_000) }
        var news: [SubtitleNews] = []
        for _ in 0..<10 where shown(news, [first]).isEmpty {
            usleep(200_000)
            _ = client.nextFrame()
            news += client.takeSubtitles()
        }
        #expect(shown(news, [first]) == [first])
    }

    /// An export waits for subtitles, longer than the limit of a decoder.
    @Test(arguments: kinds) func aSlowServerIsWaitedForWhereNobodyLooksOn(isolation: Readers.Isolation) throws {
        let folder = try Self.folder(clock: 10)
        let texts = Self.subtitles(clock: 10)
        let server = try FileServer(
            .init(files: { path in
                if path == "/en2.vtt" { usleep(5_000_000) }
                return texts[path].map { Array($0.utf8) } ?? FileManager.default.contents(atPath: folder + path).map { [UInt8]($0) }
            }))
        let client = try ReaderClient(Self.order(server.url("master.m3u8")), by: readers(isolation), Interruption())
        let (times, news) = all(of: client)
        #expect(times.count == 200 && client.problems == [], "\(times.count) \(client.problems)")
        #expect(shown(news, times) == Self.spoken, "\(shown(news, times).map(\.seconds))")
    }

    // MARK: Live

    /// Each second brings a segment; the list has the last six.
    @Test(arguments: kinds) func aLiveListIsFollowed(isolation: Readers.Isolation) throws {
        let folder = try Self.folder(clock: 10)
        let begin = HostTime.now
        let server = try FileServer(
            .init(files: { path in
                let newest = min(Int((HostTime.now - begin).seconds) + 3, 7)
                let head = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(max(0, newest - 5))\n"
                func list(_ name: String) -> [UInt8] {
                    let parts = (max(0, newest - 5)...newest).map { "#EXTINF:1,\n\(String(format: name, $0))\n" }.joined()
                    return Array((head + parts + (newest == 7 ? "#EXT-X-ENDLIST\n" : "")).utf8)
                }
                switch path {
                case "/master.m3u8": return Array(Self.master.utf8)
                case "/v.m3u8": return list("v%d.ts")
                case "/en.m3u8": return list("en%d.vtt")
                case let name where name.hasPrefix("/en"):
                    let part = Int(name.dropFirst(3).dropLast(4)) ?? 0
                    let cue = "00:00.200 --> 00:00.800\npart \(part)\n"
                    return Array("WEBVTT\nX-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:\((part + 10) * 90_000)\n\n\(cue)".utf8)
                default: return FileManager.default.contents(atPath: folder + path).map { [UInt8]($0) }
                }
            }))
        let client = try ReaderClient(Self.order(server.url("master.m3u8"), takesTime: false), by: readers(isolation), Interruption())
        let (times, news) = all(of: client, inRealTime: true)
        // Playback begins with the third segment from the end. The first list had four.
        let parts = said(news).compactMap { Int($0.text.dropFirst("part ".count)) }
        #expect(times.count >= 125 && client.problems == [], "\(times.count) \(client.problems)")
        #expect(parts.count >= 3 && parts.contains { $0 > 3 } && zip(parts, parts.dropFirst()).allSatisfy { $0 < $1 }, "\(parts)")
        #expect(!shown(news, times).isEmpty)
    }

    // MARK: Unreadable lists

    /// kiosk reports the problem, and plays the clip without subtitles.
    @Test(arguments: [
        ("#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"key\"\n#EXTINF:8,\nen0.vtt\n#EXT-X-ENDLIST\n", "they are encrypted"),
        ("#EXTM3U\n#EXT-X-MAP:URI=\"i.mp4\"\n#EXTINF:8,\nen0.m4s\n#EXT-X-ENDLIST\n", "they come in pieces of MP4"),
        ("#EXTM3U\n#EXTINF:8,\nfile:SECRET\n#EXT-X-ENDLIST\n", "which it may not"),
        ("#EXTM3U\n#EXTINF:8,\nnone.vtt\n#EXT-X-ENDLIST\n", "missing"),
        ("#EXTM3U\n#EXTINF:8,\n/v0.ts\n#EXT-X-ENDLIST\n", "missing"),
    ])
    func whatCannotBeRead(list: String, problem: String) throws {
        let folder = try Self.folder(clock: 10)
        let secret = NSTemporaryDirectory() + "kiosk-secret-\(UUID().uuidString).vtt"
        try Data("WEBVTT\n\n00:00.000 --> 00:08.000\nsecret\n".utf8).write(to: URL(fileURLWithPath: secret))
        defer { try? FileManager.default.removeItem(atPath: secret) }
        var texts = Self.subtitles(clock: 10)
        texts["/en.m3u8"] = list.replacing("SECRET", with: secret)
        let server = try Self.server(folder, texts)
        let client = try ReaderClient(Self.order(server.url("master.m3u8")), by: readers(Self.kinds[0]), Interruption())
        let (times, news) = all(of: client)
        #expect(times.count == 200 && shown(news, times).isEmpty && said(news).isEmpty)
        #expect(client.problems.count == 1 && client.problems[0].contains(problem), "\(client.problems)")
    }

    /// A list in a folder may name only files below that folder.
    @Test(arguments: ["../secret.vtt", "SECRET", "link.vtt", "http://127.0.0.1:1/en.vtt"]) func listsLeadNowhere(address: String) throws {
        let folder = try Self.folder(clock: 10) + "-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.copyItem(atPath: try Self.folder(clock: 10), toPath: folder)
        let secret = Clips.folder + "/secret.vtt"
        try Data("WEBVTT\n\n00:00.000 --> 00:08.000\nsecret\n".utf8).write(to: URL(fileURLWithPath: secret))
        try FileManager.default.createSymbolicLink(atPath: folder + "/link.vtt", withDestinationPath: secret)
        let list = "#EXTM3U\n#EXTINF:8,\n\(address.replacing("SECRET", with: secret))\n#EXT-X-ENDLIST\n"
        for (name, text) in ["/master.m3u8": Self.master, "/en.m3u8": list] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + name))
        }
        let client = try ReaderClient(Self.order(folder + "/master.m3u8"), by: readers(Self.kinds[0]), Interruption())
        let (times, news) = all(of: client)
        #expect(times.count == 200 && shown(news, times).isEmpty && said(news).isEmpty)
        #expect(client.problems.count == 1 && client.problems[0].contains("names"), "\(client.problems)")
    }
}
