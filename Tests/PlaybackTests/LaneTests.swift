import Media
import Platform
import Testing

@testable import Playback

@Suite struct LaneTests {
    private let format = AudioFormat(sampleRate: 48_000, channelCount: 1)

    /// A lane of which three seconds of pictures have been laid, and no sound has been read.
    private func lane(isMuted: Bool = false) throws -> Lane {
        let item = PlaylistItem(source: try Reel.numberedSamples(seconds: 4), isMuted: isMuted)
        let turn = Turn(
            serial: 1, position: .init(index: 0), item: item, itemEnd: .seconds(4), isStill: false, isSeekable: true, isSeam: false)
        let lane = Lane(
            reader: MediaItemReader(try MediaReader.open(item.source, samples: format), interruption: Interruption()), turn: turn, at: .zero,
            anchor: .zero, rate: 1, limit: nil)
        lane.pictureEnd = .seconds(3)
        return lane
    }

    private func nextSample(_ lane: Lane) -> Float {
        var sample: [Float] = [0]
        return sample.withUnsafeMutableBufferPointer { lane.reader.readSamples(into: $0, channelCount: 1) } == 1 ? sample[0] : -1
    }

    /// An hour of it would be.
    @Test(arguments: [true, false]) func aChangeOfRateSkipsNoSoundThatNobodyHears(isMuted: Bool) throws {
        let lane = try lane(isMuted: isMuted)
        lane.soundEnded = !isMuted
        lane.setRate(2)
        lane.changeSoundRate(written: .seconds(3), format: format)
        #expect(nextSample(lane) == Reel.sample(0))
    }

    @Test func aChangeOfRateSkipsWhatTheSoundIsBehind() throws {
        let lane = try lane()
        lane.setRate(1)
        lane.changeSoundRate(written: .seconds(3), format: format)
        #expect(nextSample(lane) == Reel.sample(144_000, seconds: 4))
        lane.setRate(1)
        lane.changeSoundRate(written: .seconds(60), format: format)
        #expect(nextSample(lane) == -1, "it has ended")
    }
}
