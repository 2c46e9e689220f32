import Playback
import Testing

@testable import Display

struct BufferBookTests {
    private func book() -> BufferBook {
        var book = BufferBook()
        book.renew(count: 3)
        return book
    }

    private func frame(_ buffer: Int, _ book: BufferBook) -> PreparedScene { PreparedScene(buffer: buffer, generation: book.generation) }

    @Test func twoCanBeComposedAhead() {
        var book = book()
        let (a, b) = (book.take(), book.take())
        #expect(a != nil && b != nil && a != b)
        #expect(book.take() == nil)
    }

    @Test func aFlipFreesTheBufferBefore() {
        var book = book()
        let first = book.take()!
        book.finish(first, generation: book.generation)
        _ = book.take()
        #expect(book.isCurrent(frame(first, book)))
        book.flip(to: first)
        #expect(book.hasPending && book.take() == nil)
        book.flipped()
        #expect(!book.hasPending && book.take() == 0)
        #expect(book.uses[first] == .onScreen)
    }

    /// Seen on a slow machine: the next picture was drawn into the buffer that was still on the screen.
    @Test func aFlipNobodyToldOfFreesItsPredecessorWithTheNextFlip() {
        var book = book()
        for _ in 0..<2 { book.finish(book.take()!, generation: book.generation) }
        book.flip(to: 1)
        book.flipped(isAssumed: true)
        #expect(book.uses == [.leaving, .onScreen, .composed] && book.take() == nil)
        book.flip(to: 2)
        #expect(book.take() == 0)
        book.flipped()
        #expect(book.uses == [.composing, .spare, .onScreen])
    }

    @Test func discardGivesBackOnce() {
        var book = book()
        let buffer = book.take()!
        let token = frame(buffer, book)
        book.discard(token)
        #expect(book.uses[buffer] == .composing)
        book.finish(buffer, generation: book.generation)
        book.discard(token)
        #expect(book.uses[buffer] == .spare && !book.isCurrent(token))
        book.discard(token)
        #expect(book.uses == [.onScreen, .spare, .spare])
    }

    @Test func olderGenerationsAreVoid() {
        var book = book()
        let buffer = book.take()!
        let token = frame(buffer, book)
        book.finish(buffer, generation: token.generation)
        book.renew(count: 3)
        #expect(!book.isCurrent(token))
        _ = book.take()
        book.finish(buffer, generation: token.generation)
        book.discard(token)
        #expect(book.uses == [.onScreen, .composing, .spare])
        book.renew(count: 0)
        #expect(book.take() == nil && !book.isCurrent(token) && book.beginReading() == nil)
    }

    @Test func aReaderKeepsItsBuffer() {
        var book = book()
        let read = book.beginReading()!
        let next = book.take()!
        book.finish(next, generation: book.generation)
        book.flip(to: next)
        book.flipped()
        #expect(book.take() == 2 && book.take() == nil)
        book.endReading(read, generation: book.generation)
        #expect(book.take() == read)
    }
}
