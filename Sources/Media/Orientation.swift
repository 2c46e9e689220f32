// Whoever imports Media has the rotations that an orientation is made of.
@_exported import Vocabulary

/// How a stored picture must be rotated to be upright: first mirrored left to right where `isMirrored`, then rotated
/// clockwise by `rotation`. From a video track's display matrix or a still's EXIF orientation.
public struct Orientation: Hashable, Sendable {
    /// The clockwise rotation, applied last.
    public var rotation: Rotation
    /// Whether the stored picture is mirrored left to right before it is rotated.
    public var isMirrored: Bool

    /// An orientation from its two parts.
    public init(rotation: Rotation = .none, isMirrored: Bool = false) {
        self.rotation = rotation
        self.isMirrored = isMirrored
    }

    /// A picture that is upright as stored.
    public static let up = Orientation()
}
