import CKioskFFmpeg
import CKioskPlatform
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import Synchronization

/// Memory of the player's display, which a decoder of this process draws into. Each offer of the player has a pool, which requests its
/// buffers one by one.
///
/// One thread of the reader; the decoder's threads take buffers.
final class BorrowedPlanes: Sendable {
    private let channel: ReaderChannel
    private let page: ControlPage
    private let pools = Mutex<[PlaneOffer: PlanePool]>([:])

    /// A mapped buffer, which the player knows by its number.
    private final class Buffer: Sendable {
        let number: Int
        private let base: UInt, byteCount: Int

        /// Maps it; nil with `errno`. The corresponding C function is `mmap`.
        init?(_ number: Int, _ file: SharedDescriptor, _ byteCount: Int) {
            guard let memory = mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, file.raw, 0), memory != MAP_FAILED else {
                return nil
            }
            (self.number, base, self.byteCount) = (number, UInt(bitPattern: memory), byteCount)
            // Otherwise each page would cost the decoder a fault: one showing of a clip has sixteen buffers of some hundred pages.
            kiosk_populate_without_files(memory, byteCount)
        }

        deinit { munmap(UnsafeMutableRawPointer(bitPattern: base), byteCount) }

        var memory: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: base)! }
    }

    init(_ channel: ReaderChannel, _ page: ControlPage, _ offers: [PlaneOffer]) {
        (self.channel, self.page) = (channel, page)
        set(offers)
    }

    /// Replaces the offers.
    func set(_ offers: [PlaneOffer]) {
        pools.withLock { pools in
            for (offer, pool) in pools where !offers.contains(offer) {
                pool.close()
                pools[offer] = nil
            }
            for offer in offers where pools[offer] == nil {
                guard let layout = offer.layout else { continue }
                let pool = PlanePool(AVPixelFormat(rawValue: offer.format), width: offer.width, height: offer.height, layout) {
                    [channel, page] in
                    let lent = channel.borrow(offer) {
                        page.countMessage()
                        page.playerBell.ring(.messages)
                    }
                    guard let (number, file) = lent, let buffer = Buffer(number, file, offer.byteCount) else { return nil }
                    return PlaneMemory(base: buffer.memory, layout, owner: buffer)
                }
                pool.offer()
                pools[offer] = pool
            }
        }
    }

    /// Returns the number of a picture's buffer; nil if it lies elsewhere.
    func number(of frame: borrowing VideoFrame) -> Int? {
        pools.withLock { pools in
            for pool in pools.values { if let memory = pool.memory(of: frame) { return (memory.owner as? Buffer)?.number } }
            return nil
        }
    }
}
