import CKioskFFmpeg
import Glibc
import KioskPlatform
import Synchronization

// A software decoder draws its pictures into memory from libavcodec, and a display copies them into memory that a plane shows. If the
// processor reads plane memory as fast as any other, the decoder can draw there at once. libavcodec requests the memory of each picture
// (`AVCodecContext.get_buffer2`), and ``DecoderMemory`` returns a plane's. Such a picture is an ordinary one in all other respects, so code
// unaware of this reads it as usual.
//
// A display offers a pool for a format and a size once it has seen a picture that it would show that way. From then on the decoders of the
// process take their memory there; earlier pictures are copied. A buffer returns to its pool with the last reference to its picture.
// libavcodec keeps some buffers for prediction, the queue some that wait, and the display the visible ones.

/// The layout of a picture's planes in its memory.
package struct PictureLayout: Sendable {
    package let byteCount: Int
    package let planeCount: Int
    /// Bytes from row to row of each plane, and from the beginning to its first row.
    package let strides: InlineArray<3, Int>, offsets: InlineArray<3, Int>

    package init(byteCount: Int, planeCount: Int, strides: InlineArray<3, Int>, offsets: InlineArray<3, Int>) {
        (self.byteCount, self.planeCount, self.strides, self.offsets) = (byteCount, planeCount, strides, offsets)
    }

    /// Creates a layout with `rows` rows of luma, `pitch` bytes apart; 8 bits a sample, a plane for each component.
    init(_ format: AVPixelFormat, pitch: Int, rows: Int) {
        let description = av_pix_fmt_desc_get(format)!.pointee
        let (stride, chroma) = (pitch >> Int(description.log2_chroma_w), rows >> Int(description.log2_chroma_h))
        self.init(
            byteCount: pitch * rows + 2 * stride * chroma, planeCount: 3, strides: [pitch, stride, stride],
            offsets: [0, pitch * rows, pitch * rows + stride * chroma])
    }

    package func isSame(as other: PictureLayout) -> Bool {
        byteCount == other.byteCount && planeCount == other.planeCount
            && (0..<planeCount).allSatisfy { strides[$0] == other.strides[$0] && offsets[$0] == other.offsets[$0] }
    }

    /// Attaches memory of this layout to a frame.
    func describe(_ frame: UnsafeMutablePointer<AVFrame>, _ buffer: UnsafeMutablePointer<AVBufferRef>) {
        let base = buffer.pointee.data!
        func data(_ plane: Int) -> UnsafeMutablePointer<UInt8>? { plane < planeCount ? base + offsets[plane] : nil }
        frame.pointee.buf.0 = buffer
        (frame.pointee.data.0, frame.pointee.data.1, frame.pointee.data.2) = (data(0), data(1), data(2))
        (frame.pointee.linesize.0, frame.pointee.linesize.1) = (Int32(strides[0]), Int32(strides[1]))
        frame.pointee.linesize.2 = Int32(strides[2])
    }
}

/// Display memory that a decoder can draw into: luma, then chroma.
package final class PlaneMemory: Sendable {
    let base: UInt
    let layout: PictureLayout
    /// The display's own object, which keeps the memory alive.
    package let owner: any AnyObject & Sendable
    /// Returns a descriptor with which another process maps the memory; nil if there is none. The corresponding C function is
    /// `drmPrimeHandleToFD`.
    package let share: @Sendable () -> SharedDescriptor?

    /// Describes memory at `base`, valid as long as `owner`.
    package init(
        base: UnsafeMutableRawPointer, _ layout: PictureLayout, owner: any AnyObject & Sendable,
        share: @escaping @Sendable () -> SharedDescriptor? = { nil }
    ) {
        (self.base, self.layout, self.owner, self.share) = (UInt(bitPattern: base), layout, owner, share)
    }
}

/// A pool of display memory for pictures of one format and size. Any thread.
package final class PlanePool: Sendable {
    private struct State {
        var idle: [PlaneMemory] = []
        /// The buffers in use, by address.
        var used: [UInt: PlaneMemory] = [:]
        var isOpen = true
    }

    package let format: AVPixelFormat
    package let width: Int, height: Int
    package let layout: PictureLayout
    private let make: @Sendable () -> PlaneMemory?
    private let state: Mutex<State>

    /// More buffers than decoder, queue and display hold at once. Beyond it, decoders use ordinary memory.
    static let most = 64

    /// Returns the buffer size for a picture size: decoders draw whole blocks, and access a little beyond them.
    package static func room(width: Int, height: Int) -> (width: Int, height: Int) {
        ((width + 127) & ~127, ((height + 63) & ~63) + 16)
    }

    /// Creates a pool for pictures of this size. `make` returns a buffer of ``room(width:height:)``, on any thread; nil if it fails.
    package convenience init(
        _ format: AVPixelFormat, width: Int, height: Int, first: PlaneMemory, make: @escaping @Sendable () -> PlaneMemory?
    ) {
        self.init(format, width: width, height: height, first.layout, [first], make: make)
    }

    /// The same without a first buffer.
    package init(
        _ format: AVPixelFormat, width: Int, height: Int, _ layout: PictureLayout, _ idle: [PlaneMemory] = [],
        make: @escaping @Sendable () -> PlaneMemory?
    ) {
        (self.format, self.width, self.height, self.layout) = (format, width, height, layout)
        self.make = make
        state = Mutex(State(idle: idle))
    }

    // MARK: Offers

    private static let offers = Mutex<[PlanePool]>([])
    private static let changes = Atomic<UInt32>(0)

    /// The offered pools, and the number of changes to them.
    package static var offered: [PlanePool] { offers.withLock { $0 } }
    package static var changeCount: UInt32 { changes.load(ordering: .acquiring) }

    /// Returns the pools offered for pictures of this format and size now.
    static func offered(_ format: AVPixelFormat, width: Int, height: Int) -> [PlanePool] {
        offers.withLock { $0 }.filter { $0.format == format && ($0.width, $0.height) == (width, height) }
    }

    /// Offers this pool to the decoders of the process.
    package func offer() {
        Self.offers.withLock { $0.append(self) }
        Self.changes.add(1, ordering: .releasing)
    }

    /// Withdraws the pool. Buffers in use are freed on return.
    package func close() {
        Self.offers.withLock { $0.removeAll { $0 === self } }
        Self.changes.add(1, ordering: .releasing)
        let idle = state.withLock { state in
            state.isOpen = false
            defer { state.idle = [] }
            return state.idle
        }
        withExtendedLifetime(idle) {}
    }

    /// The number of buffers that hold pictures.
    package var usedCount: Int { state.withLock { $0.used.count } }

    /// Returns the buffer of a picture; nil if it is not from this pool.
    package func memory(of frame: borrowing VideoFrame) -> PlaneMemory? {
        guard let buffer = frame.av.pointee.buf.0, let data = buffer.pointee.data else { return nil }
        guard let memory = state.withLock({ $0.used[UInt(bitPattern: data)] }) else { return nil }
        // A picture cropped at the left or at the top begins elsewhere.
        return frame.av.pointee.data.0 == data ? memory : nil
    }

    // MARK: Loans

    /// libavcodec's reference to a buffer.
    private final class Loan: Sendable {
        let pool: PlanePool, memory: PlaneMemory
        init(_ pool: PlanePool, _ memory: PlaneMemory) { (self.pool, self.memory) = (pool, memory) }
    }

    /// Takes a buffer, to return with ``giveBack(_:)``; nil if there is none.
    package func take() -> PlaneMemory? {
        let (memory, count, isOpen) = state.withLock { state in
            let memory = state.idle.popLast()
            if let memory { state.used[memory.base] = memory }
            return (memory, state.used.count, state.isOpen)
        }
        if let memory { return memory }
        guard isOpen, count < Self.most, let fresh = make(), fresh.layout.isSame(as: layout) else { return nil }
        state.withLock { $0.used[fresh.base] = fresh }
        return fresh
    }

    /// Returns a buffer that is no longer in use.
    package func giveBack(_ memory: PlaneMemory) {
        state.withLock { state in
            state.used[memory.base] = nil
            if state.isOpen { state.idle.append(memory) }
        }
    }

    /// Whether its buffers suit pictures of this format and size. The deprecated full-range formats have the layout of the plain ones.
    package func takes(_ format: Int32, width: Int, height: Int) -> Bool {
        DecoderMemory.planar(format) == self.format && (width, height) == (self.width, self.height)
    }

    /// Attaches a taken buffer to a frame; calls `isOver` with its last reference. False without memory.
    package func put(_ memory: PlaneMemory, into frame: UnsafeMutablePointer<AVFrame>, isOver: @escaping @Sendable () -> Void) -> Bool {
        final class End: Sendable {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        let end = Unmanaged.passRetained(End(isOver))
        let buffer = av_buffer_create(
            UnsafeMutablePointer(bitPattern: memory.base), layout.byteCount,
            { opaque, _ in Unmanaged<End>.fromOpaque(opaque!).takeRetainedValue().body() }, end.toOpaque(), AV_BUFFER_FLAG_READONLY)
        guard let buffer else {
            end.release()
            return false
        }
        layout.describe(frame, buffer)
        return true
    }

    /// Takes a buffer and attaches it to a frame; false if there is none.
    func fill(_ frame: UnsafeMutablePointer<AVFrame>) -> Bool {
        guard let memory = take() else { return false }
        let loan = Unmanaged.passRetained(Loan(self, memory))
        let buffer = av_buffer_create(
            UnsafeMutablePointer(bitPattern: memory.base), layout.byteCount,
            { opaque, _ in
                let loan = Unmanaged<Loan>.fromOpaque(opaque!).takeRetainedValue()
                loan.pool.giveBack(loan.memory)
            }, loan.toOpaque(), 0)
        guard let buffer else {
            loan.release()
            giveBack(memory)
            return false
        }
        layout.describe(frame, buffer)
        return true
    }
}
