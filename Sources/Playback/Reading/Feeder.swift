import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// Reads ahead: enqueues playthroughs end to end on the timeline, and never waits until one has been shown to its end.
///
/// Each part has its own file. ``UpcomingPlaythrough`` decides the next item and has it opened ahead. ``PlaythroughReader`` reads the
/// current one. ``PictureFeed`` enqueues its pictures and ``SoundFeed`` its sound. ``FadePlanner`` has one playthrough fade into the next;
/// then the feeder reads both at once.
///
/// The feeder itself chooses its next piece of work (``Work``), and carries it out. It takes over a new playlist
/// (``PlaybackEngine/setItems(_:at:)``) between two pieces. The current playthrough goes on to its end, so a list changes at the boundary
/// of an item.
struct Feeder: ~Copyable {
    let pipeline: Monitor<Pipeline>
    let audio: AudioQueue
    private var imageDuration: MediaTime
    private let wakePresenter: @Sendable () -> Void
    private let interruptAudio: @Sendable () -> Void
    private let emit: @Sendable (PlaybackEvent) -> Void
    private let subtitles: @Sendable () -> SubtitleOrder?
    private let heartbeat: Heartbeat
    let now: @Sendable () -> HostTime
    private let startedAt: HostTime

    /// The playthrough that is read.
    private(set) var current: PlaythroughReader?
    /// The next playthrough, already open, while the one before is read beyond the point where it was to fade out.
    private var waiting: PlaythroughReader?
    var upcoming: UpcomingPlaythrough
    var fades: FadePlanner
    var pictures: PictureFeed
    var sound: SoundFeed
    /// The timeline instant at which the next playthrough begins.
    private var end = MediaTime.zero

    /// How much of the current item is still to be enqueued when the next one is opened.
    private static let openAhead = MediaTime.seconds(2)

    /// Creates a feeder that has the first item opened at once. A fade lasts `transition` at most; zero is a cut.
    init(
        pipeline: Monitor<Pipeline>, audio: AudioQueue, opener: ItemOpener, lostOpener: ItemOpener? = nil,
        imageDuration: MediaTime, transition: MediaTime,
        emit: @escaping @Sendable (PlaybackEvent) -> Void, subtitles: @escaping @Sendable () -> SubtitleOrder? = { nil },
        wakePresenter: @escaping @Sendable () -> Void,
        interruptAudio: @escaping @Sendable () -> Void, heartbeat: Heartbeat = Heartbeat(),
        now: @escaping @Sendable () -> HostTime = { .now }
    ) {
        (self.pipeline, self.audio, self.imageDuration, self.heartbeat) = (pipeline, audio, imageDuration, heartbeat)
        (self.wakePresenter, self.interruptAudio, self.emit, self.now) = (wakePresenter, interruptAudio, emit, now)
        self.subtitles = subtitles
        startedAt = now()
        upcoming = UpcomingPlaythrough(
            pipeline.withLock { $0.cursor }, opener: opener, lostOpener: lostOpener, emit: emit, now: now,
            onFailure: { item, reason in
                let isNews = pipeline.withLock { $0.setFailed(item, reason: reason) }
                if isNews { emit(.itemStatusChanged(item: item, .failed(reason: reason))) }
            })
        fades = FadePlanner(length: transition)
        pictures = PictureFeed(pipeline)
        sound = SoundFeed(audio)
    }

    /// The thread's body.
    mutating func run() {
        while true {
            heartbeat.rest()
            let next = waitForWork()
            heartbeat.work()
            guard let work = next else { continue }
            if case .stop = work { return }
            carryOut(work)
        }
    }

    /// Carries out a piece of work.
    mutating func carryOut(_ work: Work) {
        switch work {
        case .stop: break
        case .free: freeReleased()
        case .setList: setList()
        case .seek: seek()
        case .clear: clear()
        case .picture: enqueuePicture()
        case .sound(let frames): enqueueSound(frames)
        case .take: handle(upcoming.take(during: current))
        case .retry: handle(upcoming.retry())
        case .takeLost: upcoming.takeLost(during: current)
        case .background: enqueueBackground(for: .milliseconds(1))
        case .setRate(let rate): current?.setRate(rate)
        case .finish: finish()
        }
    }

    private func freeReleased() {
        while let frame = pipeline.withLock({ $0.takeReleased() }) { _ = consume frame }
    }

    // MARK: One playthrough after another

    private mutating func handle(_ outcome: UpcomingPlaythrough.Outcome) {
        switch outcome {
        case .none: break
        case .opened(let item, let opened): begin(item, opened)
        case .everythingFailed(let position):
            if let outgoing = fades.resume() { return resume(outgoing) }
            enqueueBackground(for: .milliseconds(100))
            upcoming.retryLater(after: position)
        case .endOfPlaylist: endTimeline()
        }
    }

    private mutating func begin(_ upcoming: UpcomingPlaythrough.Item, _ opened: ItemOpener.Opened) {
        let reader = PlaythroughReader(
            opened, of: upcoming, imageDuration: imageDuration, instant: end, rate: pipeline.withLock { $0.rate })
        tellProblems(of: reader)
        note(reader)
        guard let outgoing = fades.resume(before: reader) else { return enter(reader) }
        waiting = reader
        resume(outgoing)
    }

    /// Begins to read a playthrough from the end of the timeline on.
    private mutating func enter(_ reader: PlaythroughReader) {
        reader.catchUpBeforeBeginning()
        reader.begin(at: end, rate: pipeline.withLock { $0.rate }, format: audio.format)
        current = reader
        selectTracks(of: reader)
        upcoming.hasBegun(reader)
        fades.enter(reader, isFollowed: upcoming.mayOpenFollowing(reader))
        tellReaders()
        if reader.isSoundOnly { pictures.enqueue(reader.coverFrame(), loading: reader.loading) }
    }

    /// Goes on reading a playthrough that was to fade out.
    private mutating func resume(_ reader: PlaythroughReader) {
        current = reader
        tellReaders()
    }

    /// Ends the current playthrough, all of which has been enqueued.
    private mutating func finish() {
        prepareNext()
        let following = current.flatMap { upcoming.following($0.playthrough) }
        // Drop the reader first: a stream has to be closed before it is opened again.
        if let ended = current.take() { leave(ended) }
        if let next = waiting.take() { return enter(next) }
        if upcoming.isRecovering || upcoming.returnsToLost() || upcoming.isDecided { return }
        if let following { upcoming.open(following, isSeam: true) } else { endTimeline() }
    }

    private mutating func leave(_ reader: PlaythroughReader) {
        sound.followRate(of: reader)
        end = reader.end
        fades.leave(reader)
        upcoming.hasEnded(reader, isFollowed: waiting != nil)
        setPace(nil)
    }

    /// Opens the next item, if that is still to be decided.
    private mutating func prepareNext() {
        if waiting == nil, let current { upcoming.prepare(after: current) }
    }

    private mutating func endTimeline() {
        if let outgoing = fades.resume() { return resume(outgoing) }
        if upcoming.awaitItems() { return enqueueBackground(for: .milliseconds(100)) }
        pictures.end { [audio] in audio.finish() }
        wakePresenter()
    }

    private mutating func setList() {
        let (list, rules) = pipeline.withLock { ($0.cursor.list, $0.cursor.rules) }
        imageDuration = rules.imageDuration
        fades.length = rules.transition
        if upcoming.setList(list, rules, during: current) { endTimeline() }
        if let current { selectTracks(of: current) }
    }

    /// Selects the sound track and the subtitles that were chosen for an item, perhaps after it was opened.
    private mutating func selectTracks(of reader: PlaythroughReader) {
        guard let entry = upcoming.entry(of: reader.playthrough.position.item) else { return }
        let hasChosen = reader.select(subtitles: entry.subtitleTrack)
        if hasChosen { drawSubtitles(of: reader) }
        guard reader.select(audio: entry.audioTrack, written: sound.end, format: audio.format) || hasChosen else { return }
        tellProblems(of: reader)
        note(reader)
    }

    // MARK: Subtitles

    /// Has subtitles drawn as the player wants them now, and reports them; does nothing if they already are.
    private func drawSubtitles(of reader: PlaythroughReader) {
        guard var order = subtitles() else { return }
        let serial = reader.playthrough.serial
        let (place, gravity) = pipeline.withLock { ($0.screen.place, $0.gravities[reader.playthrough.position.item]) }
        order.screen?.gravity = gravity ?? reader.playthrough.item.gravity
        let time = place?.playthrough?.serial == serial ? place?.itemTime : nil
        if reader.drawSubtitles(order, at: time) { tellSubtitles(of: reader) }
    }

    /// Hands over the subtitles that a reader has drawn, and reports their text.
    private func tellSubtitles(of reader: PlaythroughReader) {
        for news in reader.reader.takeSubtitles() {
            switch news {
            case .said(let cue):
                emit(.subtitle(item: reader.playthrough.position.item, text: cue.text, start: cue.start, end: cue.end))
            case .seen(let pictures, let screen, let time):
                let overlay = Overlay(
                    pictures: pictures.map { .init(surface: Surface($0), x: $0.x, y: $0.y) }, width: screen.width, height: screen.height)
                let serial = reader.playthrough.serial
                let retired = pipeline.signal { pipeline in
                    let retired = pipeline.subtitles.add(overlay, from: time, of: serial)
                    // Its picture may be on the screen already.
                    if let place = pipeline.screen.place, place.playthrough?.serial == serial { pipeline.followSubtitles(place) }
                    return retired
                }
                _ = consume retired  // freed outside the lock
            }
        }
    }

    /// Tells the pipeline which readers the feeder reads from, so that it can end their waits.
    private func tellReaders() {
        var readings: [Pipeline.Reading] = []
        if let current { readings.append(.init(interruption: current.reader.interruption, item: current.playthrough.position.item)) }
        if let outgoing = fades.fade?.outgoing { readings.append(.init(interruption: outgoing.reader.interruption, item: nil)) }
        pipeline.withLock { $0.setReadings(readings) }
    }

    /// Notes the facts about an opened item.
    private func note(_ reader: PlaythroughReader) {
        let source = reader.reader
        note(
            .init(status: .readyToPlay, asset: source.description, selectedTracks: source.selectedTracks),
            of: reader.playthrough.position.item)
    }

    private func note(_ record: ItemFacts.Record, of item: QueueItem.ID) {
        let (choice, isNew) = pipeline.withLock { ($0.measured(record, of: item), $0.setRecord(record, of: item)) }
        if isNew { emit(.itemStatusChanged(item: item, record.status)) }
        if let choice { emit(.measured(choice)) }
    }

    private mutating func tellProblems(of reader: PlaythroughReader) {
        for problem in reader.newProblems() { complain(about: reader, problem) }
    }

    private mutating func complain(about reader: PlaythroughReader, _ problem: String) {
        reader.setFlawed()
        upcoming.complain(reader.playthrough.position.item, "\(reader.playthrough.item.source): \(problem)")
    }

    /// Gives up a playthrough that gives nothing at all, and opens another item; otherwise the feeder would retry this one without end.
    private mutating func fail(_ reader: PlaythroughReader, _ problem: String) {
        current = nil
        if reader.isCancelled { return }
        let playthrough = reader.playthrough
        handle(upcoming.fail(playthrough.position, isSeam: playthrough.isSeam, "\(playthrough.item.source): \(problem)"))
    }

    // MARK: Enqueuing

    private mutating func enqueuePicture() {
        guard let current else { return }
        let next = current.nextFrame(over: fades.fade)
        tellProblems(of: current)
        switch consume next {
        case .frame(let frame):
            let itemTime = frame.place.itemTime
            upcoming.played()
            pictures.enqueue(frame, loading: current.loading)
            if current.hasSubtitles {
                drawSubtitles(of: current)
                tellSubtitles(of: current)
            }
            followSender(of: current)
            if isNearEnd(current, at: itemTime) { prepareNext() }
        case .end(let complaint):
            if current.hasSubtitles { tellSubtitles(of: current) }
            if let complaint { complain(about: current, complaint) }
            prepareNext()
        case .nothing:
            fail(current, current.reader.prematureEnd ?? "has no picture between start and end: check both in the playlist")
        case .cancelled: self.current = nil
        }
    }

    /// Whether to open the next item when the picture of `itemTime` has been enqueued.
    private func isNearEnd(_ reader: PlaythroughReader, at itemTime: MediaTime) -> Bool {
        if let itemEnd = reader.playthrough.itemEnd, itemEnd - itemTime > Self.openAhead + fades.length { return false }
        // Only the end of a clip of unknown length shows whether it is repeated in its slot.
        return reader.isLengthKnown || (reader.playthrough.position.remaining ?? reader.playthrough.item.duration) == nil
    }

    private mutating func enqueueSound(_ frames: Int) {
        guard let current else { return }
        if current.isSoundOnly { return enqueueSoundAlone(frames, of: current) }
        fades.pass(sound: sound.end, pictures: current.end)
        sound.enqueue(frames, of: current, over: fades.fade)
        tellProblems(of: current)
        // A still's picture is enqueued at once, long before the next item is to be opened.
        if current.isAtEnd, current.end - sound.end < Self.openAhead { prepareNext() }
    }

    /// Enqueues the sound of a playthrough with only sound, which lasts as long as that.
    private mutating func enqueueSoundAlone(_ frames: Int, of reader: PlaythroughReader) {
        // Pictures tell the item time, and this playthrough has only one.
        if !reader.soundRateChanges.isEmpty { pictures.enqueue(reader.coverFrame(), loading: reader.loading) }
        let filled = sound.enqueueAlone(frames, of: reader)
        tellProblems(of: reader)
        if filled > 0 { upcoming.played() }
        if reader.hasNoSound { return fail(reader, "not a sample of its sound can be decoded: export it again") }
        let left = reader.playthrough.itemEnd.map { reader.mapping.instant(of: $0) - reader.end }
        if reader.isAtEnd || left.map({ $0 < Self.openAhead }) ?? false { prepareNext() }
    }

    /// Shows the bare background from the end of the timeline on, once, however often it is called. `duration` of silence, if it fits, lets
    /// its time come.
    private mutating func enqueueBackground(for duration: MediaTime) {
        if pictures.endsInBackground { return }
        pictures.enqueueBackground(from: end, to: end + duration)
        if sound.enqueueSilence(to: end + duration) { end += duration }
    }

    // MARK: Seeking

    private mutating func seek() {
        let given = pipeline.withLock { pipeline in pipeline.seek.take().map { ($0, pipeline.generation, pipeline.rate) } }
        guard let (request, generation, rate) = given else { return }
        begin(generation)
        // A seek within the open item does not open it again.
        if !request.reopens, let time = request.time, let current, current.playthrough.position.isSamePlaythrough(as: request.position),
            current.seek(to: time, precision: request.precision, serial: upcoming.nextSerial(), rate: rate, format: audio.format)
        {
            if current.isSoundOnly { pictures.enqueue(current.coverFrame(), loading: current.loading) }
            return
        }
        current = nil
        upcoming.open(request.position, time: request.time, precision: request.precision, isSeam: false, isAskedFor: true)
    }

    /// Leaves the current playthrough for the first item of the list, or for the bare background if the list is empty.
    private mutating func clear() {
        begin(pipeline.withLock { $0.generation })
        current = nil
        if !upcoming.openFirst() { endTimeline() }
    }

    /// Begins a generation: nothing is enqueued, open or awaited.
    private mutating func begin(_ generation: UInt64) {
        pictures.begin(generation)
        audio.reset()
        interruptAudio()
        end = .zero
        waiting = nil
        upcoming.reset()
        fades.reset()
        sound.reset()
    }

    // MARK: The next piece of work

    /// A piece of work.
    enum Work {
        case stop
        case free
        case setList
        case seek
        case clear
        case picture
        case sound(frames: Int)
        case take
        case retry
        case takeLost
        case background
        case setRate(Double)
        case finish
    }

    /// A display that shows nothing for this long after the start gets the background instead of the console.
    private static let longestEmptyStart = MediaTime.milliseconds(500)

    /// The work to do now; nil if there is none before ``deadline`` or a change of the pipeline. For a caller without a thread for
    /// ``run()``.
    var nextWork: Work? {
        let wishes = wishes
        return pipeline.withLock { nextWork(in: $0, wishes) } ?? overdueWork
    }

    /// When there is something to do even if the pipeline does not change.
    var deadline: HostTime? {
        if pictures.hasEnqueued { return upcoming.due }
        return min(upcoming.due ?? .init(nanoseconds: .max), startedAt + Self.longestEmptyStart)
    }

    private func waitForWork() -> Work? {
        if let work = nextWork { return work }
        current?.reader.rest()
        fades.fade?.outgoing.reader.rest()
        let wishes = wishes
        return pipeline.wait(as: .feeder, until: deadline) { nextWork(in: $0, wishes) } ?? overdueWork
    }

    /// The work to do once ``deadline`` has passed.
    private var overdueWork: Work? {
        guard let deadline, now() >= deadline else { return nil }
        if let due = upcoming.due, now() >= due { return .retry }
        return .background
    }

    /// The wishes of the parts themselves, gathered without the pipeline's lock.
    private struct Wishes {
        /// The current playthrough: whether all of its pictures have been read, whether it gives more of them, its rate, and how many
        /// frames of its sound are wanted.
        var reading: (isAtEnd: Bool, givesPictures: Bool, rate: Double, sound: Int)?
        /// Whether to take the opened item when it is there, and whether to take it if it has failed.
        var takesOpened: Bool, leavesOutFailed: Bool
        /// Whether an attempt to open a lost item has an outcome.
        var takesLost: Bool
        /// The revision of the list that was taken over last, and the generation that was begun last.
        var revision: Int, generation: UInt64
    }

    private var wishes: Wishes {
        Wishes(
            reading: current.map { ($0.isAtEnd, !$0.isAtEnd && !$0.isSoundOnly, $0.mapping.rate, sound.wanted(of: $0)) },
            takesOpened: current == nil && upcoming.isAwaited, leavesOutFailed: current.map { upcoming.mayLeaveOut(during: $0) } ?? false,
            takesLost: upcoming.hasLostOutcome,
            revision: upcoming.revision, generation: pictures.generation)
    }

    private func nextWork(in pipeline: borrowing Pipeline, _ wishes: Wishes) -> Work? {
        if pipeline.isStopping { return .stop }
        if pipeline.hasReleased { return .free }
        if pipeline.cursor.list.revision != wishes.revision { return .setList }
        if pipeline.seek.pending != nil { return .seek }
        if pipeline.isCleared(since: wishes.generation) { return .clear }
        if wishes.takesLost { return .takeLost }
        guard let reading = wishes.reading else {
            return wishes.takesOpened && pipeline.frames.hasRoom && upcoming.hasOutcome ? .take : nil
        }
        if pipeline.rate != reading.rate, !reading.isAtEnd { return .setRate(pipeline.rate) }
        if reading.isAtEnd, reading.sound == 0 { return .finish }
        if wishes.leavesOutFailed, upcoming.hasFailed { return .take }
        // Sound first: the clock starts as soon as there are pictures enough, and a card takes a tenth of a second of sound at once.
        if reading.sound > 0, audio.room(wanting: reading.sound) >= reading.sound { return .sound(frames: reading.sound) }
        if reading.givesPictures, pipeline.frames.hasRoom { return .picture }
        return nil
    }

    /// Plays a live stream as fast as it is sent.
    mutating func followSender(of reader: PlaythroughReader) {
        let now = now()
        let heard = audio.isRunning && !audio.ranDry ? audio.timelineTime(at: now) : nil
        let pace = reader.followSender(heard: heard, written: sound.end, format: audio.format, mayCatchUp: fades.fade == nil, at: now)
        setPace(pace)
    }

    private func setPace(_ pace: LivePace?) {
        if pace == nil, pipeline.withLock({ $0.livePace == nil }) { return }
        pipeline.withLock { $0.livePace = pace }
    }
}
