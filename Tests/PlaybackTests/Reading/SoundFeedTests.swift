import KioskMedia
import KioskPlatform
import Testing

@testable import KioskPlayback

@Suite struct SoundFeedTests {
    private let queue = AudioQueue(format: AudioFormat(sampleRate: 48_000, channelCount: 2)) {}

    /// Enqueues all sound that is wanted, and returns the end of each piece.
    private func enqueueAll(_ reader: PlaythroughReader) -> [Int64] {
        var feed = SoundFeed(queue)
        var ends: [Int64] = []
        while true {
            let frames = feed.wanted(of: reader)
            if frames == 0 { return ends }
            feed.enqueue(frames, of: reader, over: nil)
            ends.append(queue.writtenSamples)
        }
    }

    /// Otherwise the sound would be early or late against pictures enqueued at the old rate: by seconds, if they are far ahead.
    @Test func theSoundChangesItsRateWhereThePicturesDo() throws {
        let (reader, media) = try PlaythroughReader.madeUp(queue: queue)
        reader.handOut(to: .milliseconds(400))
        reader.setRate(2)
        _ = enqueueAll(reader)
        #expect(reader.soundRateChanges.map(\.instant) == [.milliseconds(400)], "up to there it is the old one")
        reader.setRate(1)
        reader.handOut(to: .milliseconds(600))
        #expect(enqueueAll(reader).contains(19_200) && reader.soundRateChanges.isEmpty)
        #expect(media.readings[0].samples == queue.writtenSamples, "nothing was left out, and nothing was silent, on the way")
    }

    @Test func everyChangeOfRateIsMetOneAfterTheOther() throws {
        let (reader, _) = try PlaythroughReader.madeUp(queue: queue)
        reader.handOut(to: .milliseconds(400))
        for (rate, end) in [(2.0, MediaTime.milliseconds(420)), (0.5, .milliseconds(440)), (1, .milliseconds(600))] {
            reader.setRate(rate)
            reader.handOut(to: end)
        }
        #expect(Set(enqueueAll(reader)).isSuperset(of: [19_200, 20_160, 21_120]) && reader.soundRateChanges.isEmpty)
    }

    @Test func theLastGoIsLongEnoughToBeFadedOut() throws {
        let (reader, _) = try PlaythroughReader.madeUp(edges: [0, queue.time(ofSample: 4097).seconds], queue: queue)
        reader.handOut(to: .seconds(9))
        #expect(reader.isAtEnd && enqueueAll(reader) == [2048, 3857, 4097])
    }
}
