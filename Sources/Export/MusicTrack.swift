import Configuration
import KioskMedia
import KioskPlatform

/// The music of a film: samples without an end, from where it begins; again from there when it has ended, or silence.
struct MusicTrack: ~Copyable {
    private var reader: MediaReader
    private let start: MediaTime
    private let isRepeated: Bool
    private let format: AudioFormat
    private let source: String
    private var position: Int64
    private var pictureTime: MediaTime?
    private var isOver = false
    /// Samples of each channel since it was begun last.
    private var count = 0

    /// How long it is from where it begins; nil where the file does not say.
    let length: MediaTime?

    static func open(_ music: Arrangement.Music, samples: AudioFormat) throws(ExportError) -> MusicTrack {
        do throws(MediaError) {
            var reader = try MediaReader.open(music.source, samples: samples, deinterlacing: .off)
            guard reader.hasSound else { throw MediaError(music.source, .failed("has no sound")) }
            var begin = MediaTime.zero
            if music.start > .zero { begin = try reader.seek(to: music.start, precision: .exact) }
            let end = reader.description.audio?.duration ?? reader.description.duration
            if let end, music.start >= end { throw MediaError(music.source, .failed("start lies at or behind its end (\(end))")) }
            return MusicTrack(reader, music, samples, at: begin, length: end.map { $0 - music.start })
        } catch {
            throw .music(error.description)
        }
    }

    private init(
        _ reader: consuming MediaReader, _ music: Arrangement.Music, _ format: AudioFormat, at begin: MediaTime, length: MediaTime?
    ) {
        self.reader = reader
        (start, isRepeated, self.format, source, self.length) = (music.start, music.isRepeated, format, music.source, length)
        position = Int64(begin.seconds * Double(format.sampleRate))
    }

    /// Fills `samples`; what there is none for is silence.
    mutating func read(into samples: inout [Float]) throws(ExportError) {
        var filled = 0
        while filled < samples.count, !isOver {
            // Of a video pictures are read, too, or its packets would pile up.
            skipPictures()
            let (channels, wanted) = (format.channelCount, min(samples.count - filled, 4096 * format.channelCount))
            let frames = samples.withUnsafeMutableBufferPointer { buffer in
                reader.readSamples(
                    into: UnsafeMutableBufferPointer(rebasing: buffer[filled..<(filled + wanted)]), channelCount: channels)
            }
            (filled, position, count) = (filled + frames * channels, position + Int64(frames), count + frames)
            if frames * channels < wanted { try begin() }
        }
        for index in filled..<samples.count { samples[index] = 0 }
    }

    private mutating func skipPictures() {
        guard reader.description.video != nil, !reader.description.isStill else { return }
        let time = MediaTime.seconds(Double(position) / Double(format.sampleRate))
        while pictureTime.map({ $0 < time }) ?? true {
            guard let frame = reader.nextFrame() else {
                pictureTime = MediaTime(nanoseconds: .max)
                return
            }
            pictureTime = frame.time
        }
    }

    /// It has ended.
    private mutating func begin() throws(ExportError) {
        // What has given nothing would be begun for ever.
        guard isRepeated, count > 0 else {
            isOver = true
            return
        }
        do throws(MediaError) {
            let landed = try reader.seek(to: start, precision: .exact)
            (position, pictureTime, count) = (Int64(landed.seconds * Double(format.sampleRate)), nil, 0)
        } catch {
            throw .music("\(error.description); with repeat = false it is not begun again")
        }
    }
}
