import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport
import Testing

/// The loaded part of an HTTP file on a line faster or slower than the clip, and whether it keeps up.
@Suite(.blocking) struct LoadedRangesTests {
    private static let length = 60.0

    /// Returns a clip of one minute, frames 1001…2800, with a constant bit rate; and its rate in bytes a second.
    private func clip() throws -> (content: [UInt8], rate: Int) {
        let bits = ["-b:v", "400k", "-minrate", "400k", "-maxrate", "400k", "-bufsize", "400k", "-nal-hrd", "cbr"]
        let bytes = try Clips.bytes(
            Clips.numbered(
                "loaded.mp4", frames: Int(Self.length) * 30, from: 1001,
                extra: ["-g", "30", "-bf", "0", "-preset", "ultrafast", "-movflags", "+faststart"] + bits))
        return (bytes, Int(Double(bytes.count) / Self.length))
    }

    private func loaded(_ stage: Stage) -> MediaTime { stage.player.currentFacts?.loadedTimeRanges.last?.upperBound ?? .zero }
    private func keepsUp(_ stage: Stage) -> Bool { stage.player.currentFacts?.isPlaybackLikelyToKeepUp ?? false }

    @Test func whatHasBeenReceivedIsLoaded() throws {
        let (content, rate) = try clip()
        let server = try FileServer(.init(content))
        server.change { $0.rate = 6 * rate }
        let stage = Stage([PlaylistItem(source: server.url())])
        #expect(stage.wait(for: 1002), "\(stage.complaints)")
        #expect(stage.pause() != nil)
        // During a pause the download goes on, up to the limit of receiving ahead.
        try #require(stage.wait { loaded(stage) > .seconds(12) }, "\(loaded(stage)) \(stage.complaints)")
        let seconds = loaded(stage).seconds
        let sent = Double(server.requests.map(\.sent).max() ?? 0) / Double(rate)
        #expect(seconds < sent + 2, "no more than has been sent: \(seconds) of \(sent)")
        #expect(stage.player.snapshot.bufferedUntil.map { $0 >= .seconds(seconds) } ?? false, "nor do the controls show less")
        try #require(stage.wait { loaded(stage) > .seconds(30) })
        #expect(loaded(stage) < .seconds(40), "more is not received ahead")
        // After a seek, loading starts again at the new place.
        stage.player.seek(to: .seconds(45))
        try #require(stage.wait { stage.player.currentFacts?.loadedTimeRanges.first?.lowerBound == .seconds(45) })
        try #require(stage.wait { loaded(stage) == .seconds(Self.length) }, "\(loaded(stage))")
        #expect(keepsUp(stage))
    }

    @Test func noMoreIsReceivedAheadThanWanted() throws {
        let (content, rate) = try clip()
        let server = try FileServer(.init(content))
        server.change { $0.rate = 6 * rate }
        var item = PlaylistItem(source: server.url())
        item.stream.forwardBuffer = .seconds(6)
        let stage = Stage([item])
        #expect(stage.wait(for: 1002), "\(stage.complaints)")
        #expect(stage.pause() != nil)
        try #require(stage.wait { loaded(stage) > .seconds(6) }, "\(loaded(stage)) \(stage.complaints)")
        // The line could carry another twelve seconds.
        _ = stage.wait(2) { false }
        #expect(loaded(stage) < .seconds(13), "\(loaded(stage))")
        stage.player.play()
        try #require(stage.wait { loaded(stage) > .seconds(13) }, "it goes on with the picture")
    }

    @Test func aLineThatBecomesTooSlowIsKnownBeforeThePictureStands() throws {
        let (content, rate) = try clip()
        let server = try FileServer(.init(content))
        server.change { $0.rate = 3 * rate }
        let stage = Stage([PlaylistItem(source: server.url())])
        try #require(stage.wait { keepsUp(stage) && loaded(stage) > .seconds(9) }, "\(loaded(stage)) \(stage.complaints)")
        #expect(loaded(stage) < .seconds(Self.length), "all of it says nothing of the line")
        server.change { $0.rate = rate / 4 }
        try #require(stage.wait { !keepsUp(stage) })
        // A busy machine may stall by itself: the test wants only something left to play.
        let left = loaded(stage) - stage.player.snapshot.time
        #expect(left > .seconds(1), "\(left) \(stage.player.timeControlStatus)")
        try #require(stage.wait { stage.player.timeControlStatus == .waitingToPlay }, "\(stage.complaints)")
        #expect(!keepsUp(stage))
        server.change { $0.rate = nil }
        #expect(stage.wait { keepsUp(stage) }, "\(stage.complaints)")
    }

    @Test func aLineThatIsTooSlowFromTheBeginningIsNeverSaidToKeepUp() throws {
        let (content, rate) = try clip()
        let server = try FileServer(.init(content))
        server.change { $0.rate = rate * 7 / 10 }
        let stage = Stage([PlaylistItem(source: server.url())])
        var said = 0
        try #require(
            stage.wait {
                if keepsUp(stage) { said += 1 }
                return stage.pictures.count > 10 && stage.player.timeControlStatus == .waitingToPlay
            }, "\(stage.complaints)")
        #expect(said == 0)
    }

    @Test("Sound alone is received ahead, too") func sound() throws {
        let server = try FileServer(.init(Clips.bytes(Reel.tone(seconds: 20))))
        let stage = Stage([PlaylistItem(source: server.url("tone.wav"))])
        try #require(stage.wait { loaded(stage) == .seconds(20) && keepsUp(stage) }, "\(loaded(stage)) \(stage.complaints)")
        stage.player.seek(to: .seconds(10))
        try #require(stage.wait { stage.player.currentFacts?.loadedTimeRanges.first.map { $0.lowerBound >= .seconds(10) } ?? false })
        try #require(stage.wait { loaded(stage) == .seconds(20) && keepsUp(stage) }, "\(loaded(stage)) \(stage.complaints)")
    }
}
