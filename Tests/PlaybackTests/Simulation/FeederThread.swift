import DequeModule
import KioskMedia
import KioskPlatform
import KioskVocabulary

@testable import KioskPlayback

/// The threads of the feeder and the openers in simulated time: the real ``Feeder``, and two real ``ItemOpener``s. Each piece of work takes
/// as long as on a decoder or a disk.
final class FeederThread {
    private var feeder: Feeder
    private let openers: [ItemOpener]
    private let pipeline: Monitor<Pipeline>
    private let decodeShare: Double
    private let slowShare: Double
    /// The number of slow pictures after a start or a seek, and how many of them are left now.
    private let slowPictures: Int
    private var slowLeft: Int

    /// The time of the next run of each; nil while it waits. For an opener, with the serial number of its request.
    private var feederDue: HostTime?, openersDue: [(serial: UInt64, time: HostTime)?]
    private var stalledUntil = HostTime(nanoseconds: 0)
    /// Whether the time to decode the next picture has passed.
    private var isDecoded = false

    /// The place of each enqueued picture on the timeline, by its number, and its generation.
    private(set) var enqueued: [Int: (place: FramePlace, generation: UInt64)] = [:]
    private var lastNumber = 0
    /// The most time decoded ahead, counted only above `FrameQueue.fewest` pictures; and the most pictures.
    private(set) var longestQueue = MediaTime.zero
    private(set) var mostFrames = 0

    private let openingTime: ClosedRange<Double>
    private let openings: [Int: Scenario.Opening]
    private let begin: HostTime

    /// The time that a seek within an item takes.
    private static let seekingTime = MediaTime.milliseconds(10)

    init(_ scenario: Scenario, feeder: consuming Feeder, openers: [ItemOpener], pipeline: Monitor<Pipeline>, begin: HostTime) {
        self.feeder = feeder
        (self.openers, self.pipeline, self.begin, decodeShare) = (openers, pipeline, begin, scenario.decodeShare)
        openersDue = openers.map { _ in nil }
        (openingTime, openings) = (scenario.openingTime, scenario.openings)
        (slowShare, slowPictures, slowLeft) = (scenario.slowShare, scenario.slowPictures, scenario.slowPictures)
    }

    /// Forgets the places of the pictures before `number`.
    func forget(before number: Int) { enqueued = enqueued.filter { $0.key >= number } }

    // MARK: Schedule

    /// The time of the next run of any of them; nil while all wait.
    var due: HostTime? { ([feederDue ?? feeder.deadline] + openersDue.map { $0?.time }).compactMap { $0 }.min() }

    /// Schedules a run soon for each of them that waits and has work.
    func wakeIfNeeded(at time: HostTime, using random: inout SeededRandom) {
        if feederDue == nil, feeder.nextWork != nil { feederDue = time + random.latency() }
        for (index, opener) in openers.enumerated() {
            guard let request = opener.requested else {
                openersDue[index] = nil
                continue
            }
            if openersDue[index]?.serial == request.serial { continue }
            openersDue[index] = (request.serial, time + openingTime(of: request.item, at: time, using: &random) + random.latency())
        }
    }

    private func openingTime(of item: PlaylistItem, at time: HostTime, using random: inout SeededRandom) -> MediaTime {
        if let opening = Int(item.source).flatMap({ openings[$0] }) {
            return .seconds(opening.works(at: (time - begin).seconds) ? opening.working : opening.failing)
        }
        let (least, most) = (openingTime.lowerBound, openingTime.upperBound)
        return .seconds(least == most ? least : least + (random.unit() + 1) / 2 * (most - least))
    }

    /// Delays the scheduled runs until `time`.
    func postpone(until time: HostTime) {
        feederDue = feederDue.map { max($0, time) }
        openersDue = openersDue.map { due in due.map { ($0.serial, max($0.time, time)) } }
    }

    /// Decodes nothing before `time`.
    func stall(until time: HostTime) {
        stalledUntil = time
        postpone(until: time)
    }

    // MARK: Work

    /// Does the work that is due at `time`.
    func step(at time: HostTime, using random: inout SeededRandom) {
        for (index, opener) in openers.enumerated() where openersDue[index].map({ $0.time <= time }) ?? false {
            openersDue[index] = nil
            _ = opener.step()
        }
        guard let due = feederDue, due <= time else { return }
        feederDue = nil
        while case .free? = feeder.nextWork { feeder.carryOut(.free) }
        if time < stalledUntil {
            feederDue = stalledUntil
            return
        }
        guard let work = feeder.nextWork else { return }
        switch work {
        case .picture where !isDecoded:
            isDecoded = true
            feederDue = time + decodingTime(using: &random)
            return
        case .picture: isDecoded = false
        case .seek:
            isDecoded = false
            slowLeft = slowPictures
            feederDue = time + Self.seekingTime
        default: break
        }
        feeder.carryOut(work)
        record()
    }

    private func decodingTime(using random: inout SeededRandom) -> MediaTime {
        guard let duration = (feeder.current?.reader as? SimulatedReader)?.nextDuration else { return .zero }
        if slowLeft > 0 {
            slowLeft -= 1
            return .seconds(slowShare * duration)
        }
        return .seconds(min(0.1, decodeShare * duration) * abs(random.unit()))
    }

    /// Records the places of newly enqueued pictures.
    private func record() {
        let (new, count, queued) = pipeline.withLock { pipeline in
            let count = pipeline.frames.count
            var new: [(number: Int, place: FramePlace, generation: UInt64)] = []
            for index in (0..<count).reversed() {
                let (number, place) = pipeline.frames.withFrame(at: index) { (NumberedPicture.numbers(of: $0.scene).number, $0.place) }
                if number <= lastNumber { break }
                new.append((number, place, pipeline.generation))
            }
            return (new, count, pipeline.frames.length)
        }
        for frame in new { enqueued[frame.number] = (frame.place, frame.generation) }
        lastNumber = new.first?.number ?? lastNumber
        mostFrames = max(mostFrames, count)
        if count > FrameQueue.fewest { longestQueue = max(longestQueue, queued) }
    }
}
