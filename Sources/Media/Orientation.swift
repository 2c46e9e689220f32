/// A clockwise turn by a multiple of 90°.
public enum Rotation: Int, Sendable, CaseIterable {
    case none = 0
    case clockwise90 = 90
    case clockwise180 = 180
    case clockwise270 = 270

    /// Whether width and height change places.
    public var swapsAxes: Bool { self == .clockwise90 || self == .clockwise270 }

    /// One turn after another.
    public static func + (a: Rotation, b: Rotation) -> Rotation { Rotation(rawValue: (a.rawValue + b.rawValue) % 360)! }
}

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
