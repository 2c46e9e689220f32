import CKioskFFmpeg
import Configuration
import Foundation
import KioskAudio
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

@testable import Export
@testable import KioskDisplay

/// What is exported beside what a display shows: the player plays the same list on a display in memory, and every picture that was on it is
/// looked for in the film.
@Suite(.blocking, .serialized) struct ExportOnScreenTests {
    static let width = 480, height = 270

    /// The brightness of a picture, 16…235, by its number; what was shown first of each.
    struct Shown {
        var order: [Int] = []
        var pictures: [Int: [UInt8]] = [:]

        mutating func add(_ number: Int, _ picture: @autoclosure () -> [UInt8]) {
            if number == 0 || order.last == number { return }
            order.append(number)
            if pictures[number] == nil { pictures[number] = picture() }
        }
    }

    static let clips: [String] =
        Gallery.mixed.map(\.name) + ["vfr.mp4", "hevc10.mp4", "interlaced.mp4", "turned-90.mp4", "silent.mp4", "odd444.mp4"]

    @Test func everyPictureOnTheScreenIsInTheFilm() throws {
        var arrangement = try ExportSessionTests.arrangement(Self.clips)
        arrangement.output.size = PictureSize(width: Self.width, height: Self.height)
        arrangement.output.rate = FrameRate(60)
        arrangement.output.quality = 10
        // Each of them burns numbers that others burn, too: the order tells them apart.
        let screen = Self.show(arrangement)
        var film = Shown(), numbers: [Int] = []
        let made = try ExportSessionTests.film(arrangement) { timed in
            let number = burnedInNumber(timed.frame)
            if numbers.last != number { numbers.append(number) }
            film.add(number, Self.luma(of: timed.frame))
        }
        #expect(made.report.pictures > 600)
        // A machine that is too busy leaves pictures out on the screen, never in the film, and never shows another order.
        var place = numbers.startIndex
        for number in screen.order {
            guard let found = numbers[place...].firstIndex(of: number) else {
                Issue.record("\(number) was on the screen after \(place) others, and is not in the film")
                break
            }
            place = found + 1
        }
        #expect(screen.order.count > numbers.count / 2, "\(screen.order.count) of \(numbers.count)")
        var worst = 100.0
        for (number, picture) in screen.pictures {
            guard let other = film.pictures[number] else { continue }
            worst = min(worst, Self.psnr(picture, other))
        }
        print(
            "compared \(screen.pictures.count) pictures, \(screen.order.count) of \(numbers.count) in order; the worst PSNR is \(worst) dB")
        #expect(worst > 36, "\(worst) dB")
    }

    /// Plays a film's clips on a display in memory.
    static func show(_ arrangement: Arrangement) -> Shown {
        let shown = Monitor(Shown())
        let settings = DisplaySettings(connector: .offscreen, mode: .size(width: width, height: height, refresh: 60))
        let display = DisplayOutput.offscreen(settings) { _, pixels in
            let number = burnedInNumber(width: width, height: height) { Int(pixels[$0, $1] >> 8 & 255) }
            shown.withLock { $0.add(number, luma(of: pixels)) }
        }
        var options = Player.Options()
        options.loop = .off
        let items = arrangement.clips.compactMap { clip -> PlaylistItem? in
            guard case .file(let source) = clip.content else { return nil }
            return PlaylistItem(source: source, gravity: arrangement.film.gravity, decoder: .software)
        }
        let player = Player(items: items, options: options, video: display, audio: SilentOutput())
        let hasEnded = Monitor(false)
        player.addObserver { event in if case .playlistEnded = event { hasEnded.signal { $0 = true } } }
        player.start()
        #expect(hasEnded.wait(until: .now + .seconds(120)) { $0 ? true : nil } == true)
        player.stop()
        display.close()
        return shown.withLock { $0 }
    }

    /// By BT.601, as small films are encoded.
    static func luma(of pixels: ScreenPixels) -> [UInt8] {
        (0..<width * height).map { index in
            let pixel = pixels[index % width, index / width]
            let (red, green, blue) = (Double(pixel >> 16 & 255), Double(pixel >> 8 & 255), Double(pixel & 255))
            return UInt8((16 + (65.481 * red + 128.553 * green + 24.966 * blue) / 255).rounded())
        }
    }

    static func luma(of frame: borrowing VideoFrame) -> [UInt8] {
        let (plane, stride) = (frame.av.pointee.data.0!, Int(frame.av.pointee.linesize.0))
        return (0..<width * height).map { plane[$0 / width * stride + $0 % width] }
    }

    static func psnr(_ a: [UInt8], _ b: [UInt8]) -> Double {
        let error = zip(a, b).reduce(0.0) { $0 + Double((Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1))) } / Double(a.count)
        return error == 0 ? 100 : 10 * log10(255 * 255 / error)
    }
}
