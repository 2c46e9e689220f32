import KioskDisplayCore
import KioskPlatform
public import KioskPlayer
import KioskVocabulary

// Pictures for applications that draw themselves: with a graphics library of their own, into a film, onto a network.

extension VideoOutput {
    /// Creates an output for an application that draws pictures itself: AVPlayerItemVideoOutput. It shows nothing. Take the picture for
    /// each of your vblanks with ``sample(forHostTime:)``.
    ///
    /// One player has its pictures, at their own size; those of a second player on this output are not seen. The output does not have what
    /// is drawn over pictures: `overlay`, and subtitles, whose texts are in `PlayerItem/legibleOutput`.
    ///
    /// - Parameters:
    ///   - width: the pixels across of your picture, 16…16384, for the choice of an HLS variant.
    ///   - height: its pixels down, 16…16384.
    ///   - refreshRate: your vblanks a second, 1…1000. The player chooses pictures for them as for a display.
    public static func samples(width: Int = 1920, height: Int = 1080, refreshRate: Double = 60) -> VideoOutput {
        VideoOutput(
            FrameOutput(
                width: min(max(width, 16), 16384), height: min(max(height, 16), 16384),
                refresh: refreshRate.isFinite ? min(max(refreshRate, 1), 1000) : 60))
    }

    /// Returns the picture that is seen at a host time (`CMTime/hostTime`): the next one is known up to one period ahead. nil before the
    /// first picture, while there is only sound, and for any other output than ``samples(width:height:refreshRate:)``.
    ///
    /// Takes some microseconds, and copies nothing. From any thread. The corresponding methods of AVPlayerItemVideoOutput are
    /// `itemTime(forHostTime:)` and `copyPixelBuffer(forItemTime:itemTimeForDisplay:)`.
    public func sample(forHostTime time: CMTime) -> VideoSample? {
        guard let output = engine as? FrameOutput, let instant = time.mediaTime else { return nil }
        return output.sample(at: HostTime(nanoseconds: instant.nanoseconds)).map { VideoSample($0.sample, since: $0.since) }
    }

    /// Whether the picture at a host time is another one than `sample`: `hasNewPixelBuffer(forItemTime:)` of AVPlayerItemVideoOutput.
    public func hasNewSample(forHostTime time: CMTime, after sample: VideoSample?) -> Bool {
        let next = self.sample(forHostTime: time)
        return next != nil && next != sample
    }
}

/// A decoded picture: CVPixelBuffer with its time. It never changes.
///
/// Its memory is the decoder's own. Of a hardware decoder, which has few pictures, keep two at most at a time, or it stands still.
public struct VideoSample: Hashable, Sendable {
    private let sample: FrameSample
    /// The host time from which on it is seen.
    public let hostTime: CMTime

    init(_ sample: FrameSample, since time: HostTime) {
        (self.sample, hostTime) = (sample, CMTime(value: time.nanoseconds, timescale: 1_000_000_000))
    }

    /// Returns whether they are the same picture.
    public static func == (a: VideoSample, b: VideoSample) -> Bool { a.sample === b.sample }
    /// Hashes the identity of the picture.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(sample)) }

    /// The item time at which it begins.
    public var itemTime: CMTime { CMTime(sample.itemTime) }
    /// Stored pixels across and down, before ``rotation``.
    public var size: PixelSize { PixelSize(width: sample.width, height: sample.height) }
    /// The width of a stored pixel divided by its height.
    public var pixelAspectRatio: Double { sample.pixelAspectRatio }
    /// The clockwise rotation that makes it upright, after the mirroring.
    public var rotation: DisplayConfiguration.Turn { DisplayConfiguration.Turn(rawValue: sample.rotation.rawValue) ?? .none }
    /// Whether it has to be mirrored, left to right, to be upright.
    public var isMirrored: Bool { sample.isMirrored }
    /// FFmpeg's name of its pixel format in memory: `yuv420p`, `nv12`, `yuv420p10le`.
    public var pixelFormat: String { sample.pixelFormat }

    /// The meaning of its numbers as colours.
    public struct ColorSpace: Hashable, Sendable {
        /// FFmpeg's names: `bt709`, `bt2020nc`, `smpte2084`; nil if the stream does not state them. Without a matrix, pictures of more than
        /// 576 lines are BT.709 and others BT.601.
        public var matrix: String?, primaries: String?, transferFunction: String?
        /// Whether luma spans 0…255 instead of 16…235, or the same of more bits.
        public var isFullRange: Bool
    }

    /// The meaning of its numbers as colours.
    public var colorSpace: ColorSpace {
        let (matrix, primaries, transfer, isFullRange) = sample.colour
        return ColorSpace(matrix: matrix, primaries: primaries, transferFunction: transfer, isFullRange: isFullRange)
    }

    // MARK: Memory

    /// The layout of a plane in memory.
    public struct Plane: Hashable, Sendable {
        /// The bytes of each row that hold pixels.
        public var bytesOfPixels: Int
        /// The bytes from one row to the next.
        public var bytesPerRow: Int
        /// The number of rows.
        public var height: Int
    }

    /// The planes in memory, in the order of ``pixelFormat``. Empty if the memory cannot be read: the driver of a hardware decoder does not
    /// allow it, or the picture is stored upside down. ``bitmap(width:height:)`` converts that, too.
    ///
    /// For a hardware decoder's picture, the first call here or in ``withPlane(_:_:)`` copies it, which takes some milliseconds.
    public var planes: [Plane] {
        sample.planes.map { Plane(bytesOfPixels: $0.rowBytes, bytesPerRow: $0.stride, height: $0.rows) }
    }

    /// Calls `body` with the bytes of a plane, from its first row to the last pixel of the last one. They are not copied. The corresponding
    /// C function is `CVPixelBufferGetBaseAddressOfPlane`.
    ///
    /// - Returns: the result of `body`; nil if there is no such plane in ``planes``.
    public func withPlane<Result, Failure: Error>(
        _ index: Int, _ body: (RawSpan, Plane) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try sample.withPlane(index) { (bytes, plane) throws(Failure) in
            try body(bytes, Plane(bytesOfPixels: plane.rowBytes, bytesPerRow: plane.stride, height: plane.rows))
        }
    }

    /// Returns it in BGRA, upright and with square pixels, scaled to `width` × `height` (1…16384; nil is its own). Takes some milliseconds.
    ///
    /// - Throws: `PlaybackError` if its format cannot be converted, or a driver does not let it be read.
    public func bitmap(width: Int? = nil, height: Int? = nil) throws -> Bitmap {
        do {
            let (pixels, width, height) = try sample.pixels(width: width, height: height)
            if let bitmap = Bitmap(width: width, height: height, pixels: pixels) { return bitmap }
            throw PlaybackError("a bitmap has no \(width)x\(height) pixels")
        } catch let error as PlaybackError { throw error } catch { throw PlaybackError("\(error)") }
    }

    // MARK: Dmabufs

    /// A picture of a hardware decoder in its own memory, as EGL, Vulkan and KMS import it: AV_PIX_FMT_DRM_PRIME.
    public struct DRMPrime: Hashable, Sendable {
        /// A plane of the picture.
        public struct Plane: Hashable, Sendable {
            /// The descriptor of its dmabuf. It belongs to the sample: duplicate it to keep it longer, and do not close it.
            public var descriptor: Int32
            /// The DRM format modifier, and the bytes of the dmabuf.
            public var modifier: UInt64, size: Int
            /// Bytes from the begin of the dmabuf, and from row to row.
            public var offset: Int, pitch: Int
            /// The DRM format (`DRM_FORMAT_*`) of the layer that the plane belongs to. Planes of one layer have the format of the picture.
            public var format: UInt32
        }

        /// The planes, in order.
        public var planes: [Plane]
    }

    /// The picture as dmabufs; nil if a software decoder made it, or a driver that exports none.
    public var drmPrime: DRMPrime? {
        let planes = sample.surface.map {
            DRMPrime.Plane(
                descriptor: $0.descriptor, modifier: $0.modifier, size: $0.size, offset: $0.offset, pitch: $0.pitch, format: $0.format)
        }
        return planes.isEmpty ? nil : DRMPrime(planes: planes)
    }
}
