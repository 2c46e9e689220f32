import KioskPlatform
import KioskVocabulary

@testable import KioskMedia
@testable import KioskPlayback

/// Simulated media: the clips of a scenario, opened and read by number. Every picture has a number of its own (``NumberedPicture``), and so
/// has every sample (``NumberedSound``). The class records the meaning of each number itself; the engine does not report it.
///
/// Only the thread that runs the simulation uses it.
final class SimulatedMedia: @unchecked Sendable {
    // Sendable because one thread runs the simulation.

    /// A picture that was read: the index of its reading, and its index in the clip.
    struct Picture: Hashable {
        var reading: Int
        var frame: Int
    }

    /// The pictures and samples read from a clip since its opening or a seek.
    struct Reading {
        var clip: Int
        /// Item time of its first sample.
        var begin: MediaTime
        /// The number of its first sample on the timeline: the count of samples written before. Nil if none has been read.
        var firstSample: Int64?
        /// The number of samples read, and of the calls that read them.
        var samples: Int64 = 0
        var requests = 0
    }

    let clips: [Scenario.Clip]
    let format: AudioFormat
    private let queue: AudioQueue
    private let openings: [Int: Scenario.Opening]
    private let time: () -> Double
    private var deaths: SimulatedDeaths?
    /// The clips that were opened or failed to open, with the time in seconds.
    private(set) var opened: [(clip: Int, time: Double)] = []
    fileprivate(set) var readings: [Reading] = []
    /// The pictures by number, from 1 on; 0 is the bare background.
    private(set) var pictures: [Int: Picture] = [:]

    /// Creates the clips, whose sound goes into `queue`. The first sample of a reading gets the number of the sample that `queue` writes
    /// next. `time` returns the present, in seconds.
    init(_ scenario: Scenario, queue: AudioQueue, time: @escaping () -> Double) {
        (clips, openings, self.queue, self.time) = (scenario.clips, scenario.openings, queue, time)
        deaths = scenario.deaths.map { SimulatedDeaths($0, seed: scenario.seed) }
        format = queue.format
    }

    /// Opens the clip that a request names, as ``ItemOpener`` opens a file.
    func open(_ request: ItemOpener.Request, _ interruption: Interruption) throws(MediaError) -> ItemOpener.Opened {
        guard let clip = Int(request.item.source), clips.indices.contains(clip) else {
            throw MediaError(request.item.source, .timedOut(seconds: 15))
        }
        opened.append((clip, time()))
        if let opening = openings[clip], !opening.works(at: time()) { throw MediaError(request.item.source, .timedOut(seconds: 15)) }
        if let behind = try deaths?.open(request, at: time()) {
            let reader = SimulatedReader(clip, of: self, interruption: interruption)
            let landed = reader.seek(to: behind + .seconds(2), precision: .keyFrame())
            if landed > behind {
                reader.begins(at: landed)
                return ItemOpener.Opened(reader: reader, time: landed)
            }
            deaths?.crashes.hasNothingBehind(request.item.path)
        }
        let reader = SimulatedReader(clip, of: self, interruption: interruption)
        let time = request.time > .zero ? reader.seek(to: request.time, precision: request.precision) : .zero
        return ItemOpener.Opened(reader: reader, time: time)
    }

    fileprivate func number(_ picture: Picture) -> Int {
        lastNumber += 1
        pictures[lastNumber] = picture
        return lastNumber
    }
    private var lastNumber = 0

    /// Forgets the pictures before `number`.
    func forget(before number: Int) {
        let old = pictures.keys.filter { $0 < number }
        for number in old { pictures[number] = nil }
    }

    /// The number of decoders that died in mid-clip, and during an opening.
    var deathCount: (inMiddle: Int, atOpening: Int) { deaths.map { ($0.inMiddle, $0.atOpening) } ?? (0, 0) }

    fileprivate func dies(_ clip: Int, _ frame: Int) -> Bool { deaths?.dies(clip, frame, at: time()) ?? false }
    fileprivate func died(_ clip: Int, at place: MediaTime, from start: MediaTime) {
        let length = MediaTime.seconds(clips[clip].edges.last!)
        deaths?.died(clip, at: place, from: start, isLast: length - place < .seconds(2), now: time())
    }
    fileprivate func ended(_ clip: Int) { deaths?.crashes.ended(Path("\(clip)")) }

    fileprivate func begin(_ clip: Int, at time: MediaTime) -> Int {
        readings.append(Reading(clip: clip, begin: time))
        return readings.count - 1
    }

    /// Counts samples as read, and returns the number of the first one.
    fileprivate func read(_ count: Int, of reading: Int) -> Int64 {
        let first = readings[reading].firstSample ?? queue.writtenSamples
        readings[reading].firstSample = first
        readings[reading].requests += 1
        defer { readings[reading].samples += Int64(count) }
        return first + readings[reading].samples
    }
}

/// A reader of a simulated clip.
final class SimulatedReader: ItemReader, @unchecked Sendable {
    // Sendable for the same reason as its media.
    let interruption: Interruption
    private let media: SimulatedMedia
    private let clip: Int
    private var reading: Int
    /// The index of the next picture.
    private var next = 0
    /// Samples of the clip that are left.
    private var samplesLeft: Int
    /// The range of item time that the reader has read in its turn, and whether its decoder has died.
    private var turn = (start: MediaTime.zero, end: MediaTime.zero)
    private var isDead = false

    static let keyFrameInterval = 12
    /// Samples after the end that the container states, like a codec's padding.
    private static let padding = 5

    fileprivate init(_ clip: Int, of media: SimulatedMedia, interruption: Interruption) {
        (self.clip, self.media, self.interruption) = (clip, media, interruption)
        reading = media.begin(clip, at: .zero)
        samplesLeft = 0
        samplesLeft = samples(from: .zero)
    }

    deinit { if turn.end > turn.start, !isDead { media.ended(clip) } }

    fileprivate func begins(at time: MediaTime) { turn = (time, time) }

    private var edges: [Double] { media.clips[clip].edges }
    private var length: MediaTime { .seconds(edges[edges.count - 1]) }

    private func samples(from time: MediaTime) -> Int {
        Int(((length - time).seconds * Double(media.format.sampleRate)).rounded(.up)) + Self.padding
    }

    /// The duration of the next picture, in seconds; nil at the end.
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
    var prematureEnd: String? { isDead ? "its decoder crashed" : nil }
    var soundEnd: MediaTime? { nil }
    func loading(from time: MediaTime) -> Loading { Loading(until: .seconds(edges[next])) }

    func nextFrame() -> TimedFrame? {
        guard !isDead, let duration = nextDuration else { return nil }
        if media.dies(clip, next) {
            isDead = true
            samplesLeft = 0
            media.died(clip, at: turn.end, from: turn.start)
            return nil
        }
        turn.end = .seconds(edges[next + 1])
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

/// Decoder deaths, and the real ``CrashRecord`` that decides about their clips, as it does for ``SourceOpener``.
struct SimulatedDeaths {
    var crashes = CrashRecord()
    private(set) var inMiddle = 0, atOpening = 0
    private let deaths: Scenario.Deaths
    private var random: SeededRandom
    /// The time of the next death, in seconds, and whether it happens during an opening.
    private var next = 0.0, isOpening = false

    init(_ deaths: Scenario.Deaths, seed: UInt64) {
        (self.deaths, random) = (deaths, SeededRandom(seed: seed &+ 7))
        for _ in 0..<8 { _ = random.unit() }
        plan(after: 0)
    }

    private mutating func plan(after time: Double) {
        let (least, most) = (deaths.interval.lowerBound, deaths.interval.upperBound)
        next = time + least + (random.unit() + 1) / 2 * (most - least)
        isOpening = (random.unit() + 1) / 2 < deaths.shareOfOpenings
    }

    /// Returns the place behind which a clip begins; nil for its beginning. Throws if the record leaves the clip out, or if the decoder
    /// dies.
    mutating func open(_ request: ItemOpener.Request, at time: Double) throws(MediaError) -> MediaTime? {
        let source = request.item.source
        let turn = crashes.turn(of: request.item.path, nil, isAlone: request.isAlone, now: Self.host(time))
        if case .leftOut(let pause, let reason) = turn { throw MediaError(source, .readerFailed("\(reason): left out for \(pause)")) }
        if isOpening, time >= next {
            atOpening += 1
            plan(after: time)
            throw MediaError(source, .readerFailed("its decoder crashed"))
        }
        if case .behind(let place, _) = turn, request.time == .zero { return place }
        return nil
    }

    /// Returns whether the decoder dies of this picture.
    mutating func dies(_ clip: Int, _ frame: Int, at time: Double) -> Bool {
        if let bad = deaths.badPicture, bad == (clip, frame) { return true }
        guard !isOpening, time >= next else { return false }
        plan(after: time)
        return true
    }

    mutating func died(_ clip: Int, at place: MediaTime, from start: MediaTime, isLast: Bool, now: Double) {
        inMiddle += 1
        crashes.died(Path("\(clip)"), nil, of: "its decoder crashed", at: place, from: start, isLast: isLast, now: Self.host(now))
    }

    private static func host(_ seconds: Double) -> HostTime { HostTime(nanoseconds: Int64(seconds * 1e9)) }
}
