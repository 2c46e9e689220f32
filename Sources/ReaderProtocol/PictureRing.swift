import KioskPlatform
import Synchronization

// Pictures go round: the player says how many it wants in all, the reader publishes as many, the player takes them in order, and gives each
// back when nobody shows it any more. The reader gets them back in any order.
//
//     player  ── wanted ──▶  reader  ── records ──▶  player  ── returns ──▶  reader
//
// After a seek the records of before are still there. The reader says in its ``Landing`` at which count the new ones begin, and the player
// leaves out those before it.

extension UInt32 {
    /// How far a count is ahead of another one; negative for behind.
    func distance(ahead other: UInt32) -> Int { Int(Int32(bitPattern: self &- other)) }
}

/// The pictures that the player has taken. They keep the shared memory.
package final class HeldPictures: Sendable {
    private struct State {
        /// A bit for each slot.
        var held: UInt64 = 0
        var returns: UInt32 = 0
    }

    private let page: ControlPage
    private let state = Mutex(State())

    init(_ page: ControlPage) { self.page = page }

    /// How many they are.
    package var count: Int { state.withLock { $0.held.nonzeroBitCount } }

    /// False where it is held already.
    fileprivate func hold(_ slot: Int) -> Bool {
        state.withLock { state in
            let bit = UInt64(1) << UInt64(slot)
            defer { state.held |= bit }
            return state.held & bit == 0
        }
    }

    /// Gives a picture back that was taken; the reader may draw into its memory from now on. Any thread, once for each.
    package func giveBack(_ slot: Int) {
        giveBackSilently(slot)
        page.readerBell.ring(.returns)
    }

    func giveBackSilently(_ slot: Int) {
        state.withLock { state in
            let bit = UInt64(1) << UInt64(truncatingIfNeeded: slot)
            guard state.held & bit != 0 else { return }
            state.held &= ~bit
            page.setReturned(state.returns, UInt32(clamping: slot))
            state.returns &+= 1
            page.store(.returns, state.returns)
        }
    }
}

/// The player's end of the ring of pictures. For one thread at a time.
package struct PlayerPictures: Sendable {
    private let page: ControlPage
    private let rules: PictureRules
    package let held: HeldPictures
    private var taken: UInt32
    /// Whether the last picture has been taken.
    package private(set) var isOver = false

    package init(_ page: ControlPage, _ rules: PictureRules) { self.init(page, rules, from: 0) }

    init(_ page: ControlPage, _ rules: PictureRules, from count: UInt32) {
        (self.page, self.rules, held, taken) = (page, rules, HeldPictures(page), count)
        page.store(.picturesTaken, count)
    }

    /// Has the reader decode so many pictures beyond those that were taken: as many as that, and not one more; whether it has something to do for that. It
    /// learns of it when its bell is rung for pictures.
    @discardableResult package func want(_ count: Int) -> Bool {
        let wanted = taken &+ UInt32(min(max(count, 0), ControlLayout.pictureCount))
        page.store(.picturesWanted, wanted)
        return wanted.distance(ahead: page.load(.pictures)) > 0
    }

    /// Takes the next picture, to be given back to ``held``; nil where none has come, or the last one was taken (``isOver``).
    package mutating func take() throws(ReaderLie) -> PictureRecord? {
        guard !isOver, try published > 0 else { return nil }
        let raw = page.record(taken)
        switch RawPicture.Kind(rawValue: raw[RawPicture.kind]) {
        case nil: throw .kind(raw[RawPicture.kind])
        case .end:
            isOver = true
            advance()
            return nil
        case .picture:
            let picture = try PictureRecord.checked(raw, rules)
            guard held.hold(picture.slot) else { throw .slot(UInt16(clamping: picture.slot)) }
            advance()
            return picture
        }
    }

    /// Gives everything back unseen that was published before number `count` (``Landing/pictures``).
    package mutating func skip(to count: UInt32) throws(ReaderLie) {
        let ahead = count &- taken
        guard ahead <= (try published) else { throw .cursor("pictures", ahead) }
        isOver = false
        for _ in 0..<ahead {
            if let picture = try take() { held.giveBack(picture.slot) }
            isOver = false
        }
    }

    /// How many lie ready.
    private var published: UInt32 {
        get throws(ReaderLie) {
            let ahead = page.load(.pictures) &- taken
            guard ahead <= ControlLayout.pictureCount else { throw .cursor("pictures", ahead) }
            return ahead
        }
    }

    private mutating func advance() {
        taken &+= 1
        page.store(.picturesTaken, taken)
    }
}

/// The reader's end of the ring of pictures. For one thread.
package struct ReaderPictures: Sendable {
    private let page: ControlPage
    /// How many were published so far (``Landing/pictures``).
    package private(set) var count: UInt32
    private var returned: UInt32 = 0
    /// A bit for each slot that no picture has.
    private var free = UInt64.max
    /// Whether ``end()`` was called, and no ``restart()`` since then.
    package private(set) var isOver = false

    package init(_ page: ControlPage) { self.init(page, from: 0) }
    init(_ page: ControlPage, from count: UInt32) { (self.page, self.count) = (page, count) }

    /// Whether another picture is wanted, and there is room for it.
    package var isWanted: Bool {
        !isOver && page.load(.picturesWanted).distance(ahead: count) > 0
            && count &- page.load(.picturesTaken) < ControlLayout.pictureCount
    }

    /// A slot for the next picture; nil while the player holds all.
    package var freeSlot: Int? { free == 0 ? nil : free.trailingZeroBitCount }

    /// Whether the player has none.
    package var areAllFree: Bool { free == .max }

    /// Whether ``takeReturn()`` has something.
    package var hasReturn: Bool { page.load(.returns) != returned }

    /// The slot of a picture that was given back, to be freed; nil where there is none.
    package mutating func takeReturn() -> Int? {
        guard hasReturn else { return nil }
        let slot = Int(page.returned(returned) % UInt32(ControlLayout.pictureCount))
        returned &+= 1
        free |= 1 << UInt64(slot)
        return slot
    }

    /// Publishes a picture in a free slot. Its memory stays as it is until that is given back.
    package mutating func publish(_ picture: PictureRecord) {
        publishSilently(picture)
        page.playerBell.ring(.pictures)
    }

    mutating func publishSilently(_ picture: PictureRecord) {
        free &= ~(1 << UInt64(truncatingIfNeeded: picture.slot))
        publish(RawPicture(picture))
    }

    /// No picture follows. What there is to say of that was sent before.
    package mutating func end() {
        endSilently()
        page.playerBell.ring(.pictures)
    }

    mutating func endSilently() {
        publish(.end)
        isOver = true
    }

    /// Pictures follow again, from another place.
    package mutating func restart() { isOver = false }

    mutating func publish(_ raw: RawPicture) {
        page.setRecord(count, raw)
        count &+= 1
        page.store(.pictures, count)
    }
}
