import Media
import Platform
import TestSupport
import Testing

@Suite struct MediaReaderTests {
    private let stereo = SampleFormat(sampleRate: 48000, channelCount: 2)

    /// The burned-in numbers of all frames from where the reader stands.
    private func numbers(_ reader: inout MediaReader) -> [Int] {
        var numbers: [Int] = []
        while let frame = reader.nextFrame() { numbers.append(burnedInNumber(frame.frame)) }
        return numbers
    }

    @Test func givesEveryFrameInOrder() throws {
        var reader = try MediaReader.open(Clips.numbered("thirty.mp4", frames: 30), samples: stereo)
        #expect(numbers(&reader) == Array(1...30))
    }
}
