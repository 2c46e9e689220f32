import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// The music of a film: an endless stream of samples from its start position, with repetitions or silence after its end.
struct MusicTrack: ~Copyable {
    private let reader: ReaderClient
    private let start: MediaTime
    private let isRepeated: Bool
    private let format: AudioFormat
    private let source: String
    private var isOver = false
    /// The samples since the last start, for each channel.
    private var count = 0

    /// The length from the start position; nil if the file does not tell.
    let length: MediaTime?

    static func open(_ music: Arrangement.Music, samples: AudioFormat, by readers: Readers) throws(ExportError) -> MusicTrack {
        do throws(MediaError) {
            var order = OpenOrder(.play, music.source)
            (order.samples, order.video) = (samples, .off)
            let reader = try ReaderClient(order, by: readers, Interruption())
            guard reader.hasSound else { throw MediaError(music.source, .failed("has no sound")) }
            if music.start > .zero { _ = try reader.seek(to: music.start, precision: .exact) }
            let end = reader.description.audio?.duration ?? reader.description.duration
            if let end, music.start >= end { throw MediaError(music.source, .failed("start is at or after its end (\(end))")) }
            return MusicTrack(reader, music, samples, length: end.map { $0 - music.start })
        } catch {
            throw .music(error.description)
        }
    }

    private init(_ reader: ReaderClient, _ music: Arrangement.Music, _ format: AudioFormat, length: MediaTime?) {
        self.reader = reader
        (start, isRepeated, self.format, source, self.length) = (music.start, music.isRepeated, format, music.source, length)
    }

    /// Fills `samples`; silence follows the end.
    mutating func read(into samples: inout [Float]) throws(ExportError) {
        var filled = 0
        while filled < samples.count, !isOver {
            let (channels, wanted) = (format.channelCount, min(samples.count - filled, 4096 * format.channelCount))
            let frames = samples.withUnsafeMutableBufferPointer { buffer in
                reader.readSamples(
                    into: UnsafeMutableBufferPointer(rebasing: buffer[filled..<(filled + wanted)]), channelCount: channels)
            }
            (filled, count) = (filled + frames * channels, count + frames)
            if frames * channels < wanted { try begin() }
        }
        for index in filled..<samples.count { samples[index] = 0 }
    }

    /// Handles the end of the file.
    private mutating func begin() throws(ExportError) {
        // A file without samples would repeat for ever.
        guard isRepeated, count > 0 else {
            isOver = true
            return
        }
        do throws(MediaError) {
            _ = try reader.seek(to: start, precision: .exact)
            count = 0
        } catch {
            throw .music("\(error.description); with repeat = false it does not begin again")
        }
    }
}
