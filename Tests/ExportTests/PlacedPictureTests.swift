import CKioskFFmpeg
import Foundation
import Glibc
import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskExportCore

/// Films whose pictures have places, opacities and volumes of their own, looked at pixel by pixel.
@Suite(.serialized) struct PlacedPictureTests {
    /// The colours of the quarters of a picture, by their brightness and colour differences in BT.601.
    enum Colour: CaseIterable {
        case red, green, blue, white, black, grey

        var parts: (Int, Int, Int) {
            switch self {
            case .red: (81, 90, 240)
            case .green: (145, 54, 34)
            case .blue: (41, 240, 110)
            case .white: (235, 128, 128)
            case .black: (16, 128, 128)
            case .grey: (126, 128, 128)
            }
        }
    }

    /// A decoded picture of a film.
    struct Picture {
        let width: Int, height: Int
        private let planes: [[UInt8]]

        init(_ frame: borrowing VideoFrame) {
            let av = frame.av.pointee
            (width, height) = (frame.width, frame.height)
            func plane(_ data: UnsafeMutablePointer<UInt8>?, _ stride: Int32, _ width: Int, _ height: Int) -> [UInt8] {
                (0..<height).flatMap { y in (0..<width).map { data![y * Int(stride) + $0] } }
            }
            planes = [
                plane(av.data.0, av.linesize.0, width, height), plane(av.data.1, av.linesize.1, width / 2, height / 2),
                plane(av.data.2, av.linesize.2, width / 2, height / 2),
            ]
        }

        /// The brightness and the colour differences at a place.
        func parts(_ x: Int, _ y: Int) -> (Int, Int, Int) {
            let place = y / 2 * (width / 2) + x / 2
            return (Int(planes[0][y * width + x]), Int(planes[1][place]), Int(planes[2][place]))
        }

        /// The colour at a place; nil for another one.
        func colour(_ x: Int, _ y: Int) -> Colour? {
            let (y, u, v) = parts(x, y)
            return Colour.allCases.first {
                let (a, b, c) = $0.parts
                return abs(y - a) < 16 && abs(u - b) < 16 && abs(v - c) < 16
            }
        }

        /// The mean difference of brightness from another picture.
        func difference(from other: Picture) -> Double {
            Double(zip(planes[0], other.planes[0]).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }) / Double(planes[0].count)
        }
    }

    /// A still of 320×180: red, green, and below them blue and white.
    static func quarters() throws -> String {
        let inputs = ["red", "lime", "blue", "white"].flatMap { ["-f", "lavfi", "-i", "color=\($0):s=160x90:d=1:r=1"] }
        return try Clips.make(
            "quarters.png",
            inputs + ["-filter_complex", "xstack=inputs=4:layout=0_0|160_0|0_90|160_90", "-frames:v", "1", "-update", "1"])
    }

    static func film(_ arrangement: Arrangement) throws -> [Picture] {
        var pictures: [Picture] = []
        _ = try ExportSessionTests.film(arrangement) { pictures.append(Picture($0.frame)) }
        return pictures
    }

    /// A film of a second of the quarters, at ten pictures a second.
    static func arrangement(_ change: (inout Arrangement.Clip) -> Void) throws -> Arrangement {
        var arrangement = Arrangement()
        arrangement.output.size = PictureSize(width: 320, height: 180)
        arrangement.output.rate = FrameRate(10)
        arrangement.film.imageDuration = .seconds(1)
        arrangement.film.background = try #require(Color("#808080"))
        var clip = Arrangement.Clip(.file(try quarters()))
        change(&clip)
        arrangement.clips = [clip]
        return arrangement
    }

    static func transformed(_ transform: PictureTransform) throws -> Picture {
        let film = try film(arrangement { $0.changes.transform = Ramps(transform) })
        #expect(film.count == 10 && film.allSatisfy { $0.difference(from: film[0]) < 1 })
        return try #require(film.last)
    }

    // MARK: Places

    @Test func `a picture is scaled and moved`() throws {
        let picture = try Self.transformed(PictureTransform(scaleX: 0.5, y: 0.5, moveX: 160, y: 20))
        #expect(picture.colour(200, 40) == .red && picture.colour(280, 40) == .green)
        #expect(picture.colour(200, 90) == .blue && picture.colour(280, 90) == .white)
        #expect([(80, 60), (150, 60), (240, 12), (240, 118)].allSatisfy { picture.colour($0, $1) == .grey })
        // The edges lie between whole pixels of the film, and are sharp.
        #expect(picture.colour(162, 30) == .red && picture.colour(157, 30) == .grey && picture.colour(280, 106) == .white)
    }

    @Test func `a picture is turned by any angle`() throws {
        func turned(_ angle: Double) throws -> Picture {
            let turn = PictureTransform(a: cos(angle), b: sin(angle), c: -sin(angle), d: cos(angle), tx: 0, ty: 0)
            return try Self.transformed(
                PictureTransform(scaleX: 1, y: 1, moveX: -160, y: -90).then(turn).then(PictureTransform(scaleX: 1, y: 1, moveX: 160, y: 90))
            )
        }
        // Clockwise, around the middle: red is at the top right.
        let right = try turned(.pi / 2)
        #expect(right.colour(220, 40) == .red && right.colour(220, 140) == .green)
        #expect(right.colour(100, 40) == .blue && right.colour(100, 140) == .white)
        #expect(right.colour(40, 90) == .grey && right.colour(280, 90) == .grey)
        let half = try turned(.pi)
        #expect(half.colour(80, 45) == .white && half.colour(240, 135) == .red)
        // At 45° each colour is in the direction of an edge.
        let diagonal = try turned(.pi / 4)
        #expect(diagonal.colour(160, 50) == .red && diagonal.colour(200, 90) == .green)
        #expect(diagonal.colour(120, 90) == .blue && diagonal.colour(160, 130) == .white)
        #expect(diagonal.colour(60, 20) == .blue && diagonal.colour(310, 10) == .grey && diagonal.colour(10, 170) == .grey)
    }

    @Test func `a picture is mirrored, and sheared`() throws {
        let mirrored = try Self.transformed(PictureTransform(scaleX: -1, y: 1, moveX: 320, y: 0))
        #expect(mirrored.colour(80, 40) == .green && mirrored.colour(240, 40) == .red && mirrored.colour(80, 140) == .white)
        let sheared = try Self.transformed(PictureTransform(a: 1, b: 0, c: 0.5, d: 1, tx: 0, ty: 0))
        #expect(sheared.colour(20, 10) == .red && sheared.colour(20, 100) == .grey && sheared.colour(120, 170) == .blue)
    }

    @Test func `numbers from outside do no harm`() throws {
        for number in [Double.nan, .infinity, -.infinity, 0, 1e-12, 1e12, -1e12] {
            _ = try Self.transformed(PictureTransform(a: number, b: 0, c: 0, d: 1, tx: 0, ty: 0))
            _ = try Self.transformed(PictureTransform(a: 1, b: number, c: number, d: number, tx: number, ty: number))
        }
        #expect(try Self.transformed(PictureTransform(scaleX: 0, y: 1)).colour(100, 60) == .grey)
        #expect(try Self.transformed(PictureTransform(scaleX: 50, y: 50)).colour(200, 150) == .red)
    }

    /// Without a change, and with one that changes nothing, the film is the same.
    @Test func `a transform that changes nothing changes nothing`() throws {
        let plain = try Self.film(try Self.arrangement { _ in })
        let same = try Self.film(
            try Self.arrangement {
                $0.changes.transform = Ramps(.identity)
                $0.changes.opacity = Ramps(0.999)
            })
        #expect(zip(plain, same).allSatisfy { $0.difference(from: $1) < 0.5 })
    }

    @Test func `a picture moves along a ramp, and its middle in a straight line`() throws {
        let film = try Self.film(
            try Self.arrangement { clip in
                let small = PictureTransform(scaleX: 0.25, y: 0.25)
                var ramps = Ramps(PictureTransform.identity)
                ramps.add(
                    from: small, to: small.then(PictureTransform(scaleX: 1, y: 1, moveX: 200, y: 100)), start: .milliseconds(200),
                    end: .milliseconds(700))
                clip.changes.transform = ramps
            })
        #expect(film[0].colour(80, 45) == .red && film[1].colour(300, 170) == .white)
        for index in 2..<10 {
            let share = min(Double(index - 2) / 5, 1)
            let (x, y) = (Int(200 * share), Int(100 * share))
            #expect(film[index].colour(x + 20, y + 10) == .red && film[index].colour(x + 60, y + 34) == .white, "\(index)")
            #expect(film[index].colour(x + 88, y + 20) == .grey && film[index].colour(x + 40, y + 52) == .grey, "\(index)")
        }
    }

    /// A clip of a second fills a slot of three.
    @Test func `a ramp goes on while a short clip repeats in its slot, and begins anew with each showing`() throws {
        let clip = try Clips.make(
            "white.mp4", ["-f", "lavfi", "-i", "color=white:s=320x180:r=10:d=1", "-pix_fmt", "yuv420p", "-c:v", "libx264"])
        var arrangement = try Self.arrangement { clip in
            var ramps = Ramps(1.0)
            ramps.add(from: 1, to: 0, start: .zero, end: .seconds(3))
            clip.changes.opacity = ramps
        }
        arrangement.clips[0].content = .file(clip)
        (arrangement.clips[0].duration, arrangement.clips[0].repeatCount) = (.seconds(3), 2)
        let film = try Self.film(arrangement)
        #expect(film.count == 60)
        for (index, picture) in film.enumerated() {
            let share = 1 - Double(index % 30) / 30
            #expect(abs(Double(picture.parts(160, 90).0) - (126 + (235 - 126) * share)) < 6, "\(index)")
        }
    }

    @Test func `half a turn keeps the size on the way`() {
        let turn = PictureTransform(a: -1, b: 0, c: 0, d: -1, tx: 320, ty: 180)
        let middle = PictureTransform.identity.moved(to: turn, share: 0.5, around: (160, 90))
        #expect(abs(abs(middle.b) - 1) < 1e-9 && abs(middle.a) < 1e-9 && abs(middle.determinant - 1) < 1e-9)
        let place = middle.apply(160, 90)
        #expect(abs(place.x - 160) < 1e-9 && abs(place.y - 90) < 1e-9)
        let mirror = PictureTransform(scaleX: -1, y: 1, moveX: 320, y: 0)
        #expect(PictureTransform.identity.moved(to: mirror, share: 0.5, around: (160, 90)).a == 0)
        #expect(PictureTransform.identity.moved(to: mirror, share: 1, around: (160, 90)) == mirror)
    }

    @Test func `the picture of a telephone comes upright first, or is placed as it is stored`() throws {
        let clip = "turned-90.mp4"
        let plain = try Self.film(try ExportSessionTests.arrangement([clip]))
        var arrangement = try ExportSessionTests.arrangement([clip])
        let video = try #require(try MediaReader.open(try Clips.named(clip), samples: nil).description.video)
        #expect(video.orientation == Orientation(rotation: .clockwise90))
        arrangement.clips[0].changes.isOfStored = true
        arrangement.clips[0].changes.transform = Ramps(
            PictureTransform(a: 0, b: 1, c: -1, d: 0, tx: Double(video.height), ty: 0))
        let stored = try Self.film(arrangement)
        #expect(stored.count == plain.count && zip(plain, stored).allSatisfy { $0.difference(from: $1) < 1.5 })
        // As gravity has placed it: half of it, upright.
        arrangement.clips[0].changes.isOfStored = false
        arrangement.clips[0].changes.transform = Ramps(PictureTransform(scaleX: 0.5, y: 0.5))
        let half = try Self.film(arrangement)
        let (width, height) = (plain[0].width, plain[0].height)
        #expect(width < height && half[0].width == width)
        for (x, y) in [(20, 20), (60, 100), (width - 30, height / 2)] {
            #expect(abs(half[5].parts(x / 2, y / 2).0 - plain[5].parts(x, y).0) < 40, "\(x) \(y)")
        }
        #expect(half[5].colour(width * 3 / 4, height * 3 / 4) == .black)
    }

    // MARK: Opacity

    @Test func `a picture is transparent over the background, and along a ramp`() throws {
        let half = try Self.film(try Self.arrangement { $0.changes.opacity = Ramps(0.5) })
        #expect(half.allSatisfy { abs($0.parts(240, 140).0 - (235 + 126) / 2) < 4 && abs($0.parts(80, 40).0 - (81 + 126) / 2) < 5 })
        let ramp = try Self.film(
            try Self.arrangement { clip in
                var ramps = Ramps(1.0)
                ramps.add(from: 1, to: 0, start: .milliseconds(300), end: .milliseconds(800))
                clip.changes.opacity = ramps
            })
        for (index, picture) in ramp.enumerated() {
            let share = 1 - min(max((Double(index) - 3) / 5, 0), 1)
            #expect(abs(Double(picture.parts(240, 140).0) - (126 + (235 - 126) * share)) < 5, "\(index)")
        }
    }

    @Test func `a fade mixes complete pictures`() throws {
        var arrangement = try Self.arrangement { $0.changes.transform = Ramps(PictureTransform(scaleX: 0.5, y: 0.5)) }
        arrangement.clips.append(arrangement.clips[0])
        arrangement.clips[1].changes.transform = Ramps(PictureTransform(scaleX: 0.5, y: 0.5, moveX: 160, y: 90))
        (arrangement.clips[1].transition, arrangement.clips[1].transitionDuration) = (.fade, .milliseconds(400))
        arrangement.output.rate = FrameRate(20)
        let film = try Self.film(arrangement)
        #expect(film.count == 32)
        let places = [(120, 70), (280, 160)]
        func white(_ picture: Picture) -> [Int] { places.map { picture.parts($0.0, $0.1).0 } }
        #expect(white(film[8]).map { $0 > 200 } == [true, false] && white(film[23]).map { $0 > 200 } == [false, true])
        // Both lie between their picture and the background, and together make one.
        for index in 14..<19 {
            let (first, second) = (white(film[index])[0], white(film[index])[1])
            #expect(abs(first + second - 126 - 235) < 10 && first > 130 && second > 130, "\(index): \(first) \(second)")
        }
    }

    // MARK: Insets

    @Test func `a picture in the picture is there for its time, with its sound`() throws {
        var arrangement = try Self.arrangement { _ in }
        arrangement.film.imageDuration = .seconds(3)
        let clip = try ExportSessionTests.clicks("inset", seconds: 1, from: 1, rate: 10)
        var inset = Arrangement.Clip(.file(clip))
        inset.gravity = .resize
        inset.changes.transform = Ramps(PictureTransform(scaleX: 0.5, y: 0.5, moveX: 160, y: 0))
        arrangement.insets = [.init(inset, start: .milliseconds(800))]
        var numbers: [Int] = [], pictures: [Picture] = []
        let (film, report) = try ExportSessionTests.film(arrangement) { timed in
            let av = timed.frame.av.pointee
            numbers.append(
                burnedInNumber(width: 160, height: 90) { Int(av.data.0![$1 * Int(av.linesize.0) + 160 + $0]) })
            pictures.append(Picture(timed.frame))
        }
        #expect(report.notes == [] && numbers.count == 30 && Array(numbers[8..<18]) == Array(1...10), "\(numbers)")
        for index in pictures.indices {
            #expect(pictures[index].colour(80, 45) == .red && pictures[index].colour(240, 140) == .white)
            #expect((pictures[index].colour(240, 45) == .green) == !(8..<18 ~= index), "\(index)")
        }
        let clicks = ExportSessionTests.clickPositions(film.left)
        #expect(clicks.count == 2 && abs(clicks[0] - 38400) < 5 && abs(clicks[1] - 62400) < 5, "\(clicks)")
    }

    @Test func `insets lie over each other, are transparent, and end with the film`() throws {
        var arrangement = try Self.arrangement { _ in }
        var first = Arrangement.Clip(.file(try Self.quarters())), second = first
        (first.duration, second.duration) = (.seconds(5), .milliseconds(300))
        first.changes.transform = Ramps(PictureTransform(scaleX: 1, y: 1, moveX: 160, y: 90))
        second.changes.transform = Ramps(PictureTransform(scaleX: 0.1, y: 0.1, moveX: 200, y: 120))
        second.changes.opacity = Ramps(0.5)
        arrangement.insets = [.init(first, start: .zero), .init(second, start: .milliseconds(500)), .init(second, start: .seconds(9))]
        let film = try Self.film(arrangement)
        #expect(film.count == 10)
        for index in film.indices {
            #expect(film[index].colour(80, 45) == .red && film[index].colour(240, 160) == .red, "\(index)")
            // White over red, half.
            let isMixed = abs(film[index].parts(228, 134).0 - (81 + 235) / 2) < 8
            #expect(isMixed == (5..<8 ~= index), "\(index): \(film[index].parts(228, 134))")
        }
    }

    @Test func `what is drawn cannot be copied, and a missing inset is named`() throws {
        var arrangement = try ExportSessionTests.arrangement(["thirty.mp4"])
        arrangement.clips[0].changes.opacity = Ramps(0.5)
        arrangement.insets = [.init(arrangement.clips[0], start: .zero)]
        let folder = try ExportFolder()
        var options = ExportSession.Options(output: folder.path + "/film.mp4")
        options.copies = true
        do throws(ExportError) {
            _ = try ExportSession.run(arrangement, options)
            Issue.record("it was copied")
        } catch {
            guard case .cannotCopy(let reasons) = error else { throw error }
            #expect(
                reasons.contains { $0.contains("pictures over others") } && reasons.contains { $0.contains("an opacity") }, "\(reasons)")
        }
        options.copies = false
        arrangement.insets = [.init(.init(.file("/nowhere.mp4")), start: .zero)]
        #expect(throws: ExportError.self) { try ExportSession.run(arrangement, options) }
        // An inset is a source, which is never replaced.
        arrangement.insets = [.init(.init(.file(options.output)), start: .zero)]
        try FileManager.default.copyItem(atPath: try Clips.named("thirty.mp4"), toPath: options.output)
        options.replaces = true
        do throws(ExportError) { _ = try ExportSession.run(arrangement, options) } catch {
            #expect(error == .outputIsSource(options.output))
        }
        #expect(folder.names == ["film.mp4"])
    }

    // MARK: Volume

    /// The amplitude in the left channel of a tone with one channel and half of full scale: 3 dB less.
    private static let mono = 0.5 * 0.5.squareRoot()

    @Test func `the loudness of a clip follows its ramp, in a fade, too`() throws {
        let tone = try Clips.make(
            "ramp-tone.mov",
            ["-i", try Clips.numbered("ramp-silent.mp4", frames: 50, rate: 25, sound: false)]
                + ["-f", "lavfi", "-i", "aevalsrc='0.5*sin(2*PI*440*t)':s=48000:d=2", "-c:v", "copy", "-c:a", "pcm_s16le"])
        var arrangement = try ExportSessionTests.arrangement([tone])
        var ramps = Ramps(1.0)
        ramps.add(from: 1, to: 0, start: .milliseconds(500), end: .milliseconds(1500))
        ramps.add(from: 0.8, to: 0.8, start: .milliseconds(1700), end: .milliseconds(1700))
        arrangement.clips[0].changes.volume = ramps
        let film = try ExportSessionTests.film(arrangement).film
        func level(_ time: Double) -> Double {
            let middle = Int(time * 48000)
            return ExportSessionTests.level(film.left[middle - 1200..<middle + 1200], of: 440)
        }
        for (time, volume) in [(0.3, 1.0), (0.75, 0.75), (1, 0.5), (1.25, 0.25), (1.6, 0), (1.85, 0.8)] {
            #expect(abs(level(time) - Self.mono * volume * volume * volume) < 0.02, "\(time): \(level(time))")
        }
        // A clip that is silent throughout has no sound; one that fades out has its own volume while it does.
        arrangement.clips[0].changes.volume = Ramps(0)
        #expect(try ExportSessionTests.film(arrangement).film.description.audio == nil)
        var second = arrangement.clips[0]
        (second.isMuted, second.transition, second.transitionDuration) = (true, .fade, .seconds(1))
        arrangement.clips[0].changes.volume = ramps
        arrangement.clips.append(second)
        let faded = try ExportSessionTests.film(arrangement).film.left
        let late = ExportSessionTests.level(faded[77_000..<79_400], of: 440)
        #expect(late < 0.01, "\(late)")
    }

    @Test func `the loudness of the music follows its ramp`() throws {
        var arrangement = try Self.arrangement { _ in }
        arrangement.film.imageDuration = .seconds(2)
        arrangement.music = .init(
            source: try Clips.make("ramp-music.wav", ["-f", "lavfi", "-i", "aevalsrc='0.5*sin(2*PI*880*t)':s=48000:d=4"]))
        arrangement.music?.fadeOut = .zero
        var ramps = Ramps(0.0)
        ramps.add(from: 0, to: 1, start: .milliseconds(500), end: .milliseconds(1500))
        arrangement.music?.volumes = ramps
        let left = try ExportSessionTests.film(arrangement).film.left
        for (time, volume) in [(0.3, 0.0), (1, 0.5), (1.8, 1)] {
            let middle = Int(time * 48000)
            let level = ExportSessionTests.level(left[middle - 1200..<middle + 1200], of: 880)
            #expect(abs(level - Self.mono * volume * volume * volume) < 0.02, "\(time): \(level)")
        }
    }
}
