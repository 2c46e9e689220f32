import Media
import Platform
import Testing

@testable import Playback

@Suite struct SoundFeedTests {
    private let queue = AudioQueue(format: AudioFormat(sampleRate: 48_000, channelCount: 1)) {}

    /// A lane of four seconds of numbered samples, of which pictures have been laid up to `pictureEnd`.
    private func lane(laidTo pictureEnd: MediaTime) throws -> Lane {
        let item = PlaylistItem(source: try Reel.numberedSamples(seconds: 4))
        let turn = Turn(
            serial: 1, position: .init(index: 0), item: item, itemEnd: .seconds(4), isStill: false, isSeekable: true, isSeam: false)
        let lane = Lane(
            reader: MediaItemReader(try MediaReader.open(item.source, samples: queue.format), interruption: Interruption()), turn: turn, at: .zero,
            anchor: .zero, rate: 1, limit: nil)
        lane.pictureEnd = pictureEnd
        return lane
    }

    /// Lays what is wanted; where each go ended.
    private func layAll(_ lane: Lane) -> [Int64] {
        var feed = SoundFeed(queue)
        var ends: [Int64] = []
        while true {
            let frames = feed.wanted(of: lane)
            if frames == 0 { return ends }
            feed.lay(frames, of: lane, fade: nil)
            ends.append(queue.writtenSamples)
        }
    }

    /// Or it would be early or late against pictures that have been laid at the rate before; by seconds, where they are far ahead.
    @Test func theSoundChangesItsRateWhereThePicturesDo() throws {
        let lane = try lane(laidTo: .milliseconds(400))
        lane.setRate(2)
        _ = layAll(lane)
        #expect(lane.rateChanges.map(\.at) == [.milliseconds(400)], "up to there it is the old one")
        lane.setRate(1)
        lane.pictureEnd = .milliseconds(600)
        #expect(layAll(lane).contains(19_200) && lane.rateChanges.isEmpty)
        var next: [Float] = [0]
        _ = next.withUnsafeMutableBufferPointer { lane.reader.readSamples(into: $0, channelCount: 1) }
        #expect(next == [Reel.sample(Int(queue.writtenSamples), seconds: 4)], "nothing was left out, and nothing was silent, on the way")
    }

    @Test func everyChangeOfRateIsMetOneAfterTheOther() throws {
        let lane = try lane(laidTo: .milliseconds(400))
        lane.setRate(2)
        lane.pictureEnd = .milliseconds(420)
        lane.setRate(0.5)
        lane.pictureEnd = .milliseconds(440)
        lane.setRate(1)
        lane.pictureEnd = .milliseconds(600)
        #expect(Set(layAll(lane)).isSuperset(of: [19_200, 20_160, 21_120]) && lane.rateChanges.isEmpty)
    }

    @Test func theLastGoIsLongEnoughToBeFadedOut() throws {
        let lane = try lane(laidTo: queue.time(ofSample: 4097))
        lane.picturesDone = true
        #expect(layAll(lane) == [2048, 3857, 4097])
    }
}
