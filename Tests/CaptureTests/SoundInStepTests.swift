import CKioskFFmpeg
import Foundation
import KioskMedia
import KioskPlatform
import KioskPlayback
import Testing

@testable import KioskCaptureCore

/// Checks that sound stays in sync with the pictures, although camera and card have separate clocks.
@Suite struct SoundInStepTests {
    /// A sound card with a wrong crystal and jittering reports that loses frames.
    struct Card {
        var rate: Double
        /// The start of the card, in seconds after the camera's first picture.
        var begin: Double
        var seed: UInt64 = 1

        mutating func jitter(_ most: Double) -> Double {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (Double(seed >> 40) / Double(1 << 24)) * most
        }
    }

    /// Returns the largest error of sound against pictures after `settled` seconds; the error is in seconds.
    /// An ideal resampler replaces libswresample.
    static func largestError(
        ppm: Double, hours: Double = 1, jitter: Double = 0.001, overrunsAt: [Double] = [], pauses: [(Double, Double)] = [],
        settled: Double = 0
    ) -> Double {
        let nominal = 48000.0
        var card = Card(rate: nominal * (1 + ppm / 1e6), begin: 0.137)
        let origin = HostTime(nanoseconds: 5_000_000_000)
        func host(_ seconds: Double) -> HostTime { origin + .seconds(seconds) }
        var film = FilmClock()
        film.begin(at: origin)
        var clock = DeviceClock(sampleRate: 48000)
        var pacer = SoundPacer(sampleRate: 48000)
        var position = 0.0  // samples of the film
        var read = 0.0  // frames of the card
        var lost = 0.0
        var worst = 0.0
        var pending = overrunsAt
        var pauseList = pauses
        let chunk = 960.0
        var isInFilm = true
        while read / nominal < hours * 3600 {
            // The chunk is complete once the card has recorded its last frame.
            let trueBegin = card.begin + (read + lost) / card.rate
            var trueEnd = trueBegin + chunk / card.rate
            var isInterrupted = false
            if let at = pending.first, trueEnd > at {
                // The card loses 0.8 s.
                pending.removeFirst()
                lost += 0.8 * card.rate
                trueEnd += 0.8
                isInterrupted = true
                clock.restart()
                pacer.interrupt()
            }
            let start = isInterrupted ? trueEnd - chunk / card.rate : trueBegin
            if let pause = pauseList.first {
                if trueEnd > pause.0, !film.isPaused { film.pause(at: host(pause.0)) }
                if trueEnd > pause.1 {
                    film.resume(at: host(pause.1))
                    pauseList.removeFirst()
                }
            }
            clock.report(frames: read + chunk, at: host(trueEnd + card.jitter(jitter)))
            let reportTime = host(trueEnd + jitter / 2)
            let behind = (clock.frames(at: reportTime) ?? 0) - read
            let begin = reportTime - .seconds(behind / nominal)
            if let time = film.film(begin) {
                if !isInFilm { pacer.interrupt() }
                isInFilm = true
                let order = pacer.order(at: time, position: Int(position))
                position += Double(order.silence)
                position -= Double(order.skipped)
                // The position of the chunk's first sample in the film, against its true position.
                if let truth = film.film(host(start)), start > settled { worst = max(worst, abs(position / nominal - truth.seconds)) }
                position += chunk * (1 + Double(order.correction) / nominal)
            } else {
                isInFilm = false
            }
            read += chunk
        }
        return worst
    }

    @Test(arguments: [-200.0, -50, 0, 50, 200, 500])
    func anHourStaysInStep(ppm: Double) {
        let worst = Self.largestError(ppm: ppm)
        #expect(worst < 0.008, "\(worst * 1000) ms at \(ppm) ppm")
    }

    @Test func overrunsAndPausesStayInStep() {
        let worst = Self.largestError(
            ppm: 200, hours: 0.25, overrunsAt: [10, 60.01, 300], pauses: [(20, 25), (100.5, 100.9), (500, 600)])
        #expect(worst < 0.012, "\(worst * 1000) ms")
    }

    @Test func reportsThatJitterAreSmoothed() {
        let worst = Self.largestError(ppm: -100, hours: 0.2, jitter: 0.01, settled: 10)
        #expect(worst < 0.01, "\(worst * 1000) ms")
    }

    /// Runs the real resampler on clicks with known times, from a card that is 200 ppm fast and starts late.
    @Test(arguments: [48000, 44100]) func clicksAreWhereTheyBelong(rate: Int) {
        let layout = CapturePCM.Layout(sample: .s16, sampleRate: rate, channelCount: 1)
        guard var feed = SoundResampler(layout, to: AudioFormat(sampleRate: 48000, channelCount: 2)) else {
            Issue.record("libswresample cannot convert")
            return
        }
        let origin = HostTime(nanoseconds: 1_000_000_000)
        var film = FilmClock()
        film.begin(at: origin)
        let real = Double(rate) * (1 + 200e-6)
        let begin = 0.25
        var heard: [Float] = []
        var position: Int64 = 0
        let chunk = rate / 50
        while position < Int64(30 * rate) {
            var bytes = [UInt8](repeating: 0, count: 2 * chunk)
            for index in 0..<chunk {
                // A click of 1 ms at each whole second of true time.
                let time = begin + Double(Int(position) + index) / real
                if time - time.rounded(.down) < 0.001 { (bytes[2 * index], bytes[2 * index + 1]) = (0xff, 0x5f) }
            }
            let end = position + Int64(chunk)
            let sound = RecordedSound(
                bytes: bytes, frameCount: chunk, position: position, heard: end, time: origin + .seconds(begin + Double(end) / real),
                isInterrupted: position == 0)
            let piece = feed.add(sound, position: heard.count / 2) { film.film($0) }
            heard += [Float](repeating: 0, count: 2 * piece.silence) + piece.samples
            position = end
        }
        let left = stride(from: 0, to: heard.count, by: 2).map { heard[$0] }
        let clicks = left.indices.filter { left[$0] > 0.4 && !left[max(0, $0 - 400)..<$0].contains { $0 > 0.4 } }
        #expect(clicks.count == 30, "\(clicks.count)")
        for (index, click) in clicks.enumerated() {
            let error = Double(click) / 48000 - Double(index + 1)
            #expect(abs(error) < 0.005, "click \(index + 1) is off by \(error * 1000) ms")
        }
        let level = feed.level
        #expect(level > 0)
    }
}
