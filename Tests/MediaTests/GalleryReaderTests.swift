import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

/// Reads every clip of the gallery to its end: the reader must report its facts, and return exactly its frames and samples.
@Suite struct GalleryReaderTests {
    private static let stereo = AudioFormat(sampleRate: 48000, channelCount: 2)
    private static let pictures = Gallery.bed + Gallery.loops + Gallery.mixed + Gallery.moving + Gallery.stills

    private func open(_ clip: GalleryClip) throws -> MediaReader {
        var reader = try MediaReader.open(Clips.named(clip.name), samples: Self.stereo, decoderThreads: 2)
        // A busy machine may be too slow for pictures of all fields.
        reader.takeTime()
        return reader
    }

    @Test func theTableNamesEveryClip() throws {
        let clips = Self.pictures + Gallery.soundAlone
        #expect(try Set(Clips.names()) == Set(clips.map(\.name) + Gallery.unplayable + Gallery.damaged))
    }

    @Test(arguments: pictures + Gallery.soundAlone) func whatItIs(_ clip: GalleryClip) throws {
        let asset = try open(clip).description
        let video = asset.video
        let isTurned = video?.orientation.rotation.swapsAxes == true
        if clip.numbers != nil {
            #expect((isTurned ? video?.height : video?.width) == clip.width)
            #expect((isTurned ? video?.width : video?.height) == clip.height)
            #expect(abs((video?.pixelAspectRatio ?? 0) - clip.pixelAspectRatio) < 0.01)
            #expect(video?.isInterlaced == clip.isInterlaced && video?.isDeinterlaced == clip.isInterlaced)
            #expect(clip.isStill || video?.isConstantFrameRate == clip.isConstantRate)
            // Matroska states the rate in whole milliseconds; the average of a varying rate omits the last frame's duration.
            let rate = (video?.frameRate ?? 0) * (clip.isInterlaced ? 2 : 1)
            #expect(abs(rate - (clip.rate ?? 0)) < (clip.isConstantRate ? 0.01 : 1))
        } else {
            #expect(video == nil)
        }
        #expect(asset.isStill == clip.isStill)
        #expect(asset.audio?.sampleRate == clip.sound?.sampleRate)
        #expect(asset.audio?.channelCount == clip.sound?.channels)
        if clip.isStill { #expect(asset.duration == nil) }
    }

    @Test(arguments: pictures) func everyPictureInOrder(_ clip: GalleryClip) throws {
        var reader = try open(clip)
        var numbers: [Int] = []
        var end = 0.0
        var orientation: Orientation?
        while let frame = reader.nextFrame() {
            // Containers that count milliseconds are off by half of one.
            #expect(abs(frame.time.seconds - clip.time(ofFrame: numbers.count)) < 0.0011, "frame \(numbers.count)")
            numbers.append(burnedInNumber(frame.frame))
            end = (frame.time + frame.duration).seconds
            orientation = frame.frame.orientation
        }
        #expect(numbers == Array(clip.numbers!))
        #expect(orientation == clip.orientation)
        if !clip.isStill { #expect(abs(end - clip.seconds) < 0.0021) }
        let nominal = reader.nominalFrameDuration
        #expect(clip.isStill ? nominal == nil : !clip.isConstantRate || abs((nominal ?? .zero).seconds - 1 / clip.rate!) < 1e-5)
        let problem = reader.prematureEnd
        #expect(problem == nil)
    }

    /// Seeks to the middle of the first frame, the last, and two in between.
    @Test(arguments: pictures.filter { !$0.isStill && $0.seconds < 4 }) func seeksToTheExactPicture(_ clip: GalleryClip) throws {
        var reader = try open(clip)
        for index in [clip.frameCount / 2, 0, clip.frameCount * 3 / 4, clip.frameCount - 1] {
            let middle = (clip.time(ofFrame: index) + clip.time(ofFrame: index + 1)) / 2
            let landed = try reader.seek(to: .seconds(middle), precision: .exact)
            #expect(landed > .seconds(middle - 0.1), "picture \(index)")
            var numbers: [Int] = []
            while let frame = reader.nextFrame() { numbers.append(burnedInNumber(frame.frame)) }
            #expect(numbers == Array(clip.numbers!.dropFirst(index)), "from picture \(index)")
        }
    }

    /// The reader removes priming and padding; the first sample belongs to the first frame.
    @Test(arguments: (Gallery.bed + Gallery.moving + Gallery.soundAlone).filter { $0.sound != nil && !$0.name.hasPrefix("flash") })
    func everySample(_ clip: GalleryClip) throws {
        var reader = try open(clip)
        let samples = leftSamples(&reader)
        let wanted = Int(((clip.sound!.seconds ?? clip.seconds) * 48000).rounded())
        let (most, late) = clip.sound!.inexactness
        #expect((wanted...wanted + most).contains(samples.count))
        let phase = tonePhase(samples[..<min(samples.count, wanted)])
        #expect(phase.strength > 0.9)
        #expect(late == nil || abs(phase.samples) < late!)
    }

    @Test(arguments: [
        ("no-moov.mp4", "is damaged or cut off (Invalid data found when processing input): copy or export it again"),
        (
            "header-only.mp4",
            "has a header and nothing to play after it: it is cut off, or the first part of a stream: copy it again, or name the stream's playlist"
        ),
        ("empty.mp4", "is empty (0 bytes): copy it again"), ("text.mp4", "is not a video, sound or image that FFmpeg knows"),
    ])
    func whatCannotBePlayed(name: String, complaint: String) throws {
        let path = try Clips.named(name)
        do throws(MediaError) {
            _ = try MediaReader.open(path, samples: Self.stereo)
            Issue.record("was opened")
        } catch {
            #expect(error.description == "\(path): \(complaint)")
        }
    }

    /// Damaged clips return their frames in order up to the damage, and end.
    @Test(arguments: Gallery.damaged.filter { $0 != "truncated.jpg" }) func whatIsDamaged(name: String) throws {
        var reader = try MediaReader.open(Clips.named(name), samples: Self.stereo, decoderThreads: 2)
        var numbers: [Int] = []
        var last = MediaTime.seconds(-1)
        while let frame = reader.nextFrame() {
            numbers.append(burnedInNumber(frame.frame))
            #expect(frame.time > last)
            last = frame.time
        }
        #expect(numbers.starts(with: [1, 2, 3]) && numbers.count <= 60, "\(numbers)")
        #expect(leftSamples(&reader).count <= 2 * 48000 + 1152)
    }

    /// Beep and flash coincide half-way through every second, or every half second.
    @Test(arguments: [("flash.mp4", 5), ("flash-half.mp4", 1)]) func flashAndBeepCoincide(name: String, count: Int) throws {
        var reader = try open(Gallery.bed.first { $0.name == name }!)
        var flashes: [Double] = []
        while let frame = reader.nextFrame() {
            // The number's white cells give a patch of 200 at most.
            if frame.frame.brightestPatch() ?? 0 > 225 { flashes.append(frame.time.seconds) }
        }
        _ = try reader.seek(to: .zero, precision: .exact)
        let samples = leftSamples(&reader)
        var beeps: [Double] = []
        for (index, sample) in samples.enumerated() where abs(sample) > 0.01 {
            if Double(index) / 48000 - (beeps.last ?? -1) > 0.5 { beeps.append(Double(index) / 48000) }
        }
        #expect(flashes.count == count && beeps.count == count)
        #expect(zip(flashes, beeps).allSatisfy { abs($0 - $1) < 0.001 }, "\(flashes) \(beeps)")
    }
}

/// Returns all samples of the left channel from the reader's position on.
func leftSamples(_ reader: inout MediaReader) -> [Float] {
    var samples: [Float] = []
    var chunk = [Float](repeating: 0, count: 2 * 1000)
    while true {
        let frames = chunk.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
        for frame in 0..<frames { samples.append(chunk[2 * frame]) }
        if frames < 1000 { return samples }
    }
}
