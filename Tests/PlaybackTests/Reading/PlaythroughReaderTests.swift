import KioskMedia
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskPlayback

@Suite struct PlaythroughReaderTests {
    private let queue = AudioQueue(format: AudioFormat(sampleRate: 48_000, channelCount: 2)) {}

    /// Otherwise, after an hour, it would skip an hour of sound.
    @Test(arguments: [true, false]) func aChangeOfRateSkipsNoSoundThatNobodyHears(isMuted: Bool) throws {
        let (reader, media) = try PlaythroughReader.madeUp(isMuted: isMuted, queue: queue)
        reader.handOut(to: .seconds(3))
        if !isMuted {
            var all = [Float](repeating: 0, count: 5 * 96_000)
            _ = all.withUnsafeMutableBufferPointer { reader.readSound(into: $0, channelCount: 2) }
        }
        let requests = media.readings[0].requests
        #expect(isMuted == (requests == 0))
        reader.setRate(2)
        reader.changeSoundRate(written: .seconds(3), format: queue.format)
        #expect(media.readings[0].requests == requests)
    }

    @Test func aChangeOfRateSkipsWhatTheSoundIsBehind() throws {
        let (reader, media) = try PlaythroughReader.madeUp(queue: queue)
        reader.handOut(to: .seconds(3))
        reader.setRate(1)
        reader.changeSoundRate(written: .seconds(3), format: queue.format)
        #expect(media.readings[0].samples == 144_000)
        reader.setRate(1)
        reader.changeSoundRate(written: .seconds(60), format: queue.format)
        #expect(media.readings[0].samples >= 192_000, "it has ended")
    }

    @Test func picturesEndWithTheSourceOrWhereItIsConfigured() throws {
        for (limit, count) in [(nil, 400), (MediaTime.milliseconds(1005), 101)] {
            let (reader, _) = try PlaythroughReader.madeUp(limit: limit, queue: queue)
            #expect(reader.handOut(to: .seconds(9)) == count && reader.isAtEnd && reader.fadeOutTime == nil)
            #expect(reader.end == limit ?? .seconds(4))
        }
    }

    /// The picture at which the fade would begin is not lost.
    @Test func whatWasToFadeOutCanBeResumed() throws {
        let (reader, _) = try PlaythroughReader.madeUp(queue: queue)
        reader.setFadeOut(from: .milliseconds(3500))
        #expect(reader.handOut(to: .seconds(9)) == 350 && reader.isAtEnd && reader.fadeOutTime == .milliseconds(3500))
        reader.resume(fadeOutFrom: .milliseconds(3800))
        #expect(!reader.isAtEnd && reader.fadeOutTime == nil)
        #expect(reader.handOut(to: .seconds(9)) == 30 && reader.fadeOutTime == .milliseconds(3800))
        reader.resume(fadeOutFrom: nil)
        #expect(reader.handOut(to: .seconds(9)) == 20 && reader.isAtEnd && reader.fadeOutTime == nil)
    }

    @Test func aSeekBeginsAnew() throws {
        let (reader, media) = try PlaythroughReader.madeUp(queue: queue)
        reader.setFadeOut(from: .milliseconds(3500))
        reader.handOut(to: .seconds(9))
        #expect(reader.seek(to: .seconds(1), precision: .exact, serial: 7, rate: 2, format: queue.format))
        #expect(!reader.isAtEnd && reader.end == .zero && reader.playthrough.serial == 7)
        #expect(reader.handOut(to: .milliseconds(500)) == 100 && reader.itemTime == .seconds(2))
        #expect(media.readings.count == 2 && media.readings[1].begin == .seconds(1))
    }
}

extension PlaythroughReader {
    /// Returns a reader of simulated pictures and their sound: four seconds of pictures of 10 ms, or pictures with the given edges.
    static func madeUp(
        edges: [Double] = (0...400).map { Double($0) / 100 }, limit: MediaTime? = nil, isMuted: Bool = false, queue: AudioQueue
    ) throws -> (PlaythroughReader, SimulatedMedia) {
        let media = SimulatedMedia(Scenario(clips: [.init(edges: edges, rate: 100)]), queue: queue) { 0 }
        let item = PlaylistItem(source: "0", isMuted: isMuted)
        let opened = try media.open(.init(serial: 1, item: item, time: .zero, precision: .exact), Interruption())
        let playthrough = Playthrough(
            serial: 1, position: .init(item: 0), item: item, itemEnd: .seconds(edges.last!), isStill: false, isSeekable: true,
            isWhole: true, isSeam: false)
        let reader = PlaythroughReader(
            opened.reader, of: playthrough, at: .zero, instant: .zero, rate: 1, limit: limit, isLengthKnown: true)
        return (reader, media)
    }

    /// Hands out pictures up to a timeline instant, or to the end; returns how many.
    @discardableResult func handOut(to instant: MediaTime) -> Int {
        var count = 0
        while end < instant, !isAtEnd {
            switch nextFrame(over: nil) {
            case .frame: count += 1
            default: break
            }
        }
        return count
    }
}
