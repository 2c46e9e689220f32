import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

struct BufferPoolTests {
    private func pool() -> BufferPool {
        var pool = BufferPool()
        pool.renew(count: 3)
        return pool
    }

    private func frame(_ buffer: Int, _ pool: BufferPool) -> PreparedScene { PreparedScene(buffer: buffer, generation: pool.generation) }

    @Test func twoCanBePreparedAhead() {
        var pool = pool()
        let (a, b) = (pool.take(), pool.take())
        #expect(a != nil && b != nil && a != b)
        #expect(pool.take() == nil)
    }

    @Test func aFlipFreesTheBufferBefore() {
        var pool = pool()
        let first = pool.take()!
        pool.finish(first, generation: pool.generation)
        _ = pool.take()
        #expect(pool.isCurrent(frame(first, pool)))
        pool.flip(to: first)
        #expect(pool.hasPending && pool.take() == nil)
        pool.flipped()
        #expect(!pool.hasPending && pool.take() == 0)
        #expect(pool.uses[first] == .onScreen)
    }

    /// An ended player leaves no prepared buffer behind. The buffers on the screen and in a pending flip stay.
    @Test func whatWasPreparedComesBack() {
        var pool = pool()
        pool.finish(pool.take()!, generation: pool.generation)
        pool.flip(to: 1)
        _ = pool.take()
        pool.reclaim()
        #expect(pool.uses == [.onScreen, .pending, .spare])
        pool.flipped()
        pool.finish(pool.take()!, generation: pool.generation)
        pool.reclaim()
        #expect(pool.uses.filter { $0 == .spare }.count == 2 && pool.uses[1] == .onScreen)
    }

    /// Seen on a slow machine: the next picture was drawn into the buffer that was still on the screen.
    @Test func aFlipNobodyToldOfFreesItsPredecessorWithTheNextFlip() {
        var pool = pool()
        for _ in 0..<2 { pool.finish(pool.take()!, generation: pool.generation) }
        pool.flip(to: 1)
        pool.flipped(isAssumed: true)
        #expect(pool.uses == [.leaving, .onScreen, .prepared] && pool.take() == nil)
        pool.flip(to: 2)
        #expect(pool.take() == 0)
        pool.flipped()
        #expect(pool.uses == [.preparing, .spare, .onScreen])
    }

    /// The kernel was too busy.
    @Test func whatIsRefusedIsPreparedStill() {
        var pool = pool()
        pool.finish(pool.take()!, generation: pool.generation)
        _ = pool.begin(1, under: .none, painting: 0)
        #expect(pool.hasPending && pool.uses == [.onScreen, .pending, .spare] && !pool.isCurrent(frame(1, pool)))
        pool.reclaim()
        pool.refused()
        #expect(!pool.hasPending && pool.uses == [.onScreen, .prepared, .spare] && pool.isCurrent(frame(1, pool)))
    }

    /// Only the overlay over the picture changes.
    @Test func aFlipMayShowTheSameBufferAgain() {
        var pool = pool()
        pool.finish(pool.take()!, generation: pool.generation)
        pool.repeatFlip()
        #expect(pool.hasPending && pool.onScreen == 0)
        pool.flipped()
        #expect(!pool.hasPending && pool.uses == [.onScreen, .prepared, .spare])
        pool.flip(to: 1)
        pool.flipped(isAssumed: true)
        pool.repeatFlip()
        #expect(pool.uses == [.spare, .onScreen, .spare])
        pool.renew(count: 3)
        #expect(!pool.hasPending)
    }

    @Test func discardGivesBackOnce() {
        var pool = pool()
        let buffer = pool.take()!
        let token = frame(buffer, pool)
        pool.discard(token)
        #expect(pool.uses[buffer] == .preparing)
        pool.finish(buffer, generation: pool.generation)
        pool.discard(token)
        #expect(pool.uses[buffer] == .spare && !pool.isCurrent(token))
        pool.discard(token)
        #expect(pool.uses == [.onScreen, .spare, .spare])
    }

    @Test func olderGenerationsAreVoid() {
        var pool = pool()
        let buffer = pool.take()!
        let token = frame(buffer, pool)
        pool.finish(buffer, generation: token.generation)
        pool.renew(count: 3)
        #expect(!pool.isCurrent(token))
        _ = pool.take()
        pool.finish(buffer, generation: token.generation)
        pool.discard(token)
        #expect(pool.uses == [.onScreen, .preparing, .spare])
        pool.renew(count: 0)
        #expect(pool.take() == nil && !pool.isCurrent(token) && pool.beginReading() == nil)
    }

    @Test func aReaderKeepsItsBuffer() {
        var pool = pool()
        let read = pool.beginReading()!
        let next = pool.take()!
        pool.finish(next, generation: pool.generation)
        pool.flip(to: next)
        pool.flipped()
        #expect(pool.take() == 2 && pool.take() == nil)
        #expect(pool.endReading(read, generation: pool.generation) && pool.take() == read)
    }

    @Test func whatIsOnTheScreenAfterReadingIsNotSpare() {
        var pool = pool()
        let (first, second) = (pool.beginReading()!, pool.beginReading()!)
        let isFreed = (pool.endReading(first, generation: pool.generation), pool.endReading(second, generation: pool.generation + 1))
        #expect(first == second && isFreed == (false, false))
    }
}

extension BufferPool {
    fileprivate var uses: [Use] { (0..<3).map(use) }

    /// Begins a flip that the kernel accepts at once.
    fileprivate mutating func flip(to buffer: Int) {
        _ = begin(buffer, under: .none, painting: 0)
        queued()
    }

    /// Flips to the buffer that is already on the screen.
    fileprivate mutating func repeatFlip() { flip(to: onScreen!) }
}
