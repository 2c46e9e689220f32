import Foundation
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Synchronization
import TestSupport
import Testing

@testable import KioskAudioCore

/// `[audio] delay` and `delays`: the delay of each card.
@Suite(.blocking) struct DelayTests {
    @Test func `each card has the delay of the first entry that fits`() {
        let delays = AudioDelays(
            usual: 20,
            entries: [
                .init(device: "hdmi 1", milliseconds: 150), .init(device: "HDMI", milliseconds: 120),
                .init(device: "usb", milliseconds: -40),
            ])
        #expect(delays.least == -40)
        #expect(delays.extra(of: ["hw:CARD=PCH,DEV=7", "PCH", "HDA Intel PCH", "HDMI 1"]) == 190)
        #expect(delays.extra(of: ["hdmi:CARD=vc4hdmi0", "vc4hdmi0", "vc4-hdmi-0", "MAI PCM i2s-hifi-0"]) == 160)
        #expect(delays.extra(of: ["hw:CARD=Device,DEV=0", "Device", "USB Audio Device", "USB Audio"]) == 0)
        #expect(delays.extra(of: ["default"]) == 60 && delays.extra(of: []) == 60)
        #expect(AudioDelays(usual: 80).least == 80 && AudioDelays(usual: 80).extra(of: ["hdmi"]) == 0)
        let least = AudioDelays(entries: [.init(device: "usb", milliseconds: 500)])
        #expect(least.least == 0 && least.extra(of: ["USB Audio"]) == 500 && least.extra(of: ["HDMI"]) == 0)
    }

    @Test(arguments: [0, 1, 7, 16]) func `a line gives silence, then what came in before`(frames: Int) {
        var line = DelayLine(frames: frames, takingBack: 12, channelCount: 2)
        func play(_ frames: Range<Int>) -> [Float] {
            var samples = frames.flatMap { [Float($0 + 1), Float(-$0 - 1)] }
            samples.withUnsafeMutableBufferPointer { line.exchange($0) }
            return samples
        }
        /// Returns the expected output for a range of frames, if frame 0 came in first.
        func heard(_ range: Range<Int>) -> [Float] {
            range.flatMap { $0 < frames ? [0, 0] : [Float($0 - frames + 1), Float(frames - $0 - 1)] }
        }
        for period in 0..<6 { #expect(play(period * 5..<period * 5 + 5) == heard(period * 5..<period * 5 + 5)) }
        // Twelve frames were not heard. The renderer renders them again, and none is lost.
        line.takeBack(12)
        #expect(play(18..<23) == heard(18..<23) && play(23..<31) == heard(23..<31))
        line.takeBack(0)
        #expect(play(31..<34) == heard(31..<34))
        line.clear()
        #expect(play(0..<2) == heard(0..<2))
        // Taking back more than it has had takes back everything.
        line.takeBack(1000)
        #expect(play(0..<20) == heard(0..<20))
    }

    /// Renders samples that rise with each frame.
    private final class Ramp: AudioRenderer {
        let frames = Monitor(0)
        func render(into samples: UnsafeMutableBufferPointer<Float>) {
            let begin = frames.withLock { $0 }
            for index in samples.indices { samples[index] = Float((begin + index / 2) % 1000 + 1) / 2048 }
            frames.signal { $0 += samples.count / 2 }
        }
        func isReady(frames: Int) -> Bool { true }
        func takeBack(frames: Int) {}
        func report(unheard: Int, at time: HostTime) {}
        func wait(for count: Int) -> Bool { frames.wait(until: .now + .seconds(120)) { $0 >= count ? true : nil } ?? false }
    }

    @Test(arguments: [0, 10, 60]) func `a card hears it later by what it needs`(milliseconds: Int) {
        let card = MadeUpCard()
        let output = ALSAOutput { rate, buffer, count throws(AudioError) in
            var opened = try card.open(rate: rate, buffer: buffer, channelCount: count)
            opened.pcm.delay = .milliseconds(Int64(milliseconds))
            return opened
        }
        let ramp = Ramp()
        output.start(ramp)
        #expect(ramp.wait(for: 48_000))
        output.stop()
        let heard = card.state.withLock { $0.heard }
        let late = milliseconds * 48
        #expect(heard.count / 2 > late + 1000)
        let expected = (0..<heard.count / 2).map { $0 < late ? 0 : Int16(($0 - late) % 1000 + 1) * 16 }
        #expect((0..<heard.count / 2).allSatisfy { heard[2 * $0] == expected[$0] })
    }
}
