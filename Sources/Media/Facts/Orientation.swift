import CKioskFFmpeg
import KioskVocabulary

/// How a stored picture must be rotated to be upright: first mirrored left to right where `isMirrored`, then rotated
/// clockwise by `rotation`. From a video track's display matrix or a still's EXIF orientation.
package struct Orientation: Hashable, Sendable {
    /// The clockwise rotation, applied last.
    package var rotation: Rotation
    /// Whether the stored picture is mirrored left to right before it is rotated.
    package var isMirrored: Bool

    /// An orientation from its two parts.
    package init(rotation: Rotation = .none, isMirrored: Bool = false) {
        self.rotation = rotation
        self.isMirrored = isMirrored
    }

    /// A picture that is upright as stored.
    package static let up = Orientation()

    /// The nearest upright orientation to a display matrix (nine 16.16 numbers of an MP4 `tkhd`, or what FFmpeg makes of EXIF). The
    /// corresponding C function is `av_display_rotation_get`.
    init(displayMatrix matrix: UnsafePointer<Int32>) {
        // A negative determinant is a mirrored picture. av_display_rotation_get reads a rotation only, so mirror first.
        let (a, b, c, d) = (Double(matrix[0]), Double(matrix[1]), Double(matrix[3]), Double(matrix[4]))
        let isMirrored = a * d - b * c < 0
        var rotation = [Int32](unsafeUninitializedCapacity: 9) { buffer, count in
            for index in 0..<9 { buffer[index] = matrix[index] }
            count = 9
        }
        if isMirrored {
            // Undo the mirroring of the stored x axis: what is left is the rotation that follows it.
            rotation[0] = -max(rotation[0], -.max)
            rotation[1] = -max(rotation[1], -.max)
        }
        let degrees = av_display_rotation_get(rotation)  // counter-clockwise, NaN for a matrix without a rotation
        guard degrees.isFinite else { self = Orientation(isMirrored: isMirrored); return }
        let clockwise = ((Int((-degrees / 90).rounded()) % 4) + 4) % 4
        self.init(rotation: Rotation(rawValue: clockwise * 90)!, isMirrored: isMirrored)
    }
}
