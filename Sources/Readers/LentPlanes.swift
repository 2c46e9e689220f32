import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaderServer
import KioskVocabulary
import Synchronization

/// Memory of displays that a reader draws into (``PlanePool``): what it has been lent, and the pictures in that. It is the reader's as long as that has it or a
/// picture of it is held; then it is its pool's again.
final class LentPlanes: Sendable {
    private struct Entry {
        let pool: PlanePool, memory: PlaneMemory
        /// At which picture the display took it back.
        var end: Int?
    }

    private struct State {
        /// By their numbers; nil where none has that any more.
        var lent: [Entry?] = []
        /// What the reader knows of.
        var changeCount: UInt32 = 0
        /// How often somebody has asked for a picture.
        var pictures = 0
    }

    private let state = Mutex(State())

    /// No reader has more: numbers of them are those of slots.
    private static let most = ControlLayout.pictureCount

    deinit { for case let entry? in state.withLock({ $0.lent }) { entry.pool.giveBack(entry.memory) } }

    /// What displays offer; nil where the reader knows that. To be asked before each picture: what a display has taken back is let go when all
    /// pictures have been taken that the reader may have drawn before it knew.
    func news() -> [PlaneOffer]? {
        let count = PlanePool.changeCount
        let (offered, over) = state.withLock { state -> ([PlanePool]?, [Entry]) in
            state.pictures += 1
            if state.changeCount == count, !state.lent.contains(where: { $0?.end != nil }) { return (nil, []) }
            let isNews = state.changeCount != count
            state.changeCount = count
            let offered = PlanePool.offered
            var over: [Entry] = []
            for (number, entry) in state.lent.enumerated() {
                guard let entry, !offered.contains(where: { $0 === entry.pool }) else { continue }
                if entry.end == nil { state.lent[number]?.end = state.pictures }
                guard let end = entry.end, state.pictures - end > ControlLayout.pictureCount else { continue }
                over.append(entry)
                state.lent[number] = nil
            }
            return (isNews ? offered : nil, over)
        }
        for entry in over { entry.pool.giveBack(entry.memory) }
        return offered.map { $0.prefix(PlaneOffer.most).map { PlaneOffer($0) } }
    }

    /// Lends a buffer of what is offered so; nil where there is none.
    func lend(_ offer: PlaneOffer) -> (Int, SharedDescriptor)? {
        guard let pool = PlanePool.offered.first(where: { offer.isOffer(of: $0) }),
            state.withLock({ $0.lent.count { $0 != nil } < Self.most }),
            let memory = pool.take()
        else { return nil }
        guard let file = memory.share() else {
            pool.giveBack(memory)
            return nil
        }
        return state.withLock { state in
            let number = state.lent.firstIndex { $0 == nil } ?? state.lent.count
            if number == state.lent.count { state.lent.append(nil) }
            state.lent[number] = Entry(pool: pool, memory: memory)
            return (number, file)
        }
    }

    /// The picture of a record that has been checked; nil where it names no buffer for pictures like that. It gives its place back when nobody has it any
    /// more.
    func frame(_ record: PictureRecord, codec: String, _ held: HeldPictures) -> VideoFrame? {
        let lent = state.withLock { $0.lent.indices ~= record.buffer ? $0.lent[record.buffer] : nil }
        guard let (pool, memory) = lent.map({ ($0.pool, $0.memory) }),
            pool.takes(record.format, width: record.width, height: record.height),
            let av = av_frame_alloc()
        else { return nil }
        record.describe(av)
        let isOver = { @Sendable [self] in withExtendedLifetime((self, memory)) { held.giveBack(record.slot) } }
        guard pool.put(memory, into: av, isOver: isOver) else {
            av.free()
            return nil
        }
        var frame = VideoFrame(adopting: av, orientation: record.orientation)
        (frame.codec, frame.takesPlaneMemory) = (codec, true)
        return frame
    }
}
