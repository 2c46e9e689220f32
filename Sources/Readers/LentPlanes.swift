import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaderServer
import KioskVocabulary
import Synchronization

/// The display memory lent to a reader (``PlanePool``), and the pictures in it. A buffer returns to its pool once the reader has given it
/// up and no picture in it is held.
final class LentPlanes: Sendable {
    private struct Entry {
        let pool: PlanePool, memory: PlaneMemory
        /// The number of the picture at which the display took it back.
        var end: Int?
    }

    private struct State {
        /// By number; nil for a free number.
        var lent: [Entry?] = []
        /// The version of the offers that the reader knows.
        var changeCount: UInt32 = 0
        /// How often a picture was requested.
        var pictures = 0
    }

    private let state = Mutex(State())

    /// The most buffers of a reader: as many as slots.
    private static let most = ControlLayout.pictureCount

    deinit { for case let entry? in state.withLock({ $0.lent }) { entry.pool.giveBack(entry.memory) } }

    /// Returns the displays' offers; nil if the reader knows them. Call it before each picture. Memory that a display has taken back is
    /// released once all pictures are taken that the reader may have drawn before it knew.
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

    /// Lends a buffer of an offered pool; nil if there is none.
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

    /// Returns the picture of a checked record; nil if its buffer is unknown, or not for such pictures. It gives its slot back when its
    /// last reference goes.
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
