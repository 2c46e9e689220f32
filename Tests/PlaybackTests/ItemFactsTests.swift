import KioskAudioCore
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskMedia
@testable import KioskPlayback

/// The facts of items, without and with a player.
@Suite(.blocking) struct ItemFactsTests {
    private func asset(duration: MediaTime? = .seconds(8), isLocal: Bool = true, isSeekable: Bool = true) -> AssetDescription {
        var asset = AssetDescription(
            container: "mp4", duration: duration,
            video: .init(
                codec: "h264", width: 720, height: 576, pixelAspectRatio: 64.0 / 45, orientation: .init(rotation: .clockwise90),
                frameRate: 25, isConstantFrameRate: true, pixelFormat: "yuv420p", isInterlaced: false, duration: duration),
            audio: nil, isStill: false, isSeekable: isSeekable)
        asset.isLocal = isLocal
        return asset
    }

    private func facts(_ asset: AssetDescription?, _ item: PlaylistItem = .init(source: "a")) -> ItemFacts {
        ItemFacts(.init(status: asset == nil ? .unknown : .readyToPlay, asset: asset), of: item, imageDuration: .seconds(10))
    }

    @Test func ofAFile() {
        let facts = facts(asset())
        #expect(facts.status == .readyToPlay && facts.duration == .time(.seconds(8)))
        #expect(facts.presentationSize == .init(width: 576, height: 1024))
        #expect(facts.loadedTimeRanges == [.zero..<(.seconds(8))] && facts.seekableTimeRanges == facts.loadedTimeRanges)
        #expect(facts.isPlaybackLikelyToKeepUp)
    }

    @Test func ofAPartOfAFile() {
        let facts = facts(asset(), PlaylistItem(source: "a", start: .seconds(2), end: .seconds(6), duration: .seconds(3)))
        #expect(facts.duration == .time(.seconds(5)) && facts.seekableTimeRanges == [.seconds(2)..<(.seconds(5))])
    }

    @Test func ofAPictureWithATimeOfItsOwn() {
        var still = asset(duration: nil)
        still.isStill = true
        #expect(facts(still).duration == .time(.seconds(10)))
        #expect(facts(still, PlaylistItem(source: "a", duration: .seconds(4))).duration == .time(.seconds(4)))
        let both = PlaylistItem(source: "a", duration: .seconds(4), imageDuration: .seconds(6))
        #expect(facts(still, both).duration == .time(.seconds(6)) && facts(asset(), both).duration == .time(.seconds(4)))
        let picture = PlaylistItem(source: "a", imageDuration: .seconds(6))
        #expect(facts(asset(), picture).duration == .time(.seconds(8)), "a clip has its own length")
    }

    @Test func aClipThatIsCutIsWarnedOf() {
        func warning(_ item: PlaylistItem, _ asset: AssetDescription? = nil) -> String? { ItemInspection.cut(asset ?? self.asset(), item) }
        #expect(warning(PlaylistItem(source: "a", duration: .seconds(5)))?.hasPrefix("`duration` cuts it: kiosk plays 5 s of 8 s.") == true)
        #expect(warning(PlaylistItem(source: "a", start: .seconds(3), duration: .seconds(5))) == nil, "its end is its own")
        #expect(warning(PlaylistItem(source: "a", duration: .seconds(20))) == nil, "it begins again")
        #expect(warning(PlaylistItem(source: "a", imageDuration: .seconds(5))) == nil)
        var still = asset(duration: nil)
        still.isStill = true
        #expect(warning(PlaylistItem(source: "a", duration: .seconds(5)), still) == nil)
    }

    @Test func ofWhatHasNotBeenOpened() {
        let facts = facts(nil)
        #expect(facts.status == .unknown && facts.duration == .unknown && facts.loadedTimeRanges.isEmpty && !facts.isPlaybackLikelyToKeepUp)
    }

    @Test func ofALiveStream() {
        var live = facts(asset(duration: nil, isLocal: false, isSeekable: false))
        #expect(live.duration == .indefinite && live.seekableTimeRanges.isEmpty && live.loadedTimeRanges.isEmpty)
        live.setLoaded(loaded(62, goal: 2), from: .seconds(60), rate: 1, ahead: few, isWaiting: false)
        #expect(live.loadedTimeRanges == [.seconds(60)..<(.seconds(62))] && live.isPlaybackLikelyToKeepUp)
        live.setLoaded(loaded(60.9, goal: 2), from: .seconds(60), rate: 1, ahead: many, isWaiting: false)
        #expect(!live.isPlaybackLikelyToKeepUp, "less than half of what is to be in hand")
        live.setLoaded(loaded(62, goal: 2), from: .seconds(60), rate: 1, ahead: many, isWaiting: true)
        #expect(!live.isPlaybackLikelyToKeepUp)
    }

    private let few = BufferLevel(frames: 0, sound: .zero), many = BufferLevel(frames: 6, sound: .milliseconds(400))

    private func loaded(_ seconds: Double, speed: Double? = nil, goal: Double? = nil) -> LoadedMedia {
        LoadedMedia(until: .seconds(seconds), speed: speed, goal: goal.map { .seconds($0) })
    }

    /// A clip of eight seconds, at item time 2.
    @Test(
        "What comes faster than it is played keeps up, and what has enough in hand",
        arguments: [
            (2.1, 1.2, 1.0, false, true), (2.1, 0.7, 1, false, false), (5, 0.7, 1, false, true), (5, 0.7, 2, false, false),
            (2.1, 1.2, 1, true, false), (7.9, 0, 1, false, false),
        ]) func speed(until: Double, speed: Double, rate: Double, isWaiting: Bool, keepsUp: Bool)
    {
        var facts = facts(asset(isLocal: false))
        facts.setLoaded(loaded(until, speed: speed), from: .seconds(2), rate: rate, ahead: many, isWaiting: isWaiting)
        #expect(facts.loadedTimeRanges == [.seconds(2)..<(.seconds(until))] && facts.isPlaybackLikelyToKeepUp == keepsUp)
    }

    /// A local file that cannot be sought; the player does not receive it ahead.
    @Test func whatIsNotReceivedAheadKeepsUpWhileEnoughIsDecoded() {
        var facts = facts(asset(isSeekable: false))
        for (ahead, keepsUp) in [(many, true), (few, false)] {
            facts.setLoaded(loaded(3), from: .seconds(2), rate: 1, ahead: ahead, isWaiting: false)
            #expect(facts.isPlaybackLikelyToKeepUp == keepsUp)
        }
    }

    @Test func whatHasBeenReceivedToItsEndKeepsUp() {
        var facts = facts(asset(isLocal: false))
        facts.setLoaded(
            LoadedMedia(until: .seconds(8), isWhole: true, speed: 0), from: .seconds(7), rate: 1, ahead: few, isWaiting: false)
        #expect(facts.isPlaybackLikelyToKeepUp)
        facts.setLoaded(nil, from: .seconds(7), rate: 1, ahead: many, isWaiting: false)
        #expect(!facts.isPlaybackLikelyToKeepUp && facts.loadedTimeRanges.isEmpty, "nothing is known of it")
    }

    @Test func chapters() {
        let chapters = [0, 10, 20].map { AssetChapter(title: nil, start: .seconds($0), end: .seconds($0 + 10)) }
        #expect(chapters.start(1, from: .seconds(4)) == .seconds(10))
        #expect(chapters.start(1, from: .seconds(25)) == nil)
        #expect(chapters.start(-1, from: .seconds(11)) == .zero, "just begun: the one before")
        #expect(chapters.start(-1, from: .seconds(14)) == .seconds(10), "its own beginning")
        #expect(chapters.start(-1, from: .seconds(1)) == .zero)
        #expect([AssetChapter]().start(1, from: .zero) == nil)
    }

    // MARK: With a player

    /// Returns a clip of frames 1…60 with two tones: the samples of one are positive, those of the other negative.
    private static func film() throws -> String {
        let picture = try Clips.numbered("facts-picture.mp4", frames: 60, sound: false)
        func level(_ value: String) -> [String] { ["-f", "lavfi", "-i", "aevalsrc=\(value):s=48000:d=2"] }
        let languages = ["-metadata:s:a:0", "language=deu", "-metadata:s:a:1", "language=eng"]
        return try Clips.make(
            "facts.mov",
            ["-i", picture] + level("0.25") + level("-0.25") + ["-map", "0:v", "-map", "1:a", "-map", "2:a"]
                + ["-c:v", "copy", "-c:a", "pcm_s16le"] + languages)
    }

    @Test func anotherSoundTrackWhileItPlays() throws {
        let audio = RecordingOutput()
        let stage = Stage([PlaylistItem(source: try Self.film())], audio: audio)
        #expect(stage.wait(for: 10))
        let item = try #require(stage.player.snapshot.item)
        #expect(stage.player.facts(of: item)?.selectedTracks == [.video: 0, .audio: 1])
        #expect(stage.player.select(.language(LanguageCode("en")!), of: .audio, in: item))
        #expect(!stage.player.select(.language(LanguageCode("en")!), of: .audio, in: item), "it is already")
        #expect(stage.wait { stage.player.facts(of: item)?.selectedTracks[.audio] == 2 })
        #expect(stage.wait { audio.samples.contains { $0 < -0.2 } })
        // Later playthroughs begin with it, too.
        #expect(stage.wait { stage.statistics.seams >= 3 })
        #expect(stage.plays(Array(1...60)))
        let heard = audio.samplesWithoutStarvation.filter { $0 != 0 }
        let first = try #require(heard.firstIndex { $0 < 0 })
        #expect(heard[first...].allSatisfy { $0 < 0 } && heard[..<first].allSatisfy { $0 > 0 })
        #expect(heard.count > 96_000, "\(heard.count)")
        #expect(stage.player.items[0].entry.audioTrack == .automatic, "the entry is what it was")
    }

    @Test func soundOffAndOnAgain() throws {
        let audio = RecordingOutput()
        let stage = Stage([PlaylistItem(source: try Self.film())], audio: audio)
        #expect(stage.wait(for: 5))
        let item = try #require(stage.player.snapshot.item)
        stage.player.select(.off, of: .audio, in: item)
        #expect(stage.wait { audio.samples.count > 9600 && audio.samples.suffix(4800).allSatisfy { $0 == 0 } })
        #expect(stage.player.facts(of: item)?.selectedTracks[.audio] == nil)
        stage.player.select(.automatic, of: .audio, in: item)
        #expect(stage.wait { audio.samples.suffix(480).contains { $0 > 0.2 } })
        #expect(stage.plays(Array(1...60)))
    }

    @Test func statusOfItems() throws {
        let stage = Stage([PlaylistItem(source: try Self.film()), PlaylistItem(source: "/nowhere/x.mp4")])
        #expect(stage.wait(for: 10))
        let items = stage.player.items
        #expect(stage.wait { if case .failed = stage.player.facts(of: items[1].id)?.status { true } else { false } })
        let ready = try #require(stage.player.facts(of: items[0].id))
        #expect(ready.status == .readyToPlay && ready.duration == .time(.seconds(2)) && ready.isPlaybackLikelyToKeepUp)
        #expect(stage.events.contains(.itemStatusChanged(item: items[0].id, .readyToPlay)))
        guard case .failed(let reason)? = stage.player.facts(of: items[1].id)?.status else { return }
        #expect(reason.contains("no such file"))
    }

    @Test func pictureOffShowsTheBackground() throws {
        let stage = Stage([PlaylistItem(source: try Self.film())])
        #expect(stage.wait(for: 10))
        let item = try #require(stage.player.snapshot.item)
        let count = stage.numbers.count
        stage.player.select(.off, of: .video, in: item)
        #expect(stage.wait { stage.numbers.dropFirst(count).last == 0 })
        #expect(stage.player.facts(of: item)?.presentationSize == nil)
        stage.player.select(.automatic, of: .video, in: item)
        #expect(stage.wait { (stage.numbers.last ?? 0) > 0 })
    }
}
