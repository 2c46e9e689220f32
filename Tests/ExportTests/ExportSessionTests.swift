import CKioskFFmpeg
import Foundation
import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskExportCore

/// Films made from clips of the gallery, and read back.
@Suite(.serialized) struct ExportSessionTests {
    /// A film as a reader reads it.
    struct Film {
        var numbers: [Int] = []
        var times: [Double] = []
        var end = 0.0
        var left: [Float] = []
        var description: AssetDescription
        /// The numbers without repetitions.
        var order: [Int] { numbers.reduce(into: []) { if $0.last != $1 { $0.append($1) } } }
    }

    static func arrangement(_ clips: [String], gravity: VideoGravity = .resize) throws -> Arrangement {
        var arrangement = Arrangement()
        arrangement.film.gravity = gravity
        arrangement.clips = try clips.map { .init(.file($0.hasPrefix("/") ? $0 : try Clips.named($0))) }
        return arrangement
    }

    /// Makes a film, and reads it back.
    static func film(
        _ arrangement: Arrangement, copies: Bool = false, _ look: (borrowing TimedFrame) -> Void = { _ in }
    ) throws -> (film: Film, report: ExportSession.Report) {
        let folder = try ExportFolder()
        var options = ExportSession.Options(output: folder.path + "/film.mp4")
        options.copies = copies
        let report = try ExportSession.run(arrangement, options)
        #expect(folder.names == ["film.mp4"])
        var reader = try MediaReader.open(options.output, samples: FilmWriterTests.stereo)
        var film = Film(description: reader.description)
        while let frame = reader.nextFrame() {
            film.numbers.append(burnedInNumber(frame.frame))
            film.times.append(frame.time.seconds)
            film.end = (frame.time + frame.duration).seconds
            look(frame)
        }
        var chunk = [Float](repeating: 0, count: 2 * 4096)
        while true {
            let count = chunk.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
            film.left += stride(from: 0, to: count * 2, by: 2).map { chunk[$0] }
            if count < 4096 { break }
        }
        return (film, report)
    }

    /// Makes a clip of numbered pictures with a lossless sound of clicks: one at its beginning, and one every 24,000 samples.
    static func clicks(_ name: String, seconds: Double, from first: Int, rate: Int = 25) throws -> String {
        let picture = try Clips.numbered("\(name)-silent.mp4", frames: Int(seconds * Double(rate)), from: first, rate: rate, sound: false)
        return try Clips.make(
            "\(name).mov",
            ["-i", picture, "-f", "lavfi", "-i", "aevalsrc='if(lt(mod(n\\,24000)\\,48)\\,0.8\\,0)':s=48000:d=\(seconds)"]
                + ["-c:v", "copy", "-c:a", "pcm_s16le"])
    }

    /// Returns the samples at which clicks begin.
    static func clickPositions(_ samples: [Float]) -> [Int] {
        samples.indices.filter { samples[$0] > 0.3 && ($0 == 0 || !samples[max(0, $0 - 400)..<$0].contains { $0 > 0.3 }) }
    }

    // MARK: Subtitles

    /// The film has subtitles in the pictures that they belong to, and in no others. With subtitles off it has none.
    @Test func subtitlesAreDrawnIntoTheFilm() throws {
        let folder = try ExportFolder()
        let clip = folder.path + "/clip.mp4"
        try FileManager.default.copyItem(
            atPath: try Clips.numbered("for-subtitles.mp4", frames: 50, from: 1, rate: 25, sound: false), toPath: clip)
        // Pictures 11 to 20, and the last five.
        let text = "1\n00:00:00,396 --> 00:00:00,796\nIIIIIIIIIIII\n\n2\n00:00:01,796 --> 00:00:05,000\nIIIIIIIIIIII\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.path + "/clip.srt"))
        func looks(_ choice: TrackChoice) throws -> [UInt64] {
            var arrangement = try Self.arrangement([clip])
            arrangement.film.subtitles = choice
            var sums: [UInt64] = []
            let (film, report) = try Self.film(arrangement) { frame in
                let av = frame.frame.av.pointee
                var sum: UInt64 = 0
                for row in frame.frame.height * 3 / 4..<frame.frame.height {
                    for column in 0..<frame.frame.width { sum += UInt64(av.data.0![row * Int(av.linesize.0) + column]) }
                }
                sums.append(sum)
            }
            #expect(film.order == Array(1...50) && report.notes == [], "\(report.notes)")
            return sums
        }
        let (without, with) = (try looks(.off), try looks(.automatic))
        let different = zip(without, with).enumerated().filter { abs(Int64($1.0) - Int64($1.1)) > 2000 }.map { $0.offset + 1 }
        #expect(different == Array(11...20) + Array(46...50), "\(different)")
    }

    // MARK: Pictures

    @Test func tenMixedClipsComeFrameByFrame() throws {
        let clips = Gallery.mixed
        let (film, report) = try Self.film(try Self.arrangement(clips.map(\.name)))
        // The highest of the clips' rates, and the size of the first clip.
        #expect(report.rate == FrameRate(60) && report.size == PictureSize(width: 480, height: 270))
        #expect(film.order == clips.flatMap { Array($0.numbers!) })
        let seconds = clips.reduce(0) { $0 + $1.seconds }
        #expect(abs(film.end - seconds) < 0.02)
        #expect(abs(Double(film.left.count) / 48000 - film.end) < 0.03)
        // Each picture begins within a vblank of its time.
        var begin = 0.0
        for clip in clips {
            for (index, number) in clip.numbers!.enumerated() {
                let shown = film.times[film.numbers.firstIndex(of: number)!]
                #expect(abs(shown - begin - clip.time(ofFrame: index)) < 1 / 60.0 + 0.002, "\(clip.name) \(number)")
            }
            begin += clip.seconds
        }
        #expect(report.notes == [], "\(report.notes)")
    }

    @Test(arguments: [
        "vfr.mp4", "hevc10.mp4", "ntsc.mp4", "film.mp4", "silent.mp4", "turned-90.mp4", "turned-270.mp4", "odd444.mp4", "edit-list.mov",
    ])
    func everyKindOfClip(_ name: String) throws {
        let clip = try #require(Gallery.moving.first { $0.name == name })
        let (film, report) = try Self.film(try Self.arrangement([name]))
        #expect(film.order == Array(clip.numbers!))
        if clip.isConstantRate { #expect(film.numbers == Array(clip.numbers!), "one picture a vblank") }
        #expect(report.size == PictureSize(width: clip.width / 2 * 2, height: clip.height / 2 * 2) || name == "odd444.mp4")
        #expect(film.description.audio == nil || clip.sound != nil)
        #expect(film.description.video?.orientation == .up)
    }

    @Test func fieldsAreAllThere() throws {
        let (film, report) = try Self.film(try Self.arrangement(["interlaced.mp4"]))
        #expect(report.rate == FrameRate(50))
        #expect(film.order == Array(1...48))
    }

    @Test func portraitAndLandscapeStandUpright() throws {
        var arrangement = try Self.arrangement(["thirty.mp4", "turned-90.mp4", "exif-6.jpg"], gravity: .resizeAspect)
        arrangement.film.background = try #require(Color("#00ff00"))
        arrangement.film.imageDuration = .seconds(1)
        var bars: [Bool] = [], numbers: [Int] = []
        let (film, report) = try Self.film(arrangement) { timed in
            let frame = timed.frame.av.pointee
            // Green at the left of a portrait picture, from top to bottom, and the number within the picture.
            bars.append((5..<85).allSatisfy { abs(Int(frame.data.1![Int(frame.linesize.1) * $0 + 2]) - 54) < 8 })
            let width = 180 * 180 / 320
            let left = (320 - width) / 2
            numbers.append(
                burnedInNumber(width: width, height: 180) { Int(frame.data.0![$1 * Int(frame.linesize.0) + left + $0]) })
        }
        #expect(report.size == PictureSize(width: 320, height: 180))
        let turned = try #require(Gallery.moving.first { $0.name == "turned-90.mp4" }).frameCount
        #expect(film.numbers.count == 30 + turned + 30)
        #expect(Array(film.numbers.prefix(30)) == Array(1...30))
        // The picture that EXIF turns is a landscape one, too.
        #expect(bars == (0..<60 + turned).map { 30..<30 + turned ~= $0 })
        #expect(Array(numbers[30..<(30 + turned)]) == Array(1...turned))
    }

    @Test func inAndOutRepeatAndSlot() throws {
        var arrangement = try Self.arrangement(["thirty.mp4", "thirty.mp4"])
        (arrangement.clips[0].start, arrangement.clips[0].end) = (.milliseconds(200), .milliseconds(500))
        arrangement.clips[0].repeatCount = 2
        arrangement.clips[1].duration = .milliseconds(1500)
        let film = try Self.film(arrangement).film
        #expect(film.numbers == Array(7...15) + Array(7...15) + Array(1...30) + Array(1...15))
    }

    @Test func fadesAndCuts() throws {
        var arrangement = try Self.arrangement(["still.jpg", "still.png", "still.bmp"])
        arrangement.film.imageDuration = .seconds(2)
        arrangement.film.transition = .fade
        arrangement.film.transitionDuration = .milliseconds(800)
        arrangement.clips[2].transition = .cut
        let (film, _) = try Self.film(arrangement)
        // The clips overlap during the fade, but not at the cut.
        #expect(abs(film.end - (6 - 0.8)) < 0.05, "\(film.end)")
    }

    @Test func aTitleCardIsAClip() throws {
        var arrangement = try Self.arrangement(["thirty.mp4"])
        var card = Arrangement.Clip(
            .card(text: "Welcome", subtitle: "to the museum", background: Color("#0000ff"), foreground: .white))
        card.duration = .seconds(1)
        arrangement.clips.insert(card, at: 0)
        var corners: [UInt8] = [], brightest: [UInt8] = []
        let (film, _) = try Self.film(arrangement) { timed in
            let frame = timed.frame.av.pointee
            corners.append(frame.data.1![0])
            brightest.append((0..<320).map { frame.data.0![80 * Int(frame.linesize.0) + $0] }.max() ?? 0)
        }
        #expect(film.numbers.count == 60 && Array(film.numbers.suffix(30)) == Array(1...30))
        // The corner is blue, and the letters in the middle are white.
        #expect(corners.prefix(30).allSatisfy { $0 > 225 })
        #expect(brightest.prefix(30).allSatisfy { $0 > 200 })
    }

    // MARK: Sound

    @Test func soundIsAlignedToTheSampleAcrossCuts() throws {
        // 1.04 s and 0.84 s: neither is a whole number of AAC frames, and cuts fall between clicks.
        let clips = [
            try Self.clicks("click-a", seconds: 1.04, from: 1), try Self.clicks("click-b", seconds: 0.84, from: 101),
            try Self.clicks("click-c", seconds: 1.2, from: 201),
        ]
        let (film, _) = try Self.film(try Self.arrangement(clips))
        #expect(film.numbers == Array(1...26) + Array(101...121) + Array(201...230))
        let begins = [0, 1.04, 1.88].map { Int(($0 * 48000).rounded()) }
        let expected =
            [0, 24000, 48000].map { begins[0] + $0 } + [0, 24000].map { begins[1] + $0 } + [0, 24000, 48000].map { begins[2] + $0 }
        let found = Self.clickPositions(film.left)
        #expect(found.count == expected.count)
        for (a, b) in zip(found, expected) { #expect(abs(a - b) <= 4, "\(found)") }
    }

    @Test func musicReplacesLoopsAndFadesOut() throws {
        var arrangement = try Self.arrangement([try Clips.numbered("music-clip.mp4", frames: 75, rate: 25)])
        let tone = try Clips.make("music-880.wav", ["-f", "lavfi", "-i", "sine=f=880:r=48000:d=1.2"])
        arrangement.music = .init(source: tone)
        arrangement.music?.mode = .replace
        arrangement.music?.fadeOut = .seconds(1)
        let (film, report) = try Self.film(arrangement)
        #expect(abs(film.left.count - 144_000) < 1100)
        // The clip's own 440 Hz is gone, and the music's 880 Hz lasts to the end of the fade.
        #expect(Self.level(film.left[24000..<72000], of: 440) < 0.003)
        #expect(Self.level(film.left[24000..<72000], of: 880) > 0.05)
        #expect(Self.level(film.left[134_000..<143_000], of: 880) < 0.4 * Self.level(film.left[24000..<72000], of: 880))
        #expect(report.notes.count == 1 && report.notes[0].contains("it begins again"))

        arrangement.music?.isRepeated = false
        let once = try Self.film(arrangement)
        #expect(once.film.left[70000...].allSatisfy { abs($0) < 0.01 })
        #expect(once.report.notes[0].contains("the rest has none"))
    }

    @Test func musicIsLoweredUnderSoundAndCutAtTheEnd() throws {
        // A second of silence, one of a tone, two of silence.
        let picture = try Clips.numbered("duck-silent.mp4", frames: 100, rate: 25, sound: false)
        let clip = try Clips.make(
            "duck.mov",
            ["-i", picture, "-f", "lavfi", "-i", "aevalsrc='if(between(t\\,1\\,2)\\,0.3*sin(2*PI*440*t)\\,0)':s=48000:d=4"]
                + ["-c:v", "copy", "-c:a", "pcm_s16le"])
        var arrangement = try Self.arrangement([clip])
        arrangement.music = .init(source: try Clips.make("music-long.wav", ["-f", "lavfi", "-i", "sine=f=880:r=48000:d=20"]))
        arrangement.music?.fadeOut = .zero
        let (film, report) = try Self.film(arrangement)
        let before = Self.level(film.left[4800..<33600], of: 880), under = Self.level(film.left[52800..<91200], of: 880)
        let after = Self.level(film.left[172_800..<187_200], of: 880)
        #expect(
            before > 0.05 && abs(after - before) < 0.01 && abs(under / before - Double(Ducking.lowered)) < 0.05,
            "\(before) \(under) \(after)")
        #expect(Self.level(film.left[52800..<91200], of: 440) > 0.2)
        #expect(report.notes.count == 1 && report.notes[0].contains("kiosk cuts it there"))
    }

    /// Returns the amplitude of a frequency in samples of 48 kHz.
    static func level(_ samples: ArraySlice<Float>, of frequency: Double) -> Double {
        var (sine, cosine) = (0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let phase = 2 * Double.pi * frequency * Double(index) / 48000
            sine += Double(sample) * sin(phase)
            cosine += Double(sample) * cos(phase)
        }
        return 2 * (sine * sine + cosine * cosine).squareRoot() / Double(samples.count)
    }

    // MARK: Copying

    @Test func picturesAreCopiedAsTheyAre() throws {
        let long = try Clips.numbered(
            "copy-long.mp4", frames: 90, from: 1, rate: 30, extra: ["-g", "30", "-bf", "2", "-sc_threshold", "0"])
        var arrangement = try Self.arrangement([long, long])
        (arrangement.clips[0].start, arrangement.clips[0].end) = (.seconds(1), .seconds(2))
        let (film, report) = try Self.film(arrangement, copies: true)
        #expect(report.encoder == "copy")
        #expect(film.numbers == Array(31...60) + Array(1...90))
        for (index, time) in film.times.enumerated() { #expect(abs(time - Double(index) / 30) < 0.001, "\(index)") }
        #expect(abs(film.left.count - 192_000) < 1100)
    }

    @Test func whatStandsInTheWayOfCopying() throws {
        let long = try Clips.numbered(
            "copy-long.mp4", frames: 90, from: 1, rate: 30, extra: ["-g", "30", "-bf", "2", "-sc_threshold", "0"])
        var arrangement = try Self.arrangement([long, "still.jpg", "hevc.mp4", "interlaced.mp4"])
        (arrangement.clips[0].start, arrangement.clips[0].end) = (.milliseconds(500), .milliseconds(1500))
        arrangement.clips[2].end = .milliseconds(410)
        arrangement.film.transition = .fade
        let folder = try ExportFolder()
        var options = ExportSession.Options(output: folder.path + "/film.mp4")
        options.copies = true
        do throws(ExportError) {
            _ = try ExportSession.run(arrangement, options)
            Issue.record("it was copied")
        } catch {
            guard case .cannotCopy(let reasons) = error else {
                Issue.record("\(error)")
                return
            }
            for text in [
                "fades", "no key frame at its start; the nearest is at 0 s", "no key frame at its end", "is a still", "is interlaced",
                "hevc.mp4: its codec is hevc, that of the first clip h264", "hevc.mp4: no key frame at its end",
            ] {
                #expect(reasons.contains { $0.contains(text) }, "\(text): \(reasons)")
            }
        }
    }

    @Test func whatIsCopiedKeepsTheShapeThatTheContainerTells() throws {
        let square = try Clips.make(
            "shape-square.mkv", ["-f", "lavfi", "-i", "testsrc2=s=360x288:r=25:d=1,setsar=1", "-pix_fmt", "yuv420p", "-c:v", "libx264"])
        let wide = try Clips.make("shape-wide.mkv", ["-i", square, "-c", "copy", "-aspect", "16:9"])
        let folder = try ExportFolder()
        var options = ExportSession.Options(output: folder.path + "/film.mp4")
        options.copies = true
        _ = try ExportSession.run(try Self.arrangement([wide]), options)
        let film = try MediaReader.open(options.output, samples: nil)
        let shape = film.description.video?.pixelAspectRatio ?? 0
        #expect(abs(shape - 64.0 / 45) < 0.01)
        let both = try Self.arrangement([wide, square])
        options.output = folder.path + "/both.mp4"
        do throws(ExportError) {
            _ = try ExportSession.run(both, options)
            Issue.record("it was copied")
        } catch {
            guard case .cannotCopy(let reasons) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(reasons.contains { $0.contains("the shape of its pixels is not that of the first clip's") }, "\(reasons)")
        }
    }

    // MARK: Other players and damaged files

    @Test func ffprobeAndMpvTakeTheFilm() throws {
        let folder = try ExportFolder()
        let path = folder.path + "/film.mp4"
        var arrangement = try Self.arrangement(["thirty.mp4", "turned-90.mp4"])
        arrangement.music = .init(source: try Clips.named("sound-only.m4a"))
        let report = try ExportSession.run(arrangement, ExportSession.Options(output: path))
        let packets = try Self.run([
            "ffprobe", "-v", "error", "-count_packets", "-show_entries", "stream=codec_type,nb_read_packets", "-of", "csv=p=0", path,
        ])
        #expect(packets.status == 0 && packets.text.contains("video,\(report.pictures)"), "\(packets.text)")
        guard (try? Self.run(["mpv", "--version"]))?.status == 0 else { return }
        let played = try Self.run(["mpv", "--no-config", "--vo=null", "--ao=null", "--untimed", "--msg-level=all=warn", path])
        #expect(played.status == 0 && played.text.isEmpty, "\(played.text)")
    }

    private static func run(_ command: [String]) throws -> (status: Int32, text: String) {
        let process = Process(), pipe = Pipe()
        (process.executableURL, process.arguments) = (URL(fileURLWithPath: "/usr/bin/env"), command)
        (process.standardOutput, process.standardError) = (pipe, pipe)
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    @Test func aDamagedClipIsShownAsFarAsItGoes() throws {
        let (film, report) = try Self.film(try Self.arrangement(["truncated.mp4", "thirty.mp4"]))
        #expect(Array(film.numbers.suffix(30)) == Array(1...30))
        #expect(!report.notes.isEmpty)
    }
}
