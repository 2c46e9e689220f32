import CKioskALSA
import Foundation
import Glibc
import KioskMedia
import KioskPlatform
import KioskVocabulary
import Synchronization
import TestSupport
import Testing

@testable import KioskAudioCore
@testable import KioskPlayback

/// The mapping of rendered channels to a card's channels.
@Suite struct ChannelMixTests {
    /// Returns a frame of `rendered` for a card with these speakers.
    private func frame(_ rendered: [Float], _ speakers: [Speaker?]) -> [Float] {
        let layout = FrameLayout(sample: .float, speakers: speakers)
        var bytes = [UInt8](repeating: 0xAA, count: 2 * layout.bytesPerFrame)
        (rendered + rendered).withUnsafeBufferPointer { source in
            bytes.withUnsafeMutableBytes { layout.convert(source, by: layout.mix(from: rendered.count), into: $0) }
        }
        let all = bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
        #expect(all.prefix(speakers.count) == all.suffix(speakers.count), "the second frame is like the first")
        return Array(all.prefix(speakers.count))
    }

    private func isNear(_ one: [Float], _ other: [Float]) -> Bool {
        one.count == other.count && zip(one, other).allSatisfy { abs($0 - $1) < 1e-6 }
    }

    private let six: [Float] = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06]
    private let eight: [Float] = [0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08]
    private let half = Float(0.5).squareRoot()

    @Test func eachPositionArrivesWhereItBelongs() {
        #expect(frame(six, Speaker.standard(6)) == [0.01, 0.02, 0.05, 0.06, 0.03, 0.04])
        #expect(frame(eight, Speaker.standard(8)) == [0.01, 0.02, 0.05, 0.06, 0.03, 0.04, 0.07, 0.08])
        // In any order that a card has.
        #expect(frame(eight, Array(Speaker.allCases.reversed())) == eight.reversed())
        #expect(frame([0.01, 0.02], [.frontRight, .frontLeft]) == [0.02, 0.01])
        #expect(frame([0.01, 0.02], [.frontCentre, nil, .frontLeft, .frontRight]) == [0, 0, 0.01, 0.02])
    }

    @Test func whatNobodyFeedsIsSilent() {
        #expect(frame([0.01, 0.02], Speaker.standard(6)) == [0.01, 0.02, 0, 0, 0, 0])
        #expect(frame(six, Speaker.standard(8)) == [0.01, 0.02, 0.05, 0.06, 0.03, 0.04, 0, 0])
        #expect(frame(six, Speaker.standard(7) + [nil, nil]) == [0.01, 0.02, 0.05, 0.06, 0.03, 0.04, 0, 0, 0])
    }

    @Test func theSidesStandInForTheBack() {
        let sides: [Speaker?] = [.frontLeft, .frontRight, .frontCentre, .lowFrequency, .sideLeft, .sideRight]
        #expect(frame(six, sides) == six)
        #expect(isNear(frame(eight, sides), [0.01, 0.02, 0.03, 0.04, 0.07 + half * 0.05, 0.08 + half * 0.06]))
        #expect(
            isNear(frame(eight, Speaker.standard(6)), [0.01, 0.02, 0.05 + half * 0.07, 0.06 + half * 0.08, 0.03, 0.04]))
    }

    @Test func fewerChannelsGetAMixWithoutTheLowFrequencies() {
        let left = 0.01 + half * (0.03 + 0.05), right = 0.02 + half * (0.03 + 0.06)
        #expect(isNear(frame(six, Speaker.standard(2)), [left, right]))
        #expect(isNear(frame(six, Speaker.standard(1)), [(left + right) / 2]))
        #expect(isNear(frame(eight, Speaker.standard(2)), [left + half * 0.07, right + half * 0.08]))
        // Four speakers: the mix divides the centre only. Three speakers: the bass has its own.
        #expect(isNear(frame(six, Speaker.standard(4)), [0.01 + half * 0.03, 0.02 + half * 0.03, 0.05, 0.06]))
        #expect(isNear(frame(six, Speaker.standard(3)), [left, right, 0.04]))
    }

    @Test(arguments: [6, 8]) func stereoIsAsLoudAsItWas(rendered: Int) {
        let samples = [0.25, -0.75] + [Float](repeating: 0, count: rendered - 2)
        for count in 2...8 {
            #expect(frame(samples, Speaker.standard(count)).prefix(2) == [0.25, -0.75], "\(count)")
        }
        #expect(frame(samples, Speaker.standard(1)) == [-0.25])
    }

    @Test func aMixThatIsTooLoudIsClampedAndNoNumberIsSilent() {
        let loud = FrameLayout(sample: .s16, channelCount: 2)
        var bytes = [UInt8](repeating: 0xAA, count: 3 * 4)
        let frames: [Float] =
            [Float](repeating: 1, count: 6) + [-1, -1, -1, -1, -1, -1] + [.infinity, .nan, -.infinity, 0, 0, 0]
        frames.withUnsafeBufferPointer { source in
            bytes.withUnsafeMutableBytes { loud.convert(source, by: loud.mix(from: 6), into: $0) }
        }
        let samples = bytes.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
        #expect(samples == [32_767, 32_767, -32_768, -32_768, 0, 0])
    }

    /// The short path for stereo on all usual cards gives the same bits as the long one.
    @Test func stereoTakesTheShortWay() {
        for count in 1...8 { #expect(FrameLayout(sample: .s16, channelCount: count).mix(from: 2) == nil) }
        #expect(FrameLayout(sample: .s16, speakers: [.frontRight, .frontLeft]).mix(from: 2) != nil)
        #expect(FrameLayout(sample: .s16, channelCount: 6).mix(from: 6) != nil)
        for sample in SampleFormat.allCases {
            let layout = FrameLayout(sample: sample, channelCount: 6)
            let stereo = (0..<2000).map { Float($0 * 7919 % 2000) / 1000 - 1 }
            var (short, long) = (
                [UInt8](repeating: 1, count: 1000 * layout.bytesPerFrame), [UInt8](repeating: 2, count: 1000 * layout.bytesPerFrame)
            )
            stereo.withUnsafeBufferPointer { source in
                short.withUnsafeMutableBytes { layout.convert(source, into: $0) }
                long.withUnsafeMutableBytes { layout.convert(source, by: ChannelMix(from: 2, to: layout.speakers), into: $0) }
            }
            #expect(short == long, "\(sample)")
        }
    }

    // MARK: Channel maps of cards

    private let front = [UInt32(SND_CHMAP_FL.rawValue), UInt32(SND_CHMAP_FR.rawValue)]

    @Test func aCardsMapIsRead() {
        let sides = front + [SND_CHMAP_FC, SND_CHMAP_LFE, SND_CHMAP_SL, SND_CHMAP_SR].map { UInt32($0.rawValue) }
        #expect(
            Speaker.ofCard(sides, channelCount: 6)
                == [.frontLeft, .frontRight, .frontCentre, .lowFrequency, .sideLeft, .sideRight])
        let inverted = front.map { $0 | UInt32(SND_CHMAP_PHASE_INVERSE) } + [UInt32(SND_CHMAP_NA.rawValue), UInt32(SND_CHMAP_RLC.rawValue)]
        #expect(Speaker.ofCard(inverted, channelCount: 4) == [.frontLeft, .frontRight, nil, nil])
    }

    @Test func aMapThatSaysNothingIsReplacedByTheUsualOne() {
        let usual = Speaker.standard(6)
        #expect(Speaker.ofCard([], channelCount: 6) == usual)
        #expect(Speaker.ofCard(front, channelCount: 6) == usual, "the map of what is behind a plugin")
        #expect(Speaker.ofCard([UInt32](repeating: 0, count: 6), channelCount: 6) == usual)
        #expect(Speaker.ofCard([UInt32](repeating: .max, count: 6), channelCount: 6) == usual)
        #expect(Speaker.ofCard(front.map { $0 | UInt32(SND_CHMAP_DRIVER_SPEC) }, channelCount: 2) == Speaker.standard(2))
        #expect(Speaker.ofCard([UInt32(SND_CHMAP_MONO.rawValue)], channelCount: 1) == Speaker.standard(1))
    }

    @Test func aNameForThem() {
        let names = [1, 2, 3, 4, 6, 7, 8, 10].map { FrameLayout(sample: .s16, channelCount: $0).channelName }
        #expect(names == ["mono", "stereo", "3 channels", "4 channels", "5.1", "7 channels", "7.1", "10 channels"])
        let half: [Speaker?] = [.frontLeft, .frontRight, nil, nil, nil, nil]
        #expect(FrameLayout(sample: .s16, speakers: half).channelName == "6 channels")
    }
}

/// The number of channels that the output renders and requests.
@Suite struct ChannelWishTests {
    private func card(_ index: Int, _ outputs: [(Int, AudioCard.Output, Int?)]) -> AudioCard {
        AudioCard(
            index: index, id: "\(index)", name: "", driver: "HDA-Intel",
            devices: outputs.map { .init(number: $0.0, pcm: "hw:\(index),\($0.0)", name: "", output: $0.1, displayChannelCount: $0.2) })
    }

    @Test func whatADisplayTakesDecides() {
        let monitor = AudioCard.Output.display(MonitorIdentity(model: [1], name: "TV".utf8))
        let cards = [card(0, [(0, .other, nil), (3, monitor, 8), (7, monitor, 2), (8, .display(nil), nil)]), card(1, [(0, monitor, 7)])]
        func count(_ card: Int, _ device: Int, rendered: Int = 8) -> Int {
            ChannelWish(renderedCount: rendered, displays: cards).count(of: Hardware(card: card, device: device))
        }
        #expect(count(0, 3) == 8 && count(0, 3, rendered: 6) == 6 && count(0, 3, rendered: 2) == 2)
        #expect(count(0, 7) == 2 && count(0, 0) == 2 && count(0, 8) == 2 && count(1, 0) == 6 && count(9, 0) == 2)
        #expect(ChannelWish(renderedCount: 8, displays: cards).count(of: nil) == 2, "a sound server")
        // The configured number applies to all devices.
        #expect(ChannelWish(renderedCount: 6).count(of: nil) == 6)
        #expect(ChannelWish(renderedCount: 6).count(of: Hardware(card: 0, device: 0)) == 6)
    }

    @Test func theUsualCounts() { #expect([1, 2, 3, 5, 6, 7, 8, 16].map(ChannelWish.usual) == [2, 2, 2, 2, 6, 6, 8, 8]) }

    @Test func whatIsConfiguredIsRendered() {
        for (channels, count) in [(AudioChannels.stereo, 2), (.surround51, 6), (.surround71, 8)] {
            #expect(AudioDevice.automatic.renderedCount(channels) == count)
            let output = ALSAOutput(device: .pcm("hw:CARD=NoSuchCard"), channels: channels)
            #expect(output.format == AudioFormat(sampleRate: 48_000, channelCount: count))
            output.stop()
        }
        #expect(AudioDevice.pcm("hw:CARD=NoSuchCard").renderedCount(.automatic) == 2)
        #expect(AudioDevice.pcm("no card at all").renderedCount(.automatic) == 2)
    }

    /// The picture does not wait for a late answer, and the answer changes nothing later.
    @Test func aCardThatDoesNotSayIsNotWaitedFor() {
        let (mayTell, asked) = (Monitor(false), Monitor<Int?>(nil))
        let ask: @Sendable () -> Int = {
            _ = mayTell.wait(until: .now + .seconds(120)) { $0 ? true : nil }
            return 8
        }
        let output = ALSAOutput(channelCount: ask) { _, _, count throws(AudioError) in
            asked.signal { $0 = count }
            throw .noCard
        }
        #expect(output.format.channelCount == 2)
        mayTell.signal { $0 = true }
        #expect(asked.wait(until: .now + .seconds(120)) { $0 } == 2)
        #expect(output.format.channelCount == 2)
        output.stop()
    }
}

/// Surround sound on a card.
@Suite(.blocking) struct SurroundCardTests {
    /// Renders 1/16 on the first channel, 2/16 on the second, and so on.
    private final class Steps: AudioRenderer {
        let channelCount: Int
        private let frames = Monitor(0)
        private let flaws = Mutex<[String]>([])

        init(_ channelCount: Int) { self.channelCount = channelCount }

        func render(into samples: UnsafeMutableBufferPointer<Float>) {
            if samples.count % channelCount != 0 { flaws.withLock { $0.append("half a frame") } }
            for index in samples.indices { samples[index] = Float(index % channelCount + 1) / 16 }
            frames.signal { $0 += samples.count / channelCount }
        }
        func isReady(frames: Int) -> Bool { true }
        func takeBack(frames: Int) {}
        func report(unheard: Int, at time: HostTime) {}
        func wait(for count: Int) -> Bool { frames.wait(until: .now + .seconds(120)) { $0 >= count ? true : nil } ?? false }
        var broken: [String] { flaws.withLock { $0 } }
    }

    private func wait(_ condition: () -> Bool) -> Bool {
        for _ in 0..<12_000 where !condition() { usleep(10_000) }
        return condition()
    }

    private func firstFrame(_ card: MadeUpCard) -> [Int16] { card.state.withLock { Array($0.heard.prefix(Int($0.channels))) } }

    @Test(
        arguments: [
            (6, nil, [1, 2, 5, 6, 3, 4], "5.1"), (8, nil, [1, 2, 5, 6, 3, 4, 7, 8], "7.1"),
            (6, [SND_CHMAP_FR, SND_CHMAP_FL, SND_CHMAP_FC, SND_CHMAP_LFE, SND_CHMAP_SL, SND_CHMAP_SR], [2, 1, 3, 4, 5, 6], "5.1"),
        ] as [(Int, [snd_pcm_chmap_position]?, [Int16], String)])
    func itsMapIsFollowed(count: Int, map: [snd_pcm_chmap_position]?, frame: [Int16], name: String) {
        let card = MadeUpCard(.init(channels: UInt32(count), map: map.map { $0.map { UInt32($0.rawValue) } }))
        let output = ALSAOutput(channelCount: { count }) { rate, buffer, count throws(AudioError) in
            try card.open(rate: rate, buffer: buffer, channelCount: count)
        }
        #expect(output.format == AudioFormat(sampleRate: 48_000, channelCount: count))
        let steps = Steps(count)
        output.start(steps)
        #expect(steps.wait(for: 24_000))
        #expect(output.name == "made-up S16_LE 48000 Hz \(name), buffer 120 ms")
        output.stop()
        #expect(steps.broken == [])
        #expect(firstFrame(card) == frame.map { $0 * 2048 })
        let heard = card.state.withLock { $0.heard }
        #expect(heard.count > 2 * count && heard.indices.allSatisfy { heard[$0] == frame[$0 % count] * 2048 })
    }

    /// The number of rendered channels stays the same when another card comes.
    @Test func aStereoCardThatComesLaterGetsAMix() {
        let (first, second) = (MadeUpCard(.init(channels: 6)), MadeUpCard())
        let list = Mutex("00-03: HDMI 0 : HDMI 0 : playback 1\n")
        let asked = Mutex<[Int]>([])
        let output = ALSAOutput(listPCMs: { list.withLock { $0 } }, channelCount: { 6 }) { rate, buffer, count throws(AudioError) in
            asked.withLock { $0.append(count) }
            return try (list.withLock { $0.contains("USB") } ? second : first).open(rate: rate, buffer: buffer, channelCount: count)
        }
        let steps = Steps(6)
        output.start(steps)
        #expect(steps.wait(for: 12_000))
        list.withLock { $0 += "01-00: USB Audio : USB Audio : playback 1\n" }
        #expect(wait { second.state.withLock { $0.played > 4800 } })
        #expect(output.name == "made-up S16_LE 48000 Hz stereo, buffer 120 ms" && output.format.channelCount == 6)
        output.stop()
        #expect(steps.broken == [] && asked.withLock { $0 } == [6, 6])
        #expect(firstFrame(first) == [1, 2, 5, 6, 3, 4].map { $0 * 2048 })
        let half: Double = 0.5.squareRoot()
        let mixed: [Double] = [1 + half * 8, 2 + half * 9]
        #expect(firstFrame(second) == mixed.map { Int16(($0 * 2048).rounded()) })
    }

    /// Plays through libasound's own plugins into a file.
    @Test(arguments: [2, 6, 8]) func aFileGetsAsManyChannelsAsAreWished(count: Int) throws {
        let path = NSTemporaryDirectory() + "kiosk-channels-\(UUID().uuidString).raw"
        defer { unlink(path) }
        do {
            let pcm = try PCM.open(
                "file:FILE=\(path),FORMAT=raw", rate: .near(48_000), buffer: PCM.shortBuffer, wish: ChannelWish(renderedCount: count))
            #expect(pcm.layout == FrameLayout(sample: .s16, channelCount: count))
            #expect(pcm.summary.contains([2: "stereo", 6: "5.1", 8: "7.1"][count]!), "\(pcm.summary)")
            let samples = (0..<960 * count).map { Float($0 % count + 1) / 16 }
            var bytes = [UInt8](repeating: 0, count: 960 * pcm.layout.bytesPerFrame)
            samples.withUnsafeBufferPointer { source in
                bytes.withUnsafeMutableBytes { pcm.layout.convert(source, by: pcm.layout.mix(from: count), into: $0) }
            }
            #expect(bytes.withUnsafeBytes { pcm.write($0.baseAddress!, frames: 960) } == 960)
        }
        let written = try Data(contentsOf: URL(fileURLWithPath: path)).withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
        let frame: [Int16] = [2: [1, 2], 6: [1, 2, 5, 6, 3, 4], 8: [1, 2, 5, 6, 3, 4, 7, 8]][count]!
        #expect(written.count == 960 * count && written.indices.allSatisfy { written[$0] == frame[$0 % count] * 2048 })
    }
}
