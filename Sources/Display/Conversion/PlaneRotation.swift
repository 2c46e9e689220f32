import CKioskFFmpeg
import KioskMedia
import KioskVocabulary

/// Rotates the planes of an 8-bit YUV picture before its conversion to RGB. With 4:2:0 that moves 1.5 bytes a pixel instead of 4, and the
/// conversion can then write scan-out memory itself.
///
/// It requires that every chroma sample belongs to the same pixels afterwards. So the format must have the same chroma sampling across and
/// down, and no chroma sample may reach beyond the picture's edge.
final class PlaneRotation {
    private let chroma: (width: Int, height: Int)
    private let size: (width: Int, height: Int)
    private let orientation: Orientation
    private var result: VideoFrame

    /// Creates a rotation; nil if there is nothing to rotate, if rotated planes would not give the rotated picture, or without memory.
    /// `width` and `height` are those before the orientation.
    init?(_ format: AVPixelFormat, width: Int, height: Int, orientation: Orientation) {
        let shift: Int
        switch format {
        case AV_PIX_FMT_YUV420P: shift = 1
        case AV_PIX_FMT_YUV444P: shift = 0
        default: return nil
        }
        guard orientation != .up, shift == 0 || width % 2 == 0 && height % 2 == 0 else { return nil }
        let rotated = orientation.rotation.swapsAxes ? (height, width) : (width, height)
        guard let result = VideoFrame.blank(format, width: rotated.0, height: rotated.1, hasRoom: true) else { return nil }
        size = (width, height)
        chroma = (width >> shift, height >> shift)
        self.orientation = orientation
        self.result = result
    }

    /// Returns the rotated planes, which are valid until the next call.
    func run(_ source: PicturePlanes) -> PicturePlanes {
        let target = result.planes
        rotate(source.data.0, source.strides.0, size, to: target.data.0, target.strides.0)
        rotate(source.data.1, source.strides.1, chroma, to: target.data.1, target.strides.1)
        rotate(source.data.2, source.strides.2, chroma, to: target.data.2, target.strides.2)
        return target
    }

    private func rotate(
        _ source: PicturePlanes.Plane, _ stride: Int32, _ size: (width: Int, height: Int), to target: PicturePlanes.Plane,
        _ targetStride: Int32
    ) {
        guard let source, let target else { return }
        PixelRotation.copy(
            source, stride: Int(stride), width: size.width, height: size.height, bytesPerPixel: 1, orientation: orientation, to: target,
            stride: Int(targetStride))
    }
}
