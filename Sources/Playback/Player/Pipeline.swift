import DequeModule
import KioskMedia
import KioskPlatform
import KioskVocabulary

/// The state that the engine's threads share, behind one lock.
///
///     feeder ──frames──▶ compositor ──ready──▶ presenter ──screen──▶ released
///      │  └───samples──▶ AudioQueue ──▶ audio thread                    │
///      ▲                                                                │
///      └────────────────────────────────────────────────────────────────┘
///
/// Its parts keep their own rules: whether it plays (``PlaybackState``), the target of a seek (``SeekState``), the frames to be composed
/// (``FrameQueue``), the frame on the screen (``ScreenState``). The methods here concern several of them.
///
/// Frames that are no longer needed are *released*, and the feeder frees them. Freeing a frame can take as long as decoding one: libavcodec
/// keeps the memory of frames in a pool that stays locked while it grows. Memory outside a pool goes back to the system page by page. No
/// thread may wait for that with the lock held, least of all the presenter. (On the bed, at 1080p: 13 ms, and the next frame was committed
/// a vblank late.)
///
/// The feeder waits for room; the compositor waits for a frame and a spare buffer. Both wait on this monitor, each as its own group. Events
/// of every frame wake only a thread with work (``feederHasWork``, ``compositorHasWork``); all other changes wake both. The presenter waits
/// in the video output, for flips and deadlines, and is woken through it.
struct Pipeline: ~Copyable {
    private(set) var isStopping = false
    /// The playlist and its order. The feeder takes over a new list as soon as it can.
    var cursor: PlaylistCursor
    var playback = PlaybackState() {
        didSet { if playback.isPlaying != oldValue.isPlaying { sound?.isRunning = playback.isPlaying } }
    }
    /// The sound queue, which runs only while the clock runs.
    weak var sound: AudioQueue?
    var seek = SeekState.none
    var scrub = ScrubState()
    /// Grows with every seek and skip that begins. Frames of an older generation are dropped on arrival.
    private(set) var generation: UInt64 = 0
    private(set) var rate = 1.0
    /// The pace of a live stream; nil for anything else.
    var livePace: LivePace? { didSet { statistics.streamLatency = livePace?.latency } }
    var loudness: Loudness
    /// Called when the loudness changes (``PlaybackEngine/followGain(_:)``).
    var gainFollower: (@Sendable (_ gain: Double, _ time: MediaTime?) -> Void)?
    /// The programs that interrupt the sound.
    var interruption: InterruptionState
    /// The gravity of each item whose gravity has changed since it joined the list.
    private(set) var gravities: [QueueItem.ID: VideoGravity] = [:]
    /// Facts about each item that has been opened, or that could not be.
    var records: [QueueItem.ID: ItemFacts.Record] = [:]
    /// How much of the source of the current playthrough is loaded; nil if the whole source is there.
    var loading: (serial: UInt64, isSeam: Bool, source: Loading?) = (0, false, nil)

    /// A reader that the feeder reads from, and the item within which a seek keeps it; nil while it fades out.
    struct Reading {
        var interruption: Interruption
        var item: QueueItem.ID?
    }

    /// The readers of the current playthrough, and of the one that fades out. ``stop()`` ends their waits for good; so does a move to
    /// another item.
    private(set) var readings: [Reading] = []

    var frames: FrameQueue
    /// Whether the compositor holds a frame, which is then in neither queue.
    private(set) var isComposing = false
    var ready = UniqueDeque<PreparedFrame>()
    var screen = ScreenState()
    /// The overlay over every scene, and the state of its display (PipelineOverlay.swift).
    var overlay = OverlayState()
    var drawn = Overlay.Order.allCases.map { _ in Overlay() }
    var subtitles = SubtitleTimeline()
    /// How many pixels subtitles stay above the bottom of the screen, where controls are.
    var subtitleInset = 0
    /// Whether new subtitles are set and no thread has been woken for them yet.
    var hasNewSubtitles = false
    /// Maps the timeline to vblanks, from the presenter's last decision; nil while nothing is due.
    var pacing: Pacing?
    /// The time of the last vblank that showed a commit.
    var lastFlip: HostTime?
    /// The commit that waits for its flip, or is about to be made.
    var pending: Presenter.Commit?
    /// The ready frame that is being prepared again.
    var renewing: PreparedScene?
    /// How long it takes to prepare scenes with an overlay in them.
    var composeTime = ComposeTime()
    /// Frames that are no longer needed. The presenter adds to them and must not allocate, so the capacity exceeds the usual count.
    private var released = UniqueDeque<EnqueuedFrame>(minimumCapacity: 32)
    /// Whether any of them are pictures of a hardware decoder.
    private var releasedFromPool = false
    /// Bytes of picture memory they keep alive.
    private var releasedBytes = 0
    var buffers = SpareBuffers()
    /// Whether there is a display to prepare scenes for, as far as the compositor knows. Without one, no scene is prepared again for an
    /// overlay: it would stay stale.
    var hasDisplay = true
    /// Frames that end before this timeline instant are dropped, because frames come too late; nil while they are on time.
    var overdue: MediaTime?
    /// Whether the presenter waits without a deadline, and must be woken when there is something to decide.
    var presenterIsIdle = false

    var statistics = PlayerStatistics()
    var leftOut = LeftOutFrames()
    var inputLatency = InputLatency()
    var moves = MoveRecord()
    /// Whether observers want measurements (``PlaybackEngine/measure()``).
    var isMeasured = false

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
        // The start counts as a move to the first item. So a viewer can skip or seek before that item is open.
        if let first = cursor.first { seek.expect(SeekRequest(position: first)) }
    }

    // MARK: Waking

    /// Whether to wake the feeder when frames have moved on and nothing else has happened: there is room for several, or many wait to be
    /// freed. Pictures of a hardware decoder are freed at once, because it has few.
    var feederHasWork: Bool {
        frames.hasRoom || released.count > Self.mostReleased || releasedBytes > Self.mostReleasedBytes || releasedFromPool
    }

    var compositorHasWork: Bool { mayCompose || mayRepaint || overlay.isInUse }

    /// The threads that have work after a flip.
    var waitersWithWork: Waiters {
        var waiters = Waiters()
        if feederHasWork { waiters.insert(.feeder) }
        if compositorHasWork { waiters.insert(.compositor) }
        return waiters
    }

    /// The most frames that may wait to be freed until the feeder has other work.
    private static let mostReleased = 4
    /// The most bytes of such frames: one frame of 1080p, less than one of 2160p.
    private static let mostReleasedBytes = 6 << 20

    // MARK: Frames

    /// The number of decoded frames still to be shown.
    var framesAhead: Int { frames.count + ready.count + (isComposing ? 1 : 0) }

    /// Whether the frame on the screen has to be composed again, and can be.
    private var mayRepaint: Bool { buffers.mayBeThere && screen.canRepaint }

    /// Whether another frame has to be composed, and can be.
    var mayCompose: Bool { buffers.mayBeThere && ready.count < Self.readyLimit && !frames.isEmpty }

    /// Takes the next frame to compose; nil if there is none, or no spare buffer.
    mutating func takeFrameToCompose() -> EnqueuedFrame? {
        guard mayCompose, let frame = frames.popFirst() else { return nil }
        isComposing = true
        overlay.frameTaken()
        return frame
    }

    /// Takes the frame on the screen if it has to be composed again and a buffer may be spare.
    mutating func takeFrameToRepaint() -> EnqueuedFrame? { mayRepaint ? screen.beginRepaint() : nil }

    /// Takes the next frame of `generation`, in place of the one in hand.
    mutating func takeSuccessor(of generation: UInt64) -> EnqueuedFrame? { generation == self.generation ? frames.popFirst() : nil }

    /// Makes the frame taken last ready, composed under `generation` with `mark` over it; `composed` is nil without a display. Returns the
    /// scene to discard.
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

    /// Puts back the frame taken last, for which there was no buffer; `returns` is the value of ``SpareBuffers/returns`` at that time.
    mutating func couldNotCompose(_ frame: consuming EnqueuedFrame, generation: UInt64, asOf returns: UInt64) {
        isComposing = false
        buffers.wereNotThere(asOf: returns)
        if generation == self.generation { frames.prepend(frame) } else { release(frame) }
    }

    /// Takes back the frame to be repainted as number `serial`. Returns the scene to discard.
    mutating func repainted(
        _ frame: consuming EnqueuedFrame, serial: UInt64, as composed: PreparedScene?, mark: OverlayMark, isShort: Bool = false
    ) -> PreparedScene? {
        guard let older = screen.endRepaint(frame, serial: serial, composed: composed, mark: mark, isShort: isShort) else { return nil }
        release(older)
        return composed
    }

    /// Drops a frame of `generation`.
    mutating func drop(_ frame: consuming EnqueuedFrame, generation: UInt64) {
        leftOut.append(frame.place, generation)
        release(frame)
    }

    /// Drops the next ready frame. Returns its place, and its scene to discard.
    mutating func dropReady() -> (place: FramePlace, composed: PreparedScene?)? {
        guard let frame = ready.popFirst() else { return nil }
        let dropped = (place: frame.enqueued.place, composed: frame.composed)
        drop(frame.enqueued, generation: generation)
        return dropped
    }

    /// Puts the next ready frame on the screen. Returns its place, and the scene to present, which is nil without a display.
    mutating func showReady() -> (place: FramePlace, composed: PreparedScene?)? {
        guard let frame = ready.popFirst() else { return nil }
        let shown = (place: frame.enqueued.place, composed: frame.composed)
        if shown.place.playthrough != nil { seek.frameShown() }
        scrub.shown(shown.place.playthrough?.position.item)
        let mark = frame.mark
        if let before = screen.show(frame.enqueued, mark: mark) { release(before) }
        return shown
    }

    /// Voids all composed scenes, because the display has changed. If there is a display, the frame on the screen is to be composed again.
    /// Returns the scenes to discard.
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

    /// Takes back the pending commit, because the output was too busy. Its frame is kept to be presented next; nil is the overlay alone.
    mutating func wasBusy(with frame: PreparedScene?) {
        pending = nil
        if let frame { screen.keep(frame) } else { overlay.wasBusy() }
    }

    /// Queues a frame for the feeder to free.
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

    /// Notes a command that has begun `generation`, or will once the seek before it is shown. `time` is that of its input event; nil is not
    /// counted.
    mutating func noteInput(at time: HostTime?, shownBy generation: UInt64) {
        moves.asked(shownBy: generation)
        if let time { inputLatency.moved(at: time, shownBy: generation) }
    }

    /// Notes a command of an input event at `time` that has paused or resumed playback.
    mutating func noteInput(at time: HostTime?) {
        // A still does not move, playing or not.
        if let time, playback.wantsPlay, screen.place?.cadence != nil {
            inputLatency.played(at: time)
        } else {
            inputLatency.paused()
        }
    }

    /// Counts a frame of `generation` that was committed and reached the screen at `time`; nil if no display shows it.
    mutating func countInputLatency(of generation: UInt64, at time: HostTime?) {
        moves.shown(generation, isSettled: generation != self.generation || !seek.hasFollowUp)
        inputLatency.shown(generation, at: time, into: &statistics.inputLatency)
    }

    // MARK: Readers

    /// Sets the readers that the feeder reads from.
    mutating func setReadings(_ readings: [Reading]) {
        self.readings = readings
        if isStopping { cancelReadings() }
    }

    /// Ends the waits of the readers for good, except those of `item`.
    private func cancelReadings(otherThan item: QueueItem.ID? = nil) {
        for reading in readings where item == nil || reading.item != item { reading.interruption.cancel() }
    }

    /// Ends the threads, and the waits of the readers.
    mutating func stop() {
        isStopping = true
        cancelReadings()
    }

    // MARK: Moving

    /// Seeks within an item. Returns the buffers to give back if a generation has begun; nil if the seek waits.
    mutating func request(_ request: SeekRequest) -> [PreparedScene]? { carryOut(seek.request(request)) }

    /// Goes to another item, or to the beginning of one. Returns the buffers to give back.
    mutating func skip(to request: SeekRequest) -> [PreparedScene] { carryOut(seek.skip(to: request)) ?? [] }

    enum FollowUp {
        case none
        case dropped
        /// A generation has begun; give these buffers back.
        case begun([PreparedScene])
    }

    /// Leaves the frame on the screen for the bare background, because the list is empty. Returns the buffers to give back.
    mutating func clear() -> [PreparedScene] {
        seek.clear()
        return begin(stayingIn: nil)
    }

    /// Whether a generation has begun since `generation` without a seek to carry out.
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

    /// Begins a new generation: drops the queued frames and returns the buffers to give back. A seek within the item that the feeder reads
    /// keeps the reader.
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

    // MARK: Gravity and rate

    /// Changes the gravity of items from now on. Ready frames and the one on the screen are prepared again.
    mutating func refit(_ changed: [QueueItem.ID: VideoGravity], forgotten: [QueueItem.ID]) {
        for id in forgotten where gravities[id] != nil { gravities[id] = nil }
        if changed.isEmpty { return }
        gravities.merge(changed) { $1 }
        overlay.refit()
    }

    /// Sets the speed, clamped to 0.5…2.
    mutating func setRate(_ rate: Double) { self.rate = min(max(rate.isFinite ? rate : 1, 0.5), 2) }

    // MARK: The playlist and facts about its items

    /// Takes over `list` if the present list is still its origin (`revision`), and hands the present list back to be freed. `refitted` has
    /// the items with a new gravity.
    mutating func exchange(
        _ list: inout Playlist, madeFrom revision: Int, forgotten: [QueueItem.ID], refitted: [QueueItem.ID: VideoGravity] = [:]
    ) -> Bool {
        guard cursor.list.revision == revision else { return false }
        refit(refitted, forgotten: forgotten)
        let wasEmpty = cursor.list.isEmpty
        swap(&cursor.list, &list)
        for id in forgotten { (statistics.items[id], records[id]) = (nil, nil) }
        // A list that replaces an empty one begins with a move to its first item.
        if wasEmpty, screen.place?.playthrough == nil, seek.underWay == nil, let first = cursor.first {
            seek.expect(SeekRequest(position: first))
        }
        return true
    }

    /// Stores the facts about an item. Returns true if its status has changed.
    mutating func setRecord(_ record: ItemFacts.Record, of item: QueueItem.ID) -> Bool {
        guard cursor.list[item] != nil else { return false }
        let before = records.updateValue(record, forKey: item)
        return before?.status != record.status
    }

    /// Notes that an item could not be opened or played. Returns true if that is news. The facts about its file stay.
    mutating func setFailed(_ item: QueueItem.ID, reason: String) -> Bool {
        cursor.list.interludeIsOver(item)
        var record = records[item] ?? .init()
        record.status = .failed(reason: reason)
        return setRecord(record, of: item)
    }

    /// Returns where the playhead goes on from a position whose item could not be opened or played: the next item that is not known to have
    /// failed. Returns the position itself if there is none.
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

    /// Returns how much of a playthrough is loaded at `now`; nil if that is not known.
    func loaded(of playthrough: Playthrough, at now: HostTime) -> LoadedMedia? {
        // A playthrough that has been read to its end is there as a whole.
        if playthrough.isWhole || loading.serial > playthrough.serial && loading.isSeam {
            return playthrough.itemEnd.map { LoadedMedia(until: $0, isWhole: true) }
        }
        guard loading.serial == playthrough.serial, var loaded = loading.source?.loaded(at: now) else { return nil }
        guard let end = playthrough.itemEnd else { return loaded }
        loaded.isWhole = loaded.isWhole || loaded.until >= end
        if loaded.isWhole { loaded.until = end }
        return loaded
    }

    /// Adds an interlude for a source, an item that plays between two of the list, at the item `present`. Returns its identity.
    mutating func addInterlude(_ source: String, at present: QueueItem.ID?) -> QueueItem.ID {
        var entry = PlaylistItem(source: source)
        if let listed = cursor.list.items.first(where: { $0.entry.path == Path(source) })?.entry {
            entry = listed
        } else if let present {
            entry.gravity = cursor.list[present]?.gravity ?? entry.gravity
            entry.deinterlace = cursor.list[present]?.deinterlace ?? entry.deinterlace
            // Not the stream settings of the present item: its headers are meant for its own server only.
            entry.stream = cursor.rules.stream
        }
        return addInterlude(entry, at: present)
    }

    /// Adds an interlude for an item. If `isDue`, it plays when the present item has ended.
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

/// The loudness: the viewer's volume, and the gains of interruptions and of an owning player.
struct Loudness: Hashable, Sendable {
    /// 0…1 of full scale; a value that is not finite changes nothing.
    var volume: Double {
        didSet { volume = volume.isFinite ? min(max(volume, 0), 1) : oldValue }
    }
    var isMuted: Bool
    /// The factor by which an interruption reduces the amplitude.
    var interruptionGain = 1.0
    /// The factor that an owning player sets (``PlaybackEngine/setMasterGain(_:over:)``).
    var masterGain = 1.0

    init(volume: Double = 1, isMuted: Bool = false) {
        self.volume = volume.isFinite ? min(max(volume, 0), 1) : 0
        self.isMuted = isMuted
    }

    /// Amplitude as a factor.
    var gain: Double { isMuted ? 0 : AudioQueue.gain(ofVolume: volume) * interruptionGain * masterGain }
}
