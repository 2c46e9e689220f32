import KioskPlatform
import Synchronization

// Pictures circulate. The player states how many it wants in all, and the reader publishes that many. The player takes them in order, and
// gives each back once it is no longer shown. They come back to the reader in any order.
//
//     player  ── wanted ──▶  reader  ── records ──▶  player  ── returns ──▶  reader
//
// After a seek the old records are still there. The reader states in its ``Landing`` the count at which the new ones begin, and the player
// drops those before it.

extension UInt32 {
    /// Returns the distance of a count ahead of another one; negative if behind.
    func distance(ahead other: UInt32) -> Int { Int(Int32(bitPattern: self &- other)) }
}

/// The pictures that the player has taken. They keep the shared memory alive.
package final class HeldPictures: Sendable {
    private struct State {
        /// A bit for each slot.
        var held: UInt64 = 0
        var returns: UInt32 = 0
    }

    private let page: ControlPage
    private let state = Mutex(State())

    init(_ page: ControlPage) { self.page = page }

    /// The number of held pictures.
    package var count: Int { state.withLock { $0.held.nonzeroBitCount } }

    /// Marks a slot as held; false if it is held already.
    fileprivate func hold(_ slot: Int) -> Bool {
        state.withLock { state in
            let bit = UInt64(1) << UInt64(slot)
            defer { state.held |= bit }
            return state.held & bit == 0
        }
    }

    /// Gives a picture back; the reader may draw into its memory from now on. Any thread, once per picture.
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

    /// Has the reader decode `count` pictures beyond those taken, and no more. Returns whether the reader has to do something for that. It
    /// learns of it once its bell rings for pictures.
    @discardableResult package func want(_ count: Int) -> Bool {
        let wanted = taken &+ UInt32(min(max(count, 0), ControlLayout.pictureCount))
        page.store(.picturesWanted, wanted)
        return wanted.distance(ahead: page.load(.pictures)) > 0
    }

    /// Takes the next picture, to be given back to ``held``; nil if none has come, or after the last one (``isOver``).
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

    /// Gives back unseen all pictures published before number `count` (``Landing/pictures``).
    package mutating func skip(to count: UInt32) throws(ReaderLie) {
        let ahead = count &- taken
        guard ahead <= (try published) else { throw .cursor("pictures", ahead) }
        isOver = false
        for _ in 0..<ahead {
            if let picture = try take() { held.giveBack(picture.slot) }
            isOver = false
        }
    }

    /// The number of published pictures not yet taken.
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
    /// The number of pictures published so far (``Landing/pictures``).
    package private(set) var count: UInt32
    private var returned: UInt32 = 0
    /// A bit for each free slot.
    private var free = UInt64.max
    /// Whether ``end()`` was called, and no ``restart()`` since then.
    package private(set) var isOver = false

    package init(_ page: ControlPage) { self.init(page, from: 0) }
    init(_ page: ControlPage, from count: UInt32) { (self.page, self.count) = (page, count) }

    /// Whether the player wants another picture, and there is room for it.
    package var isWanted: Bool {
        !isOver && page.load(.picturesWanted).distance(ahead: count) > 0
            && count &- page.load(.picturesTaken) < ControlLayout.pictureCount
    }

    /// A slot for the next picture; nil while the player holds all slots.
    package var freeSlot: Int? { free == 0 ? nil : free.trailingZeroBitCount }

    /// Whether the player holds none.
    package var areAllFree: Bool { free == .max }

    /// Whether ``takeReturn()`` has something.
    package var hasReturn: Bool { page.load(.returns) != returned }

    /// Frees the slot of a returned picture and returns it; nil if there is none.
    package mutating func takeReturn() -> Int? {
        guard hasReturn else { return nil }
        let slot = Int(page.returned(returned) % UInt32(ControlLayout.pictureCount))
        returned &+= 1
        free |= 1 << UInt64(slot)
        return slot
    }

    /// Publishes a picture in a free slot. Its memory must not change until the player gives the slot back.
    package mutating func publish(_ picture: PictureRecord) {
        publishSilently(picture)
        page.playerBell.ring(.pictures)
    }

    mutating func publishSilently(_ picture: PictureRecord) {
        free &= ~(1 << UInt64(truncatingIfNeeded: picture.slot))
        publish(RawPicture(picture))
    }

    /// Ends the pictures. Send the messages about that before.
    package mutating func end() {
        endSilently()
        page.playerBell.ring(.pictures)
    }

    mutating func endSilently() {
        publish(.end)
        isOver = true
    }

    /// Allows pictures again, from another position.
    package mutating func restart() { isOver = false }

    mutating func publish(_ raw: RawPicture) {
        page.setRecord(count, raw)
        count &+= 1
        page.store(.pictures, count)
    }
}
