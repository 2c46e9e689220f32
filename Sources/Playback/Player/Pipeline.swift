import DequeModule
import KioskMedia
import KioskPlatform
import KioskVocabulary

/// What the engine's threads share, behind one lock.
///
///     feeder ──frames──▶ compositor ──ready──▶ presenter ──screen──▶ released
///      │  └───samples──▶ AudioQueue ──▶ audio thread                    │
///      ▲                                                                │
///      └────────────────────────────────────────────────────────────────┘
///
/// It is put together of values that keep their own rules: whether it plays (``PlaybackState``), where it is to go (``SeekState``), what
/// waits to be composed (``FrameQueue``), what is on the screen (``ScreenState``). What concerns several of them is a method here.
///
/// What nobody needs any more is *released*: the feeder frees it. To free a frame can take as long as to decode one: libavcodec keeps the
/// memory of frames in a pool that stays locked while it grows, and what does not come out of a pool goes back to the system page by page.
/// Nobody may wait for that with the lock held, the presenter least of all. (On the bed, at 1080p: 13 ms, and the frame to be committed a
/// vblank late.)
///
/// The feeder waits for room, the compositor for a frame and a spare buffer: both on this monitor, each as a group of its own. What happens
/// at every frame wakes the one that has something to do then (``feederHasWork``, ``compositorHasWork``); everything else wakes both. The
/// presenter waits in the video output (for flips and deadlines) and is woken through it.
struct Pipeline: ~Copyable {
    private(set) var isStopping = false
    /// What is played, and in which order. The feeder takes a new list over as soon as it can.
    var cursor: PlaylistCursor
    var playback = PlaybackState() {
        didSet { if playback.isPlaying != oldValue.isPlaying { sound?.isRunning = playback.isPlaying } }
    }
    /// The sound, which runs while it plays and stands while not.
    weak var sound: AudioQueue?
    var seek = SeekState.none
    var scrub = ScrubState()
    /// Grows with every seek and skip that begins; what was queued under an older one is dropped at the door.
    private(set) var generation: UInt64 = 0
    private(set) var rate = 1.0
    /// How a live stream is played; nil of anything else.
    var livePace: LivePace? { didSet { statistics.streamLatency = livePace?.latency } }
    var loudness: Loudness
    /// Who is told when that changes (``PlaybackEngine/followGain(_:)``).
    var gainFollower: (@Sendable (_ gain: Double, _ time: MediaTime?) -> Void)?
    /// Which programs interrupt the sound.
    var interruption: InterruptionState
    /// How the pictures of items are fitted of which that has changed since they came onto the list.
    private(set) var gravities: [QueueItem.ID: VideoGravity] = [:]
    /// What is known of the items that have been opened, or that could not be.
    var records: [QueueItem.ID: ItemFacts.Record] = [:]
    /// How much is there of the source of the playthrough that is being read; nil where it is there as a whole.
    var loading: (serial: UInt64, isSeam: Bool, source: Loading?) = (0, false, nil)

    /// A reader that the feeder reads from, and the item in which a seek goes on with it; nil while it fades out.
    struct Reading {
        var interruption: Interruption
        var item: QueueItem.ID?
    }

    /// Those of the present playthrough, and of the one that fades out: their waiting is ended at the end of the program, and when another
    /// item is wanted.
    private(set) var readings: [Reading] = []

    var frames: FrameQueue
    /// Whether the compositor has a frame in hand, in neither queue.
    private(set) var isComposing = false
    var ready = UniqueDeque<PreparedFrame>()
    var screen = ScreenState()
    /// What lies over every scene, and what is done about that (PipelineOverlay.swift).
    var overlay = OverlayState()
    var drawn = Overlay.Order.allCases.map { _ in Overlay() }
    var subtitles = SubtitleTimeline()
    /// Subtitles stay so many pixels above the bottom of the screen, where controls are.
    var subtitleInset = 0
    /// Whether subtitles have been set that nobody has been woken for.
    var hasNewSubtitles = false
    /// Which vblank shows what, by the presenter's last decision; nil while nothing is due.
    var pacing: Pacing?
    /// The last vblank at which a commit was seen.
    var lastFlip: HostTime?
    /// What has been committed, or is about to be, and waits for its flip.
    var pending: Presenter.Commit?
    /// The ready frame that is being prepared again.
    var renewing: PreparedScene?
    /// How long scenes with an overlay in them take to be prepared.
    var composeTime = ComposeTime()
    /// Frames that are no longer needed. The presenter adds to them, so there is room for more than are mostly queued: it shall not
    /// allocate.
    private var released = UniqueDeque<EnqueuedFrame>(minimumCapacity: 32)
    /// Whether pictures of a hardware decoder are among them.
    private var releasedFromPool = false
    /// Bytes of picture memory they keep alive.
    private var releasedBytes = 0
    var buffers = SpareBuffers()
    /// Whether there is a display to prepare scenes for, as far as the compositor has been told. Without one nothing is prepared again for an overlay: it would
    /// stay as stale as it is.
    var hasDisplay = true
    /// Frames come too late, and those that end before this instant of the timeline are to be left out; nil while they do not.
    var overdue: MediaTime?
    /// The presenter waits without a deadline and must be woken when there is something to decide.
    var presenterIsIdle = false

    var statistics = PlayerStatistics()
    var leftOut = LeftOutFrames()
    var inputLatency = InputLatency()
    private(set) var moves = MoveRecord()

    /// Frames the compositor keeps ready beyond the one on the screen: with three buffers, one that is pending and one more.
    static let readyLimit = 2

    init(
        cursor: PlaylistCursor = PlaylistCursor([], loop: .playlist), loudness: Loudness = Loudness(),
        session: AudioSession = AudioSession(), soundLead: MediaTime = .zero
    ) {
        self.cursor = cursor
        frames = FrameQueue(soundLead: soundLead)
        interruption = InterruptionState(session)
        self.loudness = loudness
        // Beginning is a move to the first item, so that there is something to skip or to seek from before it has been opened.
        if let first = cursor.first { seek.expect(SeekRequest(position: first)) }
    }

    // MARK: Waking

    /// Whether the feeder is to be woken where nothing has happened but that frames have moved on: there is room for several, or there are
    /// many to be freed. The pictures of a hardware decoder are freed at once: it has few.
    var feederHasWork: Bool {
        frames.hasRoom || released.count > Self.mostReleased || releasedBytes > Self.mostReleasedBytes || releasedFromPool
    }

    var compositorHasWork: Bool { mayCompose || mayRepaint || overlay.isInUse }

    /// Who has something to do after a flip.
    var waitersWithWork: Waiters {
        var waiters = Waiters()
        if feederHasWork { waiters.insert(.feeder) }
        if compositorHasWork { waiters.insert(.compositor) }
        return waiters
    }

    /// So many frames may wait to be freed until the feeder has something else to do.
    private static let mostReleased = 4
    /// And no more bytes of them: one frame of 1080p, less than one of 2160p.
    private static let mostReleasedBytes = 6 << 20

    // MARK: Frames

    /// Decoded frames that are still to be shown.
    var framesAhead: Int { frames.count + ready.count + (isComposing ? 1 : 0) }

    /// Whether what is on the screen is to be composed again, and can be.
    private var mayRepaint: Bool { buffers.mayBeThere && screen.canRepaint }

    /// Whether another frame is to be composed, and can be.
    var mayCompose: Bool { buffers.mayBeThere && ready.count < Self.readyLimit && !frames.isEmpty }

    /// The next frame to compose, where there is one and a buffer may be spare.
    mutating func takeFrameToCompose() -> EnqueuedFrame? {
        guard mayCompose, let frame = frames.popFirst() else { return nil }
        isComposing = true
        overlay.frameTaken()
        return frame
    }

    /// The frame on the screen, where it is to be composed again and a buffer may be spare.
    mutating func takeFrameToRepaint() -> EnqueuedFrame? { mayRepaint ? screen.beginRepaint() : nil }

    /// The next frame of a generation, in place of the one in hand.
    mutating func takeSuccessor(of generation: UInt64) -> EnqueuedFrame? { generation == self.generation ? frames.popFirst() : nil }

    /// The frame taken last has been composed under `generation`, with `mark` over it; `composed` is nil where there is no display. Returns
    /// what is to be discarded.
    mutating func composed(
        _ frame: consuming EnqueuedFrame, as composed: PreparedScene?, mark: OverlayMark = .init(), generation: UInt64
    ) -> PreparedScene? {
        isComposing = false
        guard generation == self.generation else {
            release(frame)
            return composed
        }
        ready.append(PreparedFrame(enqueued: frame, composed: composed, mark: mark))
        return nil
    }

    /// There was no buffer for the frame taken last; `returns` is what ``SpareBuffers/returns`` was then.
    mutating func couldNotCompose(_ frame: consuming EnqueuedFrame, generation: UInt64, asOf returns: UInt64) {
        isComposing = false
        buffers.wereNotThere(asOf: returns)
        if generation == self.generation { frames.prepend(frame) } else { release(frame) }
    }

    /// The frame taken to be repainted as number `serial` comes back. Returns what is to be discarded.
    mutating func repainted(
        _ frame: consuming EnqueuedFrame, serial: UInt64, as composed: PreparedScene?, mark: OverlayMark, isShort: Bool = false
    ) -> PreparedScene? {
        guard let older = screen.endRepaint(frame, serial: serial, composed: composed, mark: mark, isShort: isShort) else { return nil }
        release(older)
        return composed
    }

    /// Leaves a frame of `generation` out.
    mutating func drop(_ frame: consuming EnqueuedFrame, generation: UInt64) {
        leftOut.append(frame.place, generation)
        release(frame)
    }

    /// Leaves out the next ready frame; returns its place, and its buffer to be discarded.
    mutating func dropReady() -> (place: FramePlace, composed: PreparedScene?)? {
        guard let frame = ready.popFirst() else { return nil }
        let dropped = (place: frame.enqueued.place, composed: frame.composed)
        drop(frame.enqueued, generation: generation)
        return dropped
    }

    /// Puts the next ready frame on the screen; returns its place, and the buffer to be presented, nil where there is no display.
    mutating func showReady() -> (place: FramePlace, composed: PreparedScene?)? {
        guard let frame = ready.popFirst() else { return nil }
        let shown = (place: frame.enqueued.place, composed: frame.composed)
        if shown.place.playthrough != nil { seek.frameShown() }
        scrub.shown(shown.place.playthrough?.position.item)
        let mark = frame.mark
        if let before = screen.show(frame.enqueued, mark: mark) { release(before) }
        return shown
    }

    /// The display has changed: what was composed is void, and what is on the screen is to be composed again where there is a display.
    /// Returns what is to be discarded.
    mutating func displayChanged(isThere: Bool) -> [PreparedScene] {
        var void: [PreparedScene] = []
        if let frame = screen.dropWaiting() { void.append(frame) }
        for index in 0..<ready.count {
            if let frame = ready[index].composed.take() { void.append(frame) }
        }
        hasDisplay = isThere
        buffers.cameBack()
        screen.setRepaint(isThere)
        overlay.displayChanged()
        return void
    }

    /// The output was too busy to take the pending commit: of a frame, which is kept to be presented next, or of the overlay alone.
    mutating func wasBusy(with frame: PreparedScene?) {
        pending = nil
        if let frame { screen.keep(frame) } else { overlay.wasBusy() }
    }

    /// Leaves a frame to the feeder to be freed.
    mutating func release(_ frame: consuming EnqueuedFrame) {
        if frame.isPooled { releasedFromPool = true }
        releasedBytes += frame.byteCount
        released.append(frame)
    }

    /// Whether there are frames to free.
    var hasReleased: Bool { !released.isEmpty }

    mutating func takeReleased() -> EnqueuedFrame? {
        if released.count <= 1 { releasedFromPool = false }
        guard let frame = released.popFirst() else { return nil }
        releasedBytes -= frame.byteCount
        return frame
    }

    /// A command of an input event at `time` has begun `generation`, or will with what waits; nil where nobody is to know.
    mutating func noteInput(at time: HostTime?, shownBy generation: UInt64) {
        moves.asked(shownBy: generation)
        if let time { inputLatency.moved(at: time, shownBy: generation) }
    }

    /// A command of an input event at `time` has paused or gone on.
    mutating func noteInput(at time: HostTime?) {
        // A still goes on standing.
        if let time, playback.wantsPlay, screen.place?.cadence != nil {
            inputLatency.played(at: time)
        } else {
            inputLatency.paused()
        }
    }

    /// A frame of `generation` has been committed and has reached the screen at `time`; nil where no display shows it.
    mutating func countInputLatency(of generation: UInt64, at time: HostTime?) {
        moves.shown(generation, isSettled: generation != self.generation || !seek.hasFollowUp)
        inputLatency.shown(generation, at: time, into: &statistics.inputLatency)
    }

    // MARK: Readers

    /// The feeder reads from these.
    mutating func setReadings(_ readings: [Reading]) {
        self.readings = readings
        if isStopping { cancelReadings() }
    }

    /// Ends the waiting of the readers, for good; but of that of `item`.
    private func cancelReadings(otherThan item: QueueItem.ID? = nil) {
        for reading in readings where item == nil || reading.item != item { reading.interruption.cancel() }
    }

    /// The program ends.
    mutating func stop() {
        isStopping = true
        cancelReadings()
    }

    // MARK: Moving

    /// Seeks within an item. Returns the buffers to give back where a generation has begun, nil where the seek waits.
    mutating func request(_ request: SeekRequest) -> [PreparedScene]? { carryOut(seek.request(request)) }

    /// Goes to another item, or to the beginning of one. Returns the buffers to give back.
    mutating func skip(to request: SeekRequest) -> [PreparedScene] { carryOut(seek.skip(to: request)) ?? [] }

    enum FollowUp {
        case none
        case dropped
        /// A generation has begun; these buffers are to be given back.
        case begun([PreparedScene])
    }

    /// Leaves what is on the screen for the bare background: the list is empty. Returns the buffers to give back.
    mutating func clear() -> [PreparedScene] {
        seek.clear()
        return begin(stayingIn: nil)
    }

    /// Whether a generation has begun since `generation` that the feeder goes to by itself.
    func isCleared(since generation: UInt64) -> Bool { generation != self.generation && seek.pending == nil }

    /// Begins the seek that has waited for the first frame of the generation, which is on the screen now.
    mutating func followUp() -> FollowUp {
        switch seek.followUp(in: screen.place?.playthrough?.position.item, at: screen.place?.itemTime ?? .zero) {
        case .none: return .none
        case .drop:
            inputLatency.dropped(after: generation)
            moves.drop()
            return .dropped
        case .begin(let request): return .begun(begin(request))
        }
    }

    private mutating func carryOut(_ action: SeekState.Action) -> [PreparedScene]? {
        if case .begin(let request) = action { begin(request) } else { nil }
    }

    /// Begins a new generation: drops what is queued and returns the buffers to give back. A seek within the item that is being read goes
    /// on with its reader.
    private mutating func begin(_ request: SeekRequest) -> [PreparedScene] {
        begin(stayingIn: request.time == nil ? nil : request.position.item)
    }

    private mutating func begin(stayingIn item: QueueItem.ID?) -> [PreparedScene] {
        cancelReadings(otherThan: item)
        generation += 1
        playback.began()
        overdue = nil
        while let frame = frames.popFirst() { release(frame) }
        var returned: [PreparedScene] = []
        while let frame = ready.popFirst() {
            if let composed = frame.composed { returned.append(composed) }
            release(frame.enqueued)
        }
        return returned
    }

    // MARK: How it is played

    /// Fits pictures of items another way from now on; those that are ready and the one on the screen are prepared again.
    mutating func refit(_ changed: [QueueItem.ID: VideoGravity], forgotten: [QueueItem.ID]) {
        for id in forgotten where gravities[id] != nil { gravities[id] = nil }
        if changed.isEmpty { return }
        gravities.merge(changed) { $1 }
        overlay.refit()
    }

    /// Sets the speed, clamped to 0.5…2.
    mutating func setRate(_ rate: Double) { self.rate = min(max(rate.isFinite ? rate : 1, 0.5), 2) }

    // MARK: What is played, and what is known of it

    /// Takes over `list`, where the present one is still the one it was made from (`revision`), and gives that back to be freed.
    /// `refitted` are the items whose pictures are to be fitted another way.
    mutating func exchange(
        _ list: inout Playlist, madeFrom revision: Int, forgotten: [QueueItem.ID], refitted: [QueueItem.ID: VideoGravity] = [:]
    ) -> Bool {
        guard cursor.list.revision == revision else { return false }
        refit(refitted, forgotten: forgotten)
        let wasEmpty = cursor.list.isEmpty
        swap(&cursor.list, &list)
        for id in forgotten { (statistics.items[id], records[id]) = (nil, nil) }
        // The first list there is begins with a move to its first item.
        if wasEmpty, screen.place?.playthrough == nil, seek.underWay == nil, let first = cursor.first {
            seek.expect(SeekRequest(position: first))
        }
        return true
    }

    /// Takes over what is known of an item; true where it is another status than before.
    mutating func setRecord(_ record: ItemFacts.Record, of item: QueueItem.ID) -> Bool {
        guard cursor.list[item] != nil else { return false }
        let before = records.updateValue(record, forKey: item)
        return before?.status != record.status
    }

    /// An item could not be opened or played; true where that is news. What is known of its file stays.
    mutating func setFailed(_ item: QueueItem.ID, reason: String) -> Bool {
        cursor.list.interludeIsOver(item)
        var record = records[item] ?? .init()
        record.status = .failed(reason: reason)
        return setRecord(record, of: item)
    }

    /// Where the playhead goes on from a position whose item could not be opened or played: to the next that is not known for that; the position
    /// itself where there is none.
    func onward(from position: PlaylistCursor.Position) -> PlaylistCursor.Position {
        func hasFailed(_ item: QueueItem.ID) -> Bool { if case .failed? = records[item]?.status { true } else { false } }
        var next = position
        for _ in 0...cursor.list.items.count {
            if !hasFailed(next.item) { return next }
            guard let following = cursor.nextItem(after: next) else { return position }
            next = following
        }
        return position
    }

    /// What of a playthrough is there at `now` without waiting for its source; nil where that is not known.
    func loaded(of playthrough: Playthrough, at now: HostTime) -> LoadedMedia? {
        // Of one that is read no longer, because its end has been, all is.
        if playthrough.isWhole || loading.serial > playthrough.serial && loading.isSeam {
            return playthrough.itemEnd.map { LoadedMedia(until: $0, isWhole: true) }
        }
        guard loading.serial == playthrough.serial, var loaded = loading.source?.loaded(at: now) else { return nil }
        guard let end = playthrough.itemEnd else { return loaded }
        loaded.isWhole = loaded.isWhole || loaded.until >= end
        if loaded.isWhole { loaded.until = end }
        return loaded
    }

    /// Makes an item of a source that is to be played between two of the list, at the item `present`.
    mutating func addInterlude(_ source: String, at present: QueueItem.ID?) -> QueueItem.ID {
        var entry = PlaylistItem(source: source)
        if let listed = cursor.list.items.first(where: { $0.entry.path == Path(source) })?.entry {
            entry = listed
        } else if let present {
            entry.gravity = cursor.list[present]?.gravity ?? entry.gravity
            entry.deinterlace = cursor.list[present]?.deinterlace ?? entry.deinterlace
            // Not how the present one is fetched: what its server may be told is no business of another's.
            entry.stream = cursor.rules.stream
        }
        return addInterlude(entry, at: present)
    }

    /// The same of an item; `isDue` where it is to be played when the present one has ended.
    mutating func addInterlude(_ entry: PlaylistItem, at present: QueueItem.ID?, isDue: Bool = false) -> QueueItem.ID {
        var entry = entry
        (entry.repeatCount, entry.waitsForTap) = (1, false)
        let (id, forgotten) =
            isDue ? cursor.list.enqueueInterlude(entry, at: present) : cursor.list.addInterlude(entry, at: present)
        for id in forgotten { (statistics.items[id], records[id]) = (nil, nil) }
        return id
    }
}

extension Waiters {
    /// The threads that wait on the pipeline.
    static let feeder = Waiters(group: 0), compositor = Waiters(group: 1)
}

/// How loud the sound is, as a viewer has set it.
struct Loudness: Hashable, Sendable {
    /// 0…1 of full scale; what is not a number changes nothing.
    var volume: Double {
        didSet { volume = volume.isFinite ? min(max(volume, 0), 1) : oldValue }
    }
    var isMuted: Bool
    /// What an interruption leaves of the amplitude.
    var interruptionGain = 1.0
    /// What another player, which this one belongs to, has it be (``PlaybackEngine/setMasterGain(_:over:)``).
    var masterGain = 1.0

    init(volume: Double = 1, isMuted: Bool = false) {
        self.volume = volume.isFinite ? min(max(volume, 0), 1) : 0
        self.isMuted = isMuted
    }

    /// Amplitude as a factor.
    var gain: Double { isMuted ? 0 : AudioQueue.gain(ofVolume: volume) * interruptionGain * masterGain }
}
