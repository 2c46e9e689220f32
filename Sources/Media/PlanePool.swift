import CKioskFFmpeg
import Glibc
import Synchronization

// A software decoder draws its pictures into memory that libavcodec allocates, from where a display copies them into memory that a plane shows. Where the
// processor reads a plane's memory as fast as any other, the decoder can draw there at once: libavcodec asks for the memory of each picture
// (`AVCodecContext.get_buffer2`), and is given a plane's. Such a picture is an ordinary one in all other respects, so whoever does not know of this
// reads it as ever.
//
// A display offers a pool for a format and a size when it has seen a picture that it would show so. From then on the decoders of the process take their
// memory there; what has been decoded before is copied. A buffer goes back to its pool when the last reference to its picture is gone: libavcodec keeps
// some that others are predicted from, the queue some that wait, and the display what is seen.

/// Memory of a display that a picture can be decoded into: luma, then chroma.
package final class PlaneMemory: Sendable {
    let base: UInt, byteCount: Int
    let offsets: InlineArray<3, Int>, strides: InlineArray<3, Int>
    let planeCount: Int
    /// What the display knows it by, and keeps it alive.
    package let owner: any AnyObject & Sendable

    /// `byteCount` bytes from `base` on, valid as long as `owner`.
    package init(
        base: UnsafeMutableRawPointer, byteCount: Int, planeCount: Int, offsets: InlineArray<3, Int>, strides: InlineArray<3, Int>,
        owner: any AnyObject & Sendable
    ) {
        (self.base, self.byteCount, self.planeCount) = (UInt(bitPattern: base), byteCount, planeCount)
        (self.offsets, self.strides, self.owner) = (offsets, strides, owner)
    }

    /// The beginning of a plane; nil where it has no such plane.
    func plane(_ index: Int) -> UnsafeMutablePointer<UInt8>? {
        index < planeCount ? UnsafeMutablePointer(bitPattern: base + UInt(offsets[index])) : nil
    }
}

/// Memory of a display for pictures of one format and size. Any thread.
package final class PlanePool: Sendable {
    private struct State {
        var idle: [PlaneMemory] = []
        /// By their addresses.
        var used: [UInt: PlaneMemory] = [:]
        var isOpen = true
    }

    private let format: Int32
    /// Of the pictures.
    private let width: Int, height: Int
    /// Samples across, and rows of luma, of a buffer.
    private let room: (width: Int, height: Int)
    private let make: @Sendable () -> PlaneMemory?
    private let state: Mutex<State>

    /// More buffers than decoder, queue and display have at once: what goes beyond is decoded into ordinary memory.
    static let most = 64

    /// How large a buffer has to be for pictures of a size: decoders draw whole blocks, and read and write a little beyond them.
    package static func room(width: Int, height: Int) -> (width: Int, height: Int) {
        ((width + 32 + 127) & ~127, ((height + 63) & ~63) + 16)
    }

    /// For pictures of this size; `make` makes a buffer of ``room(width:height:)``, on any thread, nil where it cannot.
    package init(_ format: AVPixelFormat, width: Int, height: Int, first: PlaneMemory, make: @escaping @Sendable () -> PlaneMemory?) {
        (self.format, self.width, self.height) = (format.rawValue, width, height)
        room = Self.room(width: width, height: height)
        self.make = make
        state = Mutex(State(idle: [first]))
    }

    // MARK: What is offered

    private static let offers = Mutex<[PlanePool]>([])

    /// Offers its memory to the decoders of the process.
    package func offer() { Self.offers.withLock { $0.append(self) } }

    /// Its memory is not to be used any more; what is used is freed when it comes back.
    package func close() {
        Self.offers.withLock { $0.removeAll { $0 === self } }
        let idle = state.withLock { state in
            state.isOpen = false
            defer { state.idle = [] }
            return state.idle
        }
        withExtendedLifetime(idle) {}
    }

    /// Buffers that pictures are in.
    package var usedCount: Int { state.withLock { $0.used.count } }

    /// The buffer that a picture is in; nil where it is none of this pool's.
    package func memory(of frame: borrowing VideoFrame) -> PlaneMemory? {
        guard let buffer = frame.av.pointee.buf.0, let data = buffer.pointee.data else { return nil }
        let address = UInt(bitPattern: data)
        guard let memory = state.withLock({ $0.used[address] }) else { return nil }
        // Cropped at the left or at the top it begins elsewhere.
        return frame.av.pointee.data.0 == memory.plane(0) ? memory : nil
    }

    // MARK: What is taken

    /// A reference of libavcodec's to a buffer.
    private final class Loan: Sendable {
        let pool: PlanePool, memory: PlaneMemory
        init(_ pool: PlanePool, _ memory: PlaneMemory) { (self.pool, self.memory) = (pool, memory) }
    }

    private func take() -> PlaneMemory? {
        let (memory, count, isOpen) = state.withLock { state in
            let memory = state.idle.popLast()
            if let memory { state.used[memory.base] = memory }
            return (memory, state.used.count, state.isOpen)
        }
        if let memory { return memory }
        guard isOpen, count < Self.most, let fresh = make() else { return nil }
        state.withLock { $0.used[fresh.base] = fresh }
        return fresh
    }

    private func giveBack(_ memory: PlaneMemory) {
        state.withLock { state in
            state.used[memory.base] = nil
            if state.isOpen { state.idle.append(memory) }
        }
    }

    /// Puts a buffer into a frame; false where there is none that this decoder can draw into.
    ///
    /// - Parameters:
    ///   - codedWidth, codedHeight: what the decoder draws, with the blocks that are cropped.
    private func fill(_ frame: UnsafeMutablePointer<AVFrame>, codedWidth: Int, codedHeight: Int, alignment: [Int32]) -> Bool {
        guard codedWidth <= room.width, codedHeight <= room.height, let memory = take() else { return false }
        let fits = (0..<memory.planeCount).allSatisfy { memory.strides[$0] % Int(max(1, alignment[$0])) == 0 }
        let loan = Unmanaged.passRetained(Loan(self, memory))
        let buffer =
            fits
            ? av_buffer_create(
                UnsafeMutablePointer(bitPattern: memory.base), memory.byteCount,
                { opaque, _ in
                    let loan = Unmanaged<Loan>.fromOpaque(opaque!).takeRetainedValue()
                    loan.pool.giveBack(loan.memory)
                }, loan.toOpaque(), 0) : nil
        guard let buffer else {
            loan.release()
            giveBack(memory)
            return false
        }
        frame.pointee.buf.0 = buffer
        (frame.pointee.data.0, frame.pointee.data.1, frame.pointee.data.2) = (memory.plane(0), memory.plane(1), memory.plane(2))
        frame.pointee.linesize.0 = Int32(memory.strides[0])
        frame.pointee.linesize.1 = Int32(memory.strides[1])
        frame.pointee.linesize.2 = Int32(memory.strides[2])
        return true
    }

    /// Memory for a picture of a decoder: of a pool that is offered, else libavcodec's own. The corresponding C functions are
    /// `avcodec_align_dimensions2` and `avcodec_default_get_buffer2`.
    fileprivate static func getBuffer(
        _ context: UnsafeMutablePointer<AVCodecContext>, _ frame: UnsafeMutablePointer<AVFrame>, _ flags: Int32
    ) -> Int32 {
        let pools = offers.withLock { $0 }
        guard !pools.isEmpty else { return avcodec_default_get_buffer2(context, frame, flags) }
        var (width, height) = (frame.pointee.width, frame.pointee.height)
        var alignment = [Int32](repeating: 1, count: 8)
        avcodec_align_dimensions2(context, &width, &height, &alignment)
        let picture = (width: Int(context.pointee.width), height: Int(context.pointee.height))
        for pool in pools where pool.format == frame.pointee.format && (pool.width, pool.height) == picture {
            if pool.fill(frame, codedWidth: Int(width), codedHeight: Int(height), alignment: alignment) { return 0 }
        }
        return avcodec_default_get_buffer2(context, frame, flags)
    }
}

extension UnsafeMutablePointer<AVCodecContext> {
    /// Has the decoder draw into memory of displays where they offer it; false where it has memory of its own kind.
    func drawIntoPlanes() -> Bool {
        guard let codec = pointee.codec, codec.pointee.capabilities & Int32(AV_CODEC_CAP_DR1) != 0, pointee.lowres == 0 else {
            return false
        }
        shim_codec_use_safe_callbacks(self)
        pointee.get_buffer2 = { context, frame, flags in
            guard let context, let frame else { return Int32(shim_averror(EINVAL)) }
            return PlanePool.getBuffer(context, frame, flags)
        }
        return true
    }
}
