import CTestSupport
import Foundation
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskReaders

/// Compares the subtitles that a reader draws with those that ffmpeg and libass burn into a black picture of the same size.
@Suite(.blocking) struct SubtitleReaderTests {
    private static let kinds: [Readers.Isolation] = test_is_sanitized() ? [.thread] : [.process, .thread]
    private static let thread = Readers(executable: "/nowhere", isolation: .thread)
    private static let size = PixelSize(width: 640, height: 360)
    /// 25 frames a second, for four seconds.
    private static let rate = 25, count = 100

    private func readers(_ isolation: Readers.Isolation) -> Readers { isolation == .process ? .shared : Self.thread }

    // MARK: Material

    private static let font = "DejaVu Sans"
    private static let script = """
        [Script Info]
        ScriptType: v4.00+
        PlayResX: 640
        PlayResY: 360
        ScaledBorderAndShadow: yes

        [V4+ Styles]
        Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
        Style: Default,\(font),28,&H0000FFFF,&H000000FF,&H00000000,&H80000000,0,0,0,0,100,100,0,0,1,2,1,2,20,20,18,1

        [Events]
        Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
        Dialogue: 0,0:00:00.50,0:00:01.50,Default,,0,0,0,,Styled, in one line
        Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\\an7\\pos(40,30)\\c&H0000FF&}A sign
        Dialogue: 0,0:00:02.20,0:00:03.40,Default,,0,0,0,,{\\move(100,300,500,100)}moving
        Dialogue: 0,0:00:03.50,0:00:03.90,Default,,0,0,0,,{\\an5\\pos(320,180)\\fn@\(font)\\frz-90}upright →

        """
    private static let text = """
        1
        00:00:00,480 --> 00:00:01,500
        Plain, <i>slanted</i>

        2
        00:00:02,000 --> 00:00:03,000
        Two lines
        of text

        """

    /// A folder with a clip of black frames, and the files made from it.
    private final class Material {
        let folder = NSTemporaryDirectory() + "kiosk-subtitles-\(UUID().uuidString)"
        var clip: String { folder + "/clip.mp4" }

        init() throws {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try ffmpeg(
                ["-f", "lavfi", "-i", "color=black:s=640x360:r=25:d=4", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", clip])
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        func write(_ text: String, _ name: String) throws -> String {
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/" + name))
            return folder + "/" + name
        }

        func ffmpeg(_ arguments: [String]) throws {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = ["ffmpeg", "-v", "error", "-nostdin", "-y"] + arguments
            process.currentDirectoryURL = URL(fileURLWithPath: folder)
            try process.run()
            process.waitUntilExit()
            try #require(process.terminationStatus == 0, "ffmpeg \(arguments)")
        }

        /// Returns the frames that ffmpeg burns in over black, one after the other, as 0x00RRGGBB.
        func burnt(_ filter: String) throws -> [[UInt32]] {
            try ffmpeg([
                "-f", "lavfi", "-i", "color=black:s=640x360:r=25:d=4,format=bgr0,\(filter)", "-f", "rawvideo", "-pix_fmt", "bgr0",
                "burnt.raw",
            ])
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder + "/burnt.raw")))
            let picture = 640 * 360 * 4
            return bytes.withUnsafeBytes { bytes in
                (0..<bytes.count / picture).map { index in
                    (0..<640 * 360).map { bytes.loadUnaligned(fromByteOffset: index * picture + $0 * 4, as: UInt32.self) & 0xFF_FFFF }
                }
            }
        }
    }

    private static func order(_ path: String, _ choice: TrackChoice, size: PixelSize = size) -> OpenOrder {
        var order = OpenOrder(.play, path)
        order.takesTime = true
        var subtitles = SubtitleOrder()
        subtitles.choice = choice
        subtitles.style = SubtitleStyle(font: font, size: 7, safeArea: 5)
        subtitles.screen = SubtitleScreen(size: size)
        subtitles.folder = (path as NSString).deletingLastPathComponent
        order.subtitles = subtitles
        return order
    }

    /// Takes all frames from a client; returns their times and the subtitle news.
    private func all(of client: ReaderClient) -> (pictures: [MediaTime], news: [SubtitleNews]) {
        var (times, news) = ([MediaTime](), [SubtitleNews]())
        while let frame = client.nextFrame() {
            times.append(frame.time)
            news += client.takeSubtitles()
        }
        // The reader draws the last subtitles only after the client has handed out their frame.
        let deadline = HostTime.now + .seconds(60)
        client.draw(Self.order(client.source, .off).subtitles!, at: .seconds(100))
        while HostTime.now < deadline, case let more = client.takeSubtitles(), !more.isEmpty { news += more }
        return (times, news)
    }

    /// Returns the subtitles over black at a frame's time.
    private func seen(_ news: [SubtitleNews], at time: MediaTime) -> [UInt32] {
        var pixels = [UInt32](repeating: 0, count: 640 * 360)
        let last = news.compactMap { item -> [SubtitlePicture]? in
            if case .seen(let pictures, _, let from) = item, from <= time { pictures } else { nil }
        }.last
        for picture in last ?? [] {
            for row in 0..<picture.height {
                for column in 0..<picture.width where (0..<360).contains(picture.y + row) && (0..<640).contains(picture.x + column) {
                    pixels[(picture.y + row) * 640 + picture.x + column] = picture.pixels[row * picture.width + column] & 0xFF_FFFF
                }
            }
        }
        return pixels
    }

    /// Returns the largest difference of a colour component between two frames.
    private func distance(_ a: [UInt32], _ b: [UInt32]) -> Int {
        zip(a, b).reduce(0) { most, pair in
            pair.0 == pair.1
                ? most
                : stride(from: 0, to: 24, by: 8).reduce(most) { max($0, abs(Int(pair.0 >> $1 & 255) - Int(pair.1 >> $1 & 255))) }
        }
    }

    private func compare(_ news: [SubtitleNews], _ times: [MediaTime], _ reference: [[UInt32]]) {
        #expect(times.count == Self.count && reference.count == Self.count)
        var wrong: [Int] = [], textual = 0
        for (index, time) in times.enumerated() where index < reference.count {
            let own = seen(news, at: time)
            if own.contains(where: { $0 != 0 }) { textual += 1 }
            // The two ways of blending round differently.
            if distance(own, reference[index]) > 3 { wrong.append(index) }
        }
        #expect(wrong == [] && textual > 20, "pictures \(wrong) differ; \(textual) have subtitles")
    }

    // MARK: Drawing

    @Test(arguments: kinds) func aScriptIsDrawnAsFFmpegBurnsItIn(isolation: Readers.Isolation) throws {
        let material = try Material()
        let script = try material.write(Self.script, "clip.ass")
        let reference = try material.burnt("ass=\(script)")
        // First the script beside the clip, then the same one in the file.
        let client = try ReaderClient(Self.order(material.clip, .automatic), by: readers(isolation), Interruption())
        #expect(client.selectedTracks[.subtitle] != nil && client.description.tracks.last?.isBeside == true)
        let (times, news) = all(of: client)
        compare(news, times, reference)
        #expect(client.problems == [], "\(client.problems)")
        try material.ffmpeg(["-i", material.clip, "-i", script, "-map", "0", "-map", "1", "-c", "copy", "in.mkv"])
        let inside = try ReaderClient(Self.order(material.folder + "/in.mkv", .number(1)), by: readers(isolation), Interruption())
        let (itsTimes, itsNews) = all(of: inside)
        compare(itsNews, itsTimes, reference)
        let said = itsNews.compactMap { item -> String? in if case .said(let cue) = item { cue.text } else { nil } }
        #expect(said == ["Styled, in one line", "A sign", "moving", "upright →"])
    }

    @Test(arguments: kinds) func textHasTheLookOfThePlayer(isolation: Readers.Isolation) throws {
        let material = try Material()
        let text = try material.write(Self.text, "words.srt")
        // ffmpeg's sizes are 288ths of the height here: text of 7 per cent, margins of 5.
        let style = "Fontname=\(Self.font),Fontsize=20.16,Outline=1.26,Shadow=0,MarginV=14,MarginL=25,MarginR=25,PlayResX=512"
        let reference = try material.burnt("subtitles=\(text):force_style='\(style)'")
        for (name, codec) in [("clip.mp4.mkv", "srt"), ("text.mp4", "mov_text"), ("text.mkv", "webvtt")] {
            try material.ffmpeg(["-i", material.clip, "-i", text, "-map", "0", "-map", "1", "-c:v", "copy", "-c:s", codec, name])
            let client = try ReaderClient(Self.order(material.folder + "/" + name, .number(1)), by: readers(isolation), Interruption())
            let (times, news) = all(of: client)
            #expect(client.problems == [], "\(name): \(client.problems)")
            // Compares only the times. The test of scripts compares the look, with identical styles.
            for (index, time) in times.enumerated() {
                let (own, its) = (seen(news, at: time).contains { $0 != 0 }, reference[index].contains { $0 != 0 })
                #expect(own == its, "\(name): picture \(index)")
            }
        }
    }

    /// Bitmap subtitles, as on Blu-rays, DVDs and DVB: a white box in the lower half of 1280×720, from 0.5 s to 2 s.
    @Test(arguments: kinds) func picturesAreScaledToTheScreen(isolation: Readers.Isolation) throws {
        let material = try Material()
        let box = PresentationGraphics(x: 320, y: 500, width: 640, height: 64)
        try Data(box.file(from: 0.5, to: 2)).write(to: URL(fileURLWithPath: material.folder + "/box.sup"))
        for (name, codec) in [("pgs.mkv", "copy"), ("dvd.mkv", "dvdsub"), ("dvb.ts", "dvbsub")] {
            try material.ffmpeg(["-i", material.clip, "-i", "box.sup", "-map", "0", "-map", "1", "-c:v", "copy", "-c:s", codec, name])
            let client = try ReaderClient(Self.order(material.folder + "/" + name, .number(1)), by: readers(isolation), Interruption())
            let (times, news) = all(of: client)
            #expect(client.problems == [], "\(name): \(client.problems)")
            let shown = times.filter { seen(news, at: $0).contains { $0 != 0 } }
            #expect(
                shown.first.map { abs($0.seconds - 0.5) < 0.05 } == true,
                "\(name): \(shown.first?.seconds ?? -1), \(client.description.tracks.map(\.summary)), \(news.count)")
            // ffmpeg's dvdsub and dvbsub encoders leave out the end time.
            if codec == "copy" {
                #expect(shown.last.map { abs($0.seconds - 1.96) < 0.05 } == true, "\(name): \(shown.last?.seconds ?? -1)")
            }
            let pixels = seen(news, at: .seconds(1))
            let lit = pixels.indices.filter { pixels[$0] & 0xFF > 0xC0 }
            let (columns, rows) = (lit.map { $0 % 640 }, lit.map { $0 / 640 })
            #expect(columns.min() == 160 && columns.max() == 479 && rows.min() == 250 && rows.max() == 281, "\(name): \(lit.count)")
        }
    }

    /// A film from a server: the reader keeps the subtitles that it receives before the client selects a track.
    @Test(arguments: kinds) func whatComesFromAServer(isolation: Readers.Isolation) throws {
        let material = try Material()
        let text = try material.write(Self.text, "words.srt")
        try material.ffmpeg(["-i", material.clip, "-i", text, "-map", "0", "-map", "1", "-c", "copy", "-c:s", "srt", "film.mkv"])
        let server = try FileServer(.init([UInt8](try Data(contentsOf: URL(fileURLWithPath: material.folder + "/film.mkv")))))
        var order = Self.order(server.url("film.mkv"), .number(1))
        order.subtitles?.folder = nil
        let client = try ReaderClient(order, by: readers(isolation), Interruption())
        let (times, news) = all(of: client)
        let shown = times.filter { seen(news, at: $0).contains { $0 != 0 } }
        #expect(client.problems == [] && times.count == Self.count, "\(client.problems)")
        #expect(shown == times.filter { (0.48..<1.5).contains($0.seconds) || (2.0..<3.0).contains($0.seconds) }, "\(shown.map(\.seconds))")
    }

    // MARK: Changes

    @Test(arguments: kinds) func anotherTrackAndAnotherScreen(isolation: Readers.Isolation) throws {
        let material = try Material()
        _ = try material.write(Self.text, "clip.srt")
        _ = try material.write(Self.script, "clip.de.ass")
        let client = try ReaderClient(Self.order(material.clip, .off), by: readers(isolation), Interruption())
        #expect(client.description.tracks.filter(\.isBeside).map(\.summary) == ["1 de ass “clip.de.ass”", "2 subrip “clip.srt”"])
        #expect(client.selectedTracks[.subtitle] == nil)
        for _ in 0..<10 { _ = client.nextFrame() }
        #expect(client.takeSubtitles().isEmpty)
        // Each order draws the subtitles at 1 s at once.
        for (choice, size) in [
            (TrackChoice.number(1), Self.size), (.number(2), Self.size), (.number(2), PixelSize(width: 1280, height: 720)),
        ] {
            client.draw(Self.order(material.clip, choice, size: size).subtitles!, at: .seconds(1))
            let last = client.takeSubtitles().compactMap { item -> ([SubtitlePicture], PixelSize)? in
                if case .seen(let pictures, let screen, _) = item { (pictures, screen) } else { nil }
            }.last
            #expect(last?.1 == size && last?.0.isEmpty == false, "\(choice) on \(size)")
            #expect(
                last?.0.allSatisfy { $0.x >= 0 && $0.y >= 0 && $0.x + $0.width <= size.width && $0.y + $0.height <= size.height } == true)
        }
        client.draw(Self.order(material.clip, .off).subtitles!, at: .seconds(1))
        let last = client.takeSubtitles().last
        if case .seen(let pictures, _, _) = last { #expect(pictures.isEmpty) } else { Issue.record("\(String(describing: last))") }
        // A seek repeats the subtitles of its target.
        client.draw(Self.order(material.clip, .number(2)).subtitles!, at: .zero)
        _ = client.takeSubtitles()
        _ = try client.seek(to: .seconds(2.5), precision: .exact)
        // They are there before the client asks for a frame.
        let first = client.takeSubtitles()
        #expect(seen(first, at: .seconds(2.5)).contains { $0 != 0 })
        let (times, rest) = all(of: client)
        let news = first + rest
        #expect(seen(news, at: times[0]).contains { $0 != 0 })
    }

    /// Size, margin and font apply to plain text. A script keeps its own styles.
    @Test(arguments: kinds, ["clip.srt", "clip.ass"]) func anotherLook(isolation: Readers.Isolation, name: String) throws {
        let material = try Material()
        _ = try material.write(name == "clip.srt" ? Self.text : Self.script, name)
        let client = try ReaderClient(Self.order(material.clip, .number(1)), by: readers(isolation), Interruption())
        var looks: [[UInt32]] = []
        for style in [
            SubtitleStyle(font: Self.font, size: 7, safeArea: 5), .init(font: Self.font, size: 14, safeArea: 5),
            .init(font: Self.font, size: 14, safeArea: 20), .init(font: "DejaVu Serif", size: 14, safeArea: 20),
            .init(font: Self.font, size: 7, safeArea: 5),
        ] {
            var order = try #require(Self.order(material.clip, .number(1)).subtitles)
            order.style = style
            client.draw(order, at: .seconds(1.2))
            let news = client.takeSubtitles()
            let look = seen(news, at: .seconds(1.2))
            #expect(look.contains { $0 != 0 } && client.problems == [], "\(client.problems)")
            looks.append(look)
        }
        #expect(Set(looks).count == (name == "clip.srt" ? 4 : 1) && looks.first == looks.last)
    }

    /// kiosk reports an unreadable subtitle file, and plays the clip without it.
    @Test(arguments: kinds) func whatCannotBeRead(isolation: Readers.Isolation) throws {
        let material = try Material()
        _ = try material.write("nothing of the kind", "clip.srt")
        let client = try ReaderClient(Self.order(material.clip, .automatic), by: readers(isolation), Interruption())
        #expect(client.selectedTracks[.subtitle] == nil)
        #expect(client.problems.count == 1 && client.problems[0].hasPrefix("plays without its subtitles: clip.srt: "), "\(client.problems)")
        let other = try ReaderClient(Self.order(material.clip, .language(LanguageCode("fr")!)), by: readers(isolation), Interruption())
        #expect(other.problems == ["has no subtitles “fr”: kiosk shows none; there is 1 subrip “clip.srt”"], "\(other.problems)")
        var count = 0
        while client.nextFrame() != nil { count += 1 }
        #expect(count == Self.count)
    }

    /// kiosk ignores a link beside the clip that leads out of its folder.
    @Test(arguments: kinds) func linksLeadNowhere(isolation: Readers.Isolation) throws {
        let (material, elsewhere) = (try Material(), try Material())
        let target = try elsewhere.write(Self.text, "secret.srt")
        try FileManager.default.createSymbolicLink(atPath: material.folder + "/clip.srt", withDestinationPath: target)
        let client = try ReaderClient(Self.order(material.clip, .automatic), by: readers(isolation), Interruption())
        #expect(client.selectedTracks[.subtitle] == nil && client.problems.count == 1, "\(client.problems)")
    }
}

/// A Blu-ray subtitle file (.sup): one white box on 1280×720.
private struct PresentationGraphics {
    var x: Int, y: Int, width: Int, height: Int

    private func two(_ number: Int) -> [UInt8] { [UInt8(number >> 8 & 255), UInt8(number & 255)] }

    private func segment(_ kind: UInt8, _ body: [UInt8], at seconds: Double) -> [UInt8] {
        let stamp = Int(seconds * 90_000)
        return Array("PG".utf8) + two(stamp >> 16) + two(stamp & 0xFFFF) + [0, 0, 0, 0, kind] + two(body.count) + body
    }

    func file(from begin: Double, to end: Double) -> [UInt8] {
        let object = two(0) + [0, 0] + two(x) + two(y)
        func composition(_ number: Int, _ objects: [UInt8]) -> [UInt8] {
            two(1280) + two(720) + [0x10] + two(number) + [0x80, 0, 0, objects.isEmpty ? 0 : 1] + objects
        }
        // Runs of up to 63 pixels of colour 1, and the end of the line.
        var line: [UInt8] = [], left = width
        while left > 0 {
            let run = min(left, 63)
            line += [0, 0x80 | UInt8(run), 1]
            left -= run
        }
        line += [0, 0]
        let runs = (0..<height).flatMap { _ in line }
        let size = runs.count + 4
        let picture = two(0) + [0, 0xC0, UInt8(size >> 16), UInt8(size >> 8 & 255), UInt8(size & 255)] + two(width) + two(height) + runs
        // An empty composition at time zero: a program that copies the file takes its first time for zero.
        return segment(0x16, composition(0, []), at: 0) + segment(0x80, [], at: 0) + segment(0x16, composition(1, object), at: begin)
            + segment(0x17, [1, 0] + two(x) + two(y) + two(width) + two(height), at: begin)
            + segment(0x14, [0, 0, 1, 235, 128, 128, 255], at: begin) + segment(0x15, picture, at: begin) + segment(0x80, [], at: begin)
            + segment(0x16, composition(2, []), at: end) + segment(0x17, [1, 0] + two(x) + two(y) + two(width) + two(height), at: end)
            + segment(0x80, [], at: end)
    }
}
