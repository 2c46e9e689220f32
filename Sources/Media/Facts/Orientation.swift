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
}
