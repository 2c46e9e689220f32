import KioskPlatform
import KioskVocabulary

@testable import KioskMedia
@testable import KioskPlayback

/// Made-up media: the clips of a scenario, opened and read by number. Every picture that is read bears a number of its own
/// (``NumberedPicture``), and so does every sample (``NumberedSound``); what each of them is, is kept here and not told by the engine.
///
/// Touched by the one thread that runs the simulation.
final class SimulatedMedia: @unchecked Sendable {
    // Sendable because one thread runs the simulation.

    /// A picture that was read: of which reading, and which of its clip's.
    struct Picture: Hashable {
        var reading: Int
        var frame: Int
    }

    /// What was read of a clip from its opening, or a seek, on.
    struct Reading {
        var clip: Int
        /// Item time of its first sample.
        var begin: MediaTime
        /// Number of its first sample: the timeline's, by the number of samples that went before; nil where none has been read.
        var firstSample: Int64?
        /// Samples that were read, and in how many calls.
        var samples: Int64 = 0
        var requests = 0
    }

    let clips: [Scenario.Clip]
    let format: AudioFormat
    private let queue: AudioQueue
    private let openings: [Int: Scenario.Opening]
    private let time: () -> Double
    /// The clips that were opened, or failed to, in seconds.
    private(set) var opened: [(clip: Int, time: Double)] = []
    fileprivate(set) var readings: [Reading] = []
    /// By their numbers, from 1: 0 is the bare background's.
    private(set) var pictures: [Int: Picture] = [:]

    /// Clips whose sound goes into `queue`: the number of a reading's first sample is that which is written next when it is read. `time` is the
    /// present, in seconds.
    init(_ scenario: Scenario, queue: AudioQueue, time: @escaping () -> Double) {
        (clips, openings, self.queue, self.time) = (scenario.clips, scenario.openings, queue, time)
        format = queue.format
    }

    /// Opens the clip that a request names, as ``ItemOpener`` opens a file.
    func open(_ request: ItemOpener.Request, _ interruption: Interruption) throws(MediaError) -> ItemOpener.Opened {
        guard let clip = Int(request.item.source), clips.indices.contains(clip) else {
            throw MediaError(request.item.source, .timedOut(seconds: 15))
        }
        opened.append((clip, time()))
        if let opening = openings[clip], !opening.works(at: time()) { throw MediaError(request.item.source, .timedOut(seconds: 15)) }
        let reader = SimulatedReader(clip, of: self, interruption: interruption)
        let time = request.time > .zero ? reader.seek(to: request.time, precision: request.precision) : .zero
        return ItemOpener.Opened(reader: reader, time: time)
    }

    fileprivate func number(_ picture: Picture) -> Int {
        let number = pictures.count + 1
        pictures[number] = picture
        return number
    }

    fileprivate func begin(_ clip: Int, at time: MediaTime) -> Int {
        readings.append(Reading(clip: clip, begin: time))
        return readings.count - 1
    }

    /// Counts samples that are read, and returns the number of the first.
    fileprivate func read(_ count: Int, of reading: Int) -> Int64 {
        let first = readings[reading].firstSample ?? queue.writtenSamples
        readings[reading].firstSample = first
        readings[reading].requests += 1
        defer { readings[reading].samples += Int64(count) }
        return first + readings[reading].samples
    }
}

/// Reads a made-up clip.
final class SimulatedReader: ItemReader, @unchecked Sendable {
    // Sendable as its media is.
    let interruption: Interruption
    private let media: SimulatedMedia
    private let clip: Int
    private var reading: Int
    /// The picture that is read next.
    private var next = 0
    /// Samples of the clip that are left.
    private var samplesLeft: Int

    static let keyFrameInterval = 12
    /// As a codec's padding goes on behind the end that the container tells.
    private static let padding = 5

    fileprivate init(_ clip: Int, of media: SimulatedMedia, interruption: Interruption) {
        (self.clip, self.media, self.interruption) = (clip, media, interruption)
        reading = media.begin(clip, at: .zero)
        samplesLeft = 0
        samplesLeft = samples(from: .zero)
    }

    private var edges: [Double] { media.clips[clip].edges }
    private var length: MediaTime { .seconds(edges[edges.count - 1]) }

    private func samples(from time: MediaTime) -> Int {
        Int(((length - time).seconds * Double(media.format.sampleRate)).rounded(.up)) + Self.padding
    }

    /// How long the picture that is read next lasts, in seconds; nil at the end.
    var nextDuration: Double? { next + 1 < edges.count ? edges[next + 1] - edges[next] : nil }

    // MARK: ItemReader

    var description: AssetDescription {
        let rate = media.clips[clip].rate
        return AssetDescription(
            container: "simulated", duration: length,
            video: .init(
                codec: "simulated", width: NumberedPicture.width, height: NumberedPicture.height, pixelAspectRatio: 1, orientation: .up,
                frameRate: rate, isConstantFrameRate: rate != nil, pixelFormat: "gray", isInterlaced: false, duration: length),
            audio: .init(
                codec: "simulated", sampleRate: media.format.sampleRate, channelCount: media.format.channelCount, duration: length),
            isStill: false, isSeekable: true)
    }
    var nominalFrameDuration: MediaTime? { media.clips[clip].rate.map { .seconds(1 / $0) } }
    var hasSound: Bool { true }
    var problems: [String] { [] }
    var prematureEnd: String? { nil }
    var soundEnd: MediaTime? { nil }
    func loading(from time: MediaTime) -> Loading { Loading(until: .seconds(edges[next])) }

    func nextFrame() -> TimedFrame? {
        guard let duration = nextDuration else { return nil }
        let number = media.number(.init(reading: reading, frame: next))
        defer { next += 1 }
        return TimedFrame(frame: NumberedPicture.frame(number), time: .seconds(edges[next]), duration: .seconds(duration))
    }

    func readSamples(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int) -> Int {
        let count = min(destination.count / channelCount, samplesLeft)
        samplesLeft -= count
        let samples = NumberedSound.samples(from: media.read(count, of: reading), count: count)
        for index in samples.indices { destination[index] = samples[index] }
        return count
    }

    func select(audio choice: TrackChoice, at time: MediaTime) -> MediaReader.AudioSelection { .unchanged }
    var selectedTracks: [TrackKind: Int] { [.video: 0, .audio: 1] }

    /// As ``MediaReader/seek(to:precision:)`` does.
    func seek(to time: MediaTime, precision: MediaReader.SeekPrecision) -> MediaTime {
        next = media.clips[clip].frame(at: time.seconds)
        var landed = max(time, .zero)
        switch precision {
        case .exact: if landed >= length { landed = .seconds(edges[next]) }
        case .keyFrame(let after):
            next -= next % Self.keyFrameInterval
            if let after, .seconds(edges[next]) <= after {
                let behind = edges.dropLast().firstIndex { .seconds($0) > after }
                next = min(behind ?? edges.count - 2, media.clips[clip].frame(at: time.seconds))
            }
            landed = .seconds(edges[next])
        }
        reading = media.begin(clip, at: landed)
        samplesLeft = samples(from: landed)
        return landed
    }
}
