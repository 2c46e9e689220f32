import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskMedia

/// Films with several sound tracks: the choice of the track, and its change during playback.
@Suite(.blocking) struct TrackTests {
    private let stereo = AudioFormat(sampleRate: 48000, channelCount: 2)

    /// Returns the frequency of a tone: half the number of sign changes a second in the first channel.
    private func frequency(_ samples: ArraySlice<Float>) -> Double {
        let left = stride(from: samples.startIndex, to: samples.endIndex, by: 2).map { samples[$0] }
        let changes = zip(left, left.dropFirst()).count { ($0 < 0) != ($1 < 0) }
        return Double(changes) * 48000 / Double(max(1, left.count)) / 2
    }

    private func read(_ reader: inout MediaReader, seconds: Double) -> [Float] {
        var samples: [Float] = []
        let wanted = Int(seconds * 48000) * 2
        while samples.count < wanted {
            var piece = [Float](repeating: 0, count: min(2048, wanted - samples.count))
            let filled = piece.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
            samples += piece.prefix(filled * 2)
            if filled * 2 < piece.count { break }
        }
        return samples
    }

    @Test func whatAFileTellsOfItsTracks() throws {
        let reader = try MediaReader.open(Clips.film("mkv"), samples: stereo)
        let asset = reader.description
        let selected = reader.selectedTracks
        #expect(asset.tracks.map(\.kind) == [.audio, .audio, .audio, .video])
        #expect(asset.tracks.map(\.number) == [1, 2, 3, 1])
        #expect(asset.tracks.map { $0.language?.primary } == ["de", "en", nil, nil])
        #expect(asset.tracks[1].summary == "2 eng aac mono “Commentary”")
        #expect(selected == [.video: 0, .audio: 1])
        #expect(asset.chapters.map(\.title) == ["First", "Second", nil])
        #expect(zip(asset.chapters, [0, 0.5, 1.2]).allSatisfy { abs($0.start.seconds - $1) < 0.03 })
        #expect(asset.title == "Two seconds" && asset.metadata.artist == "Somebody" && asset.metadata.cover == nil)
        #expect(asset.video?.presentationSize ?? (0, 0) == (320, 180))
    }

    @Test(
        arguments: [
            (.automatic, 300, nil), (.language(LanguageCode("de")!), 300, nil), (.language(LanguageCode("en")!), 900, nil),
            (.number(3), 150, nil), (.number(4), 300, "has no audio track “4”"),
            (.language(LanguageCode("fr")!), 300, "has no audio track “fr”"),
        ] as [(TrackChoice, Double, String?)])
    func theTrackThatIsChosenIsHeard(choice: TrackChoice, tone: Double, problem: String?) throws {
        var reader = try MediaReader.open(Clips.film("mkv"), samples: stereo, audio: choice)
        let heard = read(&reader, seconds: 1)
        #expect(abs(frequency(heard[9600...]) - tone) < 10)
        let problems = reader.problems
        #expect(problems.count == (problem == nil ? 0 : 1) && problems.first?.hasPrefix(problem ?? "") != false, "\(problems)")
    }

    @Test func noTrackAtAll() throws {
        let silent = try MediaReader.open(Clips.film("mkv"), samples: stereo, audio: .off)
        let isSilent = !silent.hasSound
        #expect(isSilent)
        let blind = try MediaReader.open(Clips.film("mkv"), samples: stereo, video: .off)
        let (video, hasPicture, hasSound) = (blind.description.video, blind.hasPicture, blind.hasSound)
        #expect(video == nil && !hasPicture && hasSound)
    }

    /// No sample is missing or extra, the sound has no step, and the pictures are the same as without the change.
    @Test(arguments: ["mp4", "mkv", "ts"]) func anotherTrackInMidPlay(suffix: String) throws {
        var plain = try MediaReader.open(Clips.film(suffix), samples: stereo)
        let length = read(&plain, seconds: 10).count
        var reader = try MediaReader.open(Clips.film(suffix), samples: stereo)
        var samples = read(&reader, seconds: 0.5)
        var numbers: [Int?] = []
        for _ in 0..<18 { if let frame = reader.nextFrame() { numbers.append(burnedInNumber(frame.frame)) } }
        let selection1 = reader.select(audio: .language(LanguageCode("en")!), at: .milliseconds(500))
        #expect(selection1 == .follows)
        let selection2 = reader.select(audio: .number(2), at: .milliseconds(500))
        #expect(selection2 == .unchanged)
        let selected = reader.selectedTracks[.audio]
        #expect(selected == 2)
        samples += read(&reader, seconds: 10)
        while let frame = reader.nextFrame() { numbers.append(burnedInNumber(frame.frame)) }
        #expect(numbers == (1...60).map { $0 })
        #expect(abs(samples.count - length) <= 2 * 2 * 1152, "\(samples.count), \(length)")
        #expect(abs(frequency(samples[4800..<40000]) - 300) < 10)
        #expect(abs(frequency(samples[(samples.count - 96000)..<(samples.count - 9600)]) - 900) < 10)
        // A sine of 900 Hz at this loudness has this step from sample to sample; a click is larger.
        let left = stride(from: 4800, to: samples.count - 9600, by: 2).map { samples[$0] }
        let largest = left.map(abs).max() ?? 0
        let step = zip(left, left.dropFirst()).map { abs($0 - $1) }.max() ?? 0
        #expect(step < largest * Float(2 * 3.1416 * 900 / 48000) * 1.15, "\(step) of \(largest)")
        // There is no hole between the two tracks either.
        let longestSilence = left.split { abs($0) > largest / 20 }.map(\.count).max() ?? 0
        #expect(longestSilence < 480)
    }

    @Test func twoSelectionsInARow() throws {
        var reader = try MediaReader.open(Clips.film("mkv"), samples: stereo)
        var samples = read(&reader, seconds: 0.3)
        let selection3 = reader.select(audio: .number(2), at: .zero)
        #expect(selection3 == .follows)
        let selection4 = reader.select(audio: .number(3), at: .zero)
        #expect(selection4 == .follows)
        samples += read(&reader, seconds: 10)
        #expect(abs(samples.count - 4 * 48000) < 4 * 2048)
        #expect(abs(frequency(samples[(samples.count - 96000)..<(samples.count - 9600)]) - 150) < 10)
    }

    @Test func aTrackWhereThereWasNone() throws {
        var reader = try MediaReader.open(Clips.film("mkv"), samples: stereo, audio: .off)
        for _ in 0..<15 { _ = reader.nextFrame() }
        let selection5 = reader.select(audio: .number(2), at: .milliseconds(500))
        #expect(selection5 == .begins)
        let samples = read(&reader, seconds: 10)
        // Begins at the selected time, with silence at first if the reader had already read past it.
        #expect(abs(samples.count - 3 * 48000) < 2 * 4096, "\(samples.count)")
        #expect(abs(frequency(samples[(samples.count - 96000)..<(samples.count - 9600)]) - 900) < 10)
    }

    @Test func aSeekAfterASelection() throws {
        var reader = try MediaReader.open(Clips.film("mp4"), samples: stereo)
        _ = read(&reader, seconds: 0.3)
        _ = reader.select(audio: .number(2), at: .zero)
        let landed = try reader.seek(to: .seconds(1), precision: .exact)
        #expect(landed == .seconds(1))
        let samples = read(&reader, seconds: 0.8)
        #expect(samples.count == 2 * 38400)
        #expect(abs(frequency(samples[4800...]) - 900) < 10)
    }

    @Test func aCover() throws {
        let song = try Clips.song()
        let reader = try MediaReader.open(song, samples: stereo)
        let asset = reader.description
        #expect(asset.metadata.cover == "mjpeg" && asset.tracks.map(\.kind) == [.audio])
        #expect(try AssetCover.read(from: song)?.bytes == Clips.bytes(Clips.named("still.jpg")))
        #expect(try AssetCover.read(from: Clips.film("mkv")) == nil)
    }
}
