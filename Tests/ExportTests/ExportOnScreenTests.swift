import CKioskFFmpeg
import Foundation
import KioskAudioCore
import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaders
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskDisplayCore
@testable import KioskExportCore

/// Compares an export with a display. The player plays the same list on a display in memory; the film must contain every picture shown.
///
/// A number does not identify a picture. Several clips burn in the same numbers, and a busy machine drops pictures on the screen. The test
/// therefore searches the film forward, from the last picture found, for one that looks the same.
@Suite(.blocking, .serialized) struct ExportOnScreenTests {
    static let width = 480, height = 270

    /// A picture's burned-in number, and the brightness, 16…235, of every second pixel of every second row.
    struct Picture {
        var number: Int, luma: [UInt8]
    }

    static let clips: [String] =
        Proof.some(Gallery.mixed.map(\.name), 4) + ["vfr.mp4", "hevc10.mp4", "interlaced.mp4", "turned-90.mp4", "silent.mp4", "odd444.mp4"]

    @Test func everyPictureOnTheScreenIsInTheFilm() throws {
        var arrangement = try ExportSessionTests.arrangement(Self.clips)
        arrangement.output.size = PictureSize(width: Self.width, height: Self.height)
        arrangement.output.rate = FrameRate(60)
        arrangement.output.quality = 10
        let screen = Self.show(arrangement)
        var film: [Picture] = []
        let made = try ExportSessionTests.film(arrangement) { timed in
            let number = burnedInNumber(timed.frame)
            if number != 0 { film.append(Picture(number: number, luma: Self.luma(of: timed.frame))) }
        }
        #expect(made.report.pictures > (Proof.isThorough ? 600 : 300))
        let numbers = film.indices.count { $0 == 0 || film[$0].number != film[$0 - 1].number }
        #expect(screen.count > numbers / 2, "\(screen.count) of \(numbers)")
        var place = film.startIndex, worst = 100.0
        for (index, picture) in screen.enumerated() {
            var nearest = 0.0
            let found = film[place...].firstIndex { other in
                guard other.number == picture.number else { return false }
                nearest = max(nearest, Self.psnr(picture.luma, other.luma))
                return nearest > 36
            }
            guard let found else {
                Issue.record("picture \(index), \(picture.number), is not in the film from its picture \(place) on: \(nearest) dB at best")
                break
            }
            (place, worst) = (found + 1, min(worst, nearest))
        }
        print("found \(screen.count) of \(numbers) pictures in order; the worst PSNR is \(worst) dB")
    }

    /// Plays a film's clips on a display in memory. Returns the first picture shown of each number, in order.
    static func show(_ arrangement: Arrangement) -> [Picture] {
        let shown = Monitor<[Picture]>([])
        let settings = DisplaySettings(connector: .offscreen, mode: .size(width: width, height: height, refresh: 60))
        let display = DisplayOutput.offscreen(settings) { _, pixels in
            let number = burnedInNumber(width: width, height: height) { Int(pixels[$0, $1] >> 8 & 255) }
            shown.withLock { shown in
                if number == 0 || shown.last?.number == number { return }
                shown.append(Picture(number: number, luma: luma(of: pixels)))
            }
        }
        var options = PlaybackEngine.Options()
        options.loop = .off
        let items = arrangement.clips.compactMap { clip -> PlaylistItem? in
            guard case .file(let source) = clip.content else { return nil }
            return PlaylistItem(source: source, gravity: arrangement.film.gravity, decoder: .software)
        }
        let player = PlaybackEngine(items: items, options: options, video: display, audio: SilentOutput(), readers: .shared)
        let hasEnded = Monitor(false)
        player.addObserver { event in if case .playlistEnded = event { hasEnded.signal { $0 = true } } }
        player.start()
        #expect(hasEnded.wait(until: .now + .seconds(120)) { $0 ? true : nil } == true)
        player.stop()
        display.close()
        return shown.withLock { $0 }
    }

    /// Uses BT.601, as small films are encoded with it.
    static func luma(of pixels: ScreenPixels) -> [UInt8] {
        sampled { x, y in
            let pixel = pixels[x, y]
            let (red, green, blue) = (Double(pixel >> 16 & 255), Double(pixel >> 8 & 255), Double(pixel & 255))
            return UInt8((16 + (65.481 * red + 128.553 * green + 24.966 * blue) / 255).rounded())
        }
    }

    static func luma(of frame: borrowing VideoFrame) -> [UInt8] {
        let (plane, stride) = (frame.av.pointee.data.0!, Int(frame.av.pointee.linesize.0))
        return sampled { plane[$1 * stride + $0] }
    }

    static func sampled(_ luma: (Int, Int) -> UInt8) -> [UInt8] {
        stride(from: 0, to: height, by: 2).flatMap { y in stride(from: 0, to: width, by: 2).map { luma($0, y) } }
    }

    static func psnr(_ a: [UInt8], _ b: [UInt8]) -> Double {
        let error = zip(a, b).reduce(0.0) { $0 + Double((Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1))) } / Double(a.count)
        return error == 0 ? 100 : 10 * log10(255 * 255 / error)
    }
}
