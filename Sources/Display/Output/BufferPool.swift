import KioskPlayback

/// Who has which scan-out buffer. A pure value; ``DisplayOutput`` keeps it behind its lock.
///
///     spare ──take──> preparing ──finish──> prepared ──flip──> pending ──flipped──> onScreen ──(next flip)──> spare
///                         └──────<─────────────┴── discard                          └──assumed──> leaving ──(next flip)──> spare
///
/// A flip whose end nobody told of is assumed to have happened, but may not have yet: the buffer before it is *leaving*, and not to be
/// painted into until the kernel takes the next flip, which it does when it is done with the one before.
///
/// Every change of screen begins a new generation: all buffers are then new ones, and whatever comes back under an older
/// generation has nothing left to give back.
struct BufferPool {
    enum Use: Equatable { case spare, preparing, prepared, pending, onScreen, leaving }

    private(set) var generation: UInt64 = 0
    private(set) var uses: [Use] = []
    /// Readers (snapshots) of a buffer; it does not become spare to a painter while it has any.
    private var readers: [Int] = []
    /// A flip is under way that leaves the buffer on the screen there.
    private var isRepeating = false

    /// Begins the next generation with `count` buffers, the first of which is on the screen; 0 when there is no screen.
    mutating func renew(count: Int) {
        generation += 1
        uses = (0..<count).map { $0 == 0 ? .onScreen : .spare }
        readers = Array(repeating: 0, count: count)
        isRepeating = false
    }

    /// A spare buffer to paint into.
    mutating func take() -> Int? {
        guard let index = uses.indices.first(where: { uses[$0] == .spare && readers[$0] == 0 }) else { return nil }
        uses[index] = .preparing
        return index
    }

    /// Whether a buffer is neither shown nor to be, and nobody reads it.
    func isSpare(_ buffer: Int) -> Bool { uses[buffer] == .spare && readers[buffer] == 0 }

    /// The buffer that was taken is prepared.
    mutating func finish(_ buffer: Int, generation: UInt64) {
        if generation == self.generation, uses[buffer] == .preparing { uses[buffer] = .prepared }
    }

    /// Whether `prepared` can be flipped to; false for one of an older generation.
    func isCurrent(_ prepared: PreparedScene) -> Bool {
        prepared.generation == generation && uses.indices.contains(prepared.buffer) && uses[prepared.buffer] == .prepared
    }

    /// Whether a flip is under way.
    var hasPending: Bool { isRepeating || uses.contains(.pending) }

    /// The buffer on the screen; nil where there is no screen.
    var onScreen: Int? { uses.firstIndex(of: .onScreen) }

    /// A flip is queued that shows the buffer on the screen once more: something else changes with it.
    mutating func repeatFlip() {
        precondition(!hasPending)
        for index in uses.indices where uses[index] == .leaving { uses[index] = .spare }
        isRepeating = true
    }

    /// The flip to `buffer` is queued.
    mutating func flip(to buffer: Int) {
        precondition(uses[buffer] == .prepared && !hasPending)
        for index in uses.indices where uses[index] == .leaving { uses[index] = .spare }
        uses[buffer] = .pending
    }

    /// The pending flip has happened: the buffer that was on the screen is spare. `isAssumed`: nobody said so, and it may still be leaving.
    mutating func flipped(isAssumed: Bool = false) {
        isRepeating = false
        guard let pending = uses.firstIndex(of: .pending) else { return }
        for index in uses.indices where uses[index] == .onScreen { uses[index] = isAssumed ? .leaving : .spare }
        uses[pending] = .onScreen
    }

    /// A scene that is not committed comes back.
    mutating func discard(_ prepared: PreparedScene) {
        if isCurrent(prepared) { uses[prepared.buffer] = .spare }
    }

    /// Who prepared scenes, and has not committed them, has ended: they come back, and so does what it was preparing.
    mutating func reclaim() {
        for index in uses.indices where uses[index] == .prepared || uses[index] == .preparing { uses[index] = .spare }
    }

    /// The buffer on the screen, not painted into until ``endReading(_:generation:)``.
    mutating func beginReading() -> Int? {
        guard let index = onScreen else { return nil }
        readers[index] += 1
        return index
    }

    /// Ends what ``beginReading()`` began. Returns whether the buffer is spare from now on, which no flip will tell.
    mutating func endReading(_ buffer: Int, generation: UInt64) -> Bool {
        guard generation == self.generation else { return false }
        readers[buffer] -= 1
        return isSpare(buffer)
    }
}
