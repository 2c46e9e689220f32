import CKioskFFmpeg
import KioskMedia
import KioskPlayback
import KioskVocabulary

@testable import KioskDisplayCore

/// Frames with known content.
enum Pictures {
    /// Makes a frame of one format. `value(plane, x, y)` fills every plane, with x counted in samples of `bytes` bytes.
    static func make(
        _ format: AVPixelFormat, _ width: Int, _ height: Int, orientation: Orientation = .up, bytes: Int = 1,
        _ value: (_ plane: Int, _ x: Int, _ y: Int) -> Int
    ) -> VideoFrame {
        let av = av_frame_alloc()!
        av.pointee.format = format.rawValue
        av.pointee.width = Int32(width)
        av.pointee.height = Int32(height)
        precondition(av_frame_get_buffer(av, 64) >= 0)
        let description = av_pix_fmt_desc_get(format)!.pointee
        let isPalette = format == AV_PIX_FMT_PAL8
        for plane in 0..<Int(av_pix_fmt_count_planes(format)) where !(isPalette && plane == 1) {
            let data =
                plane == 0 ? av.pointee.data.0! : plane == 1 ? av.pointee.data.1! : plane == 2 ? av.pointee.data.2! : av.pointee.data.3!
            let stride = Int(
                plane == 0
                    ? av.pointee.linesize.0
                    : plane == 1 ? av.pointee.linesize.1 : plane == 2 ? av.pointee.linesize.2 : av.pointee.linesize.3)
            let chroma = plane == 1 || plane == 2
            let shift = chroma ? Int(description.log2_chroma_h) : 0
            let rows = (height + (1 << shift) - 1) >> shift
            let samples = Int(av_image_get_linesize(format, Int32(width), Int32(plane))) / bytes
            for y in 0..<rows {
                for x in 0..<samples {
                    let number = value(plane, x, y)
                    for byte in 0..<bytes { data[y * stride + x * bytes + byte] = UInt8(truncatingIfNeeded: number >> (8 * byte)) }
                }
            }
        }
        return VideoFrame(adopting: av, orientation: orientation)
    }

    /// Makes a frame of one YUV 4:2:0 colour.
    static func solid(_ y: Int, _ u: Int, _ v: Int, _ width: Int, _ height: Int, _ format: AVPixelFormat = AV_PIX_FMT_YUV420P) -> VideoFrame
    {
        make(format, width, height) { plane, _, _ in [y, u, v][plane] }
    }

    /// Makes quarters in RGB24: red, green above blue, white.
    static func quarters(_ width: Int, _ height: Int, orientation: Orientation = .up) -> VideoFrame {
        make(AV_PIX_FMT_RGB24, width, height, orientation: orientation) { _, x, y in
            let colour = [0xff0000, 0x00ff00, 0x0000ff, 0xffffff][(y * 2 / height) * 2 + (x / 3) * 2 / width]
            return colour >> (16 - 8 * (x % 3)) & 255
        }
    }
}

extension Scene {
    /// Creates a scene with one opaque picture.
    init(_ frame: consuming VideoFrame, gravity: VideoGravity = .resize) {
        self.init()
        add(Layer(frame, gravity: gravity))
    }
}

/// Returns whether two 0xRRGGBB colours differ by at most `tolerance` in each channel.
func near(_ a: UInt32, _ b: UInt32, _ tolerance: Int = 3) -> Bool {
    [16, 8, 0].allSatisfy { abs(Int(a >> $0 & 255) - Int(b >> $0 & 255)) <= tolerance }
}
