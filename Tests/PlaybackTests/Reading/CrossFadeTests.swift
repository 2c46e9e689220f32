import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

/// One item fades into the next: the mixed pictures, their shares, and the sound.
@Suite(.blocking) struct CrossFadeTests {
    private let duration = MediaTime.milliseconds(200)

    /// Returns the flips with a picture beneath, fade by fade.
    private func fades(_ display: RecordingDisplay) -> [[RecordingDisplay.Vblank]] {
        var fades: [[RecordingDisplay.Vblank]] = [[]]
        for flip in display.flips {
            let before = fades[fades.count - 1].last?.underlay
            // One fade may follow directly on another.
            let begins = before.map { $0.share > flip.underlay?.share ?? 0 } ?? false
            if begins { fades.append([]) }
            if flip.underlay != nil { fades[fades.count - 1].append(flip) }
        }
        return fades.filter { $0 != [] }
    }

    @Test func theOldGoesOnBeneathTheNew() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: try Reel.fifty())]) { [duration] in
            ($0.transition, $0.transitionDuration) = (.fade, duration)
        }
        #expect(stage.wait { fades(stage.display).count >= 5 })
        let numbers = stage.numbers.filter { $0 != 0 }
        // A fifth of a second is six frames of one clip and ten of the other. They appear beneath, and no frame of either is missing.
        #expect(Stage.missing(from: numbers, cycle: Array(1...24) + Array(101...110)) ?? 99 <= stage.statistics.framesDropped, "\(numbers)")
        for fade in fades(stage.display).prefix(4) {
            let shares = fade.map { $0.underlay!.share }
            #expect(shares == shares.sorted() && shares.first! > 0 && shares.last! < 1)
            let beneath = fade.map { $0.underlay!.number }
            let expected = fade[0].number > 100 ? 25...30 : 111...120
            #expect(beneath == beneath.sorted() && beneath.allSatisfy(expected.contains))
            if stage.statistics.framesDropped == 0 {
                #expect(beneath.first == expected.lowerBound && beneath.last! >= expected.upperBound - 1)
            }
        }
    }

    @Test func bothAreHeardWithTheSamePower() throws {
        let audio = RecordingOutput()
        let item = PlaylistItem(source: try Reel.numberedSamples())
        let stage = Stage([item], display: RecordingDisplay(refreshRate: RecordingDisplay.oddRefreshRate), audio: audio) { [duration] in
            ($0.transition, $0.transitionDuration) = (.fade, duration)
        }
        #expect(stage.wait { fades(stage.display).count >= 2 })
        #expect(stage.wait { audio.samples.count { $0 != 0 } > 77_000 })
        // A starved machine may run dry here or there; no sample of the clip is zero.
        let heard = audio.samples.filter { $0 != 0 }
        try #require(heard.count > 77_000)
        #expect(heard.prefix(38_400).enumerated().allSatisfy { $1 == Reel.sample($0) }, "untouched up to the fade")
        let isMixed = stride(from: 0, to: 9600, by: 97).allSatisfy { sample in
            let share = Double(sample) / 9600
            let expected =
                Double(Reel.sample(sample)) * share.squareRoot() + Double(Reel.sample(38_400 + sample)) * (1 - share).squareRoot()
            return abs(Double(heard[38_400 + sample]) - expected) < 1e-4
        }
        #expect(isMixed)
        #expect((9600..<38_000).allSatisfy { heard[38_400 + $0] == Reel.sample($0) }, "and after it")
    }

    @Test func aStillFadesInManySteps() throws {
        let stage = Stage([PlaylistItem(source: try Reel.still(), duration: .milliseconds(600)), PlaylistItem(source: try Reel.single())]) {
            [duration] in ($0.transition, $0.transitionDuration) = (.fade, duration)
        }
        // One frame is too short for a whole fade: it gets half its length. The next item fades in from it.
        #expect(stage.wait { fades(stage.display).count >= 4 })
        let longest = fades(stage.display).filter { $0[0].number == 401 }
        #expect(longest.allSatisfy { $0.allSatisfy { $0.underlay!.number == 201 } })
        #expect(stage.numbers.contains(401) && stage.numbers.contains(201))
        #expect(stage.complaints.isEmpty)
    }

    @Test func stillsFadeThirtyTimesASecond() throws {
        let items = [PlaylistItem(source: try Reel.still(), duration: .milliseconds(700))]
        let stage = Stage(items) { [duration] in ($0.transition, $0.transitionDuration) = (.fade, duration) }
        #expect(stage.wait { fades(stage.display).count >= 3 })
        // `framesDropped` counts for all fades together.
        let counts = fades(stage.display).prefix(2).map(\.count)
        #expect(counts.allSatisfy { $0 <= 7 && $0 + stage.statistics.framesDropped >= 5 }, "\(counts)")
    }

    /// If the next item cannot fade in, the player cuts to it after the last frame. It does not cut at the start of the fade.
    @Test func whereNothingFadesInTheEndIsPlayed() throws {
        let tone = Stage([PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: try Reel.tone())]) { [duration] in
            ($0.transition, $0.transitionDuration) = (.fade, duration)
        }
        tone.expectPlays(Array(1...30) + [0], count: 66)
        #expect(fades(tone.display).isEmpty)
        let broken = Stage([PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: "/nowhere/clip.mp4")]) { [duration] in
            ($0.transition, $0.transitionDuration, $0.loop) = (.fade, duration, .off)
        }
        #expect(broken.wait { broken.events.contains(.playlistEnded) })
        #expect(broken.plays(Array(1...30)) && broken.numbers.last == 30, "\(broken.numbers)")
        let still = Stage([PlaylistItem(source: try Reel.still(), duration: .milliseconds(500)), PlaylistItem(source: try Reel.tone())]) {
            [duration] in ($0.transition, $0.transitionDuration) = (.fade, duration)
        }
        // The rest of the still is enqueued separately.
        still.expectPlays([401, 401, 0], count: 8)
        #expect(fades(still.display).isEmpty)
    }

    @Test func aFadeIntoSomethingShortBeginsLater() throws {
        let audio = RecordingOutput()
        let stage = Stage(
            [PlaylistItem(source: try Reel.numberedSamples()), PlaylistItem(source: try Reel.three())],
            display: RecordingDisplay(refreshRate: RecordingDisplay.oddRefreshRate), audio: audio
        ) { [duration] in ($0.transition, $0.transitionDuration) = (.fade, duration) }
        #expect(stage.wait { fades(stage.display).count >= 4 })
        // Half of three frames is a frame and a half: frame 30 goes on beneath 301, and 303 beneath 1.
        let numbers = stage.numbers.filter { $0 != 0 }
        #expect(Stage.missing(from: numbers, cycle: Array(1...29) + [301, 302]) ?? 99 <= stage.statistics.framesDropped, "\(numbers)")
        let heard = audio.samples.filter { $0 != 0 }
        #expect(heard.prefix(46_400).enumerated().allSatisfy { $1 == Reel.sample($0) }, "untouched up to the fade")
    }

    @Test func aFadeIntoAStillIsLaidPieceByPiece() throws {
        let items = [PlaylistItem(source: try Clips.named("keyframes.mp4")), PlaylistItem(source: try Reel.still(), duration: .seconds(5))]
        let stage = Stage(items) { ($0.transition, $0.transitionDuration) = (.fade, .seconds(2)) }
        var most = 0
        #expect(
            stage.wait {
                most = max(most, stage.player.snapshot.buffered.frames)
                return stage.numbers.last == 401 && stage.display.flips.last?.underlay == nil
            })
        // A fifth of a second, and the composed frames.
        #expect(most <= 12)
        #expect(fades(stage.display)[0].count + stage.statistics.framesDropped >= 40, "half of three seconds")
    }

    @Test func theEndOfThePlaylistAndACutFadeNothing() throws {
        let end = Stage([PlaylistItem(source: try Reel.thirty())]) { [duration] in
            ($0.transition, $0.transitionDuration, $0.loop) = (.fade, duration, .off)
        }
        #expect(end.wait { end.player.timeControlStatus == .paused })
        #expect(end.numbers.last == 30 && fades(end.display).isEmpty)
        let cut = Stage([PlaylistItem(source: try Reel.three())])
        #expect(cut.wait { cut.statistics.seams >= 3 })
        #expect(fades(cut.display).isEmpty)
    }

    @Test func aSeekOutOfAFadeEndsIt() throws {
        let stage = Stage([PlaylistItem(source: try Reel.thirty()), PlaylistItem(source: try Reel.long())]) { [duration] in
            ($0.transition, $0.transitionDuration) = (.fade, duration)
        }
        for _ in 0..<3 {
            let count = stage.display.flips.count
            #expect(stage.wait { stage.display.flips.dropFirst(count).contains { $0.underlay != nil } })
            stage.player.seek(to: .zero)
            stage.player.returnToPreviousItem()
            let since = stage.display.flips.count
            #expect(stage.wait { stage.display.flips.dropFirst(since).contains { $0.underlay == nil && $0.number == 1 } })
        }
    }
}
