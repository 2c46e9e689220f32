import DequeModule
import KioskMedia
import KioskPlatform

/// Decoded frames that wait to be composed, in order. The feeder adds to it while there is room, the compositor takes from it.
///
/// Once it is full there is room again when it has become short (``hasRoom``): so the feeder is woken for several frames at once, instead of
/// for each.
struct FrameQueue: ~Copyable {
    private var frames = UniqueDeque<EnqueuedFrame>()
    /// Bytes of picture memory it keeps alive.
    private(set) var byteCount = 0
    /// Frames in it that hold pictures of a hardware decoder.
    private var pooledCount = 0
    /// Whether it has been full and has not become short since.
    private var isDraining = false
    /// How much earlier than its picture sound is heard. Sound is enqueued beneath pictures only, so that much more of them waits.
    private let soundLead: MediaTime

    init(soundLead: MediaTime = .zero) { self.soundLead = max(soundLead, .zero) }

    /// A fifth of a second of pictures rides out a slow read or an expensive frame.
    static let longest = MediaTime.milliseconds(200)
    /// Less than this is short, and less than this share of the bytes. Two frames more lie ready.
    static let short = MediaTime.milliseconds(120)
    private static let shortBytes = byteLimit * 4 / 5
    /// So many may always wait, however long they stand.
    static let fewest = 4
    /// No more bytes than this wait beyond those: they are the largest part of the memory the player needs. Five pictures of 1080p; two more lie
    /// ready in scan-out buffers, so at 60 a second 0.1 s is decoded ahead.
    static let byteLimit = 14 << 20

    var count: Int { frames.count }
    var isEmpty: Bool { frames.isEmpty }

    /// How much of the timeline it covers.
    var length: MediaTime { frames.isEmpty ? .zero : frames[frames.count - 1].place.end - frames[0].place.start }

    /// Calls `body` with frame `index`, 0 for the next one to be taken.
    func withFrame<Result>(at index: Int, _ body: (borrowing EnqueuedFrame) -> Result) -> Result { body(frames[index]) }

    /// Whether the feeder may add another.
    var hasRoom: Bool { !isDraining && !isFull }

    private var isFull: Bool {
        // A hardware decoder has few pictures, and fails where all are taken.
        pooledCount >= PicturePool.mostQueued
            || beyondLead(count) >= Self.fewest && (length >= Self.longest + soundLead || beyondLead(byteCount) >= Self.byteLimit)
    }

    private var isShort: Bool {
        pooledCount < PicturePool.mostQueued - 1
            && (beyondLead(count) < Self.fewest || length < Self.short + soundLead && beyondLead(byteCount) < Self.shortBytes)
    }

    /// How much of it all is there for longer than ``soundLead``.
    private func beyondLead(_ amount: Int) -> Int {
        if soundLead == .zero { return amount }
        return length > soundLead ? Int((Double(amount) * ((length - soundLead).seconds / length.seconds)).rounded()) : 0
    }

    mutating func append(_ frame: consuming EnqueuedFrame) {
        byteCount += frame.byteCount
        if frame.isPooled { pooledCount += 1 }
        frames.append(frame)
        if isFull { isDraining = true }
    }

    mutating func popFirst() -> EnqueuedFrame? {
        guard let frame = frames.popFirst() else { return nil }
        byteCount -= frame.byteCount
        if frame.isPooled { pooledCount -= 1 }
        if isShort { isDraining = false }
        return frame
    }

    /// Puts back what there was no buffer for.
    mutating func prepend(_ frame: consuming EnqueuedFrame) {
        byteCount += frame.byteCount
        if frame.isPooled { pooledCount += 1 }
        frames.prepend(frame)
    }
}
