import DequeModule
import Media
import Platform

@testable import Playback

/// A feeder: lays clip after clip onto the timeline, as the real one does, without a file. It opens and decodes in made-up time and puts a
/// ``NumberedPicture`` and a ``NumberedSound`` where a decoder's would be.
///
/// Each time it runs it does the first of these that there is to do: carry out a jump, write sound up to the end of the pictures laid,
/// begin to decode a picture, lay the one that is decoded. A clip is opened on the way.
struct SimulatedFeeder {
    private let clips: [Scenario.Clip]
    private let items: [PlaylistItem]
    private let cursor: PlaylistCursor
    private let decodeShare: Double
    private let slowShare: Double
    /// How many pictures of a generation are slow, and how many of the present one still are.
    private let slowPictures: Int
    private var slowLeft: Int
    private let pipeline: Monitor<Pipeline>
    private let audio: AudioQueue
    private let interruptAudio: () -> Void

    /// When it runs next; nil while it waits on the pipeline.
    private(set) var due: HostTime?
    private var stalledUntil = HostTime(nanoseconds: 0)

    private var generation: UInt64 = 0
    /// The clip that is being opened: where, and whether it follows without a jump.
    private var opening: (position: PlaylistCursor.Position, time: MediaTime, isSeam: Bool)? = (.init(index: 0), .zero, false)
    private var turn: Turn?
    /// The next picture of the turn's clip, the item time the turn began at, and where that lies on the timeline.
    private var next = 0
    private var itemTime = MediaTime.zero
    private var anchor = MediaTime.zero
    private var pictureEnd = MediaTime.zero
    private var isFirst = true
    /// Whether the next picture is being decoded.
    private var isDecoding = false
    private var lastSerial: UInt64 = 0
    private var lastNumber = 0

    /// Each picture laid, by its number, and the generation it belongs to.
    private(set) var laid: [Int: (place: FramePlace, generation: UInt64)] = [:]
    /// The most that lay decoded: how long, when it was more pictures than may always wait; and how many.
    private(set) var longestQueue = MediaTime.zero
    private(set) var mostFrames = 0

    /// One that runs first at `due`; `interruptAudio` is called when a jump is carried out.
    init(
        _ scenario: Scenario, items: [PlaylistItem], pipeline: Monitor<Pipeline>, audio: AudioQueue, due: HostTime,
        interruptAudio: @escaping () -> Void
    ) {
        (clips, decodeShare) = (scenario.clips, scenario.decodeShare)
        (slowShare, slowPictures, slowLeft) = (scenario.slowShare, scenario.slowPictures, scenario.slowPictures)
        (self.items, self.pipeline, self.audio, self.due, self.interruptAudio) = (items, pipeline, audio, due, interruptAudio)
        cursor = PlaylistCursor(items, loop: .playlist)
    }

    // MARK: When it runs

    /// Has it run soon if it waits and there is something to do.
    mutating func wakeIfNeeded(at time: HostTime, using random: inout SeededRandom) {
        if due == nil, hasWork { due = time + random.latency() }
    }

    /// It does not get to run before `time`, if it was to.
    mutating func postpone(until time: HostTime) { due = due.map { max($0, time) } }

    /// Decodes nothing before `time`.
    mutating func stall(until time: HostTime) {
        stalledUntil = time
        postpone(until: time)
    }

    private var hasWork: Bool {
        if isDecoding || opening != nil { return true }
        let wanted = audio.sample(at: pictureEnd) > audio.writtenSamples && audio.room(wanting: 50) >= 50
        return wanted || pipeline.withLock { $0.seek.pending != nil || $0.hasRoomForFrame }
    }

    // MARK: What it does

    /// Does what is due at `time`.
    mutating func step(at time: HostTime, using random: inout SeededRandom) {
        guard let due, due <= time else { return }
        self.due = nil
        while let frame = pipeline.withLock({ $0.takeReleased() }) { _ = consume frame }
        if time < stalledUntil {
            self.due = stalledUntil
            return
        }
        if let (jump, generation) = pipeline.withLock({ pipeline in pipeline.takeSeek().map { ($0, pipeline.generation) } }) {
            carryOut(jump, generation)
            self.due = time + .milliseconds(10)
            return
        }
        if let opening = opening.take() { open(opening.position, at: opening.time, isSeam: opening.isSeam) }
        if writeSound() { return }
        guard pipeline.withLock({ $0.hasRoomForFrame }) else { return }
        let clip = clips[turn!.position.index]
        if !isDecoding {
            isDecoding = true
            let duration = clip.edges[next + 1] - clip.edges[next]
            if slowLeft > 0 {
                slowLeft -= 1
                self.due = time + .seconds(slowShare * duration)
            } else {
                self.due = time + .seconds(min(0.1, decodeShare * duration) * abs(random.unit()))
            }
            return
        }
        isDecoding = false
        lay(clip)
        if next == clip.count { opening = (cursor.following(turn!.position)!, .zero, true) }
    }

    private mutating func carryOut(_ jump: SeekRequest, _ generation: UInt64) {
        audio.reset()
        interruptAudio()
        let clip = clips[jump.position.index]
        var frame = clip.frame(at: (jump.time ?? .zero).seconds)
        if case .keyFrame = jump.precision { frame -= frame % 12 }
        self.generation = generation
        turn = nil
        isDecoding = false
        pictureEnd = .zero
        slowLeft = slowPictures
        opening = (jump.position, jump.precision == .exact ? jump.time ?? .zero : .seconds(clip.edges[frame]), false)
    }

    private mutating func open(_ position: PlaylistCursor.Position, at time: MediaTime, isSeam: Bool) {
        let clip = clips[position.index]
        lastSerial += 1
        turn = Turn(
            serial: lastSerial, position: position, item: items[position.index], itemEnd: .seconds(clip.edges[clip.count]),
            isStill: false, isSeekable: true, isSeam: isSeam)
        next = clip.frame(at: time.seconds)
        (itemTime, anchor, isFirst) = (time, pictureEnd, true)
    }

    /// Fifty samples at most; false when there is nothing to write, or no room for it.
    private func writeSound() -> Bool {
        let first = audio.writtenSamples
        let wanted = min(Int(audio.sample(at: pictureEnd) - first), 50)
        guard wanted > 0, audio.room(wanting: wanted) >= wanted else { return false }
        audio.write(NumberedSound.samples(from: first, count: wanted).span)
        return true
    }

    private mutating func lay(_ clip: Scenario.Clip) {
        let itemTime = max(.seconds(clip.edges[next]), self.itemTime)
        let place = FramePlace(
            start: anchor + itemTime - self.itemTime, end: anchor + .seconds(clip.edges[next + 1]) - self.itemTime, itemTime: itemTime,
            rate: 1, cadence: clip.rate.map { .seconds(1 / $0) }, turn: turn, isFirst: isFirst)
        next += 1
        isFirst = false
        pictureEnd = place.end
        lastNumber += 1
        laid[lastNumber] = (place, generation)
        var frame: LaidFrame? = LaidFrame(NumberedPicture.frame(lastNumber), at: place)
        let generation = generation
        let (count, queued) = pipeline.signal { pipeline -> (Int, MediaTime) in
            if pipeline.generation == generation { pipeline.append(frame.take()!) }
            return (pipeline.frames.count, pipeline.frames.length)
        }
        mostFrames = max(mostFrames, count)
        if count > FrameQueue.fewest { longestQueue = max(longestQueue, queued) }
    }
}
