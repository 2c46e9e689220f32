import CKioskFFmpeg
import KioskMedia

/// Compensates for the fractions that libswscale drops in its conversion from YUV to RGB, by an addition to luma.
///
/// Its fast x86 code multiplies luma and chroma by the coefficients of the matrix and drops the fraction of each product: two for red and
/// blue, three for green. On average, red and blue come out 1.0 code too dark, and green 1.5. libswscale can add to luma beforehand, in
/// eighths of a code (`brightness` of `sws_setColorspaceDetails`), at no cost. Six eighths are the maximum with which black stays 0. The
/// errors are then 0.1 and 0.6 codes. docs/picture-paths.md has the figures.
///
/// Full range gains nothing: its luma is multiplied by 1, which leaves no fraction. libswscale's code for other processors, formats or odd
/// sizes rounds to the nearest, and the addition would make black 1. libswscale does not report which code it uses, so kiosk first tries
/// each layout with a small picture.
struct ConversionRounding {
    /// The added `brightness` of `sws_setColorspaceDetails`; 256 is one code.
    static let added: Int32 = 256 * 6 / 8

    /// Returns the brightness for a context of this conversion: ``added``, or 0 if that would do harm. Takes about 0.1 ms.
    static func brightness(
        from: (format: AVPixelFormat, width: Int, height: Int), to: (format: AVPixelFormat, width: Int, height: Int), flags: Int32,
        colour: ColourDescription
    ) -> Int32 {
        guard from.width == to.width, from.height == to.height, !colour.isFullRange,
            [AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P].contains(from.format),
            [kAV_PIX_FMT_XRGB8888, kAV_PIX_FMT_XBGR8888].contains(to.format)
        else { return 0 }
        // libswscale's choice depends on whether the size is odd.
        let (width, height) = (32 + from.width % 2, 16 + from.height % 2)
        func error(_ brightness: Int32) -> (black: Int, mean: Double)? {
            gray(from: (from.format, width, height), to: (to.format, width, height), flags: flags, colour: colour, brightness: brightness)
        }
        guard let plain = error(0), plain.mean < -0.25, let lifted = error(added), lifted.black == 0, abs(lifted.mean) < abs(plain.mean)
        else {
            return 0
        }
        return added
    }

    /// Converts every gray from black to white. Returns the result for black, and the mean error of all.
    private static func gray(
        from: (format: AVPixelFormat, width: Int, height: Int), to: (format: AVPixelFormat, width: Int, height: Int), flags: Int32,
        colour: ColourDescription, brightness: Int32
    ) -> (black: Int, mean: Double)? {
        guard let source = VideoFrame.blank(from.format, width: from.width, height: from.height, hasRoom: true),
            let target = VideoFrame.blank(to.format, width: to.width, height: to.height, hasRoom: true),
            let context = ScaleContext.make(from: from, to: to, flags: flags, colour: colour, brightness: brightness)
        else { return nil }
        let (planes, pixels) = (source.planes, target.planes)
        func luma(_ x: Int, _ y: Int) -> Int { (y * from.width + x) % 220 }
        for y in 0..<from.height {
            for x in 0..<from.width { planes.data.0![y * Int(planes.strides.0) + x] = UInt8(16 + luma(x, y)) }
        }
        let chromaRows = from.format == AV_PIX_FMT_YUV420P ? (from.height + 1) / 2 : from.height
        planes.data.1!.update(repeating: 128, count: chromaRows * Int(planes.strides.1))
        planes.data.2!.update(repeating: 128, count: chromaRows * Int(planes.strides.2))
        context.run(from: planes, to: pixels)
        var sum = 0.0
        for y in 0..<from.height {
            // Green, the second byte in both orders.
            for x in 0..<from.width {
                sum += Double(pixels.data.0![y * Int(pixels.strides.0) + 4 * x + 1]) - Double(luma(x, y)) * 255 / 219
            }
        }
        return (Int(pixels.data.0![1]), sum / Double(from.width * from.height))
    }
}
