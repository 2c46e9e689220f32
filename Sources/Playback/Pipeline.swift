import DequeModule
import Media
import Platform

/// What the engine's threads share, behind one lock.
///
///     feeder ──frames──▶ compositor ──ready──▶ presenter ──onScreen──▶ spent
///      │  └───samples──▶ AudioQueue ──▶ audio thread                      │
///      ▲                                                                  │
///      └──────────────────────────────────────────────────────────────────┘
///
/// What nobody needs any more is ``spent``, and the feeder frees it. To free a frame can take as long as to decode one: libavcodec keeps the memory of
/// frames in a pool that stays locked while it grows, and what does not come out of a pool goes back to the system page by page. Nobody may
/// wait for that with the lock held, the presenter least of all. (On the bed, at 1080p: 13 ms, and the frame to be committed a vblank late.)
///
/// The feeder waits for room, the compositor for a frame and a spare buffer: both on this monitor. The presenter waits in the video output
/// (for flips and deadlines) and is woken through it.
struct Pipeline: ~Copyable {
    /// A move of the playhead that the feeder has not carried out yet.
    struct Jump: Hashable, Sendable {
        var position: PlaylistCursor.Position
        /// Item time to begin at; nil is the item's configured beginning.
        var time: MediaTime?
        var precision: MediaReader.SeekPrecision
    }

    var isStopping = false
    /// What is played, and in which order. The feeder takes a new list over as soon as it can.
    var cursor: PlaylistCursor
    /// Grows with every jump; what was queued under an older one is dropped at the door.
    var generation: UInt64 = 0
    var jump: Jump?
    /// What a relative seek counts from until the jump's first frame is ready.
    var jumpTarget: Jump?
    /// A seek that came before the first frame of the one under way was shown. It has to wait for that frame, or a key that is held down would
    /// show none at all; while seeks follow each other like that they go to key frames, and ``settlement`` ends them exactly.
    var nextMove: Jump?
    /// The exact seek that follows a seek to a key frame when no other has come.
    var settlement: Jump?

    /// A reader that the feeder reads from, and the item in which a move goes on with it; nil while it fades out.
    struct Reading {
        var interruption: Interruption
        var index: Int?
    }

    /// Those of the present turn, and of the one that fades out: their waiting is ended at the end of the program, and when another item is wanted.
    var readings: [Reading] = []

    var wantsPlay: Bool
    var rate = 1.0
    /// Whether the generation's clock has been set going.
    var isStarted = false
    /// Whether the feeder has laid all there will ever be in this generation (a playlist that does not loop).
    var hasEnded = false
    /// Whether all of that has been on the screen to its end.
    var hasPlayedOut = false

    var frames = UniqueDeque<LaidFrame>()
    var frameBytes = 0
    /// Whether the compositor has a frame in hand, in neither queue.
    var isComposing = false
    var ready = UniqueDeque<ReadyFrame>()
    /// Frames come too late, and those that end before this instant of the timeline are to be left out; nil while they do not.
    var overdue: MediaTime?
    /// The frame that was presented last; nil before the first, and while it is out with the compositor to be painted again.
    var onScreen: LaidFrame?
    /// Its place, which stays known all the while.
    var shown: FramePlace?
    /// Grows with every frame presented.
    var shownSerial: UInt64 = 0
    /// Frames that are no longer needed. The presenter adds to them, so there is room for more than are mostly queued: it shall not allocate.
    private var spent = UniqueDeque<LaidFrame>(minimumCapacity: 32)
    /// The frame on the screen must be composed again (the display changed); its picture may be out with the compositor.
    var needsRepaint = false
    var repainted: PreparedScene?
    var isRepainting = false
    /// No buffer was spare at the last try, and none has come back since.
    var hasNoSpareBuffer = false
    /// How often buffers may have come back: what was found out before the last time no longer counts.
    var buffersReturned: UInt64 = 0
    /// The presenter waits without a deadline and must be woken when there is something to decide.
    var presenterIsIdle = false

    var status = TimeControlStatus.waiting
    var statistics = PlayerStatistics()
    var volume: Double
    var isMuted: Bool

    /// Amplitude as a factor.
    var gain: Double { isMuted ? 0 : AudioQueue.gain(ofVolume: volume) }

    /// Frames the compositor keeps ready beyond the one on the screen: with three buffers, one that is pending and one more.
    static let readyLimit = 2
    /// Decoded pictures that may wait: a fifth of a second of them, which rides out a slow read or an expensive frame, but at least four, and no
    /// more bytes than this beyond those four (they are the largest part of the memory the player needs).
    static let queueTime = MediaTime.milliseconds(200)
    static let fewestFrames = 4
    static let byteLimit = 48 << 20

    init(wantsPlay: Bool, volume: Double, isMuted: Bool, cursor: PlaylistCursor = PlaylistCursor([], loop: .playlist)) {
        self.cursor = cursor
        self.wantsPlay = wantsPlay
        self.volume = volume
        self.isMuted = isMuted
    }

    var hasRoomForFrame: Bool {
        if frames.count < Self.fewestFrames { return true }
        let queued = frames[frames.count - 1].place.end - frames[0].place.start
        return queued < Self.queueTime && frameBytes < Self.byteLimit
    }

    /// Decoded frames that are still to be shown.
    var framesAhead: Int { frames.count + ready.count + (isComposing ? 1 : 0) }

    /// Whether what is on the screen is to be composed again, and can be.
    var mayRepaint: Bool { !hasNoSpareBuffer && needsRepaint && !isRepainting && onScreen != nil }

    /// Whether another frame is to be composed, and can be.
    var mayCompose: Bool { !hasNoSpareBuffer && ready.count < Self.readyLimit && !frames.isEmpty }

    mutating func append(_ frame: consuming LaidFrame) {
        frameBytes += frame.byteCount
        frames.append(frame)
    }

    mutating func popFrame() -> LaidFrame? {
        guard let frame = frames.popFirst() else { return nil }
        frameBytes -= frame.byteCount
        return frame
    }

    mutating func prepend(_ frame: consuming LaidFrame) {
        frameBytes += frame.byteCount
        frames.prepend(frame)
    }

    /// Leaves a frame to the feeder to be freed.
    mutating func discard(_ frame: consuming LaidFrame) { spent.append(frame) }

    /// Whether there are frames to free.
    var hasSpent: Bool { !spent.isEmpty }

    /// One of them, for the feeder.
    mutating func takeSpent() -> LaidFrame? { spent.popFirst() }

    /// What is now on the screen.
    mutating func setOnScreen(_ frame: consuming LaidFrame) {
        shown = frame.place
        if let before = onScreen.take() { discard(before) }
        onScreen = .some(frame)
    }

    /// Counts a frame that was left out.
    mutating func countDropped(_ place: FramePlace) {
        statistics.framesDropped += 1
        if let index = place.turn?.position.index { statistics.items[index, default: .init()].framesDropped += 1 }
    }

    /// A flip has freed a buffer, or one was discarded: the compositor may try again.
    mutating func returnBuffers() {
        buffersReturned += 1
        hasNoSpareBuffer = false
    }

    /// The seek to make once the first frame of the one before is on the screen; taken by the presenter.
    mutating func takeMove() -> Jump? {
        if let move = nextMove {
            (nextMove, settlement) = (nil, nil)
            guard move.precision == .exact, let target = move.time else { return move }
            settlement = move
            var quick = move
            let now = shown?.itemTime ?? .zero
            quick.precision = .keyFrame(after: target > now ? now : nil)
            return quick
        }
        defer { settlement = nil }
        return settlement
    }

    /// Ends the waiting of the readers, for good; but of that of the item `index`.
    func cancelReadings(otherThan index: Int? = nil) {
        for reading in readings where index == nil || reading.index != index { reading.interruption.cancel() }
    }

    /// Begins a new generation at `jump`: drops what is queued and returns the buffers to give back. A move within the item that is being read goes on with its
    /// reader.
    mutating func begin(_ jump: Jump) -> [PreparedScene] {
        cancelReadings(otherThan: jump.time == nil ? nil : jump.position.index)
        self.jump = jump
        jumpTarget = jump
        generation += 1
        while let frame = popFrame() { discard(frame) }
        isStarted = false
        (hasEnded, hasPlayedOut) = (false, false)
        overdue = nil
        var returned: [PreparedScene] = []
        while let frame = ready.popFirst() {
            if let composed = frame.composed { returned.append(composed) }
            discard(frame.intoLaid())
        }
        return returned
    }
}
