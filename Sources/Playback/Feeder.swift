import Logging
import Media
import Platform

/// Lays items onto the timeline: decodes ahead of need, frames into the pipeline and samples into the audio queue, one item after another
/// without ever waiting for one to be shown to its end.
///
/// The rule for sound and picture of unequal length: an item lasts as long as its picture. Sound is written only up to the end of the pictures laid
/// so far; missing sound is silence; sound that is left over when the picture ends is faded out over the last ``GainRamp/duration``. An item
/// without a picture lasts as long as its sound.
struct Feeder: ~Copyable {
    private let pipeline: Monitor<Pipeline>
    private let audio: AudioQueue
    private let opener: ItemOpener
    private let items: [PlaylistItem]
    private let cursor: PlaylistCursor
    private let imageDuration: MediaTime
    /// How long one item fades into the next; zero is a cut.
    private let transition: MediaTime
    private let emit: @Sendable (PlayerEvent) -> Void
    private let wakePresenter: @Sendable () -> Void
    private let interruptAudio: @Sendable () -> Void
    private let logger = Logger(label: "playback")

    private var lane: Lane?
    /// The turn that ended in a frame from which it is to fade out, until the next one begins.
    private var outgoing: Lane?
    /// The turn that comes next, open, while the one before it is laid further than to where it was to fade out.
    private var waiting: Lane?
    private var fade: CrossFade?
    /// The turn that is being opened, or is open, ahead.
    private var upcoming: (position: PlaylistCursor.Position, serial: UInt64, isSeam: Bool, time: MediaTime)?
    private var generation: UInt64 = 0
    private var lastSerial: UInt64 = 0
    /// Timeline instant at which the next turn begins.
    private var end = MediaTime.zero
    /// Items in a row that failed.
    private var failures = 0
    /// Items in a row after the one that is being laid that failed to open ahead of their turn.
    private var failuresAhead = 0
    private var retryDelay = firstRetryDelay
    private var retryAt: HostTime?
    /// The last complaint about each item, so that each is made once.
    private var complaints: [Int: String] = [:]
    private var scratch: [Float]
    private var ramp = GainRamp()
    private var mixing: [Float]
    private var startedAt = HostTime.now
    private var hasShownAnything = false
    /// Whether what was laid last is the bare background.
    private var endsInBackground = false

    /// The next item is opened when this much of the present one is still to be laid.
    private static let openAhead = MediaTime.seconds(2)
    private static let firstRetryDelay = MediaTime.seconds(1)
    /// The wall is not to be dark for longer than this after the cause is gone.
    private static let longestRetryDelay = MediaTime.seconds(2)
    /// A wall that shows nothing for this long after the start gets the background instead of the console.
    private static let patience = MediaTime.milliseconds(500)
    private static let chunkFrames = 2048

    private enum Work {
        case stop
        case free
        case jump(Pipeline.Jump, generation: UInt64)
        case picture
        case sound(frames: Int)
        case take
        case retry
        case background
        case setRate(Double)
        case finish
    }

    init(
        pipeline: Monitor<Pipeline>, audio: AudioQueue, opener: ItemOpener, items: [PlaylistItem], loop: LoopMode, imageDuration: MediaTime,
        transition: MediaTime, emit: @escaping @Sendable (PlayerEvent) -> Void, wakePresenter: @escaping @Sendable () -> Void,
        interruptAudio: @escaping @Sendable () -> Void
    ) {
        self.pipeline = pipeline
        self.audio = audio
        self.opener = opener
        self.items = items
        cursor = PlaylistCursor(items, loop: loop)
        self.imageDuration = imageDuration
        self.transition = transition
        self.emit = emit
        self.wakePresenter = wakePresenter
        self.interruptAudio = interruptAudio
        scratch = [Float](repeating: 0, count: Self.chunkFrames * audio.format.channelCount)
        mixing = scratch
    }

    /// The thread's body.
    mutating func run() {
        if items.isEmpty {
            layBackground(MediaTime.milliseconds(100))
        } else {
            open(.init(index: 0), time: nil, precision: .exact, isSeam: false)
        }
        while true {
            switch nextWork() {
            case .stop: return
            case .free: freeSpent()
            case .jump(let jump, let generation): self.jump(jump, generation)
            case .picture: layPicture()
            case .sound(let frames): laySound(frames)
            case .take: takeOpened()
            case .retry:
                retryAt = nil
                if let upcoming { open(upcoming.position, time: nil, precision: .exact, isSeam: upcoming.isSeam) }
            case .background:
                layBackground(.milliseconds(1))
            case .setRate(let rate): setRate(rate)
            case .finish: finishTurn()
            }
        }
    }

    // MARK: Choosing

    private func nextWork() -> Work {
        var deadline = retryAt
        if !hasShownAnything { deadline = min(deadline ?? .init(nanoseconds: .max), startedAt + Self.patience) }
        let wantsSound = soundWanted()
        let hasLane = lane != nil
        let picturesDone = lane?.picturesDone ?? true
        let givesPictures = !picturesDone && lane?.isSoundOnly == false
        let soundDone = hasLane && picturesDone && wantsSound == 0
        let laneRate = lane?.rate ?? 1
        let waitsForOpened = !hasLane && upcoming != nil && retryAt == nil
        // The last failure of a round is dealt with when its turn comes.
        let maySkipAhead =
            hasLane && failures + failuresAhead + 1 < items.count && upcoming.map { cursor.nextItem(after: $0.position) != nil } == true
        let work: Work? = pipeline.wait(until: deadline) { pipeline -> Work? in
            if pipeline.isStopping { return .stop }
            if pipeline.hasSpent { return .free }
            if let jump = pipeline.jump.take() { return .jump(jump, generation: pipeline.generation) }
            if hasLane, pipeline.rate != laneRate, !picturesDone { return .setRate(pipeline.rate) }
            if soundDone { return .finish }
            if maySkipAhead, opener.hasFailed(upcoming?.serial ?? 0) { return .take }
            // Sound first: the clock starts as soon as there are pictures enough, and a card takes a tenth of a second of sound at once.
            if wantsSound > 0 {
                let room = audio.room(wanting: min(wantsSound, Self.chunkFrames))
                if room >= min(wantsSound, Self.chunkFrames) { return .sound(frames: min(wantsSound, Self.chunkFrames)) }
            }
            if givesPictures, pipeline.hasRoomForFrame { return .picture }
            if waitsForOpened, pipeline.hasRoomForFrame, opener.hasOutcome(of: upcoming?.serial ?? 0) { return .take }
            return nil
        }
        if let work { return work }
        if let retryAt, HostTime.now >= retryAt { return .retry }
        return hasShownAnything ? .retry : .background
    }

    private func freeSpent() {
        while let frame = pipeline.withLock({ $0.takeSpent() }) { _ = consume frame }
    }

    /// Frames of sound that may be laid now.
    private func soundWanted() -> Int {
        guard let lane else { return 0 }
        if lane.isSoundOnly { return lane.picturesDone ? 0 : Self.chunkFrames }
        // The last stretch waits until it is known whether the item ends there and its sound has to be faded.
        let until = lane.picturesDone ? lane.pictureEnd : lane.pictureEnd - GainRamp.duration
        return max(0, Int(audio.sample(at: until) - audio.writtenSamples))
    }

    // MARK: Opening

    private mutating func open(
        _ position: PlaylistCursor.Position, time: MediaTime?, precision: MediaReader.SeekPrecision, isSeam: Bool
    ) {
        lastSerial += 1
        let item = items[position.index]
        let begin = max(time ?? item.start, .zero)
        upcoming = (position, lastSerial, isSeam, begin)
        opener.request(.init(serial: lastSerial, item: item, time: begin, precision: precision))
    }

    private mutating func takeOpened() {
        guard let given = upcoming, let outcome = opener.takeOutcome(of: given.serial) else { return }
        upcoming = nil
        switch consume outcome {
        case .failed(let error):
            if error.reason == .cancelled { return }
            if lane != nil, let next = cursor.nextItem(after: given.position) {
                failuresAhead += 1
                complain(given.position.index, error.description)
                open(next, time: nil, precision: .exact, isSeam: given.isSeam)
                return
            }
            fail(given.position, isSeam: given.isSeam, error.description)
        case .opened(let opened):
            begin(given.position, opened, serial: given.serial, requested: given.time, isSeam: given.isSeam)
        }
    }

    private mutating func fail(_ position: PlaylistCursor.Position, isSeam: Bool, _ message: String) {
        complain(position.index, message)
        (failures, failuresAhead) = (failures + failuresAhead + 1, 0)
        if failures >= items.count {
            if resumeOutgoing() { return }
            // Everything has failed since something last played: show the background, wait, begin again with the next.
            layBackground(.milliseconds(100))
            retryAt = HostTime.now + retryDelay
            if retryDelay == Self.firstRetryDelay { emit(.nothingPlayable(retryAfter: retryDelay)) }
            retryDelay = min(retryDelay + retryDelay, Self.longestRetryDelay)
            failures = 0
            upcoming = (cursor.nextItem(after: position) ?? .init(index: 0), 0, false, .zero)
            return
        }
        if let next = cursor.nextItem(after: position) {
            open(next, time: nil, precision: .exact, isSeam: isSeam)
        } else {
            endTimeline()
        }
    }

    private mutating func complain(_ index: Int, _ message: String) {
        guard complaints[index] != message else { return }
        complaints[index] = message
        emit(.itemFailed(index: index, message: message))
    }

    private mutating func complain(about lane: Lane, _ problem: String) {
        lane.isFlawed = true
        complain(lane.turn.position.index, "\(lane.turn.item.source): \(problem)")
    }

    private mutating func begin(
        _ position: PlaylistCursor.Position, _ opened: consuming ItemOpener.Opened, serial: UInt64, requested: MediaTime, isSeam: Bool
    ) {
        let item = items[position.index]
        let description = opened.reader.description
        let soundProblem = opened.reader.soundProblem
        let time = description.isStill ? requested : opened.time
        // When this turn ends, by the configuration and the container; the end of the frames decides in the end.
        var limit = item.end
        let slot = position.remaining ?? item.duration
        if let slot {
            let begin = position.remaining == nil ? item.start : time
            limit = min(limit ?? begin + slot, begin + slot)
        } else if description.isStill {
            limit = item.start + imageDuration
        }
        let natural = description.video?.duration ?? description.duration
        let itemEnd = [limit, description.isStill ? nil : natural].compactMap { $0 }.min()
        let turn = Turn(
            serial: serial, position: position, item: item, itemEnd: itemEnd, isStill: description.isStill,
            isSeekable: description.isStill || description.isSeekable, isSeam: isSeam)
        let interruption = opened.interruption
        let lane = Lane(
            reader: opened.intoReader(), interruption: interruption, turn: turn, at: time, anchor: end,
            rate: pipeline.withLock { $0.rate }, limit: limit)
        lane.isLengthKnown = natural != nil || description.isStill
        if let soundProblem { complain(about: lane, "played without sound: \(soundProblem)") }
        (failures, failuresAhead) = (failures + failuresAhead, 0)
        if resumeOutgoing(before: lane) { waiting = lane } else { enter(lane) }
    }

    /// Begins to lay a turn, at the end of the timeline.
    private mutating func enter(_ lane: Lane) {
        let rate = pipeline.withLock { pipeline -> Double in
            pipeline.reading = (lane.interruption, lane.turn.position.index)
            return pipeline.rate
        }
        lane.restart(at: lane.anchorItemTime, anchor: end, rate: rate, format: audio.format)
        self.lane = lane
        beginFade(lane)
        if lane.isSoundOnly { layCover(lane) }
    }

    // MARK: Laying

    /// The one picture of an item that is only sound: its cover, or the background.
    private mutating func layCover(_ lane: Lane) {
        var picture: VideoFrame?
        if let cover = lane.reader.nextFrame() { picture = cover.intoFrame() }
        push(
            picture, of: lane, start: lane.anchor, end: MediaTime(nanoseconds: .max / 4), itemTime: lane.anchorItemTime, cadence: nil)
    }

    private mutating func layPicture() {
        guard let lane else { return }
        if let rest = lane.rest.take() { return lay(rest, of: lane) }
        guard let frame = lane.nextFrame() else {
            if lane.isCancelled {
                self.lane = nil
                return
            }
            if lane.isFirst, failures < items.count {
                // Opened, and yet nothing between its beginning and its end: it must not spin.
                let (position, isSeam, source) = (lane.turn.position, lane.turn.isSeam, lane.turn.item.source)
                self.lane = nil
                fail(position, isSeam: isSeam, "\(source): has no picture between start and end: check both in the playlist")
                return
            }
            lane.picturesDone = true
            // What the container says of the length, if anything, has proved right or wrong.
            let itemEnd = lane.laidItemTime
            lane.turn.itemEnd = itemEnd
            let asset = lane.reader.description
            if let problem = lane.reader.prematureEnd {
                complain(about: lane, "ends early: \(problem)")
            } else if let length = asset.video?.duration ?? asset.duration, let problem = ItemInspection.earlyEnd(itemEnd, of: length) {
                complain(about: lane, problem)
            }
            prepareNext()
            return
        }
        let itemTime = lane.turn.isStill ? lane.laidItemTime : max(frame.time, lane.anchorItemTime)
        if !lane.isFirst, let fadeBegin = lane.fadeBegin, itemTime >= fadeBegin {
            lane.fading = .some(frame)
            lane.picturesDone = true
            prepareNext()
            return
        }
        if !lane.isFirst, let limit = lane.limit, itemTime >= limit {
            lane.picturesDone = true
            prepareNext()
            return
        }
        var itemEnd = frame.time + frame.duration
        if lane.turn.isStill { itemEnd = max(lane.limit ?? itemEnd, itemTime + .milliseconds(1)) }
        if let limit = lane.limit { itemEnd = min(itemEnd, max(limit, itemTime + .milliseconds(1))) }
        if lane.turn.isStill, let fadeBegin = lane.fadeBegin, fadeBegin > itemTime, let copy = frame.frame.shared() {
            itemEnd = fadeBegin
            lane.fading = TimedFrame(frame: copy, time: fadeBegin, duration: .zero)
        }
        lay(TimedFrame(frame: frame.intoFrame(), time: itemTime, duration: max(itemEnd - itemTime, .zero)), of: lane)
    }

    /// Lays a picture; one that stands for long while something fades out beneath it in pieces, of which this is the first.
    private mutating func lay(_ frame: consuming TimedFrame, of lane: Lane) {
        let (itemTime, itemEnd) = (frame.time, frame.time + frame.duration)
        let start = lane.timeline(itemTime)
        var end = max(lane.timeline(itemEnd), start)
        var cadence = lane.reader.nominalFrameDuration?.scaled(by: 1 / lane.rate)
        if let fade, start < fade.end, end - start > CrossFade.longestFrame, let copy = frame.frame.shared() {
            end = start + CrossFade.pieceLength
            cadence = CrossFade.pieceLength
            let time = itemTime + CrossFade.pieceLength.scaled(by: lane.rate)
            lane.rest = TimedFrame(frame: copy, time: time, duration: itemEnd - time)
        }
        push(frame.intoFrame(), of: lane, start: start, end: end, itemTime: itemTime, cadence: cadence)
        lane.pictureEnd = end
        if lane.turn.isStill, lane.rest == nil { lane.picturesDone = true }
        if let itemEnd = lane.turn.itemEnd, itemEnd - itemTime > Self.openAhead + transition { return }
        // Whether a clip of unknown length is to be repeated in its slot shows only when it ends.
        if !lane.isLengthKnown, lane.turn.position.remaining ?? lane.turn.item.duration != nil { return }
        prepareNext()
    }

    private mutating func push(
        _ picture: consuming VideoFrame?, of lane: Lane, start: MediaTime, end: MediaTime, itemTime: MediaTime, cadence: MediaTime?
    ) {
        let place = FramePlace(
            start: start, end: end, itemTime: itemTime, rate: lane.rate, cadence: cadence, turn: lane.turn, isFirst: lane.isFirst)
        lane.isFirst = false
        endsInBackground = false
        if !lane.isSoundOnly { hasPlayed() }
        append(LaidFrame(picture, over: fade?.underlay(from: start, to: end), at: place))
    }

    // MARK: Fading

    /// Decides whether a turn that has just been opened fades out in the end, and has what came before it fade out.
    private mutating func beginFade(_ lane: Lane) {
        fade = nil
        let outgoing = outgoing.take()
        guard transition > .zero, !lane.isSoundOnly else { return }
        let longest = longestFade(of: lane)
        if let itemEnd = lane.turn.itemEnd, longest > .zero, following(lane.turn) != nil {
            lane.fadeBegin = itemEnd - longest.scaled(by: lane.rate)
        }
        guard let outgoing, let begin = outgoing.fading?.time, let itemEnd = outgoing.turn.itemEnd, begin < itemEnd else { return }
        let duration = min((itemEnd - begin).scaled(by: 1 / outgoing.rate), longest)
        if duration > .zero { fade = CrossFade(outgoing, at: lane.anchor, for: duration) }
    }

    /// How long, on the timeline, a turn may fade in or out.
    private func longestFade(of lane: Lane) -> MediaTime {
        if lane.isSoundOnly { return .zero }
        guard let itemEnd = lane.turn.itemEnd else { return transition }
        return min(transition, max(.zero, (itemEnd - lane.anchorItemTime).scaled(by: 0.5 / lane.rate)))
    }

    /// Goes on laying the turn that was to fade out: where nothing comes that it can fade into, to its end; where that is too short for the whole fade, up
    /// to where a fade begins that is short enough. False when there is none, or the fade is right as it is.
    private mutating func resumeOutgoing(before next: Lane? = nil) -> Bool {
        guard let lane = outgoing, let begin = lane.fading?.time, let itemEnd = lane.turn.itemEnd else { return false }
        let longest = next.map { longestFade(of: $0) } ?? .zero
        guard (itemEnd - begin).scaled(by: 1 / lane.rate) > longest + .milliseconds(1) else { return false }
        outgoing = nil
        lane.fadeBegin = longest > .zero ? itemEnd - longest.scaled(by: lane.rate) : nil
        lane.picturesDone = false
        self.lane = lane
        pipeline.withLock { $0.reading = (lane.interruption, lane.turn.position.index) }
        return true
    }

    /// Something plays, so that it is not all of the playlist that fails.
    private mutating func hasPlayed() { (failures, retryDelay) = (0, Self.firstRetryDelay) }

    private mutating func append(_ frame: consuming LaidFrame) {
        hasShownAnything = true
        let generation = generation
        var frame: LaidFrame? = frame
        pipeline.signal { pipeline in
            if pipeline.generation == generation { pipeline.append(frame.take()!) }
        }
    }

    /// Opens what follows, once the end of the present turn is near.
    private mutating func prepareNext() {
        guard upcoming == nil, waiting == nil, let lane, let next = following(lane.turn) else { return }
        open(next, time: next.remaining == nil ? nil : lane.turn.item.start, precision: .exact, isSeam: true)
    }

    /// What follows a turn: the same clip again where its slot is longer than it, else what the playlist says.
    private func following(_ turn: Turn) -> PlaylistCursor.Position? {
        if !turn.isStill, let slot = turn.position.remaining ?? turn.item.duration, let itemEnd = turn.itemEnd {
            let played = itemEnd - turn.item.start
            if played > .milliseconds(1), slot - played > .milliseconds(20) {
                var position = turn.position
                position.remaining = slot - played
                return position
            }
        }
        return cursor.following(turn.position)
    }

    private mutating func laySound(_ frames: Int) {
        guard let lane else { return }
        let channels = audio.format.channelCount
        var filled = 0
        if lane.givesSound {
            filled = unsafe scratch.withUnsafeMutableBufferPointer { buffer in
                let destination = unsafe UnsafeMutableBufferPointer(rebasing: buffer[..<(frames * channels)])
                return unsafe lane.readSound(into: destination, channelCount: channels)
            }
            if filled < frames { lane.soundEnded = true }
        }
        if fade != nil { ramp.reset() }
        let gain = lane.turn.item.isMuted ? 0 : Float(AudioQueue.gain(ofVolume: lane.turn.item.volume))
        ramp.apply(gain, to: &scratch, count: filled, format: audio.format)
        if filled < frames { ramp.reset() }
        let end = audio.writtenSamples + Int64(frames)
        if lane.isSoundOnly {
            if let limit = lane.limit { filled = min(filled, max(0, frames - Int(end - audio.sample(at: lane.timeline(limit))))) }
            audio.write(scratch.span.extracting(first: filled * channels))
            if filled > 0 {
                lane.hasSounded = true
                hasPlayed()
            }
            lane.pictureEnd = audio.time(ofSample: Double(audio.writtenSamples))
            if filled < frames, !lane.hasSounded, lane.anchorItemTime <= lane.turn.item.start {
                // Opened, and yet not a sample in it: it must not spin.
                self.lane = nil
                if lane.isCancelled { return }
                fail(
                    lane.turn.position, isSeam: lane.turn.isSeam,
                    "\(lane.turn.item.source): not a sample of its sound can be decoded: export it again")
            } else if filled < frames {
                lane.picturesDone = true
                prepareNext()
            } else if let itemEnd = lane.turn.itemEnd, lane.timeline(itemEnd) - lane.pictureEnd < Self.openAhead {
                prepareNext()
            }
            return
        }
        for index in filled * channels..<frames * channels { scratch[index] = 0 }
        let isLast = lane.picturesDone && end >= audio.sample(at: lane.pictureEnd)
        if isLast, filled == frames, lane.fading == nil, hasSurplusSound(lane) {
            GainRamp.fadeOut(&scratch, count: frames, format: audio.format)
        }
        let begin = audio.time(ofSample: Double(audio.writtenSamples))
        if begin < fade?.end ?? .zero {
            fade?.mix(into: &scratch, count: frames, from: begin, scratch: &mixing, format: audio.format)
        } else if lane.pictureEnd >= fade?.end ?? .zero {
            fade = nil
        }
        audio.write(scratch.span.extracting(first: frames * channels))
        // A still's picture is laid at once, long before what follows is to be opened.
        if lane.picturesDone, lane.pictureEnd - audio.time(ofSample: Double(audio.writtenSamples)) < Self.openAhead { prepareNext() }
    }

    /// Whether there is sound left that will not be heard; asked once, when the turn ends. A codec's padding behind the end that the container
    /// tells is not sound.
    private func hasSurplusSound(_ lane: Lane) -> Bool {
        let asset = lane.reader.description
        if let video = asset.video, let sound = asset.audio, let duration = sound.duration {
            let soundEnd = (sound.start ?? .zero) + duration - (video.start ?? .zero)
            if soundEnd <= lane.laidItemTime + .milliseconds(1) { return false }
        }
        var probe = [Float](repeating: 0, count: audio.format.channelCount)
        return unsafe probe.withUnsafeMutableBufferPointer {
            unsafe lane.reader.readSamples(into: $0, channelCount: audio.format.channelCount)
        } > 0
    }

    private mutating func finishTurn() {
        prepareNext()
        if let lane, !lane.isFlawed { complaints[lane.turn.position.index] = nil }
        end = lane?.pictureEnd ?? end
        if let lane, lane.fading != nil { outgoing = lane }
        lane = nil
        if let next = waiting.take() { return enter(next) }
        if upcoming == nil { endTimeline() }
    }

    private mutating func endTimeline() {
        if resumeOutgoing() { return }
        let (generation, audio) = (generation, audio)
        pipeline.signal { pipeline in
            guard pipeline.generation == generation else { return }
            pipeline.hasEnded = true
            audio.finish()
        }
        wakePresenter()
    }

    /// Shows the bare background from the end of the timeline on, with `duration` of silence so that its time comes, where that has not been queued yet; once,
    /// however often it is tried again.
    private mutating func layBackground(_ duration: MediaTime) {
        if endsInBackground { return }
        endsInBackground = true
        let place = FramePlace(start: end, end: end + duration, itemTime: .zero, rate: 1, cadence: nil, turn: nil, isFirst: false)
        append(LaidFrame(nil, at: place))
        let samples = Int(audio.sample(at: end + duration) - audio.writtenSamples)
        guard samples > 0, audio.room(wanting: 0) >= samples else { return }
        audio.write([Float](repeating: 0, count: samples * audio.format.channelCount).span)
        end += duration
    }

    // MARK: Moving

    private mutating func jump(_ jump: Pipeline.Jump, _ generation: UInt64) {
        self.generation = generation
        audio.reset()
        interruptAudio()
        end = .zero
        endsInBackground = false
        (retryAt, failures, failuresAhead) = (nil, 0, 0)
        upcoming = nil
        outgoing = nil
        waiting = nil
        fade = nil
        ramp.reset()
        // Moving within the item that is open needs no opening.
        if let time = jump.time, let lane, lane.turn.position == jump.position, !lane.turn.isStill, lane.reader.description.isSeekable,
            let landed = try? lane.reader.seek(to: time, precision: jump.precision)
        {
            lastSerial += 1
            lane.turn.serial = lastSerial
            lane.turn.isSeam = false
            lane.restart(at: landed, anchor: .zero, rate: pipeline.withLock { $0.rate }, format: audio.format)
            if lane.isSoundOnly { layCover(lane) }
            return
        }
        lane = nil
        open(jump.position, time: jump.time, precision: jump.precision, isSeam: false)
    }

    /// The rate changes with the next frame laid; what is queued plays out at the old one.
    private mutating func setRate(_ rate: Double) {
        lane?.setRate(rate, written: audio.time(ofSample: Double(audio.writtenSamples)), format: audio.format)
    }
}
