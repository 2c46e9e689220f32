import KioskPlatform
import KioskPlayback

/// A screen without a display: buffers in ordinary memory, flipped at simulated vblanks.
final class OffscreenScreen: PacedScreen {
    let mode: DisplayMode
    let buffers: [ScanoutBuffer]
    let reportsVblank = true
    var paced: PacedFlip
    private let onFlip: (@Sendable (Flip, ScreenPixels) -> Void)?

    init(
        width: Int, height: Int, refresh: Double, background: UInt32, origin: HostTime = .now,
        onFlip: (@Sendable (Flip, ScreenPixels) -> Void)? = nil
    ) {
        mode = DisplayMode("offscreen", ConnectorMode(width: width, height: height, refresh: refresh))
        buffers = (0..<bufferCount).map { _ in MemoryBuffer(width: width, height: height, format: .xrgb8888) }
        buffers[0].clear(to: background)
        paced = PacedFlip(VblankGrid(origin: origin, refresh: refresh))
        self.onFlip = onFlip
    }

    func collect(at now: HostTime) -> ScreenReport? {
        guard let (buffer, flip) = paced.collect(at: now) else { return nil }
        onFlip?(flip, ScreenPixels(buffers[buffer]))
        return .flipped(flip)
    }

    func restore() {}
}

/// The pixels of a screen, for snapshots and tests.
struct ScreenPixels {
    private let buffer: ScanoutBuffer

    init(_ buffer: ScanoutBuffer) { self.buffer = buffer }

    /// Pixels across, as scanned out.
    var width: Int { buffer.pixels.width }
    /// Pixels down, as scanned out.
    var height: Int { buffer.pixels.height }

    /// The colour at (`x`, `y`) as 0xRRGGBB.
    subscript(x: Int, y: Int) -> UInt32 {
        precondition(x >= 0 && x < width && y >= 0 && y < height)
        let address = buffer.pixels.address(x, y)
        switch buffer.pixels.format {
        case .xrgb8888: return address.loadUnaligned(as: UInt32.self) & 0xff_ffff
        case .xbgr8888: return ScanoutFormat.exchanged(address.loadUnaligned(as: UInt32.self))
        case .rgb565: return ScanoutFormat.rgb(of565: address.loadUnaligned(as: UInt16.self))
        }
    }

    /// The pixels in memory, for conversion.
    var planes: PicturePlanes { PicturePlanes(packed: buffer.pixels.base, stride: buffer.pixels.stride) }
    var format: ScanoutFormat { buffer.pixels.format }
}
