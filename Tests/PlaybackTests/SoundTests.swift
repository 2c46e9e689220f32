import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

/// A clip with a different value in every sample, on a card that keeps its samples. No sample may be lost, repeated or replaced by silence.
@Suite(.blocking) struct SoundTests {
    private let audio = RecordingOutput()
    private let display = RecordingDisplay(refreshRate: RecordingDisplay.oddRefreshRate)

    /// Returns the place where `heard`, without silence, departs from the clip looped from sample `begin` on; nil if it does not.
    private func flaw(_ heard: [Float], from begin: Int = 0) -> Int? {
        heard.filter { $0 != 0 }.enumerated().first { $1 != Reel.sample(begin + $0) }?.offset
    }

    /// Returns whether there is silence between the first sound and the last.
    private func hasHole(_ heard: [Float]) -> Bool { heard.drop { $0 == 0 }.reversed().drop { $0 == 0 }.contains(0) }

    @Test func theLoopSeamHasNoHole() throws {
        let stage = Stage([PlaylistItem(source: try Reel.numberedSamples())], display: display, audio: audio)
        #expect(stage.wait { stage.statistics.seams >= 5 })
        let heard = audio.samples
        #expect(heard.count { $0 != 0 } > 3 * 48_000)
        #expect(flaw(heard) == nil)
        // A starved machine may run dry here or there, but not at every seam.
        let last = Reel.sample(47_999)
        let seams = heard.indices.dropLast(1).filter { heard[$0] == last && (heard[$0 + 1] == 0 || heard[$0 + 1] == Reel.sample(0)) }
        #expect(seams.count >= 4)
        #expect(2 * seams.count { heard[$0 + 1] != 0 } > seams.count)
    }

    /// A tone in each channel, through the reader, its ring and the queue, with a pause in between.
    @Test(arguments: [6, 8]) func surroundSoundKeepsItsChannels(count: Int) throws {
        let audio = RecordingOutput(channelCount: count)
        let clip = try SurroundTones.clip("surround-seen.mkv", layout: "5.1", count: 6, ["-c:a", "pcm_s16le"], picture: true)
        let stage = Stage([PlaylistItem(source: clip)], display: display, audio: audio)
        #expect(stage.wait { audio.samples.count { $0 != 0 } > 6 * 12_000 })
        stage.player.pause()
        _ = stage.wait(0.2) { false }
        stage.player.play()
        #expect(stage.wait { audio.samples.count { $0 != 0 } > 6 * 36_000 })
        let heard = audio.samples
        let frames = stride(from: 0, to: heard.count - count + 1, by: count).map { heard[$0..<$0 + count] }.filter {
            $0.contains { $0 != 0 }
        }
        let tones = SurroundTones.tones(frames.prefix(9600).flatMap(\.self), channelCount: count)
        #expect(tones == (0..<count).map { $0 < 6 ? [$0] : [] })
        let later = SurroundTones.tones(frames.suffix(9600).flatMap(\.self), channelCount: count)
        #expect(later == tones)
    }

    @Test func aPauseLosesAndRepeatsNothing() throws {
        let stage = Stage([PlaylistItem(source: try Reel.numberedSamples())], display: display, audio: audio)
        #expect(stage.wait(for: 5))
        for _ in 0..<4 {
            stage.player.pause()
            _ = stage.wait(0.2) { false }
            stage.player.play()
            _ = stage.wait(0.37) { false }
        }
        #expect(stage.wait { audio.samples.count { $0 != 0 } > 96_000 })
        #expect(hasHole(audio.samples), "the pauses are silent")
        #expect(flaw(audio.samples) == nil)
    }

    @Test func aSeekIsExactToTheSample() throws {
        let stage = Stage([PlaylistItem(source: try Reel.numberedSamples())], display: display, audio: audio)
        #expect(stage.wait(for: 5))
        _ = stage.pause()
        let count = audio.samples.count
        stage.player.seek(to: .milliseconds(250))
        #expect(stage.waitUntilStill())
        stage.player.play()
        #expect(stage.wait { audio.samples.dropFirst(count).count { $0 != 0 } > 24_000 })
        let after = Array(audio.samples.dropFirst(count).drop { $0 == 0 })
        #expect(flaw(after, from: 12_000) == nil)
    }

    @Test func soundThatIsCutOffIsFaded() throws {
        let item = PlaylistItem(source: try Reel.numberedSamples(), end: .milliseconds(500))
        let stage = Stage([item, PlaylistItem(source: try Reel.fifty())], display: display, audio: audio)
        #expect(stage.wait(for: 105))
        // The rest is silence until the first item comes again.
        let heard = Array(audio.samples.filter { $0 != 0 }.prefix(24_000))
        #expect(heard.count == 24_000)
        #expect(flaw(Array(heard.dropLast(240))) == nil, "untouched up to five milliseconds before")
        let end = heard.suffix(241) + [0]
        #expect(zip(end, end.dropFirst()).allSatisfy { abs($0 - $1) < 0.01 }, "no click")
    }

    @Test func anItemsOwnVolume() throws {
        let stage = Stage([PlaylistItem(source: try Reel.numberedSamples(), volume: 0.25)], display: display, audio: audio)
        #expect(stage.wait(for: 10))
        let heard = audio.samples.filter { $0 != 0 }
        #expect(
            heard.prefix(10_000).enumerated().allSatisfy { $1 == Reel.sample($0) * 0.015625 }, "the cube of the volume, as the player's own"
        )
    }

    @Test func betweenItemsLoudnessIsRamped() throws {
        let items = [1, 0.5].map { volume in (try? Reel.numberedSamples()).map { PlaylistItem(source: $0, volume: volume) } }
        let stage = Stage(items.compactMap { $0 }, display: display, audio: audio)
        #expect(stage.wait { audio.samples.count { $0 != 0 } > 120_000 })
        let heard = audio.samples.filter { $0 != 0 }
        let gains = heard.enumerated().map { $1 / Reel.sample($0) }
        for (seam, before, after) in [(48_000, Float(1), Float(0.125)), (96_000, 0.125, 1)] {
            #expect(gains[seam - 2000..<seam].allSatisfy { $0 == before } && gains[seam + 240..<seam + 2000].allSatisfy { $0 == after })
            let ramp = gains[seam - 1...seam + 240]
            #expect(zip(ramp, ramp.dropFirst()).allSatisfy { abs($1 - $0) < 0.005 }, "\(ramp)")
        }
    }

    /// Pictures carry the item time, and this clip has one or none.
    @Test(arguments: [false, true]) func soundAloneTellsItsTimeAtEveryRate(hasCover: Bool) throws {
        let clip = hasCover ? try Reel.covered(seconds: 3) : try Reel.tone(seconds: 3)
        let stage = Stage([PlaylistItem(source: clip)], display: display, audio: audio) { $0.loop = .off }
        #expect(stage.wait { stage.player.currentTime > .milliseconds(100) })
        stage.player.rate = 2
        #expect(stage.wait { stage.events.contains(.playlistEnded) })
        // At twice the speed, the filter's last window is not played in full.
        #expect(stage.player.currentTime > .milliseconds(2750), "\(stage.player.currentTime.seconds)")
    }

    @Test func soundAndPictureStayTogetherAcrossRates() throws {
        let stage = Stage([PlaylistItem(source: try Reel.numberedSamples(seconds: 4))], display: display, audio: audio)
        stage.player.rate = 2
        #expect(stage.wait(for: 6))
        stage.player.rate = 0.5
        _ = stage.wait(0.3) { false }
        stage.player.rate = 1
        #expect(stage.wait { stage.statistics.seams >= 2 })
        // Back at its own pace, the clip has its own samples again: the first playthrough's last must stand before the second's first.
        // Sound put ahead by the rate changes would end early; sound put behind would be cut off.
        let heard = Array(audio.samplesWithoutStarvation.drop { $0 == 0 })
        let begin = try #require(
            heard.indices.dropFirst(20_000).first { index in
                index + 5000 < heard.count && heard[index] == Reel.sample(0) && heard[index + 1] == Reel.sample(1)
                    && heard[index + 5000] == Reel.sample(5000) && heard[..<index].last { $0 != 0 } != Reel.sample(29_999)
            })
        let last = heard[..<begin].suffix(2400)
        let silent = last.reversed().prefix { $0 == 0 }.count
        #expect(silent < 480, "\(silent) samples of silence before the seam")
        let number = try #require(last.last { $0 != 0 }.map { Int($0 * 32_768) })
        let expected = Int(Reel.sample(191_999, seconds: 4) * 32_768)
        #expect(number > expected - 480 && number <= expected, "\(number), expected \(expected)")
    }
}
