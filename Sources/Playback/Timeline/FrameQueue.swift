import DequeModule
import KioskMedia
import KioskPlatform

/// Decoded frames that wait to be composed, in order. The feeder appends frames while there is room; the compositor takes them.
///
/// Once the queue is full, it has room again only after it has become short (``hasRoom``). So the feeder wakes up for several frames at
/// once instead of for each.
struct FrameQueue: ~Copyable {
    private var frames = UniqueDeque<EnqueuedFrame>()
    /// The number of bytes of picture memory that the queue keeps alive.
    private(set) var byteCount = 0
    /// The number of frames that hold pictures of a hardware decoder.
    private var pooledCount = 0
    /// Whether the queue has been full and has not become short since.
    private var isDraining = false
    /// The time by which sound is heard earlier than its picture. Sound is enqueued only beneath pictures, so that much more of them waits.
    private let soundLead: MediaTime

    init(soundLead: MediaTime = .zero) { self.soundLead = max(soundLead, .zero) }

    /// A fifth of a second of pictures rides out a slow read or an expensive frame.
    static let longest = MediaTime.milliseconds(200)
    /// The length below which the queue is short, if its bytes are also below their share. Two more frames lie ready.
    static let short = MediaTime.milliseconds(120)
    private static let shortBytes = byteLimit * 4 / 5
    /// The number of frames that may always wait, however long they stand.
    static let fewest = 4
    /// The limit of bytes beyond those frames: they are the largest part of the player's memory. It is five pictures of 1080p. Two more lie
    /// ready in scan-out buffers, so at 60 a second 0.1 s is decoded ahead.
    static let byteLimit = 14 << 20

    var count: Int { frames.count }
    var isEmpty: Bool { frames.isEmpty }

    /// The length of timeline that the queue covers.
    var length: MediaTime { frames.isEmpty ? .zero : frames[frames.count - 1].place.end - frames[0].place.start }

    /// Calls `body` with frame `index`, 0 for the next one.
    func withFrame<Result>(at index: Int, _ body: (borrowing EnqueuedFrame) -> Result) -> Result { body(frames[index]) }

    /// Whether the feeder may append another frame.
    var hasRoom: Bool { !isDraining && !isFull }

    private var isFull: Bool {
        // A hardware decoder has few pictures, and fails if all are taken.
        pooledCount >= PicturePool.mostQueued
            || beyondLead(count) >= Self.fewest && (length >= Self.longest + soundLead || beyondLead(byteCount) >= Self.byteLimit)
    }

    private var isShort: Bool {
        pooledCount < PicturePool.mostQueued - 1
            && (beyondLead(count) < Self.fewest || length < Self.short + soundLead && beyondLead(byteCount) < Self.shortBytes)
    }

    /// Returns the share of an amount that lies beyond ``soundLead``.
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

    /// Puts back a frame for which there was no buffer.
    mutating func prepend(_ frame: consuming EnqueuedFrame) {
        byteCount += frame.byteCount
        if frame.isPooled { pooledCount += 1 }
        frames.prepend(frame)
    }
}
