import Media
import Platform

/// Lays items onto the timeline: decodes ahead of need, frames into the pipeline and samples into the audio queue, one item after another
/// without ever waiting for one to be shown to its end. What follows is opened ahead (``ItemOpener``) and skipped where that fails (``FailureRecord``); sound is
/// laid along with the pictures (``SoundFeed``); where one turn fades into the next, both are laid at once (``FadePlanner``).
///
/// A new playlist (``Player/setItems(_:)``) is taken over between two steps. What is being laid goes on to its end, so a list changes at the boundary of an item.
struct Feeder: ~Copyable {
    private let pipeline: Monitor<Pipeline>
    private let audio: AudioQueue
    private let opener: ItemOpener
    private var cursor: PlaylistCursor
    private let imageDuration: MediaTime
    private let emit: @Sendable (PlayerEvent) -> Void
    private let wakePresenter: @Sendable () -> Void
    private let interruptAudio: @Sendable () -> Void
    private let now: @Sendable () -> HostTime

    private(set) var lane: Lane?
    /// The turn that comes next, open, while the one before it is laid further than to where it was to fade out.
    private var waiting: Lane?
    private var fades: FadePlanner
    private var sound: SoundFeed
    private var failures = FailureRecord()
    /// The turn that is being opened, or is open, ahead.
    private var upcoming: Upcoming?
    private var generation: UInt64 = 0
    private var lastSerial: UInt64 = 0
    /// Timeline instant at which the next turn begins.
    private var end = MediaTime.zero
    private let startedAt: HostTime
    private var hasShownAnything = false
    /// Whether what was laid last is the bare background.
    private var endsInBackground = false
    /// Whether there is nothing on the playlist, and the first item that comes is to be played at once.
    private var awaitsItems = false
    /// When the live stream that was laid last ended, until something follows it.
    private var streamEndedAt: HostTime?

    private struct Upcoming {
        var position: PlaylistCursor.Position
        var item: PlaylistItem
        /// The opener's; 0 for one that is not asked for yet.
        var serial: UInt64 = 0
        var isSeam = false
        /// Item time to begin at.
        var time = MediaTime.zero
    }

    /// The next item is opened when this much of the present one is still to be laid.
    private static let openAhead = MediaTime.seconds(2)
    /// A wall that shows nothing for this long after the start gets the background instead of the console.
    private static let patience = MediaTime.milliseconds(500)
    /// A list that changes when no more of the present item than this is still to be laid does not change what is open already.
    private static let tooLate = MediaTime.milliseconds(500)
    /// How long the last frame of a live stream stands while the stream is opened again and again, before the background is shown.
    private static let longestStandstill = MediaTime.seconds(10)
    /// A live stream that ended sooner than this is not opened again at once.
    private static let shortestStream = MediaTime.seconds(1)

    enum Work {
        case stop
        case free
        case setList
        case jump
        case picture
        case sound(frames: Int)
        case take
        case retry
        case background
        case setRate(Double)
        case finish
    }

    init(
        pipeline: Monitor<Pipeline>, audio: AudioQueue, opener: ItemOpener, imageDuration: MediaTime, transition: MediaTime,
        emit: @escaping @Sendable (PlayerEvent) -> Void, wakePresenter: @escaping @Sendable () -> Void,
        interruptAudio: @escaping @Sendable () -> Void, now: @escaping @Sendable () -> HostTime = { .now }
    ) {
        self.pipeline = pipeline
        self.audio = audio
        self.opener = opener
        cursor = pipeline.withLock { $0.cursor }
        self.imageDuration = imageDuration
        fades = FadePlanner(length: transition)
        sound = SoundFeed(audio)
        self.emit = emit
        self.wakePresenter = wakePresenter
        self.interruptAudio = interruptAudio
        self.now = now
        startedAt = now()
        openFirst()
    }

    /// The thread's body.
    mutating func run() {
        while true {
            guard let work = waitForWork() else { continue }
            if case .stop = work { return }
            carryOut(work)
        }
    }

    private func waitForWork() -> Work? {
        let look = look()
        return pipeline.wait(until: deadline) { nextWork(in: $0, look) } ?? overdueWork
    }

    /// What there is to do now; nil where there is nothing before ``deadline`` or a change of the pipeline. For who has no thread for ``run()``.
    var nextWork: Work? {
        let look = look()
        return pipeline.withLock { nextWork(in: $0, look) } ?? overdueWork
    }

    /// Does one piece of work.
    mutating func carryOut(_ work: Work) {
        switch work {
        case .stop: break
        case .free: freeReleased()
        case .setList: setList(pipeline.withLock { $0.cursor.list })
        case .jump:
            let given = pipeline.withLock { pipeline in pipeline.takeSeek().map { ($0, pipeline.generation) } }
            if let (jump, generation) = given { self.jump(jump, generation) }
        case .picture: layPicture()
        case .sound(let frames): laySound(frames)
        case .take: takeOpened()
        case .retry:
            failures.retry()
            if let upcoming { open(upcoming.position, time: nil, precision: .exact, isSeam: upcoming.isSeam) }
        case .background:
            layBackground(.milliseconds(1))
        case .setRate(let rate): setRate(rate)
        case .finish: finishTurn()
        }
    }

    // MARK: Choosing

    /// When there is something to do even if the pipeline does not change.
    var deadline: HostTime? {
        if hasShownAnything { return failures.retryAt }
        return min(failures.retryAt ?? .init(nanoseconds: .max), startedAt + Self.patience)
    }

    /// What is to be done once ``deadline`` has passed.
    private var overdueWork: Work? {
        guard let deadline, now() >= deadline else { return nil }
        if let retryAt = failures.retryAt, now() >= retryAt { return .retry }
        return .background
    }

    /// What the choice of the next work depends on and is no part of the pipeline: it is asked for without the lock.
    private struct Look {
        var wantsSound: Int
        var hasLane: Bool
        var picturesDone: Bool
        var givesPictures: Bool
        var soundDone: Bool
        var laneRate: Double
        var waitsForOpened: Bool
        var maySkipAhead: Bool
    }

    private func look() -> Look {
        let wantsSound = lane.map { sound.wanted(of: $0) } ?? 0
        let hasLane = lane != nil
        let picturesDone = lane?.picturesDone ?? true
        let givesPictures = !picturesDone && lane?.isSoundOnly == false
        let soundDone = hasLane && picturesDone && wantsSound == 0
        let laneRate = lane?.rate ?? 1
        let waitsForOpened = !hasLane && upcoming != nil && failures.retryAt == nil
        let maySkipAhead =
            failures.maySkipAhead(of: cursor.list.items.count)
            && lane.map { lane in upcoming.flatMap { cursor.nextItem(after: $0.position) }.map { mayOpen($0, during: lane) } } == true
        return Look(
            wantsSound: wantsSound, hasLane: hasLane, picturesDone: picturesDone, givesPictures: givesPictures, soundDone: soundDone,
            laneRate: laneRate, waitsForOpened: waitsForOpened, maySkipAhead: maySkipAhead)
    }

    private func nextWork(in pipeline: borrowing Pipeline, _ look: Look) -> Work? {
        if pipeline.isStopping { return .stop }
        if pipeline.hasReleased { return .free }
        if pipeline.cursor.list.revision != cursor.list.revision { return .setList }
        if pipeline.seek.pending != nil { return .jump }
        if look.hasLane, pipeline.rate != look.laneRate, !look.picturesDone { return .setRate(pipeline.rate) }
        if look.soundDone { return .finish }
        if look.maySkipAhead, opener.hasFailed(upcoming?.serial ?? 0) { return .take }
        // Sound first: the clock starts as soon as there are pictures enough, and a card takes a tenth of a second of sound at once.
        if look.wantsSound > 0, audio.room(wanting: look.wantsSound) >= look.wantsSound { return .sound(frames: look.wantsSound) }
        if look.givesPictures, pipeline.hasRoomForFrame { return .picture }
        if look.waitsForOpened, pipeline.hasRoomForFrame, opener.hasOutcome(of: upcoming?.serial ?? 0) { return .take }
        return nil
    }

    private func freeReleased() {
        while let frame = pipeline.withLock({ $0.takeReleased() }) { _ = consume frame }
    }

    // MARK: Opening

    private mutating func open(
        _ position: PlaylistCursor.Position, time: MediaTime?, precision: MediaReader.SeekPrecision, isSeam: Bool
    ) {
        // A jump may lead to an item that has left the list, but not long ago.
        guard let item = cursor.list[position.index] else { return openFirst() }
        lastSerial += 1
        let begin = max(time ?? item.start, .zero)
        upcoming = Upcoming(position: position, item: item, serial: lastSerial, isSeam: isSeam, time: begin)
        opener.request(.init(serial: lastSerial, item: item, time: begin, precision: precision))
    }

    /// Opens the first item, or waits for one.
    private mutating func openFirst() {
        upcoming = nil
        if let first = cursor.first { return open(first, time: nil, precision: .exact, isSeam: false) }
        awaitsItems = true
    }

    /// Whether `next` may be opened while `lane` is still being laid. A file always; what comes over the network is read as it is sent, and goes stale when it is
    /// open and nobody reads it. So it is opened ahead of an end that is known. Where the end is not known (a camera, a channel) it is opened when that has come, and the
    /// last frame stands meanwhile. A live stream is never opened a second time before the first has been closed: cameras often allow one session.
    private func mayOpen(_ next: PlaylistCursor.Position, during lane: Lane) -> Bool {
        guard let source = cursor.list[next.index]?.source, isRemote(source) else { return true }
        if !lane.isLengthKnown, source == lane.turn.item.source { return false }
        return lane.turn.itemEnd != nil
    }

    private func isRemote(_ source: String) -> Bool { isURL(source) && !source.lowercased().hasPrefix("file:") }

    private mutating func takeOpened() {
        guard let given = upcoming, let outcome = opener.takeOutcome(of: given.serial) else { return }
        upcoming = nil
        switch outcome {
        case .failure(let error):
            if error.reason == .cancelled { return }
            if lane != nil, let next = cursor.nextItem(after: given.position) {
                failures.failAhead()
                complain(given.position.index, error.description)
                open(next, time: nil, precision: .exact, isSeam: given.isSeam)
                return
            }
            fail(given.position, isSeam: given.isSeam, error.description)
        case .success(let opened):
            begin(given, opened)
        }
    }

    private mutating func fail(_ position: PlaylistCursor.Position, isSeam: Bool, _ message: String) {
        complain(position.index, message)
        if let first = cursor.first, failures.fail(of: cursor.list.items.count) {
            if let outgoing = fades.resume() { return resume(outgoing) }
            // Everything has failed since something last played: show the background, wait, begin again with the next.
            if streamEndedAt.map({ now() - $0 > Self.longestStandstill }) ?? true { layBackground(.milliseconds(100)) }
            if let delay = failures.wait(from: now()) { emit(.nothingPlayable(retryAfter: delay)) }
            return openLater(cursor.nextItem(after: position) ?? first, isSeam: false)
        }
        if let next = cursor.nextItem(after: position) {
            open(next, time: nil, precision: .exact, isSeam: isSeam)
        } else {
            endTimeline()
        }
    }

    /// Opens an item when the failures' wait is over.
    private mutating func openLater(_ position: PlaylistCursor.Position, isSeam: Bool) {
        guard let item = cursor.list[position.index] else { return openFirst() }
        upcoming = Upcoming(position: position, item: item, isSeam: isSeam)
    }

    private mutating func complain(_ index: Int, _ message: String) {
        if failures.isNews(message, about: index) { emit(.itemFailed(index: index, message: message.withoutCredentials)) }
    }

    private mutating func complain(about lane: Lane, _ problem: String) {
        lane.isFlawed = true
        complain(lane.turn.position.index, "\(lane.turn.item.source): \(problem)")
    }

    /// Tells what has shown to be wrong with the source of a turn since the last time.
    private mutating func tellProblems(of lane: Lane) {
        while lane.problemsTold < lane.reader.problems.count {
            complain(about: lane, lane.reader.problems[lane.problemsTold])
            lane.problemsTold += 1
        }
    }

    private mutating func begin(_ given: Upcoming, _ opened: ItemOpener.Opened) {
        let (position, item) = (given.position, given.item)
        let description = opened.reader.description
        let time = description.isStill ? given.time : opened.time
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
            serial: given.serial, position: position, item: item, itemEnd: itemEnd, isStill: description.isStill,
            isSeekable: description.isStill || description.isSeekable, isSeam: given.isSeam)
        let lane = Lane(reader: opened.reader, turn: turn, at: time, anchor: end, rate: pipeline.withLock { $0.rate }, limit: limit)
        lane.isLengthKnown = natural != nil || description.isStill
        tellProblems(of: lane)
        failures.takeTurn()
        guard let outgoing = fades.resume(before: lane) else { return enter(lane) }
        waiting = lane
        resume(outgoing)
    }

    /// Begins to lay a turn, at the end of the timeline.
    private mutating func enter(_ lane: Lane) {
        lane.restart(at: lane.anchorItemTime, anchor: end, rate: pipeline.withLock { $0.rate }, format: audio.format)
        self.lane = lane
        streamEndedAt = nil
        fades.enter(lane, isFollowed: cursor.following(lane.turn).map { mayOpen($0, during: lane) } ?? false)
        tellReaders()
        if lane.isSoundOnly { layCover(lane) }
    }

    /// Goes on laying a turn that was to fade out.
    private mutating func resume(_ lane: Lane) {
        self.lane = lane
        tellReaders()
    }

    /// Says which readers are read from, so that their waiting can be ended.
    private func tellReaders() {
        var readings: [Pipeline.Reading] = []
        if let lane { readings.append(.init(interruption: lane.reader.interruption, index: lane.turn.position.index)) }
        if let outgoing = fades.fade?.outgoing { readings.append(.init(interruption: outgoing.reader.interruption, index: nil)) }
        pipeline.withLock { $0.setReadings(readings) }
    }

    // MARK: Laying

    /// The one picture of an item that is only sound: its cover, or the background. Again where the rate changes: it is the pictures that tell the item time.
    private mutating func layCover(_ lane: Lane) {
        if lane.cover == nil, let cover = lane.reader.nextFrame() { lane.cover = cover.intoFrame() }
        push(
            lane.cover?.shared(), of: lane, start: lane.anchor, end: MediaTime(nanoseconds: .max / 4), itemTime: lane.anchorItemTime,
            cadence: nil)
    }

    private mutating func layPicture() {
        guard let lane else { return }
        if let rest = lane.rest.take() { return lay(rest, of: lane) }
        let frame = lane.nextFrame()
        tellProblems(of: lane)
        guard let frame else {
            if lane.isCancelled {
                self.lane = nil
                return
            }
            if lane.isFirst {
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
            if let problem = lane.reader.prematureEnd {
                complain(about: lane, "ends early: \(problem)")
            } else if let problem = ItemInspection.earlyEnd(itemEnd, of: lane.reader.description, soundEnd: lane.reader.soundEnd) {
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
        if let fade = fades.fade, start < fade.end, end - start > CrossFade.longestFrame, let copy = frame.frame.shared() {
            end = start + CrossFade.pieceLength
            cadence = CrossFade.pieceLength
            let time = itemTime + CrossFade.pieceLength.scaled(by: lane.rate)
            lane.rest = TimedFrame(frame: copy, time: time, duration: itemEnd - time)
        }
        push(frame.intoFrame(), of: lane, start: start, end: end, itemTime: itemTime, cadence: cadence)
        lane.pictureEnd = end
        if lane.turn.isStill, lane.rest == nil { lane.picturesDone = true }
        if let itemEnd = lane.turn.itemEnd, itemEnd - itemTime > Self.openAhead + fades.length { return }
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
        if !lane.isSoundOnly { failures.played() }
        append(LaidFrame(picture, over: fades.fade?.underlay(from: start, to: end), at: place))
    }

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
        guard upcoming == nil, waiting == nil, let lane, let next = cursor.following(lane.turn), mayOpen(next, during: lane) else {
            return
        }
        open(next, time: next.remaining == nil ? nil : lane.turn.item.start, precision: .exact, isSeam: true)
    }

    private mutating func laySound(_ frames: Int) {
        guard let lane else { return }
        if lane.isSoundOnly { return laySoundAlone(frames, of: lane) }
        fades.pass(sound: sound.end, pictures: lane.pictureEnd)
        sound.lay(frames, of: lane, fade: fades.fade)
        tellProblems(of: lane)
        // A still's picture is laid at once, long before what follows is to be opened.
        if lane.picturesDone, lane.pictureEnd - sound.end < Self.openAhead { prepareNext() }
    }

    /// Lays the sound of an item that is nothing else, and lasts as long.
    private mutating func laySoundAlone(_ frames: Int, of lane: Lane) {
        if !lane.rateChanges.isEmpty { layCover(lane) }
        let filled = sound.layAlone(frames, of: lane)
        tellProblems(of: lane)
        if filled > 0 { failures.played() }
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
    }

    private mutating func finishTurn() {
        prepareNext()
        let next = lane.flatMap { cursor.following($0.turn) }
        // The lane is let go of first: a stream is closed before it is opened again.
        if let lane = lane.take() { leave(lane) }
        if let next = waiting.take() { return enter(next) }
        if upcoming != nil || failures.retryAt != nil { return }
        if let next { open(next, time: nil, precision: .exact, isSeam: true) } else { endTimeline() }
    }

    private mutating func leave(_ lane: Lane) {
        sound.followRate(of: lane)
        if !lane.isFlawed { failures.clear(lane.turn.position.index) }
        end = lane.pictureEnd
        fades.leave(lane)
        guard !lane.isLengthKnown, isRemote(lane.turn.item.source) else { return }
        streamEndedAt = now()
        // A server that takes connections and gives next to nothing is not asked more often than once a second.
        guard end - lane.anchor < Self.shortestStream, waiting == nil, upcoming == nil, let next = cursor.following(lane.turn) else {
            return
        }
        _ = failures.wait(from: now())
        openLater(next, isSeam: true)
    }

    private mutating func endTimeline() {
        if let outgoing = fades.resume() { return resume(outgoing) }
        if cursor.awaitsItems {
            awaitsItems = true
            return layBackground(.milliseconds(100))
        }
        let (generation, audio) = (generation, audio)
        pipeline.signal { pipeline in
            guard pipeline.generation == generation else { return }
            pipeline.playback.completed()
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
        if sound.laySilence(to: end + duration) { end += duration }
    }

    // MARK: Changing the playlist

    /// Takes over a new list. What is being laid goes on; what has been opened ahead and is no longer on the list is replaced while there is time for that.
    private mutating func setList(_ list: Playlist) {
        cursor.list = list
        failures.keepComplaints { list[$0] != nil }
        if awaitsItems {
            guard !list.isEmpty else { return }
            awaitsItems = false
            return openFirst()
        }
        guard let given = upcoming else { return }
        let isListed = list.place(of: given.position.index) != nil
        if failures.retryAt != nil {
            // Nothing could be played: perhaps now.
            failures.jump()
            if isListed { return open(given.position, time: nil, precision: .exact, isSeam: given.isSeam) }
        }
        if isListed { return }
        if let lane {
            let left = lane.turn.itemEnd.map { lane.timeline($0) - lane.pictureEnd }
            if lane.picturesDone || left.map({ $0 < Self.tooLate }) ?? false { return }
            upcoming = nil
            return prepareNext()
        }
        upcoming = nil
        failures.jump()
        guard let next = cursor.nextItem(after: given.position) else { return endTimeline() }
        open(next, time: nil, precision: .exact, isSeam: given.isSeam)
    }

    // MARK: Moving

    private mutating func jump(_ jump: SeekRequest, _ generation: UInt64) {
        self.generation = generation
        audio.reset()
        interruptAudio()
        end = .zero
        endsInBackground = false
        awaitsItems = false
        streamEndedAt = nil
        upcoming = nil
        waiting = nil
        failures.jump()
        fades.reset()
        sound.reset()
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
        lane?.setRate(rate)
    }
}
