import CKioskFFmpeg
import KioskVocabulary

/// The rotation that makes a stored picture upright: first mirrored left to right if `isMirrored`, then rotated clockwise by `rotation`. It
/// comes from a video track's display matrix or a still's EXIF orientation.
package struct Orientation: Hashable, Sendable {
    /// The clockwise rotation, applied last.
    package var rotation: Rotation
    /// Whether the stored picture is mirrored left to right before it is rotated.
    package var isMirrored: Bool

    /// Creates an orientation from its two parts.
    package init(rotation: Rotation = .none, isMirrored: Bool = false) {
        self.rotation = rotation
        self.isMirrored = isMirrored
    }

    /// Returns the transform that brings a stored picture of this size upright, with its top left corner at zero.
    package func transform(width: Double, height: Double) -> PictureTransform {
        // The upright directions of the stored picture's right and down.
        var (a, b, c, d) =
            switch rotation {
            case .none: (1.0, 0.0, 0.0, 1.0)
            case .clockwise90: (0.0, 1.0, -1.0, 0.0)
            case .clockwise180: (-1.0, 0.0, 0.0, -1.0)
            case .clockwise270: (0.0, -1.0, 1.0, 0.0)
            }
        if isMirrored { (a, b) = (-a, -b) }
        // Move the rotated picture back into the first quadrant.
        return PictureTransform(
            a: a, b: b, c: c, d: d, tx: (a < 0 ? width : 0) + (c < 0 ? height : 0), ty: (b < 0 ? width : 0) + (d < 0 ? height : 0))
    }

    /// A picture that is upright as stored.
    package static let up = Orientation()

    /// Creates the nearest orientation to a display matrix: nine 16.16 numbers of an MP4 `tkhd`, or FFmpeg's from EXIF. The corresponding C
    /// function is `av_display_rotation_get`.
    init(displayMatrix matrix: UnsafePointer<Int32>) {
        // A negative determinant means a mirrored picture. av_display_rotation_get reads a rotation only, so mirror first.
        let (a, b, c, d) = (Double(matrix[0]), Double(matrix[1]), Double(matrix[3]), Double(matrix[4]))
        let isMirrored = a * d - b * c < 0
        var rotation = [Int32](unsafeUninitializedCapacity: 9) { buffer, count in
            for index in 0..<9 { buffer[index] = matrix[index] }
            count = 9
        }
        if isMirrored {
            // Undo the mirroring of the stored x axis; the rotation that follows it remains.
            rotation[0] = -max(rotation[0], -.max)
            rotation[1] = -max(rotation[1], -.max)
        }
        let degrees = av_display_rotation_get(rotation)  // counter-clockwise, NaN for a matrix without a rotation
        guard degrees.isFinite else { self = Orientation(isMirrored: isMirrored); return }
        let clockwise = ((Int((-degrees / 90).rounded()) % 4) + 4) % 4
        self.init(rotation: Rotation(rawValue: clockwise * 90)!, isMirrored: isMirrored)
    }
}
